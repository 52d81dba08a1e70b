"""Counts: how many errors of each kind, in one short reply that lists none of them.

GREEN's twelve counts, six categories of errors that are significant or not, for some 60 tokens, as
CheXprompt asks for them [Zambrano Chaves et al. 2024]. The measures are named as GREEN's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from judge.rubrics.categories import (
    CATEGORY,
    COUNTS,
    ERROR,
    ERRORS,
    GRADED_ERROR,
    GRADES,
    KEY,
    KEYS,
    LEVELS,
    SIGNIFICANCE,
    SIGNIFICANT,
    Counting,
    level_of,
    no_error,
    stated,
)
from judge.rubrics.contract import Counted, Measure, Order, Rubric, Tally
from judge.rubrics.counts.parse import parse, render
from judge.rubrics.sources import source
from judge.types import Annotation, Measures, ReportComparison, Study

if TYPE_CHECKING:
    from pydantic import BaseModel

_ALL = Measure(
    "n_errors", "errors", role="score", is_whole=True, counts=Counted(ERROR), needs=LEVELS
)
_count = Counting(COUNTS)


def _reply_model() -> type[BaseModel]:
    from judge.rubrics.counts.reply import Reply

    return Reply


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's counts as stated, their sum by level and the sum of all."""
    return _with_sum(stated(annotation))


def count(annotation: Annotation, _study: Study) -> Measures:
    """Return the same of what a reader wrote, who lists the errors and states no counts."""
    return _with_sum(_count(annotation))


def _with_sum(found: dict[str, int]) -> Measures:
    return {_ALL.name: sum(found[f"n_{level}"] for level in LEVELS), **found}


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return how many discrepancies of each kind rules found, as significant as GREEN's are."""
    found = Counter(KEY[level_of(one), one.category] for one in comparison.discrepancies)
    return Annotation(stated_counts={name: found[name] for name in KEYS})


RUBRIC = Rubric(
    name="counts",
    version=2,
    title="Counts",
    summary="Judge reports by twelve counts of errors, stated in one short reply.",
    prompt="counts",
    sources=(source("ostmeier2024green"), source("zambranochaves2024chexprompt")),
    kinds=(replace(GRADED_ERROR, is_listed=False),),
    facets=(CATEGORY, GRADES),
    measures=(_ALL, *COUNTS),
    statistics=(
        replace(ERRORS, shown=frozenset({"head", "groups", "compare"})),
        no_error(SIGNIFICANT, "clinically significant errors"),
    ),
    worst=(Order("n_significant", largest_first=True), Order("n_errors", largest_first=True)),
    tally=Tally("Errors by category", ERROR, CATEGORY.name, SIGNIFICANCE),
    parse=parse,
    render=render,
    measure=measure,
    count=count,
    baseline=baseline,
    reply_model=_reply_model,
)
