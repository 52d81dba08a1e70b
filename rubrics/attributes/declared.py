"""What the rubric declares: findings, their matches, seven attributes, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

from judge.rubrics.categories import (
    ERROR,
    INSIGNIFICANT,
    SIGNIFICANT,
    count_items,
    count_measures,
)
from judge.rubrics.contract import Counted, Facet, Kind, Label, Measure
from judge.types import Annotation, Aspect, Measures, Side, Study

SIDES: tuple[Side, ...] = get_args(Side)
URGENT, ACTIONABLE, NOT_ACTIONABLE = "urgent", "actionable", "not_actionable"
TRIAGE = Facet(
    "triage",
    "triage level",
    "triage levels",
    labels=(
        Label(URGENT, "urgent", "critical"),
        Label(ACTIONABLE, "actionable, not urgent", "notable"),
        Label(NOT_ACTIONABLE, "not actionable", "mild"),
    ),
)
"""How soon somebody must act on a finding, by the report that has it."""

SIZE = "size"
JUDGED: tuple[Aspect, ...] = get_args(Aspect)
"""The attributes that the judge decides on."""
_LOCATION, _SIDE, *_REST = JUDGED
ATTRIBUTES: tuple[str, ...] = (_LOCATION, _SIDE, SIZE, *_REST)
"""The seven attributes of a match."""
CERTAINTY = "certainty"
RIGHT = "right"
WRONG_MINOR, WRONG_MAJOR = "wrong_minor", "wrong_major"
OMITTED, ADDED = "omitted", "added"
VERDICTS = {
    RIGHT: "right",
    WRONG_MAJOR: "wrong (major)",
    WRONG_MINOR: "wrong (minor)",
    OMITTED: "omitted",
    ADDED: "added",
}
"""What is said of one attribute of a match, and how it is printed."""
NOT_STATED = "not_stated"
"""The verdict on what neither report states: the match has no label of the attribute."""
GRADE_OF = {WRONG_MAJOR: SIGNIFICANT, WRONG_MINOR: INSIGNIFICANT}


def _verdicts(attribute: str) -> Facet:
    """Return the facet of an attribute, whose labels name it: a match has seven of them."""
    labels = [Label(name, f"{attribute} {text}") for name, text in VERDICTS.items()]
    return Facet(attribute, attribute, f"verdicts on {attribute}", tuple(labels))


FALSE, MISSING = "false_finding", "missing_finding"
ERROR_TYPE = Facet(
    "error_type",
    "type",
    "types",
    labels=(
        Label(FALSE, "false finding"),
        Label(MISSING, "missing finding"),
        *(Label(attribute, f"wrong {attribute}") for attribute in ATTRIBUTES),
    ),
)
GRADE = Facet(
    "grade",
    "grade",
    "grades",
    labels=(
        Label(SIGNIFICANT, "major", "serious", means="significant"),
        Label(INSIGNIFICANT, "minor", "mild", means="insignificant"),
    ),
)
"""An error is major that could change what is done for the patient.

A false or missing finding is major where it is urgent or actionable.
"""
FACETS = (TRIAGE, *map(_verdicts, ATTRIBUTES), ERROR_TYPE, GRADE)

REFERENCE, CANDIDATE = (
    Kind(
        f"{side}_finding",
        f"finding of the {side}",
        f"findings of the {side}",
        facets=(TRIAGE.name,),
    )
    for side in SIDES
)
MATCH = Kind("match", "match", "matches", facets=ATTRIBUTES)
QUOTATION = Kind("quotation", "quotation", "quotations")
MEASURED = Kind("size", "size", "sizes")
MISTAKE = Kind(
    ERROR, "error", "errors", (ERROR_TYPE.name, GRADE.name), graded_by=GRADE.name
)
KINDS = (REFERENCE, CANDIDATE, MATCH, QUOTATION, MEASURED, MISTAKE)

_count = partial(Measure, is_whole=True)
_FINDINGS = (REFERENCE.name, CANDIDATE.name, MATCH.name)
_share = partial(
    Measure, scale=(0, 1), higher_is_better=True, role="score", needs=_FINDINGS
)
_SHARES = (
    _share("finding_recall", "finding recall", undefined="no finding in the reference"),
    _share(
        "finding_precision",
        "finding precision",
        undefined="no finding in the candidate",
    ),
    _share("right_matches", "no wrong attribute", undefined="no matched finding"),
)
_ERRORS = count_measures(MISTAKE, GRADE, ERROR_TYPE)
_LISTS = (
    _count("n_reference_findings", REFERENCE.plural, counts=Counted(REFERENCE.name)),
    _count("n_candidate_findings", CANDIDATE.plural, counts=Counted(CANDIDATE.name)),
    _count(
        "n_matches", MATCH.plural, counts=Counted(MATCH.name), higher_is_better=True
    ),
    _count(
        "n_missing",
        "missing findings",
        counts=Counted(ERROR, {ERROR_TYPE.name: MISSING}),
    ),
    _count(
        "n_false", "false findings", counts=Counted(ERROR, {ERROR_TYPE.name: FALSE})
    ),
)


def _verdict_counts() -> list[Measure]:
    """Return of each attribute how many matches have it right, omit it, add it."""
    counts = []
    for attribute in ATTRIBUTES:
        for verdict in (RIGHT, OMITTED, ADDED):
            # A report always says whether it is certain.
            if attribute == CERTAINTY and verdict != RIGHT:
                continue
            one = _count(
                f"{attribute}_{verdict}",
                f"{attribute} {verdict}",
                higher_is_better=verdict == RIGHT,
                counts=Counted(MATCH.name, {attribute: verdict}),
            )
            counts.append(one)
    return counts


_VERDICT_COUNTS = tuple(_verdict_counts())
_of_findings = partial(_count, needs=(*_FINDINGS, URGENT))
_MATCHED = (
    _count(
        "n_reference_matched",
        "findings of the reference in a match",
        higher_is_better=True,
        needs=_FINDINGS,
    ),
    _count(
        "n_candidate_matched",
        "findings of the candidate in a match",
        higher_is_better=True,
        needs=_FINDINGS,
    ),
    _count(
        "n_right_matches",
        "matches without a wrong attribute",
        higher_is_better=True,
        needs=_FINDINGS,
    ),
    _of_findings("n_urgent_reference", "urgent findings of the reference"),
    _of_findings(
        "n_urgent_reported",
        "urgent findings of the reference in a match",
        higher_is_better=True,
    ),
    _of_findings("n_urgent_candidate", "urgent findings of the candidate"),
    _of_findings(
        "n_urgent_supported",
        "urgent findings of the candidate in a match",
        higher_is_better=True,
    ),
    _of_findings("n_urgent_missed", "urgent findings of the reference in no match"),
)
MEASURES = (*_SHARES, *_ERRORS, *_LISTS, *_MATCHED, *_VERDICT_COUNTS)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's counts, and three shares of them.

    `finding_recall`: findings of the reference in a match / all of them; `finding_precision`: the
    same of the candidate; `right_matches`: matches of which no attribute is wrong / matches. None
    where there is nothing to divide by. An attribute that one report leaves out is not wrong.
    """
    matches = annotation.of_kind(MATCH.name)
    matched: set[int] = set()
    for match in matches:
        matched.update(match.links)
    n_findings = {}
    n_matched = {}
    n_urgent = {}
    n_urgent_matched = {}
    for side in SIDES:
        places = _places(annotation, f"{side}_finding")
        urgent = {
            place
            for place in places
            if annotation.items[place].labels.get(TRIAGE.name) == (URGENT,)
        }
        n_findings[side] = len(places)
        n_matched[side] = len(places & matched)
        n_urgent[side] = len(urgent)
        n_urgent_matched[side] = len(urgent & matched)
    n_right = sum(not wrong_attributes(match.labels) for match in matches)
    reported = n_urgent_matched["reference"]
    return {
        "finding_recall": _divided(n_matched["reference"], n_findings["reference"]),
        "finding_precision": _divided(n_matched["candidate"], n_findings["candidate"]),
        "right_matches": _divided(n_right, len(matches)),
        **count_items((*_ERRORS, *_LISTS, *_VERDICT_COUNTS), annotation),
        "n_reference_matched": n_matched["reference"],
        "n_candidate_matched": n_matched["candidate"],
        "n_right_matches": n_right,
        "n_urgent_reference": n_urgent["reference"],
        "n_urgent_reported": reported,
        "n_urgent_candidate": n_urgent["candidate"],
        "n_urgent_supported": n_urgent_matched["candidate"],
        "n_urgent_missed": n_urgent["reference"] - reported,
    }


def _places(annotation: Annotation, kind: str) -> set[int]:
    return {place for place, item in enumerate(annotation.items) if item.kind == kind}


def _divided(part: int, whole: int) -> float | None:
    if whole == 0:
        return None
    return part / whole


def wrong_attributes(labels: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the attributes of a match that are wrong, major or minor, in their order."""
    wrong = []
    for attribute in ATTRIBUTES:
        if GRADE_OF.keys() & labels.get(attribute, ()):
            wrong.append(attribute)
    return wrong
