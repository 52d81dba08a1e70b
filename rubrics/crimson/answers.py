"""Reads and writes an answer: every finding must be accounted for once, by ids that there are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictStr
from pydantic_core import PydanticCustomError

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
from judge.rubrics.reply_text import (
    Form,
    Line,
    checked,
    denies,
    one_line,
    read_back,
    read_json,
    twice,
)
from judge.types import Annotation, Item, Side, Study, UnparsedError

SIGNIFICANT = "significant"
"""What an attribute error is that is not negligible."""
_LONGEST = 80
_APART = re.compile(r"[\s_\-/,]+(?:(?:and|but|or)[\s_\-]+)?")
_SEVERAL = re.compile(r"[|;,/]")
_OTHER_NAMES = {
    "laterality": "side",
    "birads": "bi_rads birads_category bi_rads_category",
    "density": "breast_density",
    "calcification": "calcifications",
    "level": "segment",
    "phase": "contrast_phase",
    "severity": "extent",
    "descriptor": "descriptors morphological_descriptor morphological_descriptors",
    "measurement": "measurements",
    "temporal": "comparison",
    "unspecific": "nonspecific",
}
_ALSO = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}


def _words(value: object) -> object:
    text = one_line(value)
    if text == "":
        raise PydanticCustomError("empty finding", "a finding has an id and words")
    return text


def _finding_text(value: object) -> object:
    text = _words(value)
    if isinstance(text, str) and denies(text):
        raise PydanticCustomError("no entry", "a finding that is none has no entry")
    return text


def _attributes(value: object) -> object:
    # A list of them or one text: "location|severity" names two.
    given = value if isinstance(value, list) else [value]
    if not given:
        raise PydanticCustomError("no error type", "error_types names at least one")
    parts = [part for one in given for part in _SEVERAL.split(one if isinstance(one, str) else "")]
    names = [_APART.sub("_", part[:_LONGEST].strip().lower()) for part in parts]
    names = [_ALSO.get(name, name) for name in names]
    if not {*names} <= {*ATTRIBUTES}:
        raise PydanticCustomError("unknown error type", "error_types names none that there is")
    return sorted({*names}, key=ATTRIBUTES.index)


_Id = Annotated[StrictStr, BeforeValidator(_words)]
if TYPE_CHECKING:
    _Significance = _Type = str
else:
    _Significance, _Type = Literal[LEVELS], Literal[ATTRIBUTES]


class Finding(Form):
    """One abnormal finding of a report."""

    id: _Id = Field(description="R1, R2, ... in the reference, P1, P2, ... in the candidate.")
    finding: Annotated[StrictStr, BeforeValidator(_finding_text)] = Field(
        description="The finding in the report's own words."
    )
    clinical_significance: _Significance


class Match(Form):
    """Two findings that are the same, whether or not they agree in all that is said of them."""

    ref_id: _Id
    pred_id: _Id


class WrongAttribute(Form):
    """What the candidate gets wrong about a finding that both reports have."""

    optional: ClassVar = {"explanation": ""}

    ref_id: _Id
    pred_id: _Id
    severity: Literal["significant", "negligible"]
    error_types: Annotated[list[_Type], BeforeValidator(_attributes)]
    explanation: Line = Field(description="What differs, in a sentence.")


class Errors(Form):
    """What is wrong with the candidate."""

    false_findings: list[_Id] = Field(description="Ids of the candidate's that match nothing.")
    missing_findings: list[_Id] = Field(description="Ids of the reference's that match nothing.")
    attribute_errors: list[WrongAttribute]


class Reply(Form):
    """The findings of both reports, which of them match, and the errors."""

    reference_findings: list[Finding]
    predicted_findings: list[Finding]
    matched_findings: list[Match]
    errors: Errors


_At = Mapping[str, int]
"""The positions of findings among an annotation's items, by id."""


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the findings, matches and errors of an answer, in its order; ids become positions.

    Every finding is matched, or false or missing, once; an attribute error is of two that match.
    """
    reply = checked(Reply, read_json(text))
    ours, theirs = reply.reference_findings, reply.predicted_findings
    reference, candidate = _positions(ours, 0), _positions(theirs, len(ours))
    items = [_item(one, REFERENCE.name, "reference") for one in ours]
    items += [_item(one, CANDIDATE.name, "candidate") for one in theirs]
    for findings in (ours, theirs):
        if (again := twice(one.finding for one in findings)) is not None:
            raise UnparsedError("finding twice", again)
    pairs = [(one.ref_id, one.pred_id) for one in reply.matched_findings]
    matches = dict.fromkeys(pairs)
    if len(matches) < len(pairs):
        raise UnparsedError("pair twice", "in the matched findings")
    _accounted(reference, [ref for ref, _ in matches], reply.errors.missing_findings, "missing")
    _accounted(candidate, [pred for _, pred in matches], reply.errors.false_findings, "false")
    items += [a_match(items, reference[ref], candidate[pred]) for ref, pred in matches]
    items += [alone(items, candidate[one], FALSE) for one in reply.errors.false_findings]
    items += [alone(items, reference[one], MISSING) for one in reply.errors.missing_findings]
    said: list[object] = []
    for one in reply.errors.attribute_errors:
        pair = one.ref_id, one.pred_id
        if one in said:
            raise UnparsedError("error twice", f"of {' and '.join(pair)}: {one.explanation}")
        said.append(one)
        if one.explanation and denies(one.explanation):
            raise UnparsedError("no entry", f"an attribute error: {one.explanation}")
        if pair not in matches:
            raise UnparsedError("pair not matched", f"an attribute error of {' and '.join(pair)}")
        at = reference[one.ref_id]
        own = items[at].label(SIGNIFICANCE.name)
        labels = {
            TYPE.name: _types(one.error_types, study.modality),
            SIGNIFICANCE.name: (NEGLIGIBLE if one.severity == NEGLIGIBLE else own,),
        }
        links = (at, candidate[one.pred_id])
        items.append(Item(ERROR, one.explanation, labels, links=links))
    return Annotation(tuple(items))


def _types(named: Sequence[str], modality: str | None) -> tuple[str, ...]:
    own = ["location" if one == "laterality" and modality != "mg" else one for one in named]
    for one in own:
        if MODALITY_OF.get(one) not in (None, modality):
            raise UnparsedError("unknown error type", f"{one}, which is of {MODALITY_OF[one]}")
    return tuple(sorted(set(own), key=ATTRIBUTES.index))


def _positions(findings: Sequence[Finding], first: int) -> _At:
    _once([finding.id for finding in findings])
    return {finding.id: place for place, finding in enumerate(findings, first)}


def _once(ids: Collection[str]) -> None:
    (most, n), *_ = Counter(ids).most_common(1) or [("", 1)]
    if n > 1:
        raise UnparsedError("id twice", most)


def _accounted(known: _At, matched: Collection[str], alone: Collection[str], what: str) -> None:
    _once(alone)
    paired, others = frozenset(matched), frozenset(alone)
    if dangling := (paired | others) - known.keys():
        raise UnparsedError("id of no finding", min(dangling))
    if both := paired & others:
        raise UnparsedError("contradiction", f"{min(both)} is matched and {what}")
    if left := known.keys() - paired - others:
        raise UnparsedError("finding left out", f"{min(left)} is neither matched nor {what}")


def _item(finding: Finding, kind: str, side: Side) -> Item:
    labels = {SIGNIFICANCE.name: (finding.clinical_significance,)}
    return Item(kind, finding.finding, labels, side)


def a_match(items: Sequence[Item], reference: int, candidate: int) -> Item:
    """Return the match of the findings at two positions."""
    said, also = items[reference].text, items[candidate].text
    text = said if said.casefold() == also.casefold() else f"{said} (candidate: {also})"
    return Item(MATCH.name, text, links=(reference, candidate))


def alone(items: Sequence[Item], at: int, what: str) -> Item:
    """Return the error of the finding at a position, which is false or missing."""
    one = items[at]
    labels = {TYPE.name: (what,), **one.labels}
    return Item(ERROR, one.text, labels, one.side, (at,))


def render(annotation: Annotation) -> str:
    """Return the annotation as a reply; raises ValueError for one that no reply expresses."""
    reference, candidate = (annotation.of_kind(kind.name) for kind in (REFERENCE, CANDIDATE))
    names = [f"R{at}" for at, _ in enumerate(reference, 1)]
    names += [f"P{at}" for at, _ in enumerate(candidate, 1)]
    errors = annotation.of_kind(ERROR)
    try:
        one_sided = {
            what: [names[error.links[0]] for error in errors if error.labels[TYPE.name] == (what,)]
            for what in (FALSE, MISSING)
        }
        attributes = [
            error for error in errors if error.labels[TYPE.name] not in ((FALSE,), (MISSING,))
        ]
        reply = {
            "reference_findings": _findings(reference, names),
            "predicted_findings": _findings(candidate, names[len(reference) :]),
            "matched_findings": [_pair(match, names) for match in annotation.of_kind(MATCH.name)],
            "errors": {
                "false_findings": one_sided[FALSE],
                "missing_findings": one_sided[MISSING],
                "attribute_errors": [_attribute(error, names) for error in attributes],
            },
        }
    except (IndexError, KeyError) as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    study = Study("", "", "", modality=_modality(errors))
    return read_back(json.dumps(reply, indent=1), annotation, partial(parse, study=study))


def _modality(errors: Iterable[Item]) -> str | None:
    types = (name for error in errors for name in error.labels[TYPE.name])
    return next((MODALITY_OF[name] for name in types if name in MODALITY_OF), None)


def _findings(items: tuple[Item, ...], names: list[str]) -> list[dict[str, object]]:
    return [
        {"id": name, "finding": one.text, "clinical_significance": one.label(SIGNIFICANCE.name)}
        for name, one in zip(names, items, strict=False)
    ]


def _pair(item: Item, names: list[str]) -> dict[str, object]:
    reference, candidate = item.links
    return {"ref_id": names[reference], "pred_id": names[candidate]}


def _attribute(error: Item, names: list[str]) -> dict[str, object]:
    is_negligible = error.label(SIGNIFICANCE.name) == NEGLIGIBLE
    return {
        **_pair(error, names),
        "severity": NEGLIGIBLE if is_negligible else SIGNIFICANT,
        "error_types": list(error.labels[TYPE.name]),
        "explanation": error.text,
    }
