"""CRIMSON's replies: read, written, and made by rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictStr

from judge.rubrics.categories import ERROR
from judge.rubrics.crimson.measures import (
    ATTRIBUTES,
    CANDIDATE,
    FALSE,
    LEVELS,
    MATCH,
    MISSING,
    MODALITY_OF,
    NEGLIGIBLE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
)
from judge.rubrics.replies import (
    Line,
    ReplyModel,
    check_round_trip,
    denies,
    first_repeat,
    one_line,
    read_json,
    validate_reply,
)
from judge.types import (
    Annotation,
    Item,
    ReportComparison,
    ReportFinding,
    Side,
    Study,
    UnparsedError,
)

SIGNIFICANT = "significant"
"""The severity of an attribute error that is not negligible."""
_APART = re.compile(r"[\s_\-/,]+")
_SEVERAL = re.compile(r"[|;,/]")
_ALSO = {
    "extent": "severity",
    "descriptors": "descriptor",
    "morphological_descriptor": "descriptor",
    "morphological_descriptors": "descriptor",
    "measurements": "measurement",
    "comparison": "temporal",
    "nonspecific": "unspecific",
    "side": "laterality",
    "bi_rads_category": "birads",
}


def _nonempty(value: object) -> object:
    text = one_line(value)
    if text == "":
        raise ValueError("a finding has an id and words")
    return text


def _finding_text(value: object) -> object:
    text = _nonempty(value)
    if isinstance(text, str) and denies(text):
        raise ValueError("a finding that is none has no entry")
    return text


def _attributes(value: object) -> object:
    # A list or one text; "location|severity" names two.
    entries = value if isinstance(value, list) else [value]
    parts = [part for entry in entries for part in _SEVERAL.split(str(entry))]
    names = {_APART.sub("_", part.strip().lower()) for part in parts}
    names = {_ALSO.get(name, name) for name in names}
    if not names or not names <= {*ATTRIBUTES}:
        raise ValueError("error_types names at least one, and none that there is not")
    return sorted(names, key=ATTRIBUTES.index)


_Id = Annotated[StrictStr, BeforeValidator(_nonempty)]
if TYPE_CHECKING:
    _Significance = str
    _Type = str
else:
    _Significance, _Type = Literal[LEVELS], Literal[ATTRIBUTES]


class Finding(ReplyModel):
    """One abnormal finding of a report."""

    id: _Id = Field(description="R1, R2, ... in the reference, P1, P2, ... in the candidate.")
    finding: Annotated[StrictStr, BeforeValidator(_finding_text)] = Field(
        description="The finding in the report's own words."
    )
    clinical_significance: _Significance


class Match(ReplyModel):
    """Two findings that are the same, whether or not they agree in all that is said of them."""

    ref_id: _Id
    pred_id: _Id


class WrongAttribute(ReplyModel):
    """What the candidate gets wrong about a finding that both reports have."""

    optional: ClassVar = {"explanation": ""}

    ref_id: _Id
    pred_id: _Id
    severity: Literal["significant", "negligible"]
    error_types: Annotated[list[_Type], BeforeValidator(_attributes)]
    explanation: Line = Field(description="What differs, in a sentence.")


class Errors(ReplyModel):
    """What is wrong with the candidate."""

    false_findings: list[_Id] = Field(description="Ids of the candidate's that match nothing.")
    missing_findings: list[_Id] = Field(description="Ids of the reference's that match nothing.")
    attribute_errors: list[WrongAttribute]


class Reply(ReplyModel):
    """The findings of both reports, which of them match, and the errors."""

    reference_findings: list[Finding]
    predicted_findings: list[Finding]
    matched_findings: list[Match]
    errors: Errors


_Positions = Mapping[str, int]
"""The positions of findings among an annotation's items, by id."""


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the findings, matches and errors of an answer, in its order; ids become positions.

    Every finding is matched, or false or missing, once; an attribute error is of two that match.
    """
    reply = validate_reply(Reply, read_json(text))
    ours, theirs = reply.reference_findings, reply.predicted_findings
    reference, candidate = _positions(ours, 0), _positions(theirs, len(ours))
    items = [_item(finding, REFERENCE.name, "reference") for finding in ours]
    items += [_item(finding, CANDIDATE.name, "candidate") for finding in theirs]
    for findings in (ours, theirs):
        if (again := first_repeat(finding.finding for finding in findings)) is not None:
            raise UnparsedError("finding twice", again)
    errors = reply.errors
    pairs = [(match.ref_id, match.pred_id) for match in reply.matched_findings]
    _check_unique(pairs, "pair twice")
    _check_accounted(reference, {ref for ref, _ in pairs}, errors.missing_findings, "missing")
    _check_accounted(candidate, {pred for _, pred in pairs}, errors.false_findings, "false")
    items += [match_item(items, reference[ref], candidate[pred]) for ref, pred in pairs]
    items += [unmatched_item(items, candidate[one], FALSE) for one in errors.false_findings]
    items += [unmatched_item(items, reference[one], MISSING) for one in errors.missing_findings]
    _check_unique([repr(mistake) for mistake in errors.attribute_errors], "error twice")
    for mistake in errors.attribute_errors:
        pair = mistake.ref_id, mistake.pred_id
        if mistake.explanation and denies(mistake.explanation):
            raise UnparsedError("no entry", f"an attribute error: {mistake.explanation}")
        if pair not in pairs:
            raise UnparsedError("pair not matched", f"an attribute error of {' and '.join(pair)}")
        place = reference[mistake.ref_id]
        significance = items[place].label(SIGNIFICANCE.name)
        labels = {
            TYPE.name: _types(mistake.error_types, study.modality),
            SIGNIFICANCE.name: (NEGLIGIBLE if mistake.severity == NEGLIGIBLE else significance,),
        }
        links = (place, candidate[mistake.pred_id])
        items.append(Item(ERROR, mistake.explanation, labels, links=links))
    return Annotation(tuple(items))


def _types(named: Sequence[str], modality: str | None) -> tuple[str, ...]:
    types = {"location" if name == "laterality" and modality != "mg" else name for name in named}
    for name in types:
        if MODALITY_OF.get(name) not in (None, modality):
            raise UnparsedError("unknown error type", f"{name}, which is of {MODALITY_OF[name]}")
    return tuple(sorted(types, key=ATTRIBUTES.index))


def _positions(findings: Sequence[Finding], first: int) -> _Positions:
    _check_unique([finding.id for finding in findings], "id twice")
    return {finding.id: place for place, finding in enumerate(findings, first)}


def _check_unique(entries: Collection[object], reason: str) -> None:
    (most, n), *_ = Counter(entries).most_common(1) or [("", 1)]
    if n > 1:
        raise UnparsedError(reason, str(most))


def _check_accounted(
    known: _Positions, matched: Collection[str], alone: Collection[str], mistake: str
) -> None:
    _check_unique(alone, "id twice")
    named = Counter([*matched, *alone])
    if dangling := named.keys() - known.keys():
        raise UnparsedError("id of no finding", min(dangling))
    if wrong := [name for name in known if named[name] != 1]:
        raise UnparsedError("contradiction", f"{wrong[0]} is matched or {mistake}, and once")


def _item(finding: Finding, kind: str, side: Side) -> Item:
    labels = {SIGNIFICANCE.name: (finding.clinical_significance,)}
    return Item(kind, finding.finding, labels, side)


def match_item(items: Sequence[Item], reference: int, candidate: int) -> Item:
    """Return the match of the findings at two positions."""
    words, also = items[reference].text, items[candidate].text
    text = words if words.casefold() == also.casefold() else f"{words} (candidate: {also})"
    return Item(MATCH.name, text, links=(reference, candidate))


def unmatched_item(items: Sequence[Item], place: int, mistake: str) -> Item:
    """Return the error of the finding at a position, which is false or missing."""
    finding = items[place]
    labels = {TYPE.name: (mistake,), **finding.labels}
    return Item(ERROR, finding.text, labels, finding.side, (place,))


def render(annotation: Annotation) -> str:
    """Return the annotation as a reply; raises ValueError for one that no reply expresses."""
    reference, candidate = (annotation.of_kind(kind.name) for kind in (REFERENCE, CANDIDATE))
    names = [f"R{number}" for number, _ in enumerate(reference, 1)]
    names += [f"P{number}" for number, _ in enumerate(candidate, 1)]
    alone: dict[tuple[str, ...], list[str]] = {(FALSE,): [], (MISSING,): []}
    attributes, modality = [], None
    try:
        for error in annotation.of_kind(ERROR):
            types = error.labels[TYPE.name]
            modality = next(filter(None, map(MODALITY_OF.get, types)), modality)
            if types in alone:
                alone[types].append(names[error.links[0]])
                continue
            is_negligible = error.label(SIGNIFICANCE.name) == NEGLIGIBLE
            attributes.append(
                {
                    **_pair(error, names),
                    "severity": NEGLIGIBLE if is_negligible else SIGNIFICANT,
                    "error_types": list(types),
                    "explanation": error.text,
                }
            )
        reply = {
            "reference_findings": _findings(reference, names),
            "predicted_findings": _findings(candidate, names[len(reference) :]),
            "matched_findings": [_pair(match, names) for match in annotation.of_kind(MATCH.name)],
            "errors": {
                "false_findings": alone[FALSE,],
                "missing_findings": alone[MISSING,],
                "attribute_errors": attributes,
            },
        }
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    study = Study("", "", "", modality=modality)
    return check_round_trip(json.dumps(reply, indent=1), annotation, partial(parse, study=study))


def _findings(items: tuple[Item, ...], names: list[str]) -> list[dict[str, object]]:
    return [
        {"id": name, "finding": item.text, "clinical_significance": item.label(SIGNIFICANCE.name)}
        for name, item in zip(names, items, strict=False)
    ]


def _pair(item: Item, names: list[str]) -> dict[str, object]:
    reference, candidate = item.links
    return {"ref_id": names[reference], "pred_id": names[candidate]}


_ELDERLY = 65
"""The age from which degenerative change is expected [Baharoon et al. 2026]."""
_URGENT, _ACTIONABLE, _MINOR, _BENIGN = LEVELS
_BY_SEVERITY = {4: _URGENT, 3: _URGENT, 2: _ACTIONABLE, 1: _MINOR}

_STATED_AGE = re.compile(
    r"\bage[ds]?\b\s*[:=]?([^\n.;]{1,40})|(\d{1,3}[- ]?(?:years?|yrs?|y/?o)\b)", re.I
)
_AGE = re.compile(
    r"\s*(?:[>\u2265]=?)?\s*0*(\d{1,3})(?!\d)(?!\s*(?:m|months?|w|weeks?|d|days?)\b)", re.I
)
_WORD = re.compile(r"[a-z]{5,}")
_AGES = ("age", "patient_age", "patientage")
_OLDEST = 130
_SAME = 4
"""Letters that two words share which speak of the same: aorta and aortic, spine and spinal."""


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return the findings of both reports, their matches and the errors, found by rules."""
    findings = comparison.findings
    items = [_finding(finding, study.context) for finding in findings]
    pairs = [
        (place, partner)
        for place, finding in enumerate(findings)
        if finding.side == "reference"
        for partner in finding.partners
    ]
    items += [match_item(items, *pair) for pair in pairs]
    for side, kind in (("candidate", FALSE), ("reference", MISSING)):
        items += [
            unmatched_item(items, place, kind)
            for place, finding in enumerate(findings)
            if finding.side == side and not finding.partners
        ]
    for difference in comparison.differences:
        significance = items[difference.reference].label(SIGNIFICANCE.name)
        grade = NEGLIGIBLE if difference.is_negligible else significance
        labels = {TYPE.name: (difference.attribute,), SIGNIFICANCE.name: (grade,)}
        items.append(
            Item(ERROR, difference.text, labels, links=(difference.reference, difference.candidate))
        )
    return Annotation(tuple(items))


def _finding(finding: ReportFinding, context: Mapping[str, str]) -> Item:
    significance = _BY_SEVERITY[finding.severity]
    if finding.comes_with_age and is_elderly(context) and not _shares_words(context, finding.text):
        significance = _BENIGN
    kind = REFERENCE if finding.side == "reference" else CANDIDATE
    return Item(kind.name, finding.text, {SIGNIFICANCE.name: (significance,)}, finding.side)


def is_elderly(context: Mapping[str, str]) -> bool:
    """Return whether the context says that the patient is 65 or more; of a range, the lower end."""
    ages = [text for name, text in context.items() if name.lower() in _AGES]
    if not ages:
        matches = filter(None, map(_STATED_AGE.search, context.values()))
        ages = [match[1] or match[2] for match in matches]
    age = _AGE.match(ages[0]) if ages else None
    return age is not None and _ELDERLY <= int(age[1]) <= _OLDEST


def _shares_words(context: Mapping[str, str], words: str) -> bool:
    return not _stems(words).isdisjoint(_stems(" ".join(context.values())))


def _stems(text: str) -> set[str]:
    return {word[:_SAME] for word in _WORD.findall(text.lower())}
