"""A direct score: one number from 0 to 100 for the whole report, and no item."""

from __future__ import annotations

import json
import math

from judge.rubrics import Measure, Order, Rubric, Statistic
from judge.types import Annotation, Measures, ReportComparison, Study, UnparsedError


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Read `{"score": 73, "why": "..."}`."""
    try:
        reply = json.loads(text)
        score, why = reply["score"], reply["why"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnparsedError("no score", str(error)) from error
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not math.isfinite(score) or not 0 <= score <= 100:
        raise UnparsedError("score off the scale", repr(score)[:100])
    return Annotation(values={"score": float(score)}, explanation=str(why))


def render(annotation: Annotation) -> str:
    """Write the reply that `parse` reads."""
    return json.dumps({"score": annotation.values["score"], "why": annotation.explanation})


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the score."""
    return {"quality": annotation.values["score"]}


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Take ten points off for each discrepancy."""
    score = max(0.0, 100.0 - 10 * len(comparison.discrepancies))
    return Annotation(values={"score": score}, explanation=comparison.explanation)


RUBRIC = Rubric(
    name="toy_direct",
    version=1,
    title="Direct",
    summary="Judge reports by a direct score from 0 to 100.",
    prompt="toy_direct",
    measures=(
        Measure("quality", "quality", (0, 100), higher_is_better=True, role="score", unit="points"),
    ),
    statistics=(
        Statistic(
            "quality",
            "mean quality",
            "mean",
            ("quality",),
            higher_is_better=True,
            scale=(0, 100),
            study_label="quality",
            shown=frozenset({"head", "groups", "compare"}),
        ),
    ),
    worst=(Order("quality", largest_first=False),),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
)
