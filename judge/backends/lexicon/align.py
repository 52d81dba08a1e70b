"""Finds which mention of the candidate speaks of which mention of the reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import MOST, Mention

SAME_SIZE = 1.25
"""Lengths whose ratio is below this are equal."""


Pair = tuple[Mention, Mention]
"""A reference mention and the candidate's mention of the same thing."""


class Alignment(NamedTuple):
    """`same` are equal pairs, `pairs` differ in something; the rest has no partner."""

    same: list[Pair]
    pairs: list[Pair]
    only_reference: list[Mention]
    only_candidate: list[Mention]


def align(
    reference: Sequence[Mention], candidate: Sequence[Mention], lexicon: Lexicon
) -> Alignment:
    """Pair the mentions of two reports, equal ones first, each with one partner at most.

    Equal mentions that are left over in one report count once. Only findings that are
    present are paired with a differing one.
    """
    waiting: defaultdict[Mention, list[Mention]] = defaultdict(list)
    for mention in reversed(candidate):
        waiting[mention].append(mention)
    same = [(mention, waiting[mention].pop()) for mention in reference if waiting[mention]]
    left, right = _others(reference, same), _others(candidate, same)
    pairs = _closest(left, right, lexicon)
    return Alignment(same, pairs, _others(left, pairs), _others(right, pairs))


def _others(mentions: Iterable[Mention], pairs: Sequence[Pair]) -> list[Mention]:
    """Return the mentions that are in none of the pairs, equal ones once."""
    paired = {id(mention) for pair in pairs for mention in pair}
    alone = [mention for mention in mentions if id(mention) not in paired]
    return list({mention: mention for mention in reversed(alone)}.values())[::-1]


def ratio(ones: frozenset[float], others: frozenset[float]) -> float:
    """Return the largest length of one over that of the other, at least 1; 1 without both."""
    if not ones or not others:
        return 1.0
    small, large = sorted((max(ones), max(others)))
    return large / small if small > 0 else 1.0


def _closest(left: Sequence[Mention], right: Sequence[Mention], lexicon: Lexicon) -> list[Pair]:
    options: list[tuple[float, int, int]] = []
    for i, one in enumerate(left):
        if one.positive:
            likely = (
                (-likeness, i, j)
                for j, other in enumerate(right)
                if other.positive and (likeness := _likeness(one, other, lexicon)) > 0
            )
            options += islice(likely, MOST)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(options):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return [(left[i], right[j]) for i, j in sorted(pairs.items())]


def _likeness(one: Mention, other: Mention, lexicon: Lexicon) -> float:
    """Return how likely two differing mentions are of one finding; 0 or less: they are not."""
    if one.finding == other.finding:
        score = 8.0
    elif set(one.names) & set(other.names):
        score = 5.0
    elif one.related(other, lexicon):
        score = 3.0
    elif _one_shadow(one, other, lexicon) and one.agrees_in_site(other):
        score = 1.0
    else:
        return 0.0
    if one.sides and other.sides:
        shared = one.sides & other.sides
        score += (2.0 if one.sides == other.sides else -0.5) if shared else -3.0
    if one.places and other.places:
        score += 1.0 if one.places & other.places else -1.5
    if one.sizes and other.sizes:
        score += 1.5 if ratio(one.sizes, other.sizes) < SAME_SIZE else -1.0
    if one.levels & other.levels:
        score += 0.5
    if one.changes == other.changes:
        score += 0.5
    return score


def _one_shadow(one: Mention, other: Mention, lexicon: Lexicon) -> bool:
    groups = {lexicon.findings[name].shadow for name in one.names} - {""}
    return bool(groups & {lexicon.findings[name].shadow for name in other.names})
