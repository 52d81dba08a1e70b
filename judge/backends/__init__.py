"""The judges: who answers. One file, or one folder, a judge.

A judge is made for one rubric and prompt. It says what it would ask about a study
(`request`), which is all that decides the answer, then asks it (`complete`), and says what
it would ask after an answer that could not be read (`again`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from judge import prompts
from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Study, Unparsed

LEXICON = "lexicon"
TIMEOUT = 120.0
MAX_TOKENS = 2048


class Judge(Protocol):
    """Who answers.

    `version` names everything of the judge that changes an answer and stands in the
    signature, with `sampling`, the sampling parameters; `prompt` is None for a judge that
    reads none; `note` is what a reader of its
    numbers must be told, or None. A judge that `is_free` answers at once, in this process,
    and needs neither cache nor patience.
    """

    @property
    def name(self) -> str:
        """What the user calls it."""
        ...

    @property
    def version(self) -> str:
        """Its full name, as it stands in the signature."""
        ...

    @property
    def prompt(self) -> Prompt | None:
        """The wording it is asked with."""
        ...

    @property
    def note(self) -> str | None:
        """A warning that goes wherever its name does."""
        ...

    @property
    def sampling(self) -> Mapping[str, object]:
        """The sampling parameters that are asked for."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether it answers at once, in this process."""
        ...

    @property
    def paid_at(self) -> str | None:
        """The address whose answers are paid for; None where they cost nothing."""
        ...

    def request(self, study: Study) -> CompletionRequest:
        """Return what the judge is asked about `study`."""
        ...

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the judge's raw answer; raises `judge.backends.errors.AskError` without one."""
        ...

    def again(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest:
        """Return what to ask after `completion`, an answer to `request` that is `unparsed`.

        The same request, or one that tells the judge what was wrong; decided by the three
        alone, so that a run that goes on finds the answers it already has.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


def _silent(_text: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a judge may need besides its name.

    `prompt` is a prompt's name or path, None for the rubric's own; `environ` is where keys
    are looked up; `timeout` is in seconds and `max_tokens` bounds one answer; `say` tells
    the user something.
    """

    prompt: str | None = None
    base_url: str | None = None
    timeout: float = TIMEOUT
    max_tokens: int = MAX_TOKENS
    environ: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = _silent


def load(spec: str, rubric: Rubric, settings: Settings | None = None) -> Judge:
    """Return the judge that `spec` names, for `rubric`.

    `lexicon` is the built-in judge, `lexicon:FILE` the same with a lexicon of your own;
    any other name is a model behind an OpenAI-compatible server. Raises `JudgeError` for
    a name that looks like a slip of `lexicon`, a bad prompt and a key that is not set.
    """
    settings = settings or Settings()
    kind, _, rest = spec.partition(":")
    if kind == LEXICON:
        return _lexicon(rubric, Path(rest) if rest else None, settings)
    if not spec.strip() or difflib.get_close_matches(kind, [LEXICON], cutoff=0.7):
        raise JudgeError(
            f"unknown judge {spec!r}; write {LEXICON} for the built-in judge, {LEXICON}:FILE for a "
            "lexicon of your own, or a model's name such as gpt-4o"
        )
    from judge.backends.openai import OPENAI_URL, Connection, OpenAIJudge

    connection = Connection(settings.base_url or OPENAI_URL, settings.timeout)
    try:
        key = connection.key(settings.environ)
    except JudgeError as error:
        raise JudgeError(f"judge {spec!r} is a model behind an API: {error}") from error
    return OpenAIJudge(
        spec,
        rubric,
        prompt_for(rubric, settings.prompt or rubric.prompt),
        connection,
        key,
        max_tokens=settings.max_tokens,
        say=settings.say,
    )


def prompt_for(rubric: Rubric, name: str) -> Prompt:
    """Return the prompt of that name or path; raises `JudgeError` if it asks for another rubric."""
    prompt = prompts.load(name)
    if prompt.rubric != rubric.name:
        raise JudgeError(f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}")
    return prompt


def _lexicon(rubric: Rubric, path: Path | None, settings: Settings) -> Judge:
    from judge.backends.lexicon.judge import LexiconJudge

    if settings.base_url:
        raise JudgeError(f"--base-url belongs to a model behind an API, not to {LEXICON}")
    judge = LexiconJudge(rubric, path)
    if settings.prompt:
        prompt_for(rubric, settings.prompt)
        settings.say(f"--prompt has no effect: the judge {judge.name} reads no prompt.")
    return judge
