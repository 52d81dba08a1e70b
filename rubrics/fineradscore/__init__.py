"""FineRadScore: corrections of the candidate's lines, each with a severity of four levels.

A study's score is the highest severity of its corrections, 1 where there is none, as in
ReXrank; the sum of the severities, as in the original paper, stands beside it [Huang et al.
2024; ReXrank, Metrics].
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from judge.rubrics.categories import CATEGORY, ERRORS, no_error, no_urgent
from judge.rubrics.contract import EVERYWHERE, Order, Parse, Rubric, Statistic, Tally, source
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


def _parse_for(prompt: str, _model: str) -> Parse | None:
    return partial(parse, published=True) if prompt == "fineradscore-official" else None


_STATISTICS = (
    Statistic(
        *("fineradscore", "highest severity", "mean", ("fineradscore",)),
        higher_is_better=False,
        scale=(1, 4),
        shown=frozenset({"head", "groups"}),
    ),
    Statistic(
        *("inverse_fineradscore", "1/FineRadScore", "mean", ("fineradscore",)),
        higher_is_better=True,
        is_reciprocal=True,
        scale=(1, 4),
        study_label="highest severity",
        rexrank="1/FineRadScore",
        shown=EVERYWHERE,
    ),
    Statistic(
        *("fineradscore_sum", "severity sum", "mean", ("fineradscore_sum",)),
        higher_is_better=False,
        shown=EVERYWHERE,
    ),
    *(
        Statistic(
            *(name, label, "mean", (name,)),
            higher_is_better=True,
            scale=(0, 1),
            shown=frozenset({"head"}),
        )
        for name, label in CLOSENESS.items()
    ),
    ERRORS,
    no_error("significant", "errors of severity 3 or 4"),
    no_error("actionable", "errors of severity 2 or more"),
    no_urgent("missed", "n_missed_urgent", "missing findings of severity 3 or 4"),
    replace(
        no_urgent("false", "n_false_urgent", "false findings of severity 3 or 4"),
        shown=frozenset({"groups"}),
    ),
)

RUBRIC = Rubric(
    name="fineradscore",
    version=3,
    title="FineRadScore",
    summary="Judge reports by FineRadScore: line-by-line corrections, each with a severity.",
    prompt="fineradscore",
    sources=(source("huang2024fineradscore"), source("zhang2024rexrank")),
    kinds=(CORRECTION,),
    facets=(CATEGORY, SEVERITY),
    measures=MEASURES,
    statistics=_STATISTICS,
    worst=(
        Order("n_significant", largest_first=True),
        Order("fineradscore", largest_first=True),
        Order("fineradscore_sum", largest_first=True),
        Order("n_insignificant", largest_first=True),
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
