"""CRIMSON: errors of findings and of their attributes, weighed by urgency, with partial credit.

A study's score is above -1 and at most 1: the weight of matched findings minus that of false ones,
relative to the weight of the reference's findings [Baharoon et al. 2026]. Normal findings do not
count. The judge is shown the patient's context.
"""

from __future__ import annotations

from judge.rubrics.categories import ERRORS, no_error, no_urgent
from judge.rubrics.contract import EVERYWHERE, Order, Rubric, Statistic, Tally, mean_of, source
from judge.rubrics.crimson.measures import (
    CANDIDATE,
    MATCH,
    MEASURES,
    MISTAKE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
    measure,
)
from judge.rubrics.crimson.parse import Reply, baseline, parse, render

RUBRIC = Rubric(
    name="crimson",
    version=2,
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
        *(
            Statistic(
                *(f"urgent_{name}", f"urgent {name}", "ratio", (f"n_urgent_{matched}",)),
                higher_is_better=True,
                per=(f"n_urgent_{side}",),
                scale=(0, 1),
                shown=EVERYWHERE,
            )
            for name, matched, side in (
                ("recall", "reported", "reference"),
                ("precision", "supported", "candidate"),
            )
        ),
        no_urgent("missed", "urgent_missing_finding", "missing urgent findings"),
    ),
    worst=(
        Order("n_urgent", largest_first=True),
        Order("crimson", largest_first=False),
        Order("n_actionable", largest_first=True),
        Order("n_insignificant", largest_first=True),
    ),
    tally=Tally("Errors by type", MISTAKE.name, TYPE.name, SIGNIFICANCE.name),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
)
