"""Errors of single attributes, of another modality and with categories of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable

from judge.rubrics import Facet, Kind, Label, Measure, Order, Rubric, Statistic, Tally
from judge.rubrics.categories import Counting, count_measures
from judge.types import (
    Annotation,
    Category,
    Item,
    Measures,
    ReportComparison,
    Side,
    Study,
    UnparsedError,
)

ATTRIBUTE = Facet(
    "attribute",
    "attribute",
    "attributes",
    (
        Label("organ", "organ"),
        Label("size", "size in mm"),
        Label("certainty", "certainty"),
        Label("course", "change over time"),
    ),
)
URGENCY = Facet(
    "urgency",
    "urgency",
    "urgencies",
    (Label("urgent", "urgent", "critical"), Label("routine", "routine", "notable")),
)
KIND = Kind("fault", "fault", "faults", ("attribute", "urgency"), graded_by="urgency")
MATCH = Kind("match", "agreement", "agreements")
COUNTS = count_measures(KIND, URGENCY, ATTRIBUTE)
_OF_CATEGORY = {
    Category.WRONG_LOCATION: "organ",
    Category.WRONG_SEVERITY: "size",
    Category.FALSE_COMPARISON: "course",
    Category.OMITTED_COMPARISON: "course",
}


def _fault(attributes: Iterable[str], urgency: str, text: str, side: Side | None) -> Item:
    return Item("fault", text, {"attribute": tuple(attributes), "urgency": (urgency,)}, side)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Read `{"faults": [{"attributes": [...], "urgency": ..., "text": ..., "side": ...}], ...}`."""
    known = {facet.name: {label.name for label in facet.labels} for facet in (ATTRIBUTE, URGENCY)}
    try:
        reply = json.loads(text)
        faults = [
            (tuple(one["attributes"]), one["urgency"], str(one["text"]), one["side"])
            for one in reply["faults"]
        ]
        matches = [Item("match", str(one)) for one in reply["matches"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UnparsedError("no faults", str(error)) from error
    for attributes, urgency, _, side in faults:
        if not attributes or not set(attributes) <= known["attribute"]:
            raise UnparsedError("no attribute", str(attributes))
        if urgency not in known["urgency"] or side not in ("reference", "candidate", None):
            raise UnparsedError("no urgency", str(urgency))
    return Annotation((*(_fault(*one) for one in faults), *matches))


def render(annotation: Annotation) -> str:
    """Write the reply that `parse` reads."""
    faults = [
        {
            "attributes": item.labels["attribute"],
            "urgency": item.label("urgency"),
            "text": item.text,
            "side": item.side,
        }
        for item in annotation.of_kind("fault")
    ]
    matches = [item.text for item in annotation.of_kind("match")]
    return json.dumps({"faults": faults, "matches": matches})


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the counts."""
    return {"n_matches": len(annotation.of_kind("match")), **Counting(COUNTS)(annotation)}


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Call what the rules find of severity 3 and up urgent."""
    faults = (
        _fault(
            (_OF_CATEGORY.get(one.category, "certainty"),),
            "urgent" if one.severity > 2 else "routine",
            one.text,
            "reference" if one.candidate_sentence is None else "candidate",
        )
        for one in comparison.discrepancies
    )
    return Annotation((*faults, *(Item("match", text) for text in comparison.matched)))


RUBRIC = Rubric(
    name="toy_attributes",
    version=1,
    title="Attributes",
    summary="Judge reports of abdominal CT by the attributes of findings.",
    prompt="toy_attributes",
    modality="abdominal CT",
    kinds=(KIND, MATCH),
    facets=(ATTRIBUTE, URGENCY),
    measures=(
        *COUNTS,
        Measure("n_matches", "agreements", higher_is_better=True, is_whole=True),
    ),
    statistics=(
        Statistic(
            "no_urgent_fault",
            "no urgent fault",
            "rate",
            ("n_urgent",),
            higher_is_better=True,
            study_label="urgent faults",
        ),
        Statistic(
            "faults", "faults per study", "mean", ("n_urgent", "n_routine"), higher_is_better=False
        ),
    ),
    worst=(Order("n_urgent", largest_first=True), Order("n_routine", largest_first=True)),
    tally=Tally("Faults by attribute", "fault", "attribute", "urgency"),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
)
