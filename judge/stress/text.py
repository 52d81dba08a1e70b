"""A reference as sentences, the edits of its words, and the choices that a seed decides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from judge.sentences import sentences
from judge.stress.vocabulary import PATTERNS

_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its place; `end` is past its full stop."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Reference:
    """A reference report that candidates are made of."""

    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences, in order."""
        return tuple(Sentence(a, b, self.text[a:b]) for a, b in sentences(self.text))

    def check(self) -> None:
        """Raise `NotMade` where no change can be made: they are of English sentences."""
        if not self.sentences:
            raise NotMade("the reference has no sentence")
        letters = [char for char in self.text if char.isalpha()]
        n_latin = sum(char < "\u0250" for char in letters)
        n_foreign, n_english = (
            len(words.findall(self.text)) for words in (PATTERNS["foreign"], PATTERNS["english"])
        )
        if 2 * n_latin <= len(letters) or n_foreign > n_english:
            raise NotMade("the reference is not in English")


@dataclass(frozen=True, slots=True)
class Edit:
    """The words of the reference from `start` to `end` become `after`."""

    start: int
    end: int
    after: str


@dataclass(frozen=True, slots=True)
class Error:
    """An error that was put in.

    `categories` are the letters of the six that are right; the first is the usual one. `finding`
    is what it is about. `is_significant` is by clinical sense; where `is_doubtful`, radiologists
    would differ on it.
    """

    categories: tuple[str, ...]
    finding: str
    is_significant: bool
    is_doubtful: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change does to a reference: its edits, which do not overlap, and the errors."""

    edits: tuple[Edit, ...]
    errors: tuple[Error, ...] = ()


class NotMade(Exception):  # noqa: N818 - an outcome that is counted
    """A change cannot be made on a reference: why, in a few words that hold no text of it."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Choices that depend on the seed, the study and what is chosen, and on nothing else."""

    seed: int
    study: str
    purpose: str

    def shuffled(self, things: Iterable[_Thing]) -> list[_Thing]:
        """Return the things in an order as good as random; equal for equal things."""
        lots = [(self._lot(place), place, thing) for place, thing in enumerate(things)]
        return [thing for _, _, thing in sorted(lots, key=lambda lot: lot[:2])]

    def choice(self, things: Sequence[_Thing]) -> _Thing:
        """Return one of the things, of which there must be one."""
        return self.shuffled(things)[0]

    def _lot(self, place: int) -> str:
        key = json.dumps([self.seed, self.study, self.purpose, "", place])
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits made; raises ValueError where they overlap.

    Of two that add at one place, the first in `edits` comes first.
    """
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done or not edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit at {edit.start} overlaps the one before, or the end")
        parts += [text[done : edit.start], edit.after]
        done = edit.end
    return "".join([*parts, text[done:]])


def in_case_of(word: str, model: str) -> str:
    """Return `word` in the case of `model`: ALL, First or none."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def removal(report: Reference, sentence: Sentence) -> Edit:
    """Return the edit that takes a sentence out, with the white space before or after it."""
    before = report.text[: sentence.start]
    if before.strip():
        return Edit(len(before.rstrip()), sentence.end, "")
    after = report.text[sentence.end :]
    return Edit(sentence.start, sentence.end + len(after) - len(after.lstrip()), "")


def addition(report: Reference, sentence: str) -> Edit:
    """Return the edit that adds a sentence at the end, in capitals where the report is."""
    text = report.text
    end = len(text.rstrip())
    stop = "" if not end or text[end - 1] in ".!?:" else "."
    added = sentence.upper() if text.isupper() else sentence
    return Edit(end, end, f"{stop}{' ' if end else ''}{added}")
