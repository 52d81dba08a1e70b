"""FineRadScore: corrections of the candidate's lines, each with a severity of four levels.

A study's score is the highest severity of its corrections, 1 where there is none, as in
ReXrank; the sum of the severities, as in the original paper, stands beside it [Huang et al.
2024; ReXrank, Metrics].
"""

from __future__ import annotations

from functools import partial

from judge.rubrics import Rubric, Tally, categories
from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Parse, sorted_by, source
from judge.rubrics.fineradscore.parse import (
    CLOSENESS,
    CORRECTION,
    MEASURES,
    SEVERITY,
    Reply,
    baseline,
    corrected,
    measure,
    parse,
    render,
)
from judge.stats.statistic import EVERYWHERE, InverseMean, Mean


def _parse_for(prompt: str, _model: str) -> Parse | None:
    return partial(parse, published=True) if prompt == "fineradscore-official" else None


_STATISTICS = (
    Mean(
        "fineradscore",
        "highest severity",
        measures=("fineradscore",),
        higher_is_better=False,
        scale=(1, 4),
        shown=frozenset({"head", "groups"}),
        clause="the mean of the studies' highest severities was {figure}",
    ),
    InverseMean(
        "inverse_fineradscore",
        "1/FineRadScore",
        measures=("fineradscore",),
        higher_is_better=True,
        scale=(1, 4),
        study_label="highest severity",
        shown=EVERYWHERE,
        rexrank="1/FineRadScore",
    ),
    Mean(
        "fineradscore_sum",
        "severity sum",
        measures=("fineradscore_sum",),
        higher_is_better=False,
        scale=(0, None),
        shown=EVERYWHERE,
        clause="the mean sum of severities was {figure} per study",
    ),
    *(
        Mean(
            name,
            label,
            measures=(name,),
            higher_is_better=True,
            scale=(0, 1),
            shown=frozenset({"head"}),
        )
        for name, label in CLOSENESS.items()
    ),
    categories.ERRORS,
    categories.no_error("significant", "errors of severity 3 or 4"),
    categories.no_error("actionable", "errors of severity 2 or more"),
    categories.none_of(
        "no_missed_urgent",
        "no missed urgent finding",
        measure="n_missed_urgent",
        words="missing findings of severity 3 or 4",
        shown=("groups", "compare"),
    ),
    categories.none_of(
        "no_false_urgent",
        "no false urgent finding",
        measure="n_false_urgent",
        words="false findings of severity 3 or 4",
        shown={"groups"},
    ),
)

RUBRIC = Rubric(
    name="fineradscore",
    version=4,
    title="FineRadScore",
    summary="Judge reports by FineRadScore: line-by-line corrections, each with a severity.",
    prompt="fineradscore",
    sources=(source("huang2024fineradscore"), source("zhang2024rexrank")),
    kinds=(CORRECTION,),
    facets=(CATEGORY, SEVERITY),
    measures=MEASURES,
    statistics=_STATISTICS,
    worst=sorted_by(
        "-n_significant", "-fineradscore", "-fineradscore_sum", "-n_insignificant"
    ),
    tally=Tally("Errors by category", CORRECTION.name, CATEGORY.name, SEVERITY.name),
    parse=parse,
    parse_for=_parse_for,
    render=render,
    measure=measure,
    baseline=baseline,
    editor=corrected,
    reply_model=lambda: Reply,
)
