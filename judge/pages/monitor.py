"""The page of a monitor: alarms with the studies to open, charts, tests of new versions."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

from judge.files import write_html
from judge.monitoring.feed import VERSION
from judge.monitoring.history import PAGE, RUNS
from judge.monitoring.models import AlarmEntry, ChartEntry, MonitorReport
from judge.monitoring.monitor import group_text
from judge.pages.bundle import MARK, RESULTS, source_hash
from judge.pages.control_chart import STYLE, control_chart
from judge.tables.document import Table
from judge.tables.monitor import monitor_facts, points_table, versions_table
from judge.text import counted

_MOST_STUDIES = 50
"""So many studies of an alarm are listed; monitor.json has all."""


def write_monitor_page(
    report: MonitorReport, out: Path, pages: Mapping[str, str]
) -> Path:
    """Write the page into a folder, and return its path.

    `pages` has the address of the page of each run that has one, relative to the folder. Raises
    `JudgeError` where it cannot be written.
    """
    path = out / PAGE
    write_html(_page(report, pages), path, MARK)
    return path


def _page(report: MonitorReport, pages: Mapping[str, str]) -> Iterator[str]:
    policy = (
        f"default-src 'none'; style-src {source_hash(RESULTS.style)} {source_hash(STYLE)}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield (
        f'{MARK}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Monitor</title>\n<style>{RESULTS.style}</style>\n<style>{STYLE}</style>\n"
        '</head>\n<body>\n<header class="top"><h1>Monitor</h1>\n'
    )
    for note in report.notes:
        yield f'<p class="note"><bdi>{html.escape(note)}</bdi></p>\n'
    yield "</header>\n<main>\n"
    yield _facts(report)
    if report.alarms:
        yield "<h2>Alarms</h2>\n"
        for alarm in report.alarms:
            yield from _alarm(alarm, pages)
    yield "<h2>Charts</h2>\n"
    yield (
        '<p class="small">Dashed: the limits of that number of studies. Shaded: the baseline. '
        "Diamond: a signal. Open circle: the period is not over. Dotted: a new version.</p>\n"
    )
    versions = _first_days(report)
    for chart in report.charts:
        yield from _chart(chart, versions)
    if report.version_tests:
        yield _table(versions_table(report.version_tests), level=2)
    signature = html.escape(report.signature)
    yield f'</main>\n<footer><p class="mono">{signature}</p></footer>\n</body>\n</html>\n'


def _facts(report: MonitorReport) -> str:
    facts = []
    for name, value in monitor_facts(report):
        facts.append(
            f"<div><dt>{html.escape(name)}</dt>"
            f"<dd><bdi>{html.escape(value)}</bdi></dd></div>"
        )
    return f'<dl class="facts">{"".join(facts)}</dl>\n'


def _alarm(alarm: AlarmEntry, pages: Mapping[str, str]) -> Iterator[str]:
    yield f'<h3 class="wrong">{html.escape(alarm.sentence)}</h3>\n'
    if not alarm.studies:
        return
    yield '<ul class="to-open small">\n'
    for study in alarm.studies[:_MOST_STUDIES]:
        name = html.escape(study.study_id)
        errors = "no score"
        if study.n is not None:
            errors = counted(study.n, "error", "errors")
        if study.run in pages:
            query = urlencode({"study": study.study_id}, errors="replace")
            address = html.escape(f"{quote(pages[study.run])}#{query}", quote=True)
            link = f'<a href="{address}"><bdi>{name}</bdi></a>'
        else:
            link = f"<bdi>{name}</bdi> (judge serve {RUNS}, {html.escape(study.run)})"
        yield f"<li>{link}, {errors}</li>\n"
    n_left = len(alarm.studies) - _MOST_STUDIES
    if n_left > 0:
        yield f"<li>and {n_left:,} more, in monitor.json</li>\n"
    yield "</ul>\n"


def _first_days(report: MonitorReport) -> dict[str, str]:
    """Return the first day of the first period of each version that has a chart of its own."""
    days: dict[str, str] = {}
    for chart in report.charts:
        if list(chart.group) == [VERSION] and chart.points:
            days.setdefault(chart.group[VERSION], chart.points[0].start)
    return days


def _chart(chart: ChartEntry, versions: Mapping[str, str]) -> Iterator[str]:
    title = html.escape(f"{chart.label}: {group_text(chart.group)}")
    yield f'<section class="figure">\n<h3>{title}</h3>\n'
    if chart.why_no_limits:
        yield f'<p class="small">{html.escape(chart.why_no_limits)}</p>\n'
    marks = versions
    if VERSION in chart.group:
        marks = {}
    yield control_chart(chart, marks)
    yield "<details><summary>Table</summary>\n"
    yield _table(points_table([chart]), level=0)
    yield "</details>\n</section>\n"


def _table(table: Table, *, level: int) -> str:
    """Return a table, below a heading of that level; 0 for none."""
    parts = []
    if level:
        parts.append(f"<h{level}>{html.escape(table.title)}</h{level}>\n")
    parts.append('<div class="scroll" tabindex="0"><table><thead><tr>')
    for heading in table.head:
        parts.append(f'<th scope="col">{html.escape(heading)}</th>')
    parts.append("</tr></thead>\n<tbody>\n")
    for row in table.texts:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        parts.append(f"<tr>{cells}</tr>\n")
    parts.append("</tbody></table></div>\n")
    if table.note:
        parts.append(f'<p class="small">{html.escape(table.note)}</p>\n')
    return "".join(parts)
