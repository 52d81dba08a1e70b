"""`judge batch`: what was asked in batches."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.output import cache_option, format_of, note, print_facts, print_tables
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.batching.ledger import Batch, Ledger
    from judge.batching.provider import Provider, Remote

_TABLE = ("batch", "rubric", "judge", "made", "state", "asked", "answered", "cost")
_FORM = format_of("table", "json", text="A table for people, or JSON.")


@click.group("batch")
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
        batches = ledger.batches() if ledger else []
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
            *(_state(batch), f"{batch.n:,}", f"{batch.answered:,}", _cost(batch)),
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
        batch = _batch(ledger, batch_id)
    remote = asyncio.run(_looked_at(batch)) if batch.state == RUNNING else None
    there = remote and {
        "there": remote.state,
        "answered there": remote.n_answered,
        "failed there": remote.n_failed,
        "faults": list(remote.faults),
    }
    there = there or {}
    if form == "json":
        _print_json(
            batch.model_dump() | {name.replace(" ", "_"): value for name, value in there.items()}
        )
        return
    facts = {
        "batch": batch.id,
        "at": f"{batch.server} as {batch.remote_id}",
        "state": _state(batch),
        "made": batch.created,
        "rubric": batch.rubric,
        "judge": batch.judge,
        "asked": f"{batch.n:,}",
        "answered": f"{batch.answered:,}",
        "failed": f"{batch.failed:,}",
        "again": f"{batch.again:,}",
        "tokens": f"{batch.prompt_tokens:,} in, {batch.completion_tokens:,} out",
        "cost": _cost(batch),
        **there,
        "faults": "; ".join(remote.faults if remote else ()) or "-",
        "command": batch.command or "-",
    }
    print_facts([(name, str(value)) for name, value in facts.items()])


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
        batch = _batch(ledger, batch_id)
        assert ledger is not None
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
            ledger.drop(batch.id)
            note(
                f"{batch.server} does not have batch {batch.id}, or its answers, any more: it is "
                "forgotten, and what it asked is asked again."
            )


async def _looked_at(batch: Batch) -> Remote:
    async with _provider(batch) as provider:
        return await provider.look(str(batch.remote_id))


async def _cancelled(ledger: Ledger, batch: Batch) -> str:
    """End a batch, or read one that is over; returns what to say."""
    from judge.batching.batch_run import collect, described
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
    return described(ledger.batch(batch.id))


@contextmanager
def _ledger(cache: Path | None) -> Iterator[Ledger | None]:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    ledger = Ledger.existing(place(cache, os.environ))
    if ledger is None:
        yield None
        return
    with ledger:
        yield ledger


def _batch(ledger: Ledger | None, batch_id: str) -> Batch:
    if ledger is None:
        raise JudgeError("no batch was made here yet: look at --cache")
    return ledger.batch(batch_id)


def _provider(batch: Batch) -> Provider:
    from judge.backends.base import TIMEOUT
    from judge.backends.connection import Connection
    from judge.batching.provider import Provider

    connection = Connection(batch.server, TIMEOUT)
    return Provider(connection, connection.key(os.environ))


def _state(batch: Batch) -> str:
    return batch.remote_state or batch.state


def _cost(batch: Batch) -> str:
    return "unknown" if batch.dollars is None else f"${batch.dollars:,.2f}"


def _print_json(value: object) -> None:
    from judge.report.formats import as_json

    click.echo(as_json(value))
