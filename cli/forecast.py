"""What a run would ask and cost: `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from judge.cli.output import note, print_tables
from judge.report.words import counted

if TYPE_CHECKING:
    from judge.running.session import JudgeSession
    from judge.studies import StudySet


def dry_run(
    sessions: Sequence[JudgeSession], studies: StudySet, *, in_batches: bool = False
) -> None:
    """Print what each judge would be asked about `studies`, side by side where there are several.

    `in_batches` takes the prices for those. Nothing is sent.
    """
    from judge.report.tables import Table
    from judge.running.cost import facts, forecast, without_requests

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
                None if in_batches else session.concurrency,
                unseen="unknown until some answers are there: --limit 50",
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
