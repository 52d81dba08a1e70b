"""What each report states, and whether the other says the same, says otherwise or says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from judge.backends.lexicon.errors import differences
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import Alignment, Pair, ReadReport, Reports, clash, rules_out
from judge.types import Category, Side, Statement

_OTHERWISE = {Category.WRONG_LOCATION, Category.WRONG_SEVERITY}
"""Differences by which each report says otherwise than the other."""
_MORE: Mapping[Side, set[Category]] = {
    "reference": {Category.MISSING_FINDING, Category.OMITTED_COMPARISON},
    "candidate": {Category.FALSE_FINDING, Category.FALSE_COMPARISON},
}
"""Differences by which a report says more than the other."""


def statements(reports: Reports, alignment: Alignment) -> tuple[Statement, ...]:
    """Return what both reports state, the reference's first, each in its own words and once."""
    pairs = [*alignment.same, *alignment.pairs]
    swapped = [(other, one) for one, other in pairs]
    return (
        *_of(reports.reference, reports.candidate, "reference", dict(pairs), reports),
        *_of(reports.candidate, reports.reference, "candidate", dict(swapped), reports),
    )


def _of(
    report: ReadReport,
    other: ReadReport,
    side: Side,
    partners: Mapping[Mention, Mention],
    reports: Reports,
) -> Iterator[Statement]:
    for mention in dict.fromkeys(report.said):
        if not (mention.finding or mention.normal or mention.changes):
            continue  # it says where, or how the image was taken
        partner = partners.get(mention)
        if partner is None and mention.positive:
            partner = other.twin(mention)
        if partner is not None:
            pair = (mention, partner) if side == "reference" else (partner, mention)
            verdict = _verdict(pair, side, reports)
            sentence = None if verdict == "not_mentioned" else partner.sentence
            yield Statement(side, mention.words, verdict, sentence)
        elif against := _against(mention, other):
            yield Statement(side, mention.words, "contradicted", against.sentence)
        elif same := _borne_out(mention, other):
            yield Statement(side, mention.words, "entailed", same.sentence)
        else:
            yield Statement(side, mention.words, "not_mentioned", None)


def _verdict(pair: Pair, side: Side, reports: Reports) -> str:
    one, other = pair
    if one == other or not one.positive:
        return "entailed"
    found = {error.discrepancy.category for error in differences(pair, reports)}
    if found & _OTHERWISE:
        return "contradicted"
    return "not_mentioned" if found & _MORE[side] else "entailed"


def _against(mention: Mention, other: ReadReport) -> Mention | None:
    """Return what the other report says that cannot be where this is so.

    A finding that is there is contradicted by its denial, or by a part that is called normal; what
    is denied or called normal, by a finding that is there.
    """
    if mention.positive:
        return next(iter(other.contrary(mention)), None)
    if not (mention.finding or mention.normal):
        return None
    there = dict.fromkeys(one for one in other.said if one.positive)
    return next((one for one in there if clash(mention, one, other.lexicon)), None)


def _borne_out(mention: Mention, other: ReadReport) -> Mention | None:
    if mention.positive or not (mention.finding or mention.normal):
        return None
    said: Sequence[Mention] = [
        one for one in other.said if not one.positive and (one.finding or one.normal)
    ]
    own = (mention.finding, mention.structure)
    for one in said:
        if own == (one.finding, one.structure) and _meet(one, mention):
            return one
    lexicon = other.lexicon
    areas = rules_out(mention, lexicon)
    areas |= {lexicon.findings[mention.finding].area} if mention.finding else frozenset()
    wide = (one for one in said if len(one.sides) != 1 and areas <= rules_out(one, lexicon))
    return next(wide, None) if areas else None


def _meet(one: Mention, other: Mention) -> bool:
    return not one.sides or not other.sides or bool(one.sides & other.sides)
