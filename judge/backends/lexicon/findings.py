"""The abnormal findings of two reports, which of them match, and what is said otherwise of those.

A finding stands here once, however often its report speaks of it, and how many a report has
does not depend on the other report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.errors import Found
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import MOST, SAME_SIZE, Pair, ReadReport, Reports, ratio, weight
from judge.types import Attribute, AttributeDifference, Category, ReportFinding, Severity, Side

_WITH_AGE = frozenset({"aortic_calcification", "degenerative_spine", "tortuous_aorta"})
"""What is expected in the elderly [Baharoon et al. 2026]."""

_URGENT = 3
_ATTRIBUTES: dict[Category, Attribute] = {
    Category.FALSE_FINDING: "overinterpretation",
    Category.MISSING_FINDING: "unspecific",
    Category.WRONG_LOCATION: "location",
    Category.WRONG_SEVERITY: "severity",
    Category.FALSE_COMPARISON: "temporal",
    Category.OMITTED_COMPARISON: "temporal",
}


@dataclass(slots=True)
class _Finding:
    """A finding: the mention that names it first, and the gravest weight of all of them.

    One of the reference weighs no less than what the candidate says otherwise of it.
    """

    side: Side
    mention: Mention
    severity: Severity
    partners: set[int]


def told_apart(
    reports: Reports, pairs: Iterable[Pair], found: Iterable[Found]
) -> tuple[tuple[ReportFinding, ...], tuple[AttributeDifference, ...]]:
    """Return the abnormal findings of both reports, the reference's first, and how they differ.

    `pairs` are the mentions that are of the same thing, `found` the errors about them.
    """
    findings: list[_Finding] = []
    at: dict[int, int] = {}
    _gather(reports.reference, "reference", findings, at)
    _gather(reports.candidate, "candidate", findings, at)
    # One difference of an attribute for each two findings, the gravest.
    gravest: dict[tuple[int, int, Attribute], tuple[Severity, str]] = {}
    errors = [one for one in found if one.pair is not None]
    read = {_ids(one.pair) for one in errors if one.pair and _attribute(one) in _READINGS}
    told: list[tuple[Pair, Attribute, Severity, str]] = [
        (one.pair, _attribute(one), one.discrepancy.severity, one.discrepancy.text)
        for one in errors
        if one.pair
    ]
    for pair in pairs:
        if id(pair[0]) in at and id(pair[1]) in at:
            first, second = (at[id(mention)] for mention in pair)
            findings[first].partners.add(second)
            findings[second].partners.add(first)
            told += _certainty(pair, reports.lexicon)
            told += () if _ids(pair) in read else _precision(pair, reports)
    for pair, attribute, severity, text in told:
        if id(pair[0]) in at and id(pair[1]) in at:
            key = (at[id(pair[0])], at[id(pair[1])], attribute)
            if key not in gravest or gravest[key][0] < severity:
                gravest[key] = (severity, text)
            reference = findings[key[0]]
            reference.severity = max(reference.severity, severity)
    made = tuple(
        ReportFinding(
            one.side,
            one.mention.words,
            one.severity,
            one.mention.finding in _WITH_AGE,
            tuple(sorted(one.partners)),
        )
        for one in findings
    )
    differences = (
        AttributeDifference(*key, severity == 1, text)
        for key, (severity, text) in sorted(gravest.items())
    )
    return made, tuple(differences)


_READINGS = ("unspecific", "overinterpretation")


def _ids(pair: Pair) -> tuple[int, int]:
    return id(pair[0]), id(pair[1])


def _attribute(found: Found) -> Attribute:
    return found.attribute or _ATTRIBUTES[found.discrepancy.category]


def _gather(report: ReadReport, side: Side, findings: list[_Finding], at: dict[int, int]) -> None:
    """Add a report's findings to `findings`, and to `at` where each of their mentions went.

    Mentions that share a name and that neither side, place nor size tells apart are of one
    finding.
    """
    lexicon, first = report.lexicon, len(findings)
    for mention in report.said:
        if not mention.positive or not lexicon.findings[mention.finding].abnormal:
            continue
        known = (
            number
            for number, one in enumerate(findings[first : first + MOST], first)
            if is_same(one.mention, mention)
        )
        number = next(known, len(findings))
        severity = weight(mention, lexicon)
        if number == len(findings):
            findings.append(_Finding(side, mention, severity, set()))
        findings[number].severity = max(findings[number].severity, severity)
        at[id(mention)] = number


def is_same(one: Mention, other: Mention) -> bool:
    """Return whether two mentions of one report are of the same finding."""
    is_named = not set(one.names).isdisjoint(other.names)
    return is_named and one.agrees_in_site(other) and ratio(one.sizes, other.sizes) < SAME_SIZE


def _certainty(pair: Pair, lexicon: Lexicon) -> Sequence[tuple[Pair, Attribute, Severity, str]]:
    """Return the difference of a finding that only one report is certain of.

    It matters where the finding is urgent when certain.
    """
    one, other = pair
    if one.doubted == other.doubted:
        return ()
    certain = other if one.doubted else one
    own = weight(certain, lexicon)
    return ((pair, "certainty", own if own >= _URGENT else 1, _told(pair, "certainty")),)


def _precision(pair: Pair, reports: Reports) -> Sequence[tuple[Pair, Attribute, Severity, str]]:
    """Return the difference of a finding that one report names more narrowly than the other.

    None where the other report has the narrower name too. It matters where the two weigh
    differently.
    """
    one, other = pair
    lexicon = reports.lexicon
    if one.acuity and other.acuity:
        return ()  # which is a difference of its own
    wider, narrower = lexicon.findings[one.finding].kind_of, lexicon.findings[other.finding].kind_of
    attribute: Attribute
    if one.finding in narrower and other.finding not in reports.reference.present:
        attribute = "overinterpretation"
    elif other.finding in wider and one.finding not in reports.candidate.present:
        attribute = "unspecific"
    else:
        return ()
    plain = [lexicon.findings[mention.finding].severity for mention in pair]
    severity: Severity = 1 if plain[0] == plain[1] else max(plain)
    return ((pair, attribute, severity, _told(pair, attribute)),)


def _told(pair: Pair, what: str) -> str:
    return f'The reference says "{pair[0].words}", the candidate "{pair[1].words}" ({what}).'
