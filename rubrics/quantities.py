"""Quantities that different rubrics share under one name: counts of errors, a score."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from judge.rubrics.contract import Measure, Rubric
from judge.types import JudgeError

RATING, SCORE, MISSED_URGENT = "rating", "score", "missed_urgent"
_ERRORS = ("n_significant", "n_insignificant")
"""The counts that rubrics share, whatever their scales."""
SIGNIFICANT, ACTIONABLE = "significant", "actionable"
_SCALE = (ACTIONABLE, "urgent", "emergent")
LEVELS = (SIGNIFICANT, *_SCALE)
"""The levels at which errors of different scales can be compared."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a study: in a rubric, the sum of its `measures`.

    A `rating` is a field of a reader's run. `is_level` is true of the errors of a level, which
    rates are of; `category` is there for a count of the errors of one category.
    """

    name: str
    label: str
    kind: Literal["count", "score", "rating"]
    measures: tuple[str, ...] = ()
    higher_is_better: bool = False
    is_level: bool = False
    category: str | None = None


def levels_of(
    rubric: Rubric, lacks: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the measures that together count the errors of a level or worse, for each level."""
    tally = rubric.tally
    if tally is None:
        return {}
    labels = [
        label for label in rubric.facet(tally.columns).labels if label.name not in lacks
    ]
    meanings = {label.means for label in labels}
    scale = (SIGNIFICANT,) if SIGNIFICANT in meanings else _SCALE
    return {
        level: tuple(
            measure.name
            for label in labels
            if label.means in scale[place:]
            for measure in rubric.counting(tally.kind, {tally.columns: label.name})
        )
        for place, level in enumerate(scale)
        if level in meanings
    }


def measures_at_level(
    rubric: Rubric, level: str, lacks: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the measures of a level or worse; `significant` of two stands for `actionable`."""
    levels = levels_of(rubric, lacks)
    return levels.get(level) or (
        levels.get(SIGNIFICANT, ()) if level == ACTIONABLE else ()
    )


def common_level(rubrics: Iterable[Rubric]) -> str | None:
    """Return the level that makes scales of two and of four alike, None where all have one kind."""
    scales = {
        SIGNIFICANT in levels for rubric in rubrics if (levels := levels_of(rubric))
    }
    return ACTIONABLE if len(scales) > 1 else None


def quantities_of(
    rubric: Rubric, lacks: Collection[str] = (), level: str | None = None
) -> dict[str, Quantity]:
    """Return the quantities of a rubric by name, those that it has the measures for.

    A level that a reader `lacks` (`rubrics.derived`) is in no category's count: no error has it.
    With a `level` significant errors are those of that level or worse, else the rubric's own.
    `missed_urgent` counts the findings of the rate `no_missed_urgent`; `score` is the first.
    """
    known = {measure.name for measure in rubric.measures}
    quantities = []
    if known.issuperset(_ERRORS):
        quantities.append(Quantity("errors", "errors", "count", _ERRORS))
    names = [name for name in (SIGNIFICANT, ACTIONABLE) if f"n_{name}" in known]
    levels: dict[str, tuple[str, ...]] = {name: (f"n_{name}",) for name in names}
    if level is not None:
        levels = {SIGNIFICANT: measures_at_level(rubric, level, lacks)}
    named = {
        name: (f"{name} errors", measures)
        for name, measures in levels.items()
        if measures
    }
    for rate in rubric.statistics:
        if rate.name == f"no_{MISSED_URGENT}":
            named[MISSED_URGENT] = ("missed urgent findings", rate.measures)
    quantities += [
        Quantity(name, label, "count", measures, is_level=True)
        for name, (label, measures) in named.items()
    ]
    for score in rubric.with_role("score")[:1]:
        better = score.higher_is_better
        quantities.append(Quantity(SCORE, score.label, "score", (score.name,), better))
    if tally := rubric.tally:
        rows = rubric.facet(tally.rows)
        grades = [
            grade
            for grade in rubric.facet(tally.columns).labels
            if grade.name not in lacks
        ]
        for row in rows.labels:
            labels = [
                {tally.columns: grade.name, tally.rows: row.name} for grade in grades
            ]
            counts = [
                measure
                for both in labels
                for measure in rubric.counting(tally.kind, both)
            ]
            made_of = tuple(measure.name for measure in counts)
            name, label = f"errors_{row.name}", rows.text(row.name)
            quantities.append(
                Quantity(name, label, "count", made_of, category=row.name)
            )
    return {quantity.name: quantity for quantity in quantities}


def reward_of(rubric: Rubric, name: str | None) -> Measure:
    """Return the measure that is the reward: a score, or a count of errors.

    Raises `JudgeError` as `measure_of`, and for any other: more findings make no better report.
    """
    measure = measure_of(rubric, name)
    printed = {
        measure for statistic in rubric.statistics for measure in statistic.measures
    }
    is_counted = (
        measure.counts is not None and rubric.kind(measure.counts.kind).graded_by
    )
    is_printed = measure.name in printed and measure.role != "check"
    if measure.role in ("score", "count") or is_printed or is_counted:
        return measure
    raise JudgeError(
        f"{rubric.name}'s {measure.name} is no reward: choose a score or a count of errors"
    )


def measure_of(rubric: Rubric, name: str | None) -> Measure:
    """Return the measure called `name`; where that is None, the rubric's main score.

    Raises `JudgeError` for one that there is not, and where no score is the main one.
    """
    scores = rubric.with_role("score")
    if name is None:
        fitting = [score for score in scores if score.name == rubric.name] or scores
    else:
        fitting = [measure for measure in rubric.measures if measure.name == name]
    if len(fitting) == 1:
        return fitting[0]
    lacks = "single main score" if name is None else f"measure {name!r}"
    known = ", ".join(one.name for one in (name is None and scores) or rubric.measures)
    raise JudgeError(f"{rubric.name} has no {lacks}: choose a measure, one of {known}")
