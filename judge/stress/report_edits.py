"""A reference as sentences, the words known in it, edits of them, and seeded choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from judge.jsonio import read_yaml
from judge.sentences import sentences
from judge.signature import random_rank

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding or a device: its words, what it is worth, sentences that deny and affirm it.

    Findings of the same `kin` may be said of the same shadow. One that is `low` is always at the
    base of a lung; one that is `sized` is large or small, not severe or mild.
    """

    name: str
    area: str
    pattern: re.Pattern[str]
    significant: bool = False
    doubtful: bool = False
    denied: str | None = None
    affirmed: str | None = None
    kin: str | None = None
    low: bool = False
    sized: bool = False

    def is_kin(self, other: Finding) -> bool:
        """Whether the other is this finding, or may be said of the same shadow."""
        return self is other or (self.kin is not None and self.kin == other.kin)

    @property
    def is_device(self) -> bool:
        """Whether it is a device."""
        return self.area == "devices"


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of some words, or of some regular expressions."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)


_DATA: Any = read_yaml(Path(__file__).with_name("vocabulary.yaml"))[0]
PATTERNS = {
    name: re.compile(pattern, re.I) for name, pattern in _DATA["patterns"].items()
}
AREAS, NORMAL = (
    {area: re.compile(rf"\b(?:{words})", re.I) for area, words in _DATA[key].items()}
    for key in ("areas", "normal")
)
TIPS, SYNONYMS = (
    {any_of([words]): after for words, after in _DATA[key].items()}
    for key in ("tips", "synonyms")
)
DEGREES, LEVELS, TURNED = (_DATA[key] for key in ("degrees", "levels", "turned"))
PATTERNS["level"], PATTERNS["degree"], PATTERNS["turn"] = (
    any_of(sorted(words, key=len, reverse=True)) for words in (LEVELS, DEGREES, TURNED)
)
FINDINGS = tuple(
    Finding(name, pattern=any_of(entry.pop("words")), **{"area": "devices", **entry})
    for name, entry in (_DATA["findings"] | _DATA["devices"]).items()
)


@lru_cache(maxsize=4096)
def findings_in(text: str) -> tuple[Finding, ...]:
    """Return the findings and devices that a text has the words of."""
    return tuple(finding for finding in FINDINGS if finding.pattern.search(text))


def has(pattern: str, text: str) -> bool:
    """Whether a text has what the pattern of this name finds, such as `negated`."""
    return PATTERNS[pattern].search(text) is not None


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
        n_foreign, n_english = (
            len(PATTERNS[k].findall(self.text)) for k in ("foreign", "english")
        )
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


Change = tuple[tuple[Edit, ...], InjectedError | None]
"""Edits of a reference, which do not overlap, and the error that they make."""


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


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the edited text; of two insertions at one place, the first in `edits` comes first."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end))[::-1]:
        text = text[: edit.start] + edit.after + text[edit.end :]
    return text


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
    text = report.text.rstrip()
    stop = "" if not text or text[-1] in ".!?:" else "."
    sentence = sentence.upper() if text.isupper() else sentence
    return Edit(len(text), len(text), f"{stop}{' ' if text else ''}{sentence}")
