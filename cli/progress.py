"""How a run goes and ends: forecast, progress on standard error, cost, exit codes."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any, NoReturn

import click

from judge.cli.output import is_quiet, note, note_once, warn
from judge.text import counted, harmless

if TYPE_CHECKING:
    from judge.backends import Judge
    from judge.run_files.summary import RunSummary
    from judge.running.cost import SpendingLimit
    from judge.running.progress import Progress, ProgressListener, RunStoppedError
    from judge.running.run import RunResult
    from judge.running.session import JudgeSession
    from judge.studies import StudySet
    from judge.types import Study

_SECONDS_BETWEEN_LINES = 30.0
_MINUTE, _EACH_MINUTE = (
    60.0,
    10,
)  # after so many minutes of an outage it is said each ten
LOW_COVERAGE = 3
_MOST_LEFT_OUT = 0.1


@dataclass(frozen=True, slots=True)
class Owner:
    """The service that started a command: its budget, and where its progress goes."""

    budget: SpendingLimit | None
    tick: Callable[[Progress], None]


@contextmanager
def watching() -> Iterator[ProgressListener]:
    """Show a run's progress; if it is stopped, say how to go on and exit."""
    from judge.running.progress import RunStoppedError

    try:
        with _shown() as listener:
            yield listener
    except RunStoppedError as error:
        _end_stopped(error)


@contextmanager
def _shown() -> Iterator[ProgressListener]:
    """Show one line that is rewritten on a terminal, else a line every 30 s."""
    from judge.running.progress import ProgressListener

    owner = click.get_current_context().find_object(Owner)
    if owner:
        yield ProgressListener(owner.tick, note)
        return
    if is_quiet():
        yield ProgressListener(lambda _progress: None, note)
        return
    is_terminal, began = sys.stderr.isatty(), time.monotonic()
    last_shown, outage = began, OutageLog()

    def show(text: str, end: str = "") -> None:
        click.echo(f"\r\x1b[2K{harmless(text)}{end}", err=True, nl=False)

    def tick(progress: Progress) -> None:
        nonlocal last_shown
        now = time.monotonic()
        if is_terminal:
            show(progress.line(now - began)[: shutil.get_terminal_size().columns - 1])
        elif text := outage.line(progress.lost_since, progress.trouble, now):
            note(text)
        elif progress.lost_since is None and now - last_shown >= _SECONDS_BETWEEN_LINES:
            last_shown = now
            note(progress.line(now - began))

    try:
        yield ProgressListener(
            tick, (lambda text: show(text, "\n")) if is_terminal else note
        )
    finally:
        if is_terminal:
            show("")


class OutageLog:
    """What a log says of outages: when one begins, each minute up to ten and each ten, its end."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._minutes = 0

    def line(self, since: float | None, why: str | None, now: float) -> str:
        """Return what to say now, "" for nothing; `since` is when the server was lost."""
        if since is None:
            began, self._since, self._minutes = self._since, None, 0
            return (
                ""
                if began is None
                else f"The server answers again, after {_span(now - began)}."
            )
        words = f" ({why})" if why else ""
        if self._since is None:
            self._since = since
            return f"The server does not answer{words}; waiting for it (--max-outage)."
        minutes = int((now - since) // _MINUTE)
        if minutes > _EACH_MINUTE:
            minutes -= minutes % _EACH_MINUTE
        if minutes <= self._minutes:
            return ""
        self._minutes = minutes
        return f"The server has not answered for {counted(minutes, 'minute', 'minutes')}{words}."


def _span(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} minutes"


def judge_studies(session: JudgeSession, studies: StudySet, **more: Any) -> RunResult:  # noqa: ANN401
    """Judge studies into a run folder, as `judge.running.run.run`; say what it cost."""
    from judge.running.run import run

    with session:
        finished = run(session, studies, **more)
    note_once(finished.progress.effort())
    note(
        f"run folder  {finished.path}"
    )  # first: whoever reads the table may close it early
    return finished


def named_with_end(judge: Judge) -> str:
    """Return a judge's name, and when a model behind an API ends if that is soon.

    The provider is asked where its key is there, else the table of models decides.
    """
    from judge.backends.hosted import HostedJudge

    if not isinstance(judge, HostedJudge):
        return judge.name
    asyncio.run(judge.look_up_end())
    return judge.note or judge.name  # the note begins with the name


def described_judge(judge: Judge) -> str:
    """Return a judge's name, its end if that is soon, and whether its key is missing."""
    shown = named_with_end(judge)
    missing = missing_key(judge)
    if missing:
        shown += f"; its key is missing: set {missing}"
    return shown


def missing_key(judge: Judge) -> str:
    """Return the variable with a judge's key where it is not set; empty where none is missing."""
    from judge.backends.hosted import HostedJudge

    if not isinstance(judge, HostedJudge) or not judge.billing_url:
        return ""
    if os.environ.get(judge.key_name):
        return ""
    return judge.key_name


def forecast(
    session: JudgeSession,
    studies: StudySet | Sequence[Study],
    *,
    in_batches: bool = False,
) -> None:
    """Say what the judge would be asked about `studies`, and what it may cost; ask nothing."""
    from judge.running.forecast import forecast as forecast_of

    with session:
        expected = forecast_of(session, studies, in_batches=in_batches)
        if expected is None:
            among = counted(len(studies), "study", "studies")
            note(f"{among}; {session.judge.name} answers in this process: no requests.")
            return
        if session.cache and session.cache.n_damaged:
            n = session.cache.n_damaged
            note(f"{n:,} cached answers are damaged and would be asked for again.")
        facts = {"judge": named_with_end(session.judge), "studies": f"{len(studies):,}"}
        facts |= expected.facts(None if in_batches else session.concurrency)
    for name, value in facts.items():
        click.echo(f"{name:<16}{value}")


def end_uncovered(
    summaries: Sequence[RunSummary],
    min_coverage: float,
    left_out: tuple[int, int] = (0, 0),
) -> None:
    """Exit with code 3, and say why, where too few of all studies were scored or read."""
    is_low = False
    least = min(min_coverage, 1 - _MOST_LEFT_OUT)
    n, n_left_out = left_out
    if n - n_left_out < least * n:
        is_low = True
        allowed = floor(100 * (n - n_left_out) / n) / 100
        warn(
            f"{n_left_out:,} of {n:,} studies were left out (--allow-missing), more than "
            f"{1 - least:.0%}; --min-coverage {allowed:g} allows it."
        )
    for summary in summaries:
        why = uncovered(summary, min_coverage)
        if why:
            is_low = True
            warn(why)
    if is_low:
        sys.exit(LOW_COVERAGE)


def uncovered(summary: RunSummary, min_coverage: float) -> str:
    """Return the sentence where too few studies of a run were scored, else ""."""
    n, scored = summary.n_studies, summary.n_scored
    if not n or scored / n >= min_coverage:
        return ""
    reasons = ", ".join(f"{why} {k}" for why, k in summary.reasons.items())
    return (
        f"Only {scored:,} of {n:,} studies could be scored, less than --min-coverage "
        f"{min_coverage:g} ({reasons})."
    )


def _end_stopped(error: RunStoppedError) -> NoReturn:
    """Say how far a run came, what it cost and how to go on, and exit."""
    from judge.running.progress import INTERRUPTED, TERMINATED

    progress, command = (
        error.progress,
        ["judge", *with_option(sys.argv[1:], error.option)],
    )
    warn(f"Stopped ({error}) after {progress.done:,} of {progress.total:,} studies.")
    for line in progress.effort():
        warn(line)
    if error.n_finished:
        kept = counted(
            error.n_finished,
            "run is finished, and stays",
            "runs are finished, and stay",
        )
        warn(f"{kept}.")
    if progress.asked or progress.from_cache or error.n_finished:
        same = "this command" if error.option else "the same command"
        warn(f"Every answer is in the cache. Go on with {same}:")
    else:
        warn("No run was written. Start again with:")
    warn("  " + shlex.join(command))
    sys.exit({INTERRUPTED: 130, TERMINATED: 143}.get(str(error), LOW_COVERAGE))


def with_option(words: Sequence[str], option: tuple[str, str] | None) -> list[str]:
    """Return a command's words with an option and its value, in the place of the same option."""
    if option is None:
        return [*words]
    name, value = option
    kept: list[str] = []
    is_value = False
    for word in words:
        if is_value or word.startswith(f"{name}="):
            is_value = False
        elif word == name:
            is_value = True
        else:
            kept.append(word)
    return [*kept, name, value]
