"""An ordered scale of three, and a score that is 0 at best and negative otherwise."""

from __future__ import annotations

import json

from judge.rubrics import Facet, Kind, Label, Mean, Measure, Order, Rate, Rubric, Tally
from judge.rubrics.categories import (
    CATEGORY,
    ERROR,
    count_items,
    count_measures,
    error_item,
)
from judge.types import Annotation, Measures, ReportComparison, Study, UnparsedError

STEP = Facet(
    "step",
    "step",
    "steps",
    (
        Label("minor", "minor", "mild"),
        Label("moderate", "moderate", "notable"),
        Label("major", "major", "serious"),
    ),
)
KIND = Kind(ERROR, "error", "errors", (CATEGORY.name, STEP.name), graded_by=STEP.name)
COUNTS = count_measures(KIND, STEP, CATEGORY)
_POINTS = {"minor": 0.5, "moderate": 1.0, "major": 4.0}


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Read `[["a", "major", "text"], ...]`."""
    try:
        found = [
            (str(category), str(step), str(said))
            for category, step, said in json.loads(text)
        ]
        for category, step, _ in found:
            CATEGORY[category], STEP[step]
    except (ValueError, KeyError, TypeError) as bad:
        raise UnparsedError("no list of errors", str(bad)) from bad
    return Annotation(
        tuple(error_item((c,), STEP.name, step, said) for c, step, said in found)
    )


def render(annotation: Annotation) -> str:
    """Write the reply that `parse` reads."""
    return json.dumps(
        [
            [item.label(CATEGORY.name), item.label(STEP.name), item.text]
            for item in annotation.items
        ]
    )


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return minus the points of all errors, and their counts."""
    points = sum(_POINTS[item.label(STEP.name)] for item in annotation.items)
    return {"points": 0.0 - points, **count_items(COUNTS, annotation)}


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Take severity 1 for minor, 2 for moderate and more for major."""
    steps = ("minor", "moderate", "major", "major")
    return Annotation(
        tuple(
            error_item((one.category,), STEP.name, steps[one.severity - 1], one.text)
            for one in comparison.discrepancies
        )
    )


RUBRIC = Rubric(
    name="toy_scale",
    version=1,
    title="Scale",
    summary="Judge reports by points taken off.",
    prompt="toy_scale",
    kinds=(KIND,),
    facets=(CATEGORY, STEP),
    measures=(
        Measure("points", "points", (None, 0), higher_is_better=True, role="score"),
        *COUNTS,
    ),
    statistics=(
        Mean(
            "points",
            "mean points",
            measures=("points",),
            higher_is_better=True,
            scale=(None, 0),
            shown=frozenset({"head", "groups", "compare"}),
        ),
        Rate(
            "no_major_error",
            "no major error",
            measures=("n_major",),
            higher_is_better=True,
        ),
    ),
    worst=(Order("points", largest_first=False),),
    tally=Tally("Errors by category", ERROR, CATEGORY.name, STEP.name),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
)
