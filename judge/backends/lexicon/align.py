"""Finds which mention of the candidate speaks of which mention of the reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed

_MOST_PARTNERS = 64
"""A mention is compared with no more than this many: so that time stays linear."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference mention and the candidate's mention of the same thing."""

    reference: Placed
    candidate: Placed


@dataclass(frozen=True, slots=True)
class Alignment:
    """`same` are equal pairs, `pairs` differ in something; the rest has no partner."""

    same: tuple[Pair, ...]
    pairs: tuple[Pair, ...]
    only_reference: tuple[Placed, ...]
    only_candidate: tuple[Placed, ...]


def align(reference: Sequence[Placed], candidate: Sequence[Placed], lexicon: Lexicon) -> Alignment:
    """Pair the mentions of two reports, equal ones first, each with one partner at most.

    Equal mentions that are left over in one report count once. Only findings that are
    present are paired with a differing one.
    """
    waiting: dict[Mention, list[Placed]] = defaultdict(list)
    for placed in reversed(candidate):
        waiting[placed.mention].append(placed)
    same: list[Pair] = []
    rest: list[Placed] = []
    for placed in reference:
        partners = waiting.get(placed.mention)
        if partners:
            same.append(Pair(placed, partners.pop()))
        else:
            rest.append(placed)
    used = {id(pair.candidate) for pair in same}
    left = _distinct(rest)
    right = _distinct(placed for placed in candidate if id(placed) not in used)
    pairs = _closest(left, right, lexicon)
    paired = {id(pair.reference) for pair in pairs} | {id(pair.candidate) for pair in pairs}
    return Alignment(
        same=tuple(same),
        pairs=tuple(pairs),
        only_reference=tuple(one for one in left if id(one) not in paired),
        only_candidate=tuple(one for one in right if id(one) not in paired),
    )


def names(mention: Mention) -> tuple[str, ...]:
    """Return the finding and the readings that are offered for it."""
    return (mention.finding, *mention.also)


def readings(mention: Mention) -> tuple[str, ...]:
    """Return what a mention makes of its shadow: the readings, or the finding itself."""
    return mention.also or (mention.finding,)


def related(one: Mention, other: Mention, lexicon: Lexicon) -> bool:
    """Return whether two mentions may be of one finding, by their names alone."""
    return any(lexicon.related(a, b) for a in names(one) for b in names(other))


def agree_in_site(one: Mention, other: Mention) -> bool:
    """Return whether neither the sides nor the places of two mentions rule each other out."""
    sides = not one.sides or not other.sides or bool(one.sides & other.sides)
    places = not one.places or not other.places or bool(one.places & other.places)
    return sides and places


def _distinct(placed: Iterable[Placed]) -> list[Placed]:
    return list({one.mention: one for one in reversed(list(placed))}.values())[::-1]


def _closest(left: Sequence[Placed], right: Sequence[Placed], lexicon: Lexicon) -> list[Pair]:
    options: list[tuple[float, int, int]] = []
    positive = [at for at, one in enumerate(right) if one.mention.positive]
    for i, one in enumerate(left):
        if not one.mention.positive:
            continue
        tried = 0
        for j in positive:
            likeness = _likeness(one.mention, right[j].mention, lexicon)
            if likeness > 0:
                options.append((-likeness, i, j))
                tried += 1
                if tried == _MOST_PARTNERS:
                    break
    options.sort()
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in options:
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return [Pair(left[i], right[j]) for i, j in sorted(pairs.items())]


def _likeness(one: Mention, other: Mention, lexicon: Lexicon) -> float:
    """Return how likely two differing mentions are of one finding; 0 or less: they are not."""
    if one.finding == other.finding:
        score = 8.0
    elif set(names(one)) & set(names(other)):
        score = 5.0
    elif related(one, other, lexicon):
        score = 3.0
    elif _one_shadow(one, other, lexicon) and agree_in_site(one, other):
        score = 1.0
    else:
        return 0.0
    if one.sides and other.sides:
        shared = one.sides & other.sides
        score += (2.0 if one.sides == other.sides else -0.5) if shared else -3.0
    if one.places and other.places:
        score += 1.0 if one.places & other.places else -1.5
    if one.levels & other.levels:
        score += 0.5
    if one.changes == other.changes:
        score += 0.5
    return score


def _one_shadow(one: Mention, other: Mention, lexicon: Lexicon) -> bool:
    groups = {lexicon.findings[name].shadow for name in names(one)} - {""}
    return bool(groups & {lexicon.findings[name].shadow for name in names(other)})
