"""`judge batch`: what was asked in batches."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.output import cache_option, format_of, note, print_facts, print_tables
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.batching.ledger import Batch, Ledger
    from judge.batching.provider import Provider, Remote

_TABLE = ("batch", "rubric", "judge", "made", "state", "asked", "answered", "cost")
_HIDDEN = {"run", "kind", "billed_at", "mode", "tool", "longest", "asked_at"}
_FORM = format_of("table", "json", text="A table for people, or JSON.")


@click.group("batch", short_help="Look after the batches that runs are asked in.")
def command() -> None:
    """Look after the batches that `judge RUBRIC ... --batch` makes.

    What is known of them lies beside the cache.
    """


@command.command("list", short_help="List the batches.")
@cache_option
@_FORM
def list_(cache: Path | None, form: str) -> None:
    """List the batches, the oldest first, as they were when judge last looked.

    Asks no server; `judge batch show` does.
    """
    with _ledger(cache) as ledger:
        batches = ledger.batches()
    if form == "json":
        _print_json([batch.model_dump() for batch in batches])
        return
    if not batches:
        click.echo("No batch was made yet: judge RUBRIC ... --batch makes them.")
        return
    from judge.report.tables import Table

    rows = tuple(
        (
            *(batch.id, batch.rubric, batch.judge, batch.created[:16].replace("T", " ")),
            *(batch.remote_state or batch.state, f"{batch.n:,}", f"{batch.answered:,}"),
            "unknown" if batch.dollars is None else f"${batch.dollars:,.2f}",
        )
        for batch in batches
    )
    print_tables([Table("Batches", _TABLE, rows, 5)])


@command.command("show", short_help="Show one batch, as it is at its provider.")
@click.argument("batch_id", metavar="ID")
@cache_option
@_FORM
def show(batch_id: str, cache: Path | None, form: str) -> None:
    """Show a batch, by its id here or at the provider, which is asked how far it is.

    The key comes from the environment, as for the run.
    """
    from judge.batching.ledger import RUNNING

    with _ledger(cache) as ledger:
        batch = ledger.batch(batch_id)
    facts = batch.model_dump()
    if batch.state == RUNNING:
        remote = asyncio.run(_looked_at(batch))
        facts |= {
            "there": remote.state,
            "answered_there": remote.n_answered,
            "failed_there": remote.n_failed,
            "faults": remote.faults,
        }
    if form == "json":
        _print_json(facts)
    else:
        shown = {name: value for name, value in facts.items() if name not in _HIDDEN}
        names = {"n": "asked", "most": "cost at most", "dollars": "cost"}
        print_facts(
            (names.get(name, name.replace("_", " ")), "-" if value in (None, "") else str(value))
            for name, value in shown.items()
        )


@command.command("cancel", short_help="End a batch with what it has answered.")
@click.argument("batch_id", metavar="ID")
@cache_option
def cancel(batch_id: str, cache: Path | None) -> None:
    """End a batch; what is answered by then is paid for, and read by the command that made it.

    One that has ended by itself is read at once. One that its provider does not know any more is
    forgotten: its questions are asked again.
    """
    from judge.batching.ledger import OVER, RUNNING
    from judge.batching.provider import GoneError

    with _ledger(cache) as ledger:
        batch = ledger.batch(batch_id)
        if batch.state == OVER:
            raise JudgeError(f"batch {batch.id} is over already ({batch.remote_state})")
        if batch.state != RUNNING:
            raise JudgeError(
                f"whether batch {batch.id} was made is not known yet: the command that made it "
                f"finds out:\n  {batch.command}"
            )
        try:
            note(asyncio.run(_cancelled(ledger, batch)))
        except GoneError:
            ledger.drop(batch)
            note(
                f"{batch.server} does not have batch {batch.id}, or its answers, any more: it is "
                "forgotten, and what it asked is asked again."
            )


async def _looked_at(batch: Batch) -> Remote:
    async with _provider(batch) as provider:
        return await provider.look(str(batch.remote_id))


async def _cancelled(ledger: Ledger, batch: Batch) -> str:
    """End a batch, or read one that is over; returns what to say."""
    from judge.batching.batch_run import collect, describe
    from judge.batching.ledger import RUNNING
    from judge.cache import CompletionCache

    async with _provider(batch) as provider, ledger.making(note):
        remote = await provider.look(str(batch.remote_id))
        if not remote.is_over:
            remote = await provider.cancel(remote.id)
            return (
                f"Batch {batch.id} is {remote.state} at {batch.server}. Its answers so far are "
                f"read by:\n  {batch.command}"
            )
        if ledger.batch(batch.id).state == RUNNING:
            with CompletionCache(ledger.folder.parent) as cache:
                await collect(provider, ledger, cache, batch, remote)
    return describe(ledger.batch(batch.id))


def _ledger(cache: Path | None) -> Ledger:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    return Ledger(place(cache, os.environ), create=False)


def _provider(batch: Batch) -> Provider:
    from judge.backends.base import TIMEOUT
    from judge.backends.servers import Connection
    from judge.batching.provider import Provider

    connection = Connection(batch.server, TIMEOUT)
    return Provider(connection, connection.key(os.environ))


def _print_json(value: object) -> None:
    from judge.report.formats import as_json

    click.echo(as_json(value))
