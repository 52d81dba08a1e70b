"""Attributes: findings of both reports matched many to many, and seven attributes of each match.

Of each match it is said whether location, side, size, severity, morphology, certainty and
comparison are right, wrong (major or minor), or stated by one report alone. Sizes are compared by
the program. The rubric, its levels and its thresholds are our own.
"""

from __future__ import annotations

from judge.rubrics import Rubric, Tally
from judge.rubrics.attributes.baseline import baseline
from judge.rubrics.attributes.declared import (
    ERROR_TYPE,
    FACETS,
    GRADE,
    KINDS,
    MEASURES,
    MISTAKE,
    measure,
)
from judge.rubrics.attributes.reply import Reply, parse, render
from judge.rubrics.attributes.statistics import STATISTICS
from judge.rubrics.contract import sorted_by

RUBRIC = Rubric(
    name="attributes",
    version=1,
    title="Attributes",
    summary="Judge seven attributes of each matched finding; sizes are compared by the program.",
    prompt="attributes",
    takes_context=True,
    kinds=KINDS,
    facets=FACETS,
    measures=MEASURES,
    statistics=STATISTICS,
    worst=sorted_by("-n_urgent_missed", "-n_significant", "-n_insignificant"),
    tally=Tally("Errors by type", MISTAKE.name, ERROR_TYPE.name, GRADE.name),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
)
