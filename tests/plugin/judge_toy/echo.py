"""The judge `echo:FILE`: answers whatever it is asked with the text in a file."""

from __future__ import annotations

from pathlib import Path

from judge.backends import Judge, JudgeSettings
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study


class Echo(Judge):
    """Says the same of every study, at once and for nothing."""

    runs_inline = True
    note = "a toy that says the same of every study"

    def __init__(self, path: str, text: str) -> None:
        self.name = f"echo:{path}"
        self.version = f"echo-1+{len(text)}"
        self._text = text

    def request(self, study: Study) -> CompletionRequest:
        """Return the candidate as it is."""
        return CompletionRequest(
            "echo", self.version, (Message("user", study.candidate),)
        )

    async def complete(self, request: CompletionRequest) -> Completion:  # noqa: ARG002
        """Return the text."""
        return Completion(self._text, "stop", self.version)


def load(name: str, rubric: Rubric, settings: JudgeSettings) -> Judge:  # noqa: ARG001
    """Return the judge; raises `JudgeError` for a file that cannot be read."""
    try:
        return Echo(name, Path(name).read_text("utf-8"))
    except OSError as error:
        raise JudgeError(f"echo: cannot read {name}: {error.strerror}") from error
