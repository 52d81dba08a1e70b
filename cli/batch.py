"""`judge batch`: what was asked in batches."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.output import cache_option, format_of, note, print_tables
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.batching.ledger import Batch, Ledger


@click.group("batch", short_help="Look after the batches that runs are asked in.")
def command() -> None:
    """Look after the batches that `judge RUBRIC ... --batch` makes."""


@command.command("list", short_help="List the batches.")
@cache_option
@format_of("table", "json", text="A table for people, or JSON with all that is known.")
def list_(cache: Path | None, form: str) -> None:
    """List the batches, the oldest first, as the commands that made them last saw them."""
    from judge.tables.data import as_json
    from judge.tables.document import Column, Table

    with _ledger(cache) as ledger:
        batches = ledger.batches()
    if form == "json":
        click.echo(as_json([asdict(batch) for batch in batches]))
        return
    rows = tuple(
        (
            *(batch.id, batch.rubric, batch.judge, batch.created[:16].replace("T", " ")),
            *(batch.remote_state or batch.state, batch.n, batch.answered),
        )
        for batch in batches
    )
    columns = [Column(name, name) for name in ("batch", "rubric", "judge", "made", "state")]
    columns += [Column(name, name, "count") for name in ("asked", "answered")]
    print_tables(Table("batches", "Batches", tuple(columns), rows))


@command.command("cancel", short_help="End a batch with what it has answered.")
@click.argument("batch_id", metavar="ID")
@cache_option
def cancel(batch_id: str, cache: Path | None) -> None:
    """End a batch; what is answered by then is paid for, and read by the command that made it.

    One that its provider does not know any more is forgotten: its questions are asked again.
    """
    from judge.batching.batch_run import GoneError
    from judge.batching.ledger import RUNNING

    with _ledger(cache) as ledger:
        batch = ledger.batch(batch_id)
        if batch.state != RUNNING:
            raise JudgeError(f"batch {batch.id} is {batch.state}, and only a running one can end")
        try:
            state = asyncio.run(_cancelled(batch))
        except GoneError:
            ledger.drop(batch)
            note(f"{batch.server} does not have batch {batch.id} any more: it is forgotten.")
            return
    note(f"Batch {batch.id} is {state}. Its answers are read by:\n  {batch.command}")


async def _cancelled(batch: Batch) -> str:
    from judge.backends.base import TIMEOUT
    from judge.backends.servers import Connection
    from judge.batching.batch_run import ENDED, Provider

    connection = Connection(batch.server, TIMEOUT)
    async with Provider(connection, connection.key(os.environ)) as provider:
        remote = await provider.look(str(batch.remote_id))
        if remote.status not in ENDED:
            remote = await provider.cancel(remote.id)
        return remote.status


def _ledger(cache: Path | None) -> Ledger:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    return Ledger(place(cache, os.environ), create=False)
