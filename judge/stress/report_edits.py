"""A reference as sentences, edits of its words, and choices that depend on a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from judge.sentences import sentences
from judge.signature import random_rank
from judge.stress.vocabulary import PATTERNS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its offsets in the report; `end` is past its full stop."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Reference:
    """A reference report from which candidates are made."""

    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences, in order."""
        return tuple(Sentence(a, b, self.text[a:b]) for a, b in sentences(self.text))

    def check(self) -> None:
        """Raise `NotApplicable` for a report without English sentences."""
        if not self.sentences:
            raise NotApplicable("the reference has no sentence")
        letters = [char for char in self.text if char.isalpha()]
        n_latin = sum(char < "\u0250" for char in letters)
        n_foreign, n_english = (len(PATTERNS[k].findall(self.text)) for k in ("foreign", "english"))
        if 2 * n_latin <= len(letters) or n_foreign > n_english:
            raise NotApplicable("the reference is not in English")


@dataclass(frozen=True, slots=True)
class Edit:
    """The words of the reference from `start` to `end` become `after`."""

    start: int
    end: int
    after: str


@dataclass(frozen=True, slots=True)
class InjectedError:
    """An error in a candidate, about one `finding`.

    `categories` are the letters of the six that are right; the first is the usual one.
    `is_significant` is by clinical sense; where `is_doubtful`, radiologists would differ on it.
    """

    categories: tuple[str, ...]
    finding: str
    is_significant: bool = False
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class ReportEdits:
    """Edits of a reference, which do not overlap, and the errors that they make."""

    edits: tuple[Edit, ...]
    errors: tuple[InjectedError, ...] = ()


class NotApplicable(Exception):  # noqa: N818 - an outcome that is counted
    """A perturbation cannot be made on a reference; the reason has no text of the report."""


@dataclass(frozen=True, slots=True)
class SeededChoice:
    """Random choices that depend only on the seed, the study and their purpose."""

    seed: int
    study: str
    purpose: str

    def shuffled(self, values: Iterable[T]) -> list[T]:
        """Return the values in random order."""
        values, key = list(values), (self.seed, self.study, self.purpose, "")
        places = sorted(range(len(values)), key=lambda place: random_rank(*key, place))
        return [values[place] for place in places]

    def choice(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return self.shuffled(values)[0]


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the edited text; raises ValueError for edits that overlap.

    Of two insertions at one place, the first in `edits` comes first.
    """
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done or not edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit at {edit.start} overlaps the one before, or the end")
        parts += [text[done : edit.start], edit.after]
        done = edit.end
    return "".join([*parts, text[done:]])


def match_case(word: str, model: str) -> str:
    """Return `word` in the case of `model`: upper, capitalized or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def removal(report: Reference, sentence: Sentence) -> Edit:
    """Return the edit that removes a sentence and the white space before or after it."""
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
    sentence = sentence.upper() if text.isupper() else sentence
    return Edit(end, end, f"{stop}{' ' if end else ''}{sentence}")
