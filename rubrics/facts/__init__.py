"""Atomic facts: each report in short phrases, and which of them the other report entails.

Logical precision is the share of the candidate's phrases that the reference entails, recall that of
the reference's phrases that the candidate entails [after RadFact, Bannur et al. 2024; DocLens, Xie
et al. 2024; FActScore, Min et al. 2023]. A study takes up to four questions: the phrases of each
report, by its text alone, and the phrases of each held against the other.
"""

from __future__ import annotations

from judge.rubrics import Rubric
from judge.rubrics.contract import sorted_by, source
from judge.rubrics.facts.parse import (
    EVIDENCE,
    FACT,
    MEASURES,
    STATISTICS,
    STEPS,
    VERDICT,
    Verdicts,
    baseline,
    measure,
    parse,
    render,
)

RUBRIC = Rubric(
    name="facts",
    version=3,
    title="Facts",
    summary="Judge reports by atomic facts: precision and recall of short phrases, with evidence.",
    prompt="facts-verdicts",
    sources=(
        source("bannur2024maira2"),
        source("xie2024doclens"),
        source("min2023factscore"),
    ),
    kinds=(FACT, EVIDENCE),
    facets=(VERDICT,),
    measures=MEASURES,
    statistics=STATISTICS,
    worst=sorted_by("-n_contradicted", "f1", "recall"),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Verdicts,
    steps=STEPS,
)
