"""CRIMSON: errors of findings and of their attributes, weighed by urgency, with partial credit.

A study's score is above -1 and at most 1: the weight of matched findings minus that of false ones,
relative to the weight of the reference's findings [Baharoon et al. 2026]. Normal findings do not
count. The judge is shown the patient's context.
"""

from __future__ import annotations

from judge.rubrics import Rubric, Tally
from judge.rubrics.categories import ERRORS, no_error, none_of
from judge.rubrics.contract import sorted_by, source
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
from judge.stats.statistic import EVERYWHERE, Mean, Ratio

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
        Mean(
            "crimson",
            "CRIMSON",
            measures=("crimson",),
            higher_is_better=True,
            scale=(-1, 1),
            shown=EVERYWHERE,
        ),
        ERRORS,
        no_error("urgent", "errors at urgent findings"),
        no_error("actionable", "errors at urgent or actionable findings"),
        Ratio(
            "urgent_recall",
            "urgent recall",
            measures=("n_urgent_reported",),
            per=("n_urgent_reference",),
            higher_is_better=True,
            scale=(0, 1),
            shown=EVERYWHERE,
        ),
        Ratio(
            "urgent_precision",
            "urgent precision",
            measures=("n_urgent_supported",),
            per=("n_urgent_candidate",),
            higher_is_better=True,
            scale=(0, 1),
            shown=EVERYWHERE,
        ),
        none_of(
            "no_missed_urgent",
            "no missed urgent finding",
            measure="urgent_missing_finding",
            words="missing urgent findings",
            shown=(),
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
