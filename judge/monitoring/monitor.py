"""The report of a monitor: charts, tests of new versions and alarms, of all that was judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judge.files import replacing
from judge.monitoring.charts import (
    BaselineRule,
    ChartedMetric,
    Studies,
    charted_metrics,
    control_charts,
)
from judge.monitoring.feed import SITE, VERSION, Feed, NewStudies
from judge.monitoring.history import REPORT, RUN, History
from judge.monitoring.models import (
    FORMAT,
    AlarmEntry,
    AlarmStudy,
    ChartEntry,
    CountsEntry,
    MonitorReport,
    PointEntry,
    SpentEntry,
    VersionTestEntry,
)
from judge.monitoring.periods import PER_YEAR, Every, Period
from judge.monitoring.versions import version_tests
from judge.run_files.checked import read_json, typed
from judge.signature import with_parts
from judge.stats.control_limits import TAIL
from judge.stats.intervals import Codes, n_different
from judge.stats.summary import patients
from judge.text import counted, listed, number, percent
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

_MOST_WAITING = 1000
"""So many ids of studies that wait for the judge are listed."""
_FEW_STUDIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSettings:
    """How the charts are made.

    `by` None is by version and by site where the feed has them. `until` is the last day that
    counts; periods that end on it or before are complete.
    """

    until: date
    every: Every
    baseline: BaselineRule
    by: Sequence[str] | None = None
    patient_field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a command found in the feed: what is left to judge, and what cannot be judged.

    `waiting` are the ids of the studies that the judge has not been asked about.
    """

    feed: Feed
    new: NewStudies
    waiting: Sequence[str] = ()


def monitor_report(
    history: History,
    found: Found,
    settings: MonitorSettings,
    spent: SpentEntry,
    at: datetime,
) -> MonitorReport:
    """Return the report of all studies that were judged so far.

    Raises `JudgeError` before the first run, for a rubric that counts no errors, and for a field
    of `by` that the studies lack.
    """
    rubric = history.rubric
    if rubric is None:
        raise JudgeError("no study was judged yet, so there is nothing to chart")
    table = history.latest
    by = settings.by
    if by is None:
        by = [name for name in (VERSION, SITE) if _has_several(table, name)]
    clusters = patients(table, settings.patient_field)
    units = None
    if clusters is not None:
        units = clusters[1]
    studies = Studies.of(table, settings.every, units, settings.until)
    metrics = charted_metrics(rubric)
    charts = control_charts(studies, metrics, by, settings.baseline)
    tests = version_tests(studies, rubric)
    last = studies.last_complete
    alarms: list[AlarmEntry] = []
    if last is not None:
        alarms += _chart_alarms(studies, charts, metrics, by)
        alarms += _version_alarms(studies, tests, metrics)
    n_limited = sum(_may_alarm(chart, last) for chart in charts)
    outcomes = table["outcome"].value_counts()
    manifest = history.runs[-1].manifest
    every = settings.every
    described = [
        f"every:{every}",
        f"baseline:{settings.baseline.words(every)}",
        f"until:{settings.until}",
    ]
    return MonitorReport(
        format=FORMAT,
        made_at=at.isoformat(timespec="seconds"),
        signature=with_parts(history.signature, described),
        feed=found.feed.name,
        rubric=manifest.rubric,
        judge=manifest.judge.name,
        judge_note=manifest.judge.note,
        section=manifest.section,
        every=every,
        until=settings.until.isoformat(),
        baseline=settings.baseline.words(every),
        by=list(by),
        tail=TAIL,
        last_period=None if last is None else last.name,
        counts=CountsEntry(
            judged=len(table),
            scored=int(outcomes.get("scored", 0)),
            unparsed=int(outcomes.get("unparsed", 0)),
            failed=int(outcomes.get("failed", 0)),
            unsigned=len(found.new.unsigned),
            waiting=len(found.waiting),
            undrafted=len(found.new.undrafted),
            no_date=len(found.feed.no_date),
            later=len(found.feed.later),
            replaced=found.feed.n_replaced,
        ),
        waiting=list(found.waiting[:_MOST_WAITING]),
        n_charts_with_limits=n_limited,
        false_alarms_per_year=n_limited * PER_YEAR[every] * TAIL,
        spent=spent,
        notes=_notes(history, studies, charts[0], found, clusters),
        alarms=alarms,
        version_tests=tests,
        charts=charts,
    )


def write_report(report: MonitorReport, out: Path) -> None:
    """Write `monitor.json` into a folder, whole or not at all; raises `JudgeError`."""
    text = json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False)
    with replacing(out / REPORT) as staged:
        staged.write_bytes(f"{text}\n".encode("utf-8", "replace"))


def read_report(out: Path) -> MonitorReport:
    """Read `monitor.json` of a folder; raises `JudgeError` for a file that is none."""
    path = out / REPORT
    return typed(path, MonitorReport, read_json(path))


def figure_text(value: float, kind: str) -> str:
    """Return a figure of a chart as it is printed: a percentage, or a number per study."""
    if kind == "p":
        return percent(value)
    return number(value, 2)


def group_text(group: dict[str, str]) -> str:
    """Return the group of a chart in words."""
    if not group:
        return "all studies"
    return ", ".join(f"{name} {value}" for name, value in group.items())


def _has_several(table: pd.DataFrame, name: str) -> bool:
    """Return whether a field has more than one value, so that charts by it say something new."""
    return name in table.columns and table[name].nunique() > 1


def _may_alarm(chart: ChartEntry, last: Period | None) -> bool:
    """Return whether a chart has limits, and a point in the last complete period."""
    if chart.baseline is None or last is None:
        return False
    return any(point.period == last.name for point in chart.points)


def _chart_alarms(
    studies: Studies,
    charts: Sequence[ChartEntry],
    metrics: Sequence[ChartedMetric],
    by: Sequence[str],
) -> list[AlarmEntry]:
    """Return an alarm for each chart whose last complete period is beyond the worse limit."""
    last = studies.last_complete
    assert last is not None
    by_name = {metric.name: metric for metric in metrics}
    rows_of = {group_text(group): rows for group, rows in studies.groups(by)}
    alarms = []
    for chart in charts:
        point = next((p for p in chart.points if p.period == last.name), None)
        if point is None or point.signal != "worse" or chart.baseline is None:
            continue
        assert point.value is not None
        limit = point.lower if chart.higher_is_better else point.upper
        assert limit is not None
        rows = studies.rows_of(rows_of[group_text(chart.group)], last)
        alarm = AlarmEntry(
            what="chart",
            metric=chart.metric,
            label=chart.label,
            group=chart.group,
            period=point.period,
            value=point.value,
            limit=limit,
            centre=chart.baseline.centre,
            n=point.n,
            sentence=_chart_sentence(chart, point, point.value, limit),
            studies=_studies_to_open(studies, by_name[chart.metric], metrics, rows),
        )
        alarms.append(alarm)
    return alarms


def _chart_sentence(
    chart: ChartEntry, point: PointEntry, value: float, limit: float
) -> str:
    beyond = "below" if chart.higher_is_better else "above"
    assert chart.baseline is not None
    figure = figure_text(value, chart.kind)
    of_limit = figure_text(limit, chart.kind)
    centre = figure_text(chart.baseline.centre, chart.kind)
    studies = (
        f"{'of' if chart.kind == 'p' else 'in'} {counted(point.n, 'study', 'studies')}"
    )
    return (
        f"{chart.label}, {group_text(chart.group)}: {figure} {studies} in {point.period}, {beyond} "
        f"the limit of {of_limit} (baseline {centre})"
    )


def _version_alarms(
    studies: Studies,
    tests: Sequence[VersionTestEntry],
    metrics: Sequence[ChartedMetric],
) -> list[AlarmEntry]:
    """Return an alarm for each test of the last complete period in which a version is worse."""
    last = studies.last_complete
    assert last is not None
    by_name = {metric.name: metric for metric in metrics}
    alarms = []
    for test in tests:
        if test.period != last.name or test.verdict != "worse":
            continue
        assert test.value is not None
        kind = "p" if test.kind == "share" else "u"
        before = "n/a"
        if test.baseline is not None:
            before = figure_text(test.baseline, kind)
        is_new = (studies.table[VERSION] == test.version).to_numpy(dtype=bool)
        rows = studies.rows_of(np.flatnonzero(is_new).tolist(), last)
        # Which studies lower a score is seen by their errors.
        metric = by_name.get(test.metric, metrics[0])
        alarm = AlarmEntry(
            what="version",
            metric=test.metric,
            label=test.label,
            group={VERSION: test.version},
            period=test.period,
            value=test.value,
            limit=None,
            centre=test.baseline,
            n=test.n,
            sentence=(
                f"{test.label}: version {test.version} is worse than {test.earlier}, "
                f"{figure_text(test.value, kind)} in {counted(test.n, 'study', 'studies')} against "
                f"{before} in {test.n_earlier:,}"
            ),
            studies=_studies_to_open(studies, metric, metrics, rows),
        )
        alarms.append(alarm)
    return alarms


def _studies_to_open(
    studies: Studies,
    metric: ChartedMetric,
    metrics: Sequence[ChartedMetric],
    rows: Sequence[int],
) -> list[AlarmStudy]:
    """Return the studies that count against the model, those with the most errors first."""
    table = studies.table
    values = metric.values(table)
    errors = np.full(len(table), np.nan)
    for counts in metrics:
        if counts.kind == "u":
            errors = counts.values(table)
    is_bad = metric.is_bad(values)
    bad = [row for row in rows if is_bad[row]]
    bad.sort(key=lambda row: -np.nan_to_num(errors[row]))
    found = []
    for row in bad:
        n = None if np.isnan(errors[row]) else int(errors[row])
        study_id = str(table["study_id"].iat[row])
        found.append(AlarmStudy(study_id=study_id, run=str(table[RUN].iat[row]), n=n))
    return found


def _notes(
    history: History,
    studies: Studies,
    overall: ChartEntry,
    found: Found,
    clusters: tuple[str, Codes] | None,
) -> list[str]:
    """Return what a reader of the charts must know."""
    notes = []
    if overall.baseline is None:
        notes.append(f"{overall.why_no_limits}: an alarm is not possible before")
    if clusters is not None:
        name, units = clusters
        n = n_different(units)
        notes.append(
            f"{counted(n, 'patient has', 'patients have')} {len(units):,} studies (by {name}): "
            "limits take studies as independent, so alarms are somewhat more frequent than said"
        )
    sizes = [point.n_studies for point in overall.points if point.is_complete]
    if sizes and studies.periods[0].every == "week" and np.median(sizes) < _FEW_STUDIES:
        notes.append(
            f"half of the weeks have fewer than {_FEW_STUDIES} studies, which show large changes "
            "only: --every month shows smaller ones, later"
        )
    ways = history.differences()
    if ways:
        notes.append(
            f"the runs were asked in {len(ways)} ways, so a change may be the judge's: "
            f"{'; '.join(ways)}"
        )
    for ids, words in (
        (found.feed.no_date, "no date that can be read"),
        (found.feed.later, "a date after the last day"),
    ):
        if ids:
            some = listed(list(ids[:3]))
            n_ids = counted(len(ids), "study has", "studies have")
            notes.append(f"{n_ids} {words}, and wait ({some})")
    return notes
