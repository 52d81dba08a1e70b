"""What a run would ask and cost: `--dry-run` and `--sample`."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from judge.cli.output import note, print_tables
from judge.report.words import counted

if TYPE_CHECKING:
    from judge.running.progress import Progress
    from judge.running.session import JudgeSession
    from judge.studies import StudySet

_SEED = 20260101


def dry_run(
    sessions: Sequence[JudgeSession], studies: StudySet, *, in_batches: bool = False
) -> None:
    """Print what each judge would be asked about `studies`, side by side where there are several.

    `in_batches` takes the prices for those. Nothing is sent.
    """
    from judge.report.tables import Table
    from judge.running.dry import facts, forecast, without_requests

    columns: list[tuple[str, dict[str, str]]] = []
    for session in sessions:
        with session:
            coming = forecast(session, studies, in_batches=in_batches)
            if coming is None:
                among = counted(len(studies), "study", "studies")
                note(f"{among}; {without_requests(session.judge)}.")
                continue
            if n := session.cache and session.cache.n_damaged:
                note(f"{n:,} cached answers are damaged and would be asked for again.")
            found = facts(
                coming,
                len(studies),
                None if in_batches else session.policy.concurrency,
                unseen="unknown until some answers are there: --sample 50",
            )
            columns.append((session.judge.name, found))
    if len(columns) == 1:
        for name, value in columns[0][1].items():
            click.echo(f"{name:<16}{value}")
    elif columns:
        names = columns[0][1]
        rows = tuple((name, *(facts[name] for _, facts in columns)) for name in names)
        print_tables([Table("Dry run", ("", *(judge for judge, _ in columns)), rows)])
    if columns:
        click.echo("Nothing was sent.")


def sample_run(session: JudgeSession, studies: StudySet, n: int) -> None:
    """Judge `n` studies drawn at random, and print what the whole would take at that rate.

    The draw is the same each time. Answers are kept in the cache; no run is written. Raises what
    `judge_set` raises.
    """
    from judge.cli.progress import account, watching
    from judge.running.dry import without_requests
    from judge.running.engine import judge_set

    if not len(studies):
        note("There is no study to draw from.")
        return
    rows = sorted(random.Random(_SEED).sample(range(len(studies)), min(n, len(studies))))  # noqa: S311
    began = time.monotonic()
    with session, watching() as listener:
        progress = judge_set(session, studies.take(rows), lambda _end: None, listener)
    seconds = time.monotonic() - began
    for line in account(progress):
        note(line)
    if session.judge.runs_inline:
        note(f"{without_requests(session.judge)}.")
    for name, value in _whole(progress, len(studies), seconds, is_inline=session.judge.runs_inline):
        click.echo(f"{name:<10}{value}")


def _whole(
    progress: Progress, n_studies: int, seconds: float, *, is_inline: bool
) -> list[tuple[str, str]]:
    """Return what all studies would take, by those that were asked about now."""
    facts = [
        ("sample", f"{progress.total:,} of {n_studies:,} studies, drawn at random"),
        ("scored", f"{progress.total - progress.unparsed - progress.failed:,}"),
        ("unparsed", f"{progress.unparsed:,}"),
        ("failed", f"{progress.failed:,}"),
    ]
    left, share = n_studies - progress.total, n_studies / progress.total - 1
    paced = seconds * share / 60
    time_left = (
        "time",
        f"the other {left:,} studies about {paced:,.1f} minutes at this pace, the start included",
    )
    if is_inline:
        return [*facts, time_left]
    # By a part that was paid for before, or brought no answer, the whole would look too cheap.
    if progress.from_cache:
        n = counted(progress.from_cache, "answer was", "answers were")
        return [*facts, ("whole", f"{n} in the cache: see --dry-run")]
    if not progress.asked:
        return [*facts, ("whole", "unknown: no answer came")]
    from judge.running.dry import cost

    dollars = progress.dollars
    so_far = "unknown" if dollars is None else f"${dollars:,.2f}"
    rest = "unknown" if dollars is None else cost(dollars * share)
    return [
        *facts,
        (
            "cost",
            f"{so_far}; the other {left:,} studies about {rest}",
        ),
        time_left,
        ("next", "the same command without --sample; these answers are in the cache"),
    ]
