"""CRIMSON: errors of findings and of their attributes, weighed by urgency, with partial credit.

A study's score lies above -1 and is at most 1: what matches less what is made up, by the weight
of the reference's findings [Baharoon et al. 2026]. Normal findings do not count. The judge is
told what is known of the patient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judge.rubrics.categories import ERRORS, no_error
from judge.rubrics.contract import Order, Rubric, Statistic, Tally
from judge.rubrics.crimson.baseline import baseline
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
from judge.rubrics.crimson.parse import parse
from judge.rubrics.crimson.render import render
from judge.rubrics.sources import source

if TYPE_CHECKING:
    from pydantic import BaseModel


def _reply_model() -> type[BaseModel]:
    from judge.rubrics.crimson.reply import Reply

    return Reply


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
        Statistic(
            "crimson",
            "CRIMSON",
            "mean",
            ("crimson",),
            higher_is_better=True,
            scale=(-1, 1),
            shown=frozenset({"head", "groups", "compare"}),
        ),
        ERRORS,
        no_error("urgent", "errors at urgent findings"),
        no_error("actionable", "errors at urgent or actionable findings"),
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
    reply_model=_reply_model,
)
