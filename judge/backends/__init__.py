"""The judges: who answers. One file, or one folder, a judge.

A judge is made for one rubric and prompt. It says what it would ask about a study
(`request`), which is all that decides the answer, and then asks it (`complete`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Study

LEXICON = "lexicon"


class Judge(Protocol):
    """Who answers.

    `version` names everything of the judge that changes an answer and stands in the
    signature; `prompt` is None for a judge that reads none; `note` is what a reader of its
    numbers must be told, or None.
    """

    name: str
    version: str
    prompt: Prompt | None
    note: str | None

    def request(self, study: Study) -> CompletionRequest:
        """Return what the judge is asked about `study`."""
        ...

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the judge's raw answer to `request`."""
        ...


def load(spec: str, rubric: Rubric) -> Judge:
    """Return the judge that `spec` names, for `rubric`.

    `lexicon` is the built-in judge, `lexicon:FILE` the same with a lexicon of your own.
    Raises `JudgeError` for any other name.
    """
    kind, _, rest = spec.partition(":")
    if kind == LEXICON:
        from judge.backends.lexicon.judge import LexiconJudge

        return LexiconJudge(rubric, Path(rest) if rest else None)
    raise JudgeError(
        f"unknown judge {spec!r}; there is: {LEXICON} (built in), "
        f"or {LEXICON}:FILE with a lexicon of your own"
    )
