"""`judge monitor FEED --out DIR`: drafts and signed reports judged as they come, with alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
)
from judge.cli.output import note, print_document, warn
from judge.cli.progress import (
    LOW_COVERAGE,
    forecast,
    judge_studies,
    uncovered,
    watching,
)
from judge.cli.run_options import (
    JudgeOptions,
    column_option,
    column_values,
    encoding_option,
    judge_options,
    running_options,
    section_option,
)
from judge.text import counted
from judge.types import LEXICON, Failed, JudgeError

if TYPE_CHECKING:
    from judge.cli.month_budget import MonthBudget
    from judge.monitoring.charts import BaselineRule
    from judge.monitoring.feed import Feed, FeedSettings, NewStudies
    from judge.monitoring.history import History
    from judge.monitoring.models import MonitorReport
    from judge.run_files.identity import RunIdentity
    from judge.run_files.summary import RunSummary
    from judge.run_settings import RunSettings
    from judge.running.records import StudyResult
    from judge.running.session import JudgeSession
    from judge.studies import StudySet

_feed_option = partial(click.option, cls=GroupedOption, group="Feed")
_charts_option = partial(click.option, cls=GroupedOption, group="Charts")
_ROLES = ("id", "candidate", "reference", "class", "patient")
_TABLES = ("alarms", "charts", "versions", "points")
_ALARM = 1
_LARGEST_PAGE = 2000
"""Pages of runs with more studies are not written; judge serve shows them."""


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


@dataclass(frozen=True, kw_only=True)
class _MonitorOptions(JudgeOptions):
    """What `judge monitor` is asked to do."""

    feed: str
    out: Path
    columns: Mapping[str, Any]
    section: str | None
    encoding: str | None
    rubric: str
    max_cost_month: float | None
    every: Literal["week", "month"]
    baseline: str | None
    by: tuple[str, ...]
    until: date | None
    patient_field: str | None

    def last_day(self, today: date) -> tuple[date, date]:
        """Return the last day whose studies are judged, and the last that has passed."""
        if self.until is not None:
            return self.until, self.until
        return today, today - timedelta(days=1)

    def feed_settings(self, last_day: date, section: str | None) -> FeedSettings:
        """Return how the feed is read; `section` is that of the runs so far."""
        from judge.monitoring.feed import ROLE_NAMES, FeedSettings
        from judge.studies import NamedFields

        values = column_values(self.columns)
        fields = NamedFields(
            id=values["id"],
            candidate=values["candidate"],
            reference=values["reference"],
            study_class=values["study_class"],
            patient=values["patient"],
            encoding=self.encoding,
        )
        roles = {
            name: self.columns[name] for name in ROLE_NAMES if name in self.columns
        }
        return FeedSettings(
            until=last_day, fields=fields, roles=roles, section=self.section or section
        )

    def rule(self) -> BaselineRule:
        """Return the periods of the baseline; raises `click.BadParameter`."""
        from judge.monitoring.charts import BaselineRule

        try:
            return BaselineRule.read(self.baseline, self.every)
        except ValueError as error:
            raise click.BadParameter(
                f"{self.baseline!r} is neither a number such as 8 nor a range such as "
                f"2026-01-05:2026-03-01: {error}",
                param_hint="--baseline",
            ) from error

    def run_settings(self, section: str | None) -> RunSettings:
        """Return what a run is asked to do."""
        from judge.run_settings import RunSettings

        return RunSettings.of(
            rubric=self.rubric,
            preds=self.feed,
            columns=column_values(self.columns),
            section=section,
            encoding=self.encoding,
            **self.judge_values(),
        )


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
@click.option(
    "--rubric",
    cls=GroupedOption,
    group="Judge",
    metavar="NAME",
    default="green",
    show_default=True,
    help="The rubric to judge by; it has to count errors.",
)
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
    from judge.files import staging_folder
    from judge.monitoring.charts import charted_metrics
    from judge.monitoring.history import open_history
    from judge.rubrics import load

    options = _MonitorOptions(**values)
    options.rule()
    charted_metrics(load(options.rubric))
    _check_apart(Path(options.feed), options.out)
    if options.dry_run:
        _forecast(options, open_history(options.out))
        return
    _make_folder(options.out)
    try:
        open_history(options.out)
        with staging_folder(options.out):
            report, summary, is_waiting = _monitor(options)
    finally:
        _remove_empty(options.out)
    context = click.get_current_context()
    if report is None:
        context.exit(LOW_COVERAGE if is_waiting else 0)
    from judge.tables.monitor import monitor_document

    wanted = (*table, "points") if form == "csv" and not table else table
    document = monitor_document(report, wanted)
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


def _make_folder(path: Path) -> None:
    """Make a folder that its owner alone can read; raises `JudgeError` where it cannot be made."""
    from judge.files import cannot_write

    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _remove_empty(out: Path) -> None:
    """Remove the folder of a monitor in which nothing was written."""
    if not any(out.iterdir()):
        out.rmdir()


def _found(
    options: _MonitorOptions, history: History, session: JudgeSession, last_day: date
) -> tuple[Feed, NewStudies]:
    """Read the feed, and find what is new in it."""
    from judge.monitoring.feed import new_studies, read_feed
    from judge.stats.summary import reserved_names

    settings = options.feed_settings(last_day, history.section)
    feed = read_feed(options.feed, settings, history.dates)
    reserved = reserved_names(session.rubric)
    return feed, new_studies(feed, settings, history.records, reserved)


def _forecast(options: _MonitorOptions, history: History) -> None:
    """Say what the judge would be asked, and what it may cost."""
    last_day, _ = options.last_day(datetime.now(UTC).date())
    session = options.session(options.run_settings(history.section))
    _, new = _found(options, history, session, last_day)
    if new.studies is None:
        note("No new study has both a draft and a signed report.")
        return
    studies = _with_context(options, new.studies, session)
    history.check(_identity(session, studies), options.out)
    forecast(session, studies)


def _monitor(
    options: _MonitorOptions,
) -> tuple[MonitorReport | None, RunSummary | None, bool]:
    """Judge what is new, and write the report, which is None where no study was ever judged.

    Returns the summary of the new run too, and whether studies wait for money.
    """
    from judge.cli.month_budget import MonthBudget
    from judge.monitoring.history import SPENT, open_history
    from judge.monitoring.models import SpentEntry
    from judge.monitoring.monitor import (
        Found,
        MonitorSettings,
        monitor_report,
        write_report,
    )

    now = datetime.now(UTC)
    last_day, passed = options.last_day(now.date())
    history = open_history(options.out)
    month = f"{now:%Y-%m}"
    spent = options.out / SPENT
    budget = MonthBudget(spent, month, options.max_cost_month, options.max_cost)
    session = options.session(options.run_settings(history.section), budget)
    if not options.judge:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    feed, new = _found(options, history, session, last_day)
    note(_new_text(new))
    waiting: list[str] = []
    summary = None
    if new.studies is not None:
        studies = _with_context(options, new.studies, session)
        history.check(_identity(session, studies), options.out)
        summary, waiting = _judge(options, session, budget, studies, now)
    dollars = 0.0
    if spent.exists():
        dollars = budget.spent
    budget.close()
    history = open_history(options.out)
    if not history.runs:
        note(
            "Nothing to chart yet: no study with a draft and a signed report was judged."
        )
        return None, summary, bool(waiting)
    report = monitor_report(
        history,
        Found(feed=feed, new=new, waiting=waiting),
        MonitorSettings(
            until=passed,
            every=options.every,
            baseline=options.rule(),
            by=options.by or None,
            patient_field=options.patient_field,
        ),
        SpentEntry(month=month, dollars=dollars, limit=options.max_cost_month),
        now,
    )
    write_report(report, options.out)
    _write_pages(report, history, options.out)
    return report, summary, bool(waiting)


def _identity(session: JudgeSession, studies: StudySet) -> RunIdentity:
    return session.identity(studies, "")


def _with_context(
    options: _MonitorOptions, studies: StudySet, session: JudgeSession
) -> StudySet:
    from judge.running.settings import with_context

    settings = options.run_settings(studies.section)
    return with_context(studies, settings, session.rubric)


def _judge(
    options: _MonitorOptions,
    session: JudgeSession,
    budget: MonthBudget,
    studies: StudySet,
    now: datetime,
) -> tuple[RunSummary | None, list[str]]:
    """Judge studies into a run of their own; returns the ids of those that wait for money.

    Where the money does not reach, the run is of the studies that were answered by then.
    """
    from judge.monitoring.history import next_run
    from judge.running.progress import RunStoppedError

    answered: list[int] = []

    def keep(judged: StudyResult) -> None:
        # One that failed is asked about again.
        if not isinstance(judged.outcome, Failed):
            answered.append(judged.row)

    with watching() as listener:

        def run_of(part: StudySet) -> RunSummary:
            finished = judge_studies(
                session,
                part,
                out=next_run(options.out, now),
                settings=options.run_settings(studies.section),
                listener=listener,
                also=keep,
            )
            return finished.summary

        try:
            return run_of(studies), []
        except RunStoppedError as error:
            if not budget.refusal or error.why != budget.refusal:
                raise
            warn(f"Stopped: {error.why}.")
        part = studies.take(sorted(answered))
        waiting = [name for name in studies.study_ids if name not in {*part.study_ids}]
        n = counted(len(waiting), "study waits", "studies wait")
        warn(f"{n} for money, and the next command goes on with them.")
        if not len(part):
            return None, waiting
        # Its answers are in the cache, and cost nothing more.
        return run_of(part), waiting


def _new_text(new: NewStudies) -> str:
    """Return how much is new in the feed."""
    n = 0 if new.studies is None else len(new.studies)
    text = f"{counted(n, 'study is', 'studies are')} new"
    if new.unsigned:
        text += f", {len(new.unsigned):,} not signed yet"
    if new.undrafted:
        text += f", {len(new.undrafted):,} without a draft"
    return f"{text}."


def _write_pages(report: MonitorReport, history: History, out: Path) -> None:
    """Write the charts' page, and the pages of the runs with the studies of an alarm."""
    from judge.monitoring.history import PAGES
    from judge.pages.monitor import write_monitor_page
    from judge.pages.run import write_page

    runs = {run.path.name: run for run in history.runs}
    pages: dict[str, str] = {}
    for alarm in report.alarms:
        for study in alarm.studies:
            pages[study.run] = f"{PAGES}/{study.run}.html"
    for name in list(pages):
        run = runs[name]
        is_large = run.summary().n_studies > _LARGEST_PAGE
        if is_large:
            del pages[name]
            continue
        path = out / pages[name]
        _make_folder(path.parent)
        write_page(run, path)
    note(f"page  {write_monitor_page(report, out, pages)}")
