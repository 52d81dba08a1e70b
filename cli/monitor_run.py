"""What `judge monitor` does: it finds what is new, judges it, and writes the charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import click

from judge.cli.month_budget import MonthBudget
from judge.cli.output import note, warn
from judge.cli.progress import forecast, judge_studies, watching
from judge.cli.run_options import JudgeOptions, column_values
from judge.files import cannot_write
from judge.monitoring.charts import BaselineRule
from judge.monitoring.feed import (
    ROLE_NAMES,
    Feed,
    FeedSettings,
    NewStudies,
    new_studies,
    read_feed,
)
from judge.monitoring.history import PAGES, SPENT, History, next_run, open_history
from judge.monitoring.models import MonitorReport, SpentEntry
from judge.monitoring.monitor import (
    Found,
    MonitorSettings,
    monitor_report,
    write_report,
)
from judge.pages.monitor import write_monitor_page
from judge.pages.run import write_page
from judge.run_files.summary import RunSummary
from judge.run_settings import RunSettings
from judge.running.progress import RunStoppedError
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.running.settings import with_context
from judge.stats.summary import reserved_names
from judge.studies import NamedFields, StudySet
from judge.text import counted
from judge.types import LEXICON, Failed

_LARGEST_PAGE = 2000
"""Pages of runs with more studies are not written; judge serve shows them."""


@dataclass(frozen=True, kw_only=True)
class MonitorOptions(JudgeOptions):
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
        return RunSettings.of(
            rubric=self.rubric,
            preds=self.feed,
            columns=column_values(self.columns),
            section=section,
            encoding=self.encoding,
            **self.judge_values(),
        )


def make_folder(path: Path) -> None:
    """Make a folder that its owner alone can read; raises `JudgeError` where it cannot be made."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _found(
    options: MonitorOptions, history: History, session: JudgeSession, last_day: date
) -> tuple[Feed, NewStudies]:
    """Read the feed, and find what is new in it."""
    settings = options.feed_settings(last_day, history.section)
    feed = read_feed(options.feed, settings, history.dates)
    reserved = reserved_names(session.rubric)
    return feed, new_studies(feed, settings, history.records, reserved)


def forecast_new(options: MonitorOptions, history: History) -> None:
    """Say what the judge would be asked, and what it may cost."""
    last_day, _ = options.last_day(datetime.now(UTC).date())
    session = options.session(options.run_settings(history.section))
    _, new = _found(options, history, session, last_day)
    if new.studies is None:
        note("No new study has both a draft and a signed report.")
        return
    studies = _with_context(options, new.studies, session)
    history.check(session.identity(studies, ""), options.out)
    forecast(session, studies)


def judge_new(
    options: MonitorOptions,
) -> tuple[MonitorReport | None, RunSummary | None, bool]:
    """Judge what is new, and write the report, which is None where no study was ever judged.

    Returns the summary of the new run too, and whether studies wait for money.
    """
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
        history.check(session.identity(studies, ""), options.out)
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


def _with_context(
    options: MonitorOptions, studies: StudySet, session: JudgeSession
) -> StudySet:
    settings = options.run_settings(studies.section)
    return with_context(studies, settings, session.rubric)


def _judge(
    options: MonitorOptions,
    session: JudgeSession,
    budget: MonthBudget,
    studies: StudySet,
    now: datetime,
) -> tuple[RunSummary | None, list[str]]:
    """Judge studies into a run of their own; returns the ids of those that wait for money.

    Where the money does not reach, the run is of the studies that were answered by then.
    """
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
        judged = {*part.study_ids}
        waiting = [name for name in studies.study_ids if name not in judged]
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
        make_folder(path.parent)
        write_page(run, path)
    note(f"page  {write_monitor_page(report, out, pages)}")
