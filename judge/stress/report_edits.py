"""A reference as sentences, the words known in it, edits of them, and seeded choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    base of a lung; one that is `sized` is large or small, not severe or mild. `region` has the
    regions of CT and MR in which it may be made up.
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
    region: str = ""

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
_SECTIONAL: Any = read_yaml(Path(__file__).with_name("sectional.yaml"))[0]


def _by_area(areas: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Return what finds the words of each area of the body."""
    patterns = {}
    for area, words in areas.items():
        patterns[area] = re.compile(rf"\b(?:{words})", re.I)
    return patterns


def _replacements(words: Mapping[str, str]) -> dict[re.Pattern[str], str]:
    """Return what finds some words, each with the words in their place."""
    return {any_of([before]): after for before, after in words.items()}


def _longest_first(words: Iterable[str]) -> re.Pattern[str]:
    return any_of(sorted(words, key=len, reverse=True))


def _known(entries: Mapping[str, Any], **usual: Any) -> Iterator[StressFinding]:  # noqa: ANN401
    """Yield the findings of a vocabulary; `usual` are values that an entry may leave out."""
    for name, entry in entries.items():
        values = {**usual, **entry}
        words = values.pop("words")
        yield StressFinding(name=name, pattern=any_of(words), **values)


@dataclass(frozen=True, eq=False, kw_only=True)
class Vocabulary:
    """What is known of the reports of some examinations.

    `areas` finds the words of each area of the body, `normal` those that say that it is normal.
    `structures` are organs of which a report gives a size.
    """

    findings: tuple[StressFinding, ...]
    areas: Mapping[str, re.Pattern[str]]
    normal: Mapping[str, re.Pattern[str]]
    structures: tuple[StressFinding, ...] = ()

    @cached_property
    def named(self) -> dict[str, StressFinding]:
        """The findings and structures by name."""
        return {entry.name: entry for entry in (*self.structures, *self.findings)}


_DEVICES = tuple(_known(_DATA["devices"], area="devices"))
RADIOGRAPHS = Vocabulary(
    findings=(*_known(_DATA["findings"]), *_DEVICES),
    areas=_by_area(_DATA["areas"]),
    normal=_by_area(_DATA["normal"]),
)
"""The words of chest radiographs."""
SECTIONS = Vocabulary(
    findings=(*_known(_SECTIONAL["findings"]), *_DEVICES),
    areas=_by_area(_SECTIONAL["areas"]),
    normal=_by_area(_SECTIONAL["normal"]),
    structures=tuple(_known(_SECTIONAL["structures"], doubtful=True)),
)
"""The words of CT and MR."""
TIPS = _replacements(_DATA["tips"])
SYNONYMS = _replacements(_DATA["synonyms"])
DEGREES = _DATA["degrees"]
LEVELS = _DATA["levels"]
TURNED = _DATA["turned"]
PATTERNS = {
    name: re.compile(pattern, re.I)
    for name, pattern in {**_DATA["patterns"], **_SECTIONAL["patterns"]}.items()
}
REWORDINGS = {
    name: re.compile(pattern, re.I) for name, pattern in _DATA["rewordings"].items()
}
PATTERNS["level"] = _longest_first(LEVELS)
PATTERNS["degree"] = _longest_first(DEGREES)
PATTERNS["turn"] = _longest_first(TURNED)
PLACES = _SECTIONAL["places"]
SINGULAR = _SECTIONAL["singular"]
TURNED_SECTIONS = {
    re.compile(pattern, re.I): after for pattern, after in _SECTIONAL["turned"].items()
}
_REGIONS: dict[str, list[re.Pattern[str]]] = {
    region: [any_of([words]) for words in parts]
    for region, parts in _SECTIONAL["regions"].items()
}
_SIGNS = [any_of([words]) for words in _SECTIONAL["signs"]]
_FEWEST_PARTS = 2
_FEWEST_SIGNS = 3
_SECTIONAL_MODALITY = re.compile(r"\s*(?:CT|MR)", re.I)


def _n_found(patterns: Iterable[re.Pattern[str]], text: str) -> int:
    """Return how many of some patterns find something in a text."""
    return sum(pattern.search(text) is not None for pattern in patterns)


@lru_cache(maxsize=4096)
def findings_in(
    text: str, vocabulary: Vocabulary = RADIOGRAPHS
) -> tuple[StressFinding, ...]:
    """Return the findings and devices that a text has the words of."""
    return tuple(
        finding for finding in vocabulary.findings if finding.pattern.search(text)
    )


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
    """A reference report from which candidates are made.

    `modality` is what its file says of the examination, such as `CT` or `MRI brain`.
    """

    text: str
    modality: str | None = None

    @cached_property
    def is_sectional(self) -> bool:
        """Whether it is a report of CT or MR: by its modality, else by words of the text."""
        if self.modality:
            return _SECTIONAL_MODALITY.match(self.modality) is not None
        if PATTERNS["titled"].match(self.text):
            return True
        return _n_found(_SIGNS, self.text) >= _FEWEST_SIGNS

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that are known of such reports."""
        if self.is_sectional:
            return SECTIONS
        return RADIOGRAPHS

    @cached_property
    def region(self) -> str:
        """The region of the body of which a report of CT or MR names most parts, if any."""
        n_parts = {
            region: _n_found(parts, self.text) for region, parts in _REGIONS.items()
        }
        most = max(n_parts.values())
        named = [region for region, n in n_parts.items() if n == most]
        if len(named) > 1 or most < _FEWEST_PARTS:
            return ""
        return named[0]

    def can_have(self, finding: StressFinding) -> bool:
        """Whether there is a sentence that affirms a finding, and it suits the examination."""
        if self.is_sectional and self.region not in finding.region.split():
            return False
        return finding.affirmed is not None

    def findings_in(self, text: str) -> tuple[StressFinding, ...]:
        """Return the findings and devices that a part of the report has the words of."""
        return findings_in(text, self.vocabulary)

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

    @property
    def growth(self) -> int:
        """By how many characters the text becomes longer."""
        return len(self.after) - (self.end - self.start)


@dataclass(frozen=True, slots=True)
class InjectedError:
    """An error in a candidate, about one `finding`.

    `categories` are the letters of the six that are right; the first is the usual one.
    `is_significant` is by clinical sense; where `is_doubtful`, radiologists would differ on it.
    `before` and `after` are the words of the reference and of the candidate, None where they are
    not told.
    """

    categories: tuple[str, ...]
    finding: str
    is_significant: bool = False
    is_doubtful: bool = False
    before: str | None = None
    after: str | None = None

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


def with_words(report: Reference, injection: Injection) -> Injection:
    """Return an injection whose error has the words that it changes, before and after."""
    edits, error = injection
    start = min(edit.start for edit in edits)
    end = max(edit.end for edit in edits)
    while start < end < len(report.text) and report.text[end].isalnum():
        end += 1
    moved = [Edit(edit.start - start, edit.end - start, edit.after) for edit in edits]
    before = report.text[start:end]
    after = apply_edits(before, moved)
    return edits, replace(error, before=before.strip(), after=after.strip())


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
