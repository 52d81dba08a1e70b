"""A monitor's charts, tests and alarms, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judge.monitoring.models import (
    ChartEntry,
    CountsEntry,
    MonitorReport,
    PointEntry,
    VersionTestEntry,
)
from judge.monitoring.monitor import figure_text, group_text
from judge.stats.estimate import Estimate
from judge.tables.document import Cell, Column, Document, Fact, ShownEstimate, Table
from judge.tables.kinds import Kind, figure_kind
from judge.tables.run import named_judge
from judge.text import NOTHING

TABLES = ("alarms", "charts", "versions", "points")
"""The tables of a monitor, as `--table` names them."""
_WAITING = {
    "unsigned": "not signed yet",
    "waiting": "not judged yet",
    "undrafted": "without a draft",
    "no_date": "without a date",
    "later": "dated later",
}
_ALARMS = (
    Column("what"),
    Column("metric"),
    Column("group", "studies"),
    Column("period"),
    Column("value"),
    Column("limit"),
    Column("n", kind=Kind.COUNT),
    Column("n_to_open", "to open", kind=Kind.COUNT),
)
_CHARTS = (
    Column("metric"),
    Column("group", "studies"),
    Column("period"),
    Column("figure", kind=Kind.NUMBER),
    Column("n", kind=Kind.COUNT),
    Column("centre", "baseline"),
    Column("limits"),
    Column("signal"),
)
_POINTS = (
    *_CHARTS[:5],
    Column("k", kind=Kind.COUNT),
    Column("n_studies", "judged", kind=Kind.COUNT),
    Column("n_unscored", "no score", kind=Kind.COUNT),
    Column("lower", digits=4, kind=Kind.NUMBER),
    Column("upper", digits=4, kind=Kind.NUMBER),
    Column("signal"),
    Column("state"),
)
_VERSIONS = (
    Column("version"),
    Column("earlier", "against"),
    Column("period", "until"),
    Column("metric"),
    Column("value", kind=Kind.NUMBER),
    Column("baseline", "before", kind=Kind.NUMBER),
    Column("difference", kind=Kind.DIFFERENCE),
    Column("n", kind=Kind.COUNT),
    Column("n_earlier", "n before", kind=Kind.COUNT),
    Column("p_holm", "p (Holm)", kind=Kind.P),
    Column("verdict"),
    Column("why"),
)


def monitor_document(report: MonitorReport, tables: Sequence[str] = ()) -> Document:
    """Return the alarms, each chart's last complete period, and the tests of new versions.

    The table of all points is there where `tables` names it.
    """
    shown = []
    if report.alarms:
        shown.append(alarms_table(report))
    shown.append(charts_table(report))
    if report.version_tests:
        shown.append(versions_table(report.version_tests))
    if "points" in tables:
        shown.append(points_table(report.charts))
    return Document(
        "Monitor",
        facts=monitor_facts(report),
        notes=tuple(report.notes),
        tables=tuple(shown),
        signatures=(("signature", report.signature),),
    )


def monitor_facts(report: MonitorReport) -> list[Fact]:
    """Return the facts of a report: the alarms first."""
    facts = [("last complete period", report.last_period or "none yet")]
    facts.append(("alarms", f"{len(report.alarms):,}"))
    facts += [
        ("feed", report.feed),
        ("judge", named_judge(report.judge, report.judge_note)),
        ("rubric", report.rubric),
        ("section", report.section),
        ("studies", _judged(report.counts)),
    ]
    waiting = _waiting(report.counts)
    if waiting:
        facts.append(("not in the charts", waiting))
    facts += [
        ("baseline", report.baseline),
        (
            "charts with limits",
            f"{report.n_charts_with_limits} of {len(report.charts)}",
        ),
        (
            "false alarms",
            f"about {report.false_alarms_per_year:.1f} per year are expected if nothing changes",
        ),
    ]
    spent = report.spent
    if spent.limit is not None or spent.dollars:
        of = "" if spent.limit is None else f" of ${spent.limit:,.2f}"
        facts.append(("cost", f"${spent.dollars:,.2f}{of} in {spent.month}"))
    return facts


def alarms_table(report: MonitorReport) -> Table:
    """Return the table of alarms."""
    rows: list[tuple[Cell, ...]] = []
    for alarm in report.alarms:
        chart = _chart_of(report, alarm.metric, alarm.group)
        kind = chart.kind if chart is not None else "u"
        limit = NOTHING
        if alarm.limit is not None:
            limit = figure_text(alarm.limit, kind)
        rows.append(
            (
                alarm.what,
                alarm.label,
                group_text(alarm.group),
                alarm.period,
                figure_text(alarm.value, kind),
                limit,
                alarm.n,
                len(alarm.studies),
            )
        )
    return Table("alarms", "Alarms", _ALARMS, rows)


def charts_table(report: MonitorReport) -> Table:
    """Return the table of all charts at the last complete period."""
    rows: list[tuple[Cell, ...]] = []
    for chart in report.charts:
        point = _last_point(chart, report.last_period)
        if point is None:
            continue
        centre = limits = NOTHING
        signal = chart.why_no_limits
        if chart.baseline is not None:
            centre = figure_text(chart.baseline.centre, chart.kind)
            limits = limits_text(point, chart.kind)
            signal = signal_text(point)
        rows.append(
            (
                chart.label,
                group_text(chart.group),
                point.period,
                shown_figure(point, chart.kind),
                point.n,
                centre,
                limits,
                signal,
            )
        )
    title = "Charts, last complete period"
    note = (
        "limits: between these a figure says nothing new about the baseline; a signal on the worse "
        "side is an alarm"
    )
    return Table("charts", title, _CHARTS, rows, note)


def points_table(charts: Iterable[ChartEntry]) -> Table:
    """Return the table of every point of some charts."""
    rows: list[tuple[Cell, ...]] = []
    for chart in charts:
        for point in chart.points:
            rows.append(
                (
                    chart.label,
                    group_text(chart.group),
                    point.period,
                    shown_figure(point, chart.kind),
                    point.n,
                    point.k,
                    point.n_studies,
                    point.n_unscored,
                    point.lower,
                    point.upper,
                    point.signal or "",
                    state_text(point),
                )
            )
    return Table("points", "All points", _POINTS, rows)


def versions_table(tests: Iterable[VersionTestEntry]) -> Table:
    """Return the table of tests of new versions."""
    rows: list[tuple[Cell, ...]] = []
    for test in tests:
        is_share = test.kind == "share"
        kind = figure_kind(is_share=is_share)
        difference_kind = Kind.POINTS if is_share else Kind.DIFFERENCE
        difference = Estimate(value=test.difference, low=test.low, high=test.high)
        rows.append(
            (
                test.version,
                test.earlier,
                test.period,
                test.label,
                ShownEstimate(Estimate(value=test.value), kind),
                ShownEstimate(Estimate(value=test.baseline), kind),
                ShownEstimate(difference, difference_kind),
                test.n,
                test.n_earlier,
                test.p_holm,
                test.verdict,
                test.reason,
            )
        )
    note = ""
    if rows:
        alpha = next(iter(tests)).alpha
        note = (
            "different studies of the same sites, so what else changed with time is in the "
            f"difference; worse: p (Holm) below {alpha:.4f}, this look's part of 0.05"
        )
    return Table("versions", "New versions of the model", _VERSIONS, rows, note)


def shown_figure(point: PointEntry, kind: str) -> ShownEstimate:
    """Return the figure of a point with its interval, as it is printed."""
    estimate = Estimate(
        n=point.n, k=point.k, value=point.value, low=point.low, high=point.high
    )
    return ShownEstimate(estimate, figure_kind(is_share=kind == "p"))


def limits_text(point: PointEntry, kind: str) -> str:
    """Return the limits of a point in words."""
    if point.lower is None or point.upper is None:
        return NOTHING
    return f"{figure_text(point.lower, kind)} to {figure_text(point.upper, kind)}"


def signal_text(point: PointEntry) -> str:
    """Return what a point says, empty where it says nothing new."""
    if point.in_baseline:
        return "in the baseline"
    return point.signal or "none"


def state_text(point: PointEntry) -> str:
    """Return whether a period is in the baseline, or not complete yet."""
    if point.in_baseline:
        return "baseline"
    if not point.is_complete:
        return "not complete"
    return ""


def _last_point(chart: ChartEntry, period: str | None) -> PointEntry | None:
    for point in chart.points:
        if point.period == period:
            return point
    return None


def _chart_of(
    report: MonitorReport, metric: str, group: dict[str, str]
) -> ChartEntry | None:
    """Return the chart of an alarm; of a version's that of all studies where it has none."""
    for chart in report.charts:
        if chart.metric == metric and chart.group in (group, {}):
            return chart
    return None


def _judged(counts: CountsEntry) -> str:
    text = f"{counts.judged:,} judged, {counts.scored:,} scored"
    for name in ("unparsed", "failed"):
        n = getattr(counts, name)
        if n:
            text += f", {n:,} {name}"
    return text


def _waiting(counts: CountsEntry) -> str:
    parts = []
    for name, words in _WAITING.items():
        n = getattr(counts, name)
        if n:
            parts.append(f"{n:,} {words}")
    return ", ".join(parts)
