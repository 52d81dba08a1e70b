"""Which measure of a rubric stands for a report: its main score, or one that was chosen."""

from __future__ import annotations

from judge.rubrics.contract import Rubric
from judge.rubrics.numbers import Measure
from judge.types import JudgeError


def reward_of(rubric: Rubric, name: str | None) -> Measure:
    """Return the measure that is the reward.

    That is a score, a count of graded items, or what the figures are made of. Raises `JudgeError`
    as `measure_of`, and for any other: more findings, say, make no better report.
    """
    found = measure_of(rubric, name)
    printed = {one for statistic in rubric.statistics for one in statistic.measures}
    graded = {kind.name for kind in rubric.kinds if kind.graded_by is not None}
    is_counted = found.counts is not None and found.counts.kind in graded
    is_printed = found.name in printed and found.role != "check"
    if found.role in ("score", "count") or is_printed or is_counted:
        return found
    raise JudgeError(
        f"{rubric.name}'s {found.name} is no reward: more or less of it says nothing of how good a "
        "report is; choose a score or a count of errors"
    )


def measure_of(rubric: Rubric, name: str | None) -> Measure:
    """Return the measure called `name`; where that is None, the rubric's main score.

    Raises `JudgeError` for one that there is not, and where no score is the main one.
    """
    measures = {one.name: one for one in rubric.measures}
    if name is not None:
        if name not in measures:
            raise JudgeError(
                f"{rubric.name} has no measure {name!r}; it has: {', '.join(measures)}"
            )
        return measures[name]
    scores = rubric.with_role("score")
    own = [one for one in scores if one.name == rubric.name] or list(scores)
    if len(own) != 1:
        raise JudgeError(
            f"{rubric.name} has no single main score: choose a measure, one of "
            f"{', '.join([one.name for one in scores] or measures)}"
        )
    return own[0]
