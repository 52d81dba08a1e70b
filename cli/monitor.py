"""`judge monitor FEED --out DIR`: drafts and signed reports judged as they come, with alarms."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import click

from judge.cli.options import (
    NEW_FOLDER,
    POSITIVE,
    GroupedCommand,
    GroupedOption,
    by_option,
    out_option,
    output_options,
    patient_option,
    rubric_option,
)
from judge.cli.output import print_document, warn
from judge.cli.progress import (
    LOW_COVERAGE,
    uncovered,
)
from judge.cli.run_options import (
    column_option,
    encoding_option,
    judge_options,
    running_options,
    section_option,
)
from judge.types import JudgeError

_feed_option = partial(click.option, cls=GroupedOption, group="Feed")
_charts_option = partial(click.option, cls=GroupedOption, group="Charts")
_ROLES = ("id", "candidate", "reference", "class", "patient")
_TABLES = ("alarms", "charts", "versions", "points")
_ALARM = 1


def _read_day(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a date such as 2026-05-31"
        ) from error


@click.command(
    "monitor",
    cls=GroupedCommand,
    rare=[
        "--rubric",
        "--prompt",
        "--cache",
        "--section",
        "--patient-field",
        "--until",
        "--max-cost",
        "--base-url",
        "--dry-run",
        "--table",
    ],
    examples=["judge monitor feed.csv --out monitored --max-cost-month 50"],
    page="docs/monitor.md",
)
@click.argument("feed", metavar="FEED")
@out_option(
    "The folder of the runs, the charts and monitor.json.",
    path=NEW_FOLDER,
    required=True,
    group="Feed",
)
@column_option(*_ROLES, "date", "version", "site", "reader", group="Feed")
@section_option(
    help="The part of the reports to judge. Default: as judge RUBRIC, at the first run.",
    group="Feed",
)
@encoding_option(group="Feed")
@_feed_option(
    "--until",
    metavar="DATE",
    callback=_read_day,
    help="The last day that counts: later studies are left for later. Default: today (UTC).",
)
@_charts_option(
    "--every",
    type=click.Choice(["week", "month"]),
    default="week",
    show_default=True,
    help="A point for each ISO week or calendar month.",
)
@_charts_option(
    "--baseline",
    metavar="NUMBER|FROM:TO",
    help=(
        "The first periods of each chart, or two dates, that limits are made of. Default: 8 "
        "weeks, 3 months."
    ),
)
@by_option(
    "Charts by this field too. Default: version and site, if several.",
    group="Charts",
)
@patient_option(group="Charts")
@rubric_option("The rubric to judge by; it has to count errors.", group="Judge")
@judge_options
@click.option(
    "--max-cost-month",
    cls=GroupedOption,
    group="Run",
    type=POSITIVE,
    metavar="DOLLARS",
    help=(
        "Stop before a calendar month (UTC) costs more; the studies left wait for the next "
        "month."
    ),
)
@running_options
@output_options(_TABLES, group="Output")
def monitor(*, table: tuple[str, ...], form: str, **values: Any) -> None:  # noqa: ANN401
    """Judge drafts against signed reports as they come, and raise an alarm if quality falls.

    FEED is a table, or a folder of tables, with an id, a draft, a signed report and a date for
    each study. Each command judges what is new and updates the charts in DIR; run it once a day.

    Exit codes: 0 no alarm; 1 alarm; 2 wrong usage or input; 3 too few scored, or no money left.
    """
    from judge.cli.monitor_run import (
        MonitorOptions,
        forecast_new,
        judge_new,
        make_folder,
    )
    from judge.files import staging_folder
    from judge.monitoring.charts import charted_metrics
    from judge.monitoring.history import open_history
    from judge.rubrics import load

    options = MonitorOptions(**values)
    options.rule()
    charted_metrics(load(options.rubric))
    _check_apart(Path(options.feed), options.out)
    if options.dry_run:
        forecast_new(options, open_history(options.out))
        return
    make_folder(options.out)
    try:
        open_history(options.out)
        with staging_folder(options.out):
            report, summary, is_waiting = judge_new(options)
    finally:
        _remove_empty(options.out)
    context = click.get_current_context()
    if report is None:
        context.exit(LOW_COVERAGE if is_waiting else 0)
    from judge.tables.monitor import monitor_document

    if form == "csv" and not table:
        table = ("points",)
    document = monitor_document(report, table)
    print_document(document, form, report.model_dump(mode="json"), table)
    for alarm in report.alarms:
        warn(f"Alarm: {alarm.sentence}.")
    low = uncovered(summary, options.min_coverage) if summary else ""
    if low:
        warn(low)
    if report.alarms:
        context.exit(_ALARM)
    if low or is_waiting:
        context.exit(LOW_COVERAGE)


def _check_apart(feed: Path, out: Path) -> None:
    """Raise `JudgeError` where the monitor's folder is in the feed, which would read it."""
    if feed.is_dir() and out.resolve().is_relative_to(feed.resolve()):
        raise JudgeError(
            f"{out} is in the feed {feed}, which would be read with it; name a folder beside it"
        )


def _remove_empty(out: Path) -> None:
    """Remove the folder of a monitor in which nothing was written."""
    if not any(out.iterdir()):
        out.rmdir()
