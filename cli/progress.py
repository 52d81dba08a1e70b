"""What a run says of itself on standard error, how it ends, and `--dry-run`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from judge.cli.output import note, print_tables
from judge.cli.studies import says_left_out
from judge.report.words import counted, harmless

if TYPE_CHECKING:
    from judge.running.cost import Progress
    from judge.running.engine import ProgressListener, RunStoppedError, UnreadableError
    from judge.running.session import JudgeSession
    from judge.studies import StudySet
    from judge.types import Study

_SECONDS_BETWEEN_LINES = 30.0
_LONGEST_TROUBLE = 60
_LOW_COVERAGE = 3


@contextmanager
def watching() -> Iterator[ProgressListener]:
    """Show a run's progress: a bar on a terminal, elsewhere a line every half a minute."""
    from judge.running.engine import ProgressListener

    began = last = time.monotonic()
    if not sys.stderr.isatty():

        def log(progress: Progress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _SECONDS_BETWEEN_LINES:
                last = now
                note(line(progress, now - began))

        yield ProgressListener(log, note)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, highlight=False, markup=False)
    columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tick(progress: Progress) -> None:
            text = line(progress, time.monotonic() - began)
            bar.update(task, total=progress.total, completed=progress.done, description=text)

        yield ProgressListener(tick, lambda text: console.print(harmless(text)))


def line(progress: Progress, seconds: float) -> str:
    """Return how far a run has come after so many seconds, in a line."""
    rate = progress.done / seconds if seconds else 0.0
    parts = [f"{progress.done:,}/{progress.total:,}"]
    if progress.from_cache:
        parts.append(f"{progress.from_cache:,} from cache")
    parts += [f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed", f"{rate:,.1f}/s"]
    if progress.asked:
        tokens = progress.prompt_tokens + progress.completion_tokens
        parts += [f"{tokens:,} tokens", f"cost {cost(progress)}"]
    if progress.trouble:
        parts.append(f"waiting: {harmless(progress.trouble[:_LONGEST_TROUBLE])}")
    if rate and progress.done < progress.total:
        left = timedelta(seconds=round((progress.total - progress.done) / rate))
        parts.append(f"{left} left")
    return ", ".join(parts)


def account(progress: Progress) -> list[str]:
    """Return what a run took, in a few lines."""
    if not (progress.asked or progress.from_cache or progress.retries):
        return []
    sent, cached = progress.prompt_tokens, progress.cached_tokens
    prompt = f"{sent:,} in ({cached:,} of them cached by the provider)"
    lines = [
        f"asked {progress.asked:,}, from cache {progress.from_cache:,}",
        f"tokens {prompt}, {progress.completion_tokens:,} out; cost {cost(progress)}",
    ]
    if progress.damaged:
        lines.append(
            f"{progress.damaged:,} cached answers were damaged and asked for again "
            "(judge cache info --check looks at the others)"
        )
    if progress.without_usage:
        lines.append(f"{progress.without_usage:,} answers came without a token count")
    if progress.retries:
        tried = ", ".join(f"{reason} {n:,}" for reason, n in sorted(progress.retries.items()))
        lines.append(f"sent again after: {tried}")
    return lines


def cost(progress: Progress) -> str:
    """Return the cost of a run so far; a price that is not known is not guessed."""
    return "unknown" if progress.dollars is None else f"${progress.dollars:,.2f}"


def end_uncovered(summaries: Sequence[Mapping[str, Any]], min_coverage: float) -> None:
    """Exit where too few studies of a run could be scored, and say how many and why."""
    is_low = says_left_out(min_coverage)
    for summary in summaries:
        n, scored = summary["n_studies"], summary["n_scored"]
        if n and scored / n < min_coverage:
            is_low = True
            reasons = ", ".join(f"{why} {k}" for why, k in summary["reasons"].items())
            note(
                f"Only {scored:,} of {n:,} studies could be scored, less than --min-coverage "
                f"{min_coverage:g} ({reasons})."
            )
    if is_low:
        sys.exit(_LOW_COVERAGE)


def end_stopped(error: UnreadableError | RunStoppedError) -> None:
    """Say how far the run came, what the answers looked like and how to go on, and exit."""
    from judge.running.engine import INTERRUPTED, TERMINATED, RunStoppedError

    progress, command = error.progress, ["judge", *sys.argv[1:]]
    far = f"after {progress.done:,} of {progress.total:,} studies."
    is_given_up = not isinstance(error, RunStoppedError)
    note(f"Given up {far} {error}" if is_given_up else f"Stopped ({error}) {far}")
    for text in account(progress):
        note(text)
    if is_given_up:
        command += ["--give-up-after", "0"]
    elif progress.asked or progress.from_cache:
        note("Every answer is in the cache. Go on with the same command:")
    else:
        note("No run was written. Start again with:")
    note("  " + shlex.join(command))
    sys.exit({INTERRUPTED: 130, TERMINATED: 143}.get(str(error), _LOW_COVERAGE))


def say_price(
    session: JudgeSession, studies: Collection[Study], *, in_batches: bool = False
) -> None:
    """Say what judging all of the studies would cost, before anything is asked."""
    from judge.running.cost import facts, forecast

    with session:
        coming = forecast(session, studies, in_batches=in_batches)
    if coming is not None:
        price = facts(coming, len(studies), None, unseen="unknown")
        note(f"all models: requests {price['requests']}; typical {price['typical']}")
        note(f"at the worst: {price['worst']}")


def dry_run(
    sessions: Sequence[JudgeSession],
    studies: StudySet | Sequence[Study],
    *,
    in_batches: bool = False,
) -> None:
    """Print what each judge would be asked about `studies`, side by side where there are several.

    `in_batches` takes the prices for those. Nothing is sent.
    """
    from judge.report.tables import Table
    from judge.running.cost import facts, forecast, without_requests

    columns: dict[str, dict[str, str]] = {}
    for session in sessions:
        with session:
            coming = forecast(session, studies, in_batches=in_batches)
            if coming is None:
                among = counted(len(studies), "study", "studies")
                note(f"{among}; {without_requests(session.judge)}.")
                continue
            if n := session.cache and session.cache.n_damaged:
                note(f"{n:,} cached answers are damaged and would be asked for again.")
            columns[session.judge.name] = facts(
                coming,
                len(studies),
                None if in_batches else session.concurrency,
                unseen="unknown until some answers are there: --limit 50",
            )
    if not columns:
        return
    first, *others = columns.values()
    if others:
        rows = tuple((name, *(facts[name] for facts in columns.values())) for name in first)
        print_tables([Table("Dry run", ("", *columns), rows)])
    else:
        for name, value in first.items():
            click.echo(f"{name:<16}{value}")
    click.echo("Nothing was sent.")
