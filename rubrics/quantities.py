"""Quantities that different rubrics share under one name: counts of errors, a score."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from judge.rubrics.contract import Label, Measure, Rubric, Tally
from judge.types import JudgeError

RATING, SCORE, MISSED_URGENT = "rating", "score", "missed_urgent"
_ERRORS = ("n_significant", "n_insignificant")
"""The counts that rubrics share, whatever their scales."""
SIGNIFICANT, ACTIONABLE = "significant", "actionable"
_SCALE = (ACTIONABLE, "urgent", "emergent")
LEVELS = (SIGNIFICANT, *_SCALE)
"""The levels at which errors of different scales can be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMeasure(Measure):
    """A measure that raters have whatever their rubrics: in a rubric, the sum of its `made_of`.

    `is_level` is true of the errors of a level, which rates are of; `category` is there for a count
    of the errors of one category. The reader's rating, a field of the run, is made of nothing.
    """

    made_of: tuple[str, ...] = ()
    is_level: bool = False
    category: str | None = None


RATINGS = SharedMeasure(name=RATING, label="rating", higher_is_better=True)
"""What readers say of the whole report."""


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
    levels: dict[str, tuple[str, ...]] = {}
    for place, level in enumerate(scale):
        if level not in meanings:
            continue
        names: list[str] = []
        for label in labels:
            if label.means in scale[place:]:
                counting = rubric.counting(tally.kind, {tally.columns: label.name})
                names += [measure.name for measure in counting]
        levels[level] = tuple(names)
    return levels


def measures_at_level(
    rubric: Rubric, level: str, lacks: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the measures of a level or worse; `significant` of two stands for `actionable`."""
    levels = levels_of(rubric, lacks)
    return levels.get(level) or (
        levels.get(SIGNIFICANT, ()) if level == ACTIONABLE else ()
    )


def significant_labels(rubric: Rubric, level: str | None = None) -> frozenset[str]:
    """Return the grades of an error that count as significant: those of `level` or worse.

    Without a level they are the rubric's own: `significant` of two levels, urgent or worse of four;
    of a rubric whose grades have no such meaning, those that are grave. `actionable` is
    `significant` on a scale of two, as in `measures_at_level`.
    """
    labels: list[Label] = []
    for kind in rubric.graded:
        labels += rubric.facet(str(kind.graded_by)).labels
    meanings = {label.means for label in labels}
    if not meanings & {*LEVELS}:
        return frozenset(label.name for label in labels if label.is_grave)
    if SIGNIFICANT in meanings:
        significant: tuple[str, ...] = (SIGNIFICANT,)
    else:
        first = level
        if first not in _SCALE:
            first = "urgent"
        significant = _SCALE[_SCALE.index(first) :]
    return frozenset(label.name for label in labels if label.means in significant)


def common_level(rubrics: Iterable[Rubric]) -> str | None:
    """Return the level that makes scales of two and of four alike, None where all have one kind."""
    known = [levels_of(rubric) for rubric in rubrics]
    scales = {SIGNIFICANT in levels for levels in known if levels}
    return ACTIONABLE if len(scales) > 1 else None


def quantities_of(
    rubric: Rubric, lacks: Collection[str] = (), level: str | None = None
) -> dict[str, SharedMeasure]:
    """Return the quantities of a rubric by name, those that it has the measures for.

    A level that a reader `lacks` (`rubrics.derived`) is in no category's count: no error has it.
    With a `level` significant errors are those of that level or worse, else the rubric's own.
    `missed_urgent` counts the findings of the rate `no_missed_urgent`; `score` is the first.
    """
    known = {measure.name for measure in rubric.measures}
    quantities = []
    if known.issuperset(_ERRORS):
        quantities.append(_count("errors", "errors", _ERRORS))
    levels: dict[str, tuple[str, ...]] = {}
    if level is not None:
        levels[SIGNIFICANT] = measures_at_level(rubric, level, lacks)
    else:
        for name in (SIGNIFICANT, ACTIONABLE):
            if f"n_{name}" in known:
                levels[name] = (f"n_{name}",)
    at_level = {}
    for name, measures in levels.items():
        if measures:
            at_level[name] = _count(name, f"{name} errors", measures, is_level=True)
    for rate in rubric.statistics:
        if rate.name == f"no_{MISSED_URGENT}":
            at_level[MISSED_URGENT] = _count(
                MISSED_URGENT, "missed urgent findings", rate.measures, is_level=True
            )
    quantities += at_level.values()
    for score in rubric.with_role("score")[:1]:
        quantities.append(
            SharedMeasure(
                name=SCORE,
                label=score.label,
                role="score",
                higher_is_better=score.higher_is_better,
                made_of=(score.name,),
            )
        )
    if rubric.tally is not None:
        quantities += _by_category(rubric, rubric.tally, lacks)
    return {quantity.name: quantity for quantity in quantities}


def _count(
    name: str,
    label: str,
    made_of: tuple[str, ...],
    *,
    is_level: bool = False,
    category: str | None = None,
) -> SharedMeasure:
    return SharedMeasure(
        name=name,
        label=label,
        role="count",
        made_of=made_of,
        is_level=is_level,
        category=category,
    )


def _by_category(
    rubric: Rubric, tally: Tally, lacks: Collection[str]
) -> list[SharedMeasure]:
    """Return the counts of the errors of each category, of all levels that are not lacking."""
    rows = rubric.facet(tally.rows)
    columns = rubric.facet(tally.columns).labels
    grades = [grade.name for grade in columns if grade.name not in lacks]
    counts = []
    for row in rows.labels:
        names: list[str] = []
        for grade in grades:
            labels = {tally.columns: grade, tally.rows: row.name}
            names += [one.name for one in rubric.counting(tally.kind, labels)]
        counts.append(
            _count(
                f"errors_{row.name}",
                rows.text(row.name),
                tuple(names),
                category=row.name,
            )
        )
    return counts


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
