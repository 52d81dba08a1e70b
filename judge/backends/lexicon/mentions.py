"""Mentions of findings in a report: their severity, and how two mentions relate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product

from judge.backends.lexicon.data import FindingEntry, Lexicon
from judge.types import Aspect, Severity

SAME_SIZE = 1.25
"""Lengths whose ratio is below this are equal."""

_SAME_POINTS = 10.0

MOST = 64
"""A mention is held against no more than this many others: so that time stays linear."""

_OLD = {"old"}
_NONE: frozenset[str] = frozenset()
_EASED: dict[Severity, Severity] = {1: 1, 2: 1, 3: 2, 4: 3}


@dataclass(frozen=True)
class Mention:
    """One thing that a report says.

    Either a `finding`, present or denied, with the readings offered for it (`also`), some only as
    `possible`; or a `structure` that is called `normal`, or of which only a change is said; or,
    with neither, a change of the whole study. `count` is 0 where nothing is said. `sizes` are in
    millimetres, `shares` in per cent; of a tube they say where it ends, `acts` that it has to be
    moved. `traits` are values of the lexicon's contrasts, `descriptors` findings whose names only
    describe this one, `greater` is the side on which it is greater, and `unexcluded` says that it
    "cannot be excluded".
    """

    lexicon: Lexicon = field(compare=False, repr=False)
    finding: str = ""
    structure: str = ""
    normal: bool = False
    present: bool = True
    doubted: bool = False
    also: tuple[str, ...] = ()
    possible: frozenset[str] = _NONE
    count: int = 0
    sides: frozenset[str] = _NONE
    places: frozenset[str] = _NONE
    levels: frozenset[int] = frozenset()
    changes: frozenset[str] = _NONE
    sizes: frozenset[float] = frozenset()
    shares: frozenset[float] = frozenset()
    acuity: frozenset[str] = _NONE
    traits: frozenset[str] = _NONE
    greater: frozenset[str] = _NONE
    descriptors: tuple[str, ...] = ()
    unexcluded: bool = False
    acts: bool = False
    refers_back: bool = field(default=False, compare=False)
    words: str = field(default="", compare=False)
    sentence: int = field(default=0, compare=False)

    def in_sentence(self, number: int) -> Mention:
        """Return the mention in the sentence `number`, with all that is known of it already.

        A good deal faster than `replace`, which would compute every property again.
        """
        hash(self)  # computed once here, and copied with the rest
        placed = object.__new__(Mention)
        placed.__dict__.update(self.__dict__)
        placed.__dict__["sentence"] = number
        return placed

    @cached_property
    def _hash(self) -> int:
        compared = [getattr(self, name) for name in _COMPARED]
        return hash(tuple(compared))

    def __hash__(self) -> int:
        """Return a hash of what is compared, computed once."""
        return self._hash

    @cached_property
    def positive(self) -> bool:
        """Whether it says that a finding is there."""
        return bool(self.finding) and self.present

    @cached_property
    def negative(self) -> bool:
        """Whether it says that a finding is not there, or that a structure is normal."""
        return bool(self.finding or self.normal) and not self.positive

    @cached_property
    def kind(self) -> FindingEntry:
        """The finding's entry in the lexicon."""
        return self.lexicon.findings[self.finding]

    @cached_property
    def says(self) -> bool:
        """Whether it mentions more than a place or the technique."""
        return bool(self.finding or self.normal or self.changes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The finding, the readings that are offered for it, and what describes it."""
        return (*self.readings, *self.descriptors)

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """The finding and the readings that are offered for it."""
        return (self.finding, *self.also)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What it says of the finding; whether it is certain is always said."""
        said: dict[Aspect, object] = {
            "location": self.places or self.acts,
            "side": self.sides,
            "severity": self.levels or self.count or self.shares,
            "morphology": self.traits,
            "certainty": True,
            "comparison": self.changes or self.acuity,
        }
        return frozenset(aspect for aspect, stated in said.items() if stated)

    @property
    def kind_denied(self) -> str:
        """The finding that this negative denies: of a normal structure what it would be else."""
        if self.normal:
            return self.lexicon.structures[self.structure].abnormal
        return self.finding

    @cached_property
    def rules_out(self) -> frozenset[str]:
        """The areas in which this normal or denied mention excludes findings."""
        if self.normal:
            return self.lexicon.structures[self.structure].rules_out
        if self.finding:
            return self.kind.rules_out
        return _NONE

    @cached_property
    def weight(self) -> Severity:
        """The severity of leaving this finding out, or of making it up.

        One less where it is borderline or only possible. Of several readings the gravest counts.
        """
        severity = self._plain(self.finding)
        is_old = self.acuity == _OLD and self.kind.urgent_if_acute
        if self.doubted or is_old or max(self.levels, default=1) == 0:
            severity = _EASED[severity]
        for name in self.also:
            reading = self._plain(name)
            if name in self.possible:
                reading = _EASED[reading]
            severity = max(severity, reading)
        return severity

    def _plain(self, name: str) -> Severity:
        """Return the severity of a finding with these levels and places, as if it were certain."""
        finding = self.lexicon.findings[name]
        severity = finding.severity
        if finding.graded and self.levels:
            grades = self._grades(finding)
            # "Small to moderate" is taken for small.
            severity = min(grades)
        if not self.is_safe(finding):
            severity = max(severity, 3)  # it has to be moved
        # Words that leave a good place open are not taken for a bad one.
        placed = [finding.placed.get(tag, severity) for tag in self.places]
        return max(severity, min(placed, default=severity))

    def _grades(self, finding: FindingEntry) -> list[Severity]:
        """Return the severity of a finding at each of these levels."""
        by_level: dict[int, Severity] = {}
        for name, grade in finding.graded.items():
            by_level[self.lexicon.levels[name]] = grade
        return [by_level.get(level, finding.severity) for level in self.levels]

    def is_safe(self, finding: FindingEntry) -> bool:
        """Return whether a tube's distance from the carina is safe or not stated."""
        if self.acts:
            return False
        if not finding.safe or not self.sizes:
            return True
        least, most = finding.safe
        return least <= max(self.sizes) <= most

    def agrees_in_side(self, other: Mention) -> bool:
        """Return whether not each of the two is on a side where the other is not."""
        if not self.sides or not other.sides:
            return True
        return not self.sides.isdisjoint(other.sides)

    def agrees_in_site(self, other: Mention) -> bool:
        """Return whether neither the sides nor the places of the two rule each other out."""
        return self.agrees_in_place(other) and self.agrees_in_side(other)

    def agrees_in_place(self, other: Mention) -> bool:
        """Return whether no places of one kind, such as lobes, rule each other out.

        The lobe in which a chest tube lies says nothing of whether it lies well.
        """
        if not self.places or not other.places or self.places & other.places:
            return True
        domains = self.lexicon.domains
        ours = {domains.get(tag, "line") for tag in self.places}
        theirs = {domains.get(tag, "line") for tag in other.places}
        return ours.isdisjoint(theirs)

    def contrasts_with(self, other: Mention) -> str:
        """Return the contrast in which the two differ, such as calcification; else "".

        A trait that only one of them states is no difference.
        """
        if not self.traits or not other.traits or self.traits == other.traits:
            return ""
        ours = self._traits_by_contrast()
        theirs = other._traits_by_contrast()
        for name, values in ours.items():
            if name in theirs and values.isdisjoint(theirs[name]):
                return name
        return ""

    def _traits_by_contrast(self) -> dict[str, set[str]]:
        contrast_of = self.lexicon.contrast_of
        traits: dict[str, set[str]] = {}
        for trait in sorted(self.traits):
            traits.setdefault(contrast_of[trait], set()).add(trait)
        return traits

    def agrees_in_age(self, other: Mention) -> bool:
        """Return whether not one of the two is acute and the other old."""
        if not self.acuity or not other.acuity:
            return True
        return not self.acuity.isdisjoint(other.acuity)

    def size_ratio(self, other: Mention) -> float:
        """Return the larger of the two lengths over the smaller; 1 without both."""
        if not self.sizes or not other.sizes:
            return 1.0
        small, large = sorted((max(self.sizes), max(other.sizes)))
        if small <= 0:
            return 1.0
        return large / small

    def share_ratio(self, other: Mention) -> float:
        """Return the larger of the two shares over the smaller; 1 where they are about the same.

        Estimates by eye that are less than ten points apart are about the same.
        """
        if not self.shares or not other.shares:
            return 1.0
        small, large = sorted((max(self.shares), max(other.shares)))
        if large - small < _SAME_POINTS:
            return 1.0
        if small <= 0:
            return math.inf
        return large / small

    def related(self, other: Mention) -> bool:
        """Return whether the two may be of one finding, by their names alone."""
        pairs = product(self.readings, other.readings)
        return any(self.lexicon.related(name, named) for name, named in pairs)

    def denies_as(self, other: Mention) -> bool:
        """Return whether the other negative is of the same finding or structure, and side."""
        same = (self.finding, self.structure) == (other.finding, other.structure)
        return same and self.agrees_in_side(other)

    def against(self, mention: Mention) -> int:
        """Return how this negative is contrary to a finding: 1 as its denial, 2 as that of a wider
        finding, 3 as a part that is called normal; 0 where both may be so.
        """
        if not self.agrees_in_side(mention) or not self.agrees_in_age(mention):
            return 0
        # "No large effusion" leaves a small one open.
        if self.levels and self.levels.isdisjoint(mention.levels):
            return 0
        if self.traits and self.contrasts_with(mention):
            return 0
        if self.finding == mention.finding:
            return 1
        if mention.kind.implies and self.kind_denied in mention.kind.implies:
            return 2
        if self.finding in mention.kind.kind_of:
            return 2
        if mention.kind.area not in self.rules_out:
            return 0
        # "No acute disease" denies nothing that is old or not actionable.
        is_passed_over = mention.acuity == _OLD or mention.weight == 1
        if self.finding and is_passed_over:
            return 0
        return 3


_COMPARED = tuple(part.name for part in fields(Mention) if part.compare)

Pair = tuple[Mention, Mention]
"""A reference mention and the candidate's mention of the same thing."""


def group_mentions(mentions: list[Mention]) -> list[list[Mention]]:
    """Return the mentions of each finding, in order of the first of them.

    Mentions that share a name and that neither side, place nor size tells apart are of one finding.
    """
    findings: list[list[Mention]] = []
    for mention in mentions:
        for finding in findings[:MOST]:
            if _are_of_one(finding[0], mention):
                finding.append(mention)
                break
        else:
            findings.append([mention])
    return findings


def _are_of_one(first: Mention, mention: Mention) -> bool:
    """Return whether two mentions share a name and nothing tells them apart."""
    names = {*first.names}
    if names.isdisjoint(mention.names) or first.contrasts_with(mention):
        return False
    if not first.agrees_in_site(mention):
        return False
    return first.size_ratio(mention) < SAME_SIZE
