"""Findings of two reports and their matches as values, and as the items of an annotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judge.rubrics.attributes.declared import (
    ADDED,
    ATTRIBUTES,
    CANDIDATE,
    ERROR_TYPE,
    FALSE,
    GRADE,
    GRADE_OF,
    JUDGED,
    MATCH,
    MEASURED,
    MISSING,
    MISTAKE,
    NOT_ACTIONABLE,
    NOT_STATED,
    OMITTED,
    QUOTATION,
    REFERENCE,
    SIDES,
    SIZE,
    TRIAGE,
    WRONG_MAJOR,
    WRONG_MINOR,
    wrong_attributes,
)
from judge.rubrics.attributes.sizes import Size, compare_sizes, find_sizes
from judge.types import Annotation, Item, Side


@dataclass(frozen=True, slots=True)
class Finding:
    """One abnormal finding of a report, with the passages that tell of it and its sizes."""

    text: str
    triage: str
    quotations: tuple[str, ...]
    sizes: tuple[Size, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Findings of both reports that are of the same thing, by their positions from 0.

    `verdicts` has one for each attribute that the judge decides on; the size is compared. The
    explanation is of what is wrong, empty where nothing is.
    """

    places: Mapping[Side, tuple[int, ...]]
    verdicts: Mapping[str, str]
    explanation: str = ""


Findings = Mapping[Side, Sequence[Finding]]
"""The findings of each report, in its order."""


def to_annotation(findings: Findings, matches: Sequence[Match]) -> Annotation:
    """Return the findings, what they quote and measure, the matches and the errors, in this order.

    A finding is linked with its quotations and sizes, a match and an error with their findings. A
    finding in no match is missing, or false.
    """
    items: list[Item] = []
    n_findings = sum(len(findings[side]) for side in SIDES)
    parts: dict[tuple[str, Side, str], int] = {}
    for side in SIDES:
        for finding in findings[side]:
            links = []
            for kind, text in _parts(finding):
                place = parts.setdefault((kind, side, text), n_findings + len(parts))
                links.append(place)
            labels = {TRIAGE.name: (finding.triage,)}
            items.append(
                Item(f"{side}_finding", finding.text, labels, side, tuple(links))
            )
    items += [Item(kind, text, side=side) for kind, side, text in parts]
    errors: list[Item] = []
    matched: set[int] = set()
    for match in matches:
        item, of_match = _match_items(match, findings)
        matched.update(item.links)
        items.append(item)
        errors += of_match
    alone = [place for place in range(n_findings) if place not in matched]
    return Annotation((*items, *(_alone(items, place) for place in alone), *errors))


def _parts(finding: Finding) -> list[tuple[str, str]]:
    """Return the quotations and sizes of a finding, each with its kind."""
    parts = [(QUOTATION.name, text) for text in finding.quotations]
    parts += [(MEASURED.name, size.text) for size in finding.sizes]
    return parts


def _match_items(match: Match, findings: Findings) -> tuple[Item, list[Item]]:
    """Return a match and the errors of its attributes, of which the size is decided here."""
    ours = [findings["reference"][place] for place in match.places["reference"]]
    theirs = [findings["candidate"][place] for place in match.places["candidate"]]
    verdicts = {**match.verdicts, SIZE: _verdict_on_size(ours, theirs)}
    labels = {}
    for attribute in ATTRIBUTES:
        if verdicts[attribute] != NOT_STATED:
            labels[attribute] = (verdicts[attribute],)
    n_ours = len(findings["reference"])
    links = (
        *match.places["reference"],
        *(n_ours + place for place in match.places["candidate"]),
    )
    errors = []
    for attribute in wrong_attributes(labels):
        text = match.explanation
        if attribute == SIZE:
            said = _texts(_sizes(ours)), _texts(_sizes(theirs))
            text = "The reference says {}, the candidate {}.".format(*said)
        of_error = {
            ERROR_TYPE.name: (attribute,),
            GRADE.name: (GRADE_OF[verdicts[attribute]],),
        }
        errors.append(Item(MISTAKE.name, text, of_error, links=links))
    return Item(MATCH.name, _both(ours, theirs), labels, links=links), errors


def _both(ours: Sequence[Finding], theirs: Sequence[Finding]) -> str:
    text = "; ".join(finding.text for finding in ours)
    also = "; ".join(finding.text for finding in theirs)
    if text.casefold() == also.casefold():
        return text
    return f"{text} (candidate: {also})"


def _verdict_on_size(ours: Sequence[Finding], theirs: Sequence[Finding]) -> str:
    of_reference = _sizes(ours)
    of_candidate = _sizes(theirs)
    if of_reference and of_candidate:
        return compare_sizes(of_reference, of_candidate)
    if of_reference:
        return OMITTED
    if of_candidate:
        return ADDED
    return NOT_STATED


def _sizes(findings: Sequence[Finding]) -> list[Size]:
    return [size for finding in findings for size in finding.sizes]


def _texts(sizes: Sequence[Size]) -> str:
    return ", ".join(size.text for size in sizes)


def _alone(items: Sequence[Item], place: int) -> Item:
    """Return the error of the finding at a position, which is in no match."""
    finding = items[place]
    mistake = MISSING
    if finding.side == "candidate":
        mistake = FALSE
    verdict = WRONG_MAJOR
    if finding.label(TRIAGE.name) == NOT_ACTIONABLE:
        verdict = WRONG_MINOR
    labels = {ERROR_TYPE.name: (mistake,), GRADE.name: (GRADE_OF[verdict],)}
    return Item(MISTAKE.name, finding.text, labels, finding.side, (place,))


def to_findings(
    annotation: Annotation,
) -> tuple[dict[Side, list[Finding]], list[Match]]:
    """Return the findings and matches: the inverse of `to_annotation`.

    Raises ValueError for an annotation that is not made of findings and matches alone.
    """
    items = [replace(item, warnings=()) for item in annotation.items]
    findings: dict[Side, list[Finding]] = {side: [] for side in SIDES}
    explained: dict[tuple[int, ...], str] = {}
    try:
        for item in items:
            if item.kind in (REFERENCE.name, CANDIDATE.name) and item.side:
                linked = [items[link] for link in item.links]
                findings[item.side].append(_finding(item, linked))
            elif item.kind == MISTAKE.name and item.label(ERROR_TYPE.name) != SIZE:
                explained[item.links] = item.text
        n_ours = len(findings["reference"])
        matches = [
            _match(item, n_ours, explained) for item in items if item.kind == MATCH.name
        ]
        made = to_annotation(findings, matches)
    except (IndexError, KeyError) as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    if made != replace(annotation, items=tuple(items)):
        raise ValueError("a reply holds findings and their matches alone")
    return findings, matches


def _finding(item: Item, linked: Sequence[Item]) -> Finding:
    sizes: list[Size] = []
    quotations = []
    for part in linked:
        if part.kind == MEASURED.name:
            sizes += find_sizes(part.text)
        else:
            quotations.append(part.text)
    return Finding(item.text, item.label(TRIAGE.name), tuple(quotations), tuple(sizes))


def _match(item: Item, n_ours: int, explained: Mapping[tuple[int, ...], str]) -> Match:
    verdicts: dict[str, str] = {}
    for attribute in JUDGED:
        (verdicts[attribute],) = item.labels.get(attribute, (NOT_STATED,))
    ours = tuple(link for link in item.links if link < n_ours)
    theirs = tuple(link - n_ours for link in item.links if link >= n_ours)
    places: dict[Side, tuple[int, ...]] = {"reference": ours, "candidate": theirs}
    return Match(places, verdicts, explained.get(item.links, ""))
