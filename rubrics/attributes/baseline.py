"""What the built-in judge says of two reports in the rubric's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.rubrics.attributes.declared import (
    ACTIONABLE,
    ADDED,
    JUDGED,
    NOT_ACTIONABLE,
    NOT_STATED,
    OMITTED,
    RIGHT,
    SIDES,
    URGENT,
    WRONG_MAJOR,
    WRONG_MINOR,
)
from judge.rubrics.attributes.findings import Finding, Match, to_annotation
from judge.rubrics.attributes.sizes import Size, find_sizes
from judge.rubrics.quotations import quotable
from judge.rubrics.replies import word_key
from judge.sentences import lines
from judge.types import (
    Annotation,
    Aspect,
    ReportComparison,
    ReportFinding,
    Side,
    Study,
)

_SAME_MM = 0.01
_BY_SEVERITY = {4: URGENT, 3: URGENT, 2: ACTIONABLE, 1: NOT_ACTIONABLE}


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return the findings of both reports and their matches, found by rules.

    Findings that match, directly or by way of others, are in one match.
    """
    reports: dict[Side, str] = {
        "reference": study.reference,
        "candidate": study.candidate,
    }
    findings: dict[Side, list[Finding]] = {side: [] for side in SIDES}
    # Where each finding of the comparison stands among those of its report.
    places: list[int] = []
    for found in comparison.findings:
        of_side = findings[found.side]
        places.append(len(of_side))
        of_side.append(_finding(found, reports[found.side]))
    matches = []
    for group in _groups(comparison.findings):
        of_match: dict[Side, list[int]] = {side: [] for side in SIDES}
        for number in group:
            of_match[comparison.findings[number].side].append(places[number])
        matches.append(_match(of_match, group, comparison))
    return to_annotation(_told_apart(findings, matches), matches)


def _finding(found: ReportFinding, report: str) -> Finding:
    known = quotable(report)
    sentences = lines(report)
    quotations: dict[str, None] = {}
    for number in found.sentences:
        words = known.find(sentences[number])
        if words is not None:
            quotations[words] = None
    sizes: dict[str, Size] = {}
    for quotation in quotations:
        for size in find_sizes(quotation):
            if any(abs(size.longest - length) < _SAME_MM for length in found.sizes):
                sizes[size.text] = size
    return Finding(
        " ".join(found.text.split()),
        _BY_SEVERITY[found.severity],
        tuple(quotations),
        tuple(sizes.values()),
    )


def _told_apart(
    findings: Mapping[Side, Sequence[Finding]], matches: Sequence[Match]
) -> dict[Side, list[Finding]]:
    """Return the findings, those in words that another has already with a remark behind them.

    "Effusion" may be two findings of a report, and one that is missing and another that is false.
    """
    matched = {place for match in matches for place in match.places["reference"]}
    missing: set[str] = set()
    for place, finding in enumerate(findings["reference"]):
        if place not in matched:
            missing.add(word_key(finding.text))
    apart: dict[Side, list[Finding]] = {}
    for side in SIDES:
        said: set[str] = set()
        apart[side] = []
        for number, finding in enumerate(findings[side], 1):
            text = finding.text
            if side == "candidate" and word_key(text) in missing:
                text = f"{text} (elsewhere)"
            if word_key(text) in said:
                text = f"{text} (finding {number})"
            said.add(word_key(text))
            apart[side].append(replace(finding, text=text))
    return apart


def _groups(findings: Sequence[ReportFinding]) -> list[list[int]]:
    """Return the positions of the findings that match one another, in order of the first."""
    groups: list[list[int]] = []
    seen: set[int] = set()
    for number, finding in enumerate(findings):
        if number in seen or not finding.partners:
            continue
        group = [number]
        seen.add(number)
        for member in group:
            for partner in findings[member].partners:
                if partner not in seen:
                    seen.add(partner)
                    group.append(partner)
        groups.append(sorted(group))
    return groups


def _match(
    places: Mapping[Side, Sequence[int]],
    group: Sequence[int],
    comparison: ReportComparison,
) -> Match:
    stated: dict[Side, set[Aspect]] = {side: set() for side in SIDES}
    for number in group:
        finding = comparison.findings[number]
        stated[finding.side] |= finding.aspects
    verdicts: dict[str, str] = {}
    for aspect in JUDGED:
        verdicts[aspect] = _agreement(
            in_reference=aspect in stated["reference"],
            in_candidate=aspect in stated["candidate"],
        )
    # Each text once: one pair of findings may differ in several aspects.
    texts: dict[str, None] = {}
    for difference in comparison.aspect_differences:
        if difference.reference not in group:
            continue
        texts[difference.text] = None
        if not difference.is_negligible:
            verdicts[difference.aspect] = WRONG_MAJOR
        elif verdicts[difference.aspect] != WRONG_MAJOR:
            verdicts[difference.aspect] = WRONG_MINOR
    of_match = {side: tuple(places[side]) for side in SIDES}
    return Match(of_match, verdicts, " ".join(texts))


def _agreement(*, in_reference: bool, in_candidate: bool) -> str:
    if in_reference and in_candidate:
        return RIGHT
    if in_reference:
        return OMITTED
    if in_candidate:
        return ADDED
    return NOT_STATED
