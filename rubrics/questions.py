"""Rubrics that ask several questions about a study, the later ones by earlier answers.

Each question is asked, kept, paid for and asked again by itself. Their answers make one
completion, which is what the rubric's `parse` reads and a run's folder keeps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from judge import jsonio
from judge.endings import (
    FILTERED,
    LENGTH,
    NO_ANSWER,
    REFUSAL,
    STOP,
    TOOL_CALLS,
    kind_of,
)
from judge.types import Completion, Study, UnparsedError, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

_ENDS = {
    LENGTH: ("truncated", "the answer was cut at the token limit"),
    REFUSAL: ("refusal", ""),
    TOOL_CALLS: ("wrong tool call", "not one call of the tool that was given"),
    # Only older caches hold such answers.
    FILTERED: ("content filter", "the server withheld the answer"),
    NO_ANSWER: ("no answer", "the server ended it before it was whole"),
}
_CUT = {"text", "finish_reason"}
_AWAY = {*_CUT, "elsewhere"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its default `prompt`, the form of a reply, and the reader of the answer.

    `check` is called as `Parse`, with the texts that the step's `study` holds.
    """

    prompt: str
    check: Callable[..., object]
    reply_model: Callable[[], type[BaseModel]] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One asking of a question, `name`d within its study.

    `study` holds the texts that it is about and nothing else: studies that share them share the
    answer. `asks` is what the question asks about, as its prompts say (`Prompt.asks`).
    """

    name: str
    study: Study
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Steps:
    """The questions that a rubric asks about a study.

    `coming(study, answers)` gives the steps that can be asked now, by the raw answers so far under
    the names of theirs; none when all are there. `questions` are by what they ask about. `most` is
    how many steps a study has at most.
    """

    coming: Callable[[Study, Mapping[str, str]], Sequence[Step]]
    questions: Mapping[str, Question]
    most: int


def check_end(completion: Completion) -> None:
    """Raise `UnparsedError` for an answer that did not end as one that can be read.

    An ending that is not known says nothing. An answer that is one JSON value is whole whatever it
    is called; of a text nobody can tell, and it is unparsed with that word. An answer whose JSON
    object was closed before it was cut is whole: only white space is lost.
    """
    elsewhere = completion.elsewhere if not completion.text.strip() else None
    where = f"; the text is in {elsewhere}" if elsewhere else ""
    ending = kind_of(completion.finish_reason)
    if ending in _ENDS:
        if ending == LENGTH and _is_closed(completion.text):
            return
        reason, detail = _ENDS[ending]
        raise UnparsedError(reason, (detail or completion.text) + where)
    if elsewhere:
        raise UnparsedError("empty", f"nothing was answered{where}")
    if ending in (STOP, "") or is_complete(completion):
        return
    if not _is_json(completion.text):
        raise UnparsedError(
            f"ended with {ending}", "an ending that is not known, of a text"
        )


def is_complete(completion: Completion) -> bool:
    """Whether the server says that the answer ended by itself."""
    return kind_of(completion.finish_reason) == STOP


def _is_closed(text: str) -> bool:
    from judge.rubrics import (
        replies,  # loads pydantic, which the built-in judge does without
    )

    return replies.is_closed(text)


def _is_json(text: str) -> bool:
    from judge.rubrics import replies

    try:
        return isinstance(replies.read_json(text), dict | list)
    except UnparsedError:
        return False


def combine_answers(answers: Mapping[str, Completion]) -> Completion:
    """Return the answers to a study's steps as one completion, whose text is JSON of them all."""
    written = {name: _written(answer) for name, answer in answers.items()}
    completions = list(answers.values())
    used = [astuple(completion.usage) for completion in completions if completion.usage]
    last = completions[-1] if completions else Completion("", "stop", "")
    return Completion(
        text=json.dumps(written, ensure_ascii=False, indent=1),
        finish_reason=STOP,
        model=last.model,
        usage=Usage(*map(sum, zip(*used, strict=True))) if used else None,
        created=max((one.created for one in completions if one.created), default=None),
        mode=last.mode,
    )


def _written(answer: Completion) -> str | dict[str, str]:
    try:
        check_end(answer)
    except UnparsedError:
        written = {"text": answer.text, "finish_reason": answer.finish_reason}
        if answer.elsewhere:
            written["elsewhere"] = answer.elsewhere
        return written
    return answer.text


def split_answers(text: str) -> dict[str, str]:
    """Return the raw answers in the text of such a completion, by their step's name."""
    try:
        value = jsonio.read(text)
    except jsonio.JsonError as error:
        raise UnparsedError(error.reason, error.detail) from error
    if not isinstance(value, dict):
        raise UnparsedError("unexpected form", "not the answers to several questions")
    answers: dict[str, str] = {}
    for name, part in value.items():
        if isinstance(part, dict) and part.keys() in (_CUT, _AWAY):
            text, end = str(part["text"]), str(part["finish_reason"])
            with naming_step(name):
                check_end(Completion(text, end, "", elsewhere=part.get("elsewhere")))
            answers[name] = text
        elif isinstance(part, str):
            answers[name] = part
        else:
            raise UnparsedError("unexpected form", f"{name}: no text")
    return answers


@contextmanager
def naming_step(name: str) -> Iterator[None]:
    """Let an `UnparsedError` of the block say which step's answer it is about."""
    try:
        yield
    except UnparsedError as error:
        detail = f"{name}: {error.detail}" if error.detail else name
        raise UnparsedError(error.reason, detail) from error
