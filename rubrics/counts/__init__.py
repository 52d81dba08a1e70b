"""Counts: how many errors of each kind, in one short reply that lists none of them.

GREEN's twelve counts, six categories of errors that are significant or not, for some 60 tokens, as
CheXprompt asks for them [Zambrano Chaves et al. 2024]. The measures are named as GREEN's.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from judge.rubrics import categories
from judge.rubrics.categories import CATEGORY, ERROR, KEY, KEYS, LEVELS, MAX_COUNT
from judge.rubrics.contract import (
    Counted,
    Measure,
    Rubric,
    Tally,
    sorted_by,
    source,
)
from judge.rubrics.replies import ReplyModel, read_reply, whole_number
from judge.stats.statistic import EVERYWHERE
from judge.types import Annotation, Measures, ReportComparison, Study

_ALL = Measure(
    "n_errors",
    "errors",
    role="score",
    is_whole=True,
    counts=Counted(ERROR),
    needs=LEVELS,
)


def _count(value: object) -> int:
    count = whole_number(value)
    if type(count) is int and 0 <= count <= MAX_COUNT:  # True is an int
        return count
    raise ValueError(f"a count is a whole number from 0 to {MAX_COUNT}")


_Count = Annotated[int, BeforeValidator(_count)]


class Errors(ReplyModel):
    """How many errors of one level there are, each in one of the six categories."""

    # Named as the categories are.
    a: _Count = Field(description="False findings.")
    b: _Count = Field(description="Missing findings.")
    c: _Count = Field(description="Findings in the wrong location.")
    d: _Count = Field(description="Findings of the wrong severity.")
    e: _Count = Field(description="Comparisons that are not in the reference.")
    f: _Count = Field(description="Comparisons that are left out.")


class Reply(ReplyModel):
    """How many errors the candidate has, clinically significant and insignificant ones."""

    significant: Errors
    insignificant: Errors


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the twelve counts that an answer states, each a whole number from 0."""
    reply = read_reply(Reply, text).model_dump()
    counts = {
        name: reply[level][category.value] for (level, category), name in KEY.items()
    }
    return Annotation(stated_counts=counts)


def render(annotation: Annotation) -> str:
    """Return the counts as a reply; raises ValueError for an annotation that has anything else."""
    counts = annotation.stated_counts
    if annotation != Annotation(stated_counts=counts) or counts.keys() != {*KEYS}:
        raise ValueError("the reply has the twelve counts and nothing beside them")
    reply: dict[str, dict[str, int]] = {level: {} for level in LEVELS}
    for (level, category), name in KEY.items():
        reply[level][category.value] = counts[name]
    return json.dumps(reply, separators=(",", ":"))


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's counts, their sum by level and the sum of all."""
    counts = categories.error_counts(annotation)
    return {_ALL.name: sum(counts[f"n_{level}"] for level in LEVELS), **counts}


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return how many discrepancies of each kind rules found, as significant as GREEN's are."""
    counts = Counter(
        KEY[categories.significance_of(found), found.category]
        for found in comparison.discrepancies
    )
    return Annotation(stated_counts={name: counts[name] for name in KEYS})


RUBRIC = Rubric(
    name="counts",
    version=3,
    title="Counts",
    summary="Judge reports by twelve counts of errors, stated in one short reply.",
    prompt="counts",
    sources=(source("ostmeier2024green"), source("zambranochaves2024chexprompt")),
    kinds=(replace(categories.GRADED_ERROR, is_listed=False),),
    facets=(CATEGORY, categories.GRADES),
    measures=(_ALL, *categories.COUNTS),
    statistics=(
        replace(categories.ERRORS, shown=EVERYWHERE),
        categories.no_error("significant", "clinically significant errors"),
    ),
    worst=sorted_by("-n_significant", "-n_errors"),
    tally=Tally("Errors by category", ERROR, CATEGORY.name, categories.SIGNIFICANCE),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
    reply_model=lambda: Reply,
)
