"""Charts: which periods make the limits, which points are signals, and by what."""

from __future__ import annotations

from datetime import date

import pytest
from feeds import day_of, judged_table, studies_of

from judge import rubrics
from judge.monitoring.charts import (
    BaselineRule,
    charted_metrics,
    control_charts,
)
from judge.monitoring.models import ChartEntry
from judge.monitoring.periods import Period
from judge.stats.control_limits import share_limits
from judge.stats.intervals import wilson
from judge.types import JudgeError

GREEN = rubrics.load("green")
METRICS = charted_metrics(GREEN)
FIRST_8 = BaselineRule(8)
GOOD, BAD, MIXED = [0] * 10, [2] * 10, [1, 2, *[0] * 8]
ENDED = day_of(30)


def charts(
    weeks: list[tuple[int, list[int | None]]],
    until: str = ENDED,
    rule: BaselineRule = FIRST_8,
    by: tuple[str, ...] = (),
    **fields: object,
) -> dict[str, ChartEntry]:
    studies = studies_of(judged_table(weeks, **fields), until)
    found = control_charts(studies, METRICS, by, rule)
    return {chart.metric + "".join(chart.group.values()): chart for chart in found}


def test_the_first_eight_complete_weeks_make_the_limits() -> None:
    weeks = [(week, MIXED) for week in range(8)] + [(8, BAD), (9, MIXED)]
    chart = charts(weeks)["no_significant_error"]
    assert chart.baseline is not None
    assert (chart.baseline.k, chart.baseline.n, chart.baseline.n_periods) == (64, 80, 8)
    assert (chart.baseline.start, chart.baseline.end) == (day_of(0), day_of(7, 6))
    limits = share_limits(64, 80, 10)
    point, last = chart.points[8], chart.points[9]
    assert (point.lower, point.upper) == (limits.low, limits.high)
    assert (point.k, point.n, point.value, point.signal) == (0, 10, 0.0, "worse")
    interval = wilson(0, 10)
    assert (point.low, point.high) == (interval.low, interval.high)
    assert (last.signal, last.in_baseline) == (None, False)
    assert all(one.in_baseline and one.signal is None for one in chart.points[:8])
    errors = charts(weeks)["errors"]
    assert errors.baseline is not None
    assert (errors.kind, errors.baseline.k, errors.points[8].signal) == (
        "u",
        24,
        "worse",
    )
    assert errors.baseline.dispersion > 1


def test_before_there_is_a_baseline_it_is_said_what_is_missing() -> None:
    chart = charts([(week, GOOD) for week in range(7)])["errors"]
    assert chart.baseline is None
    assert chart.why_no_limits == "no limits yet: 7 of 8 complete weeks"
    assert all(point.upper is None and point.signal is None for point in chart.points)
    few = charts([(week, [0]) for week in range(20)])["errors"]
    assert few.why_no_limits == "no limits yet: 20 scored studies of 30"
    quiet = charts([(week, [0, 0]) for week in range(20)])["errors"]
    assert quiet.baseline is not None
    assert quiet.baseline.n_periods == 15


def test_a_week_that_is_not_over_is_no_signal() -> None:
    weeks = [(week, GOOD) for week in range(8)] + [(8, BAD)]
    for until, signal in ((day_of(8, 5), None), (day_of(8, 6), "worse")):
        point = charts(weeks, until)["errors"].points[-1]
        assert (point.signal, point.is_complete) == (signal, signal is not None)
        assert point.upper is not None
    assert len(charts(weeks, day_of(7, 6))["errors"].points) == 8


def test_a_better_figure_is_a_signal_of_its_own() -> None:
    weeks = [(week, [1] * 20) for week in range(8)] + [(8, [0] * 20)]
    assert charts(weeks)["errors"].points[-1].signal == "better"
    assert charts(weeks)["no_significant_error"].points[-1].signal == "better"


def test_a_judge_that_fails_is_a_signal_and_no_quality() -> None:
    weeks = [(week, GOOD) for week in range(8)] + [(8, [0, 0, *[None] * 8])]
    found = charts(weeks)
    point = found["unscored"].points[-1]
    assert (point.k, point.n, point.signal) == (8, 10, "worse")
    errors = found["errors"].points[-1]
    assert (errors.n, errors.n_studies, errors.n_unscored) == (2, 10, 8)
    lost = charts([*weeks[:8], (8, [None] * 10)])["errors"].points[-1]
    assert (lost.value, lost.n, lost.upper, lost.signal) == (None, 0, None, None)


def test_each_group_has_a_baseline_of_its_own() -> None:
    weeks = [(week, GOOD) for week in range(12)]
    table = judged_table(weeks, site="north")
    table["version"] = ["2" if day >= day_of(3) else "1" for day in table["date"]]
    studies = studies_of(table, ENDED)
    found = control_charts(studies, METRICS, ("version", "site"), FIRST_8)
    groups = [chart.group for chart in found[:: len(METRICS)]]
    assert groups == [{}, {"version": "1"}, {"version": "2"}, {"site": "north"}]
    new = found[2 * len(METRICS)]
    assert new.baseline is not None
    assert new.baseline.start == day_of(3)
    old = found[len(METRICS)]
    assert old.why_no_limits == "no limits yet: 3 of 8 complete weeks"
    with pytest.raises(JudgeError, match="ward"):
        control_charts(studies, METRICS, ("ward",), FIRST_8)


def test_a_range_of_dates_is_a_baseline_too() -> None:
    rule = BaselineRule.read(f"{day_of(2)}:{day_of(5, 6)}", "week")
    weeks = [(week, BAD if week < 2 else GOOD) for week in range(9)]
    chart = charts(weeks, rule=rule)["errors"]
    assert chart.baseline is not None
    assert (chart.baseline.start, chart.baseline.n, chart.baseline.k) == (
        day_of(2),
        40,
        0,
    )
    # What came before the baseline is shown, and raises no alarm.
    assert [point.signal for point in chart.points[:2]] == [None, None]
    empty = BaselineRule.read("2020-01-01:2020-02-01", "week")
    why = charts(weeks, rule=empty)["errors"].why_no_limits
    assert why == "no limits: 0 scored studies in the baseline, of 30"
    for text in ("0", "-1", "soon", "2026-02-01:2026-01-01", "2026-02-01:"):
        with pytest.raises(ValueError, match=r"."):
            BaselineRule.read(text, "week")
    assert BaselineRule.read(None, "month") == BaselineRule(3)


def test_weeks_and_months_are_those_of_the_calendar() -> None:
    week = Period.of(date(2026, 12, 31), "week")
    assert (week.name, week.start, week.end) == (
        "2026-W53",
        date(2026, 12, 28),
        date(2027, 1, 3),
    )
    assert Period.of(date(2027, 1, 3), "week") == week
    month = Period.of(date(2024, 2, 29), "month")
    assert (month.name, month.end) == ("2024-02", date(2024, 2, 29))
    assert month.before(2).name == "2023-12"
    assert week.before(53).name == "2025-W52"


def test_a_rubric_that_counts_no_errors_has_no_charts() -> None:
    with pytest.raises(JudgeError, match="counts no errors"):
        charted_metrics(rubrics.load("direct"))
    names = [metric.name for metric in charted_metrics(rubrics.load("fineradscore"))]
    assert names[:2] == ["no_significant_error", "no_actionable_error"]
    assert names[-2:] == ["errors", "unscored"]
