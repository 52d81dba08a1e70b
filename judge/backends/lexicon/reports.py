"""What each report says, and which mentions of the two are of the same thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mention import MOST, SAME_SIZE, Mention, Pair
from judge.backends.lexicon.reading import read
from judge.types import Side

WHOLE = ("", "chest")
"""The structures of which a change is one of the whole study."""


class Report:
    """What one report says.

    `present` and `denied` hold the mentions by finding, `normal` what is denied or called normal,
    `changes` what is said to have changed in the study as a whole.
    """

    def __init__(self, text: str, side: Side, lexicon: Lexicon) -> None:
        self.side, self.lexicon = side, lexicon
        self.said = read(text, lexicon)
        self.present: defaultdict[str, list[Mention]] = defaultdict(list)
        self.denied: defaultdict[str, list[Mention]] = defaultdict(list)
        self.changes: frozenset[str] = frozenset()
        for mention in self.said:
            if mention.positive:
                for name in dict.fromkeys(mention.names):
                    self.present[name].append(mention)
            elif mention.finding:
                self.denied[mention.finding].append(mention)
            elif mention.structure in WHOLE:
                self.changes |= mention.changes
        self.normal = [mention for mention in self.said if mention.negative][: 2 * MOST]

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return what is present under any of the `wanted` names or readings."""
        return [mention for name in wanted for mention in self.present.get(name, ())[:MOST]]

    def twin(self, mention: Mention) -> Mention | None:
        """Return what repeats `mention`, under its name or a related one, the same name first."""
        related = self.lexicon.related
        names = [name for name in self.present if any(related(name, n) for n in mention.names)]
        twins = [
            other
            for other in self.named(names)
            if other.agrees_in_site(mention) and other.agrees_in_age(mention)
        ]
        return min(twins, key=lambda n: (n.finding != mention.finding, n.sentence), default=None)

    def contrary(self, mention: Mention) -> list[Mention]:
        """Return what this report says that cannot be where `mention` is so.

        Its denial first, then that of a wider finding, then a part that is called normal.
        """
        against = [normal for normal in self.normal if normal.against(mention)]
        return sorted(against, key=lambda normal: normal.against(mention))

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        return all(
            name not in self.present
            and any(not denied.levels for denied in self.denied.get(name, ())[:MOST])
            for name in wanted
        )


class Alignment(NamedTuple):
    """`same` are equal pairs, `pairs` differ in something; the rest has no partner."""

    same: list[Pair]
    pairs: list[Pair]
    only_reference: list[Mention]
    only_candidate: list[Mention]


def align(reference: Report, candidate: Report) -> Alignment:
    """Pair the mentions of two reports, equal ones first, each with one partner at most.

    What a report repeats in the same words counts once. Only findings that are present are
    paired with a differing one.
    """
    ours, theirs = (
        {mention: mention for mention in reversed(report.said)} for report in (reference, candidate)
    )
    same = [(first, theirs[first]) for first in reversed(ours.values()) if first in theirs]
    left = [first for first in reversed(ours.values()) if first not in theirs]
    right = [first for first in reversed(theirs.values()) if first not in ours]
    pairs = _closest(left, right)
    paired = {id(mention) for pair in pairs for mention in pair}
    alone = ([mention for mention in side if id(mention) not in paired] for side in (left, right))
    return Alignment(same, pairs, *alone)


def _closest(left: Sequence[Mention], right: Sequence[Mention]) -> list[Pair]:
    options: list[tuple[float, int, int]] = []
    for i, mention in enumerate(left):
        likely = (
            (-likeness, i, j)
            for j, other in enumerate(right)
            if mention.positive and other.positive and (likeness := _likeness(mention, other)) > 0
        )
        options += islice(likely, MOST)
    partners: dict[int, int] = {}
    for _, i, j in sorted(options):
        if i not in partners and j not in partners.values():
            partners[i] = j
    return [(left[i], right[j]) for i, j in sorted(partners.items())]


def _likeness(mention: Mention, other: Mention) -> float:
    """Return how likely two differing mentions are of one finding; 0 or less: they are not."""
    if mention.finding == other.finding:
        score = 8.0
    elif not set(mention.names).isdisjoint(other.names):
        score = 5.0
    elif mention.related(other):
        score = 3.0
    elif mention.agrees_in_site(other) and _shadows(mention) & _shadows(other):
        score = 1.0
    else:
        return 0.0
    if mention.sides == other.sides:
        score += 2.0 * bool(mention.sides)
    elif mention.sides and other.sides:
        score -= 0.5 if mention.sides & other.sides else 3.0
    if not mention.agrees_in_age(other):
        score -= 2.0
    if mention.places and other.places:
        score += 1.0 if mention.places & other.places else -1.5
    if mention.sizes and other.sizes:
        score += 1.5 if mention.size_ratio(other) < SAME_SIZE else -1.0
    alike = bool(mention.levels & other.levels) + (mention.changes == other.changes)
    return score + 0.5 * alike


def _shadows(mention: Mention) -> set[str]:
    return {mention.lexicon.findings[name].shadow for name in mention.names} - {""}
