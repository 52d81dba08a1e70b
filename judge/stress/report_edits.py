"""A reference as sentences, the words known in it, edits of them, and seeded choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from judge.jsonio import read_yaml
from judge.sentences import sentences
from judge.signature import random_rank
from judge.text import capital

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StressFinding:
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

    def is_kin(self, other: StressFinding) -> bool:
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


def _by_area(key: str) -> dict[str, re.Pattern[str]]:
    """Return what finds the words of each area of the chest."""
    patterns = {}
    for area, words in _DATA[key].items():
        patterns[area] = re.compile(rf"\b(?:{words})", re.I)
    return patterns


def _replacements(key: str) -> dict[re.Pattern[str], str]:
    """Return what finds some words, each with the words in their place."""
    return {any_of([words]): after for words, after in _DATA[key].items()}


def _longest_first(words: Iterable[str]) -> re.Pattern[str]:
    return any_of(sorted(words, key=len, reverse=True))


def _known_findings() -> Iterator[StressFinding]:
    """Yield the findings of the vocabulary, and its devices after them."""
    for name, entry in _DATA["findings"].items():
        words = entry.pop("words")
        yield StressFinding(name=name, pattern=any_of(words), **entry)
    for name, entry in _DATA["devices"].items():
        words = entry.pop("words")
        yield StressFinding(
            name=name, pattern=any_of(words), **{"area": "devices", **entry}
        )


AREAS = _by_area("areas")
NORMAL = _by_area("normal")
TIPS = _replacements("tips")
SYNONYMS = _replacements("synonyms")
DEGREES = _DATA["degrees"]
LEVELS = _DATA["levels"]
TURNED = _DATA["turned"]
PATTERNS = {
    name: re.compile(pattern, re.I) for name, pattern in _DATA["patterns"].items()
}
REWORDINGS = {
    name: re.compile(pattern, re.I) for name, pattern in _DATA["rewordings"].items()
}
PATTERNS["level"] = _longest_first(LEVELS)
PATTERNS["degree"] = _longest_first(DEGREES)
PATTERNS["turn"] = _longest_first(TURNED)
FINDINGS = tuple(_known_findings())


@lru_cache(maxsize=4096)
def findings_in(text: str) -> tuple[StressFinding, ...]:
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
        n_foreign = len(PATTERNS["foreign"].findall(self.text))
        n_english = len(PATTERNS["english"].findall(self.text))
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

    @property
    def significance(self) -> str:
        """`significant`, `insignificant` or `doubtful`."""
        if self.is_doubtful:
            return "doubtful"
        if self.is_significant:
            return "significant"
        return "insignificant"


Injection = tuple[tuple[Edit, ...], InjectedError]
"""Edits of a reference, which do not overlap, and the one error that they make."""
Change = tuple[tuple[Edit, ...], tuple[InjectedError, ...]]
"""Edits of a reference, which do not overlap, and the errors that they make."""


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
        drawn = []
        for at, value in enumerate(values):
            rank = random_rank(self.seed, self.study, self.purpose, "", at)
            drawn.append((rank, at, value))
        drawn.sort(key=lambda entry: entry[:2])
        return [value for _, _, value in drawn]


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the edited text; of two insertions at one place, the first in `edits` comes first."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end))[::-1]:
        text = text[: edit.start] + edit.after + text[edit.end :]
    return text


def match_case(word: str, model: str) -> str:
    """Return `word` in the case of `model`: upper, capitalized or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return capital(word)
    return word


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
    if text.isupper():
        sentence = sentence.upper()
    if text:
        sentence = f" {sentence}"
    if text and text[-1] not in ".!?:":
        sentence = f".{sentence}"
    return Edit(len(text), len(text), sentence)
