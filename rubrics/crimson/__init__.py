"""CRIMSON: errors of findings and of their attributes, weighed by urgency, with partial credit.

A study's score is above -1 and at most 1: the weight of matched findings minus that of false ones,
relative to the weight of the reference's findings [Baharoon et al. 2026]. Normal findings do not
count. The judge is shown the patient's context.
"""

from __future__ import annotations

from judge.rubrics import Rubric, Tally
from judge.rubrics.categories import ERRORS, no_error, none_of
from judge.rubrics.contract import mean_of, ratio_of, sorted_by, source
from judge.rubrics.crimson.parse import (
    CANDIDATE,
    MATCH,
    MEASURES,
    MISTAKE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
    Reply,
    baseline,
    measure,
    parse,
    render,
)

RUBRIC = Rubric(
    name="crimson",
    version=3,
    title="CRIMSON",
    summary="Judge reports by CRIMSON: findings weighed by urgency, with the patient's context.",
    prompt="crimson",
    sources=(source("baharoon2026crimson"),),
    takes_context=True,
    kinds=(REFERENCE, CANDIDATE, MATCH, MISTAKE),
    facets=(SIGNIFICANCE, TYPE),
    measures=MEASURES,
    statistics=(
        mean_of("crimson", "CRIMSON", (-1, 1)),
        ERRORS,
        no_error("urgent", "errors at urgent findings"),
        no_error("actionable", "errors at urgent or actionable findings"),
        ratio_of(
            "urgent_recall", "urgent recall", "n_urgent_reported", "n_urgent_reference"
        ),
        ratio_of(
            *(
                "urgent_precision",
                "urgent precision",
                "n_urgent_supported",
                "n_urgent_candidate",
            )
        ),
        none_of(
            *("no_missed_urgent", "no missed urgent finding", "urgent_missing_finding"),
            "missing urgent findings",
        ),
    ),
    worst=sorted_by("-n_urgent", "crimson", "-n_actionable", "-n_insignificant"),
    tally=Tally("Errors by type", MISTAKE.name, TYPE.name, SIGNIFICANCE.name),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
)
