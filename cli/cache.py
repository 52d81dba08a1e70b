"""`judge cache` and `judge batch`: the answers on disk, and those that are still to come."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    FiniteRange,
    GroupedCommand,
    SuggestingGroup,
    base_url_option,
    cache_option,
    format_option,
    output_options,
    yes_option,
)
from judge.cli.output import note, print_document, warn
from judge.tables.document import Column, Document, Table
from judge.tables.kinds import Kind

if TYPE_CHECKING:
    from judge.batching.ledger import Ledger
    from judge.cache.answers import DamagedAnswer, KeptAnswer


@click.group(
    "cache",
    cls=SuggestingGroup,
    examples=["judge cache info"],
    page="docs/judging.md",
)
def cache() -> None:
    """Inspect, extend or prune the cached answers.

    Answers stay until you remove them with judge cache prune.
    """


@cache.command(
    "info",
    cls=GroupedCommand,
    short_help="Show size, models and damaged entries.",
    examples=["judge cache info --check"],
    page="docs/judging.md",
)
@cache_option()
@click.option(
    "--check",
    is_flag=True,
    help="Name the damaged entries; exit with code 1 if there are any.",
)
@format_option()
def info(*, cache: Path | None, check: bool, form: str) -> None:
    """Show where the cache is, how many answers it has, and of which models.

    Checks every entry: its key against its request, its answer against its checksum.
    """
    from judge.cache import place
    from judge.cache.store import described

    data, damaged = described(place(cache, os.environ), must_exist=check)
    lines = [(name, str(value)) for name, value in data.items() if name != "models"]
    lines += [("model", f"{model} ({n:,})") for model, n in data["models"].items()]
    print_document(Document(facts=lines), form, data)
    if check:
        _end(damaged)


@cache.command(
    "import",
    cls=GroupedCommand,
    short_help="Add answers of runs or other caches.",
    examples=["judge cache import RUN"],
    page="docs/judging.md",
)
@click.argument("sources", nargs=-1, metavar="FOLDER...", required=True)
@cache_option()
def import_(*, sources: tuple[str, ...], cache: Path | None) -> None:
    """Add the answers of each FOLDER, a run or another cache, so they are not paid for again.

    Runs of the version before this one are taken too.

    Entries that are here already stay. Damaged ones, and answers of judges that are never cached,
    are refused: exit code 1 if there are any.
    """
    from judge.cache import place
    from judge.cache.answers import intact
    from judge.cache.store import CompletionCache

    damaged: list[DamagedAnswer] = []
    n_added = n_present = 0
    with CompletionCache(place(cache, os.environ)) as opened:
        if opened.notice:
            note(opened.notice)
        for source in sources:
            for answer in intact(_answers_in(Path(source)), damaged):
                if opened.get(answer.key) is None:
                    opened.put(answer)
                    n_added += 1
                else:
                    n_present += 1
    note(f"{n_added:,} entries added, {n_present:,} were there already")
    _end(damaged)


def _answers_in(folder: Path) -> Iterator[KeptAnswer | DamagedAnswer]:
    """Yield the answers of a cache or a run."""
    from judge.cache.store import CompletionCache, holds_answers
    from judge.running.combining import entries

    if not holds_answers(folder):
        yield from entries(folder)
        return
    with CompletionCache(folder, must_exist=True) as source:
        yield from source.iterate()


@cache.command(
    "prune",
    cls=GroupedCommand,
    short_help="Remove answers for good.",
    examples=["judge cache prune --older-than 365 --judge-model gpt-4o --yes"],
    page="docs/judging.md",
)
@cache_option()
@click.option(
    "--older-than",
    type=FiniteRange(0, 100_000),
    metavar="DAYS",
    help="Answers that are older than this.",
)
@click.option(
    "--judge-model",
    "model",
    metavar="NAME",
    help="Answers of this model, as judge cache info names it.",
)
@yes_option("Remove without asking.")
def prune(
    *,
    cache: Path | None,
    older_than: float | None,
    model: str | None,
    yes: bool,
) -> None:
    """Remove answers for good; they would have to be paid for again.

    With both --older-than and --judge-model, those that are both are removed.
    """
    from judge.cache import place
    from judge.cache.answers import intact
    from judge.cache.store import CompletionCache

    if older_than is None and model is None:
        raise click.UsageError("give --older-than, --judge-model or both")
    limit = datetime.now(UTC) - timedelta(days=older_than or 0)
    folder = place(cache, os.environ)
    with CompletionCache(folder, must_exist=True) as opened:
        keys = [
            answer.key
            for answer in intact(opened.iterate(), [])
            if answer.time < limit and model in (None, answer.model)
        ]
    if keys and not yes:
        click.confirm(f"Remove {len(keys):,} entries from {folder}?", abort=True)
    with CompletionCache(folder) as opened:
        note(f"{opened.remove(keys):,} entries removed")


def _end(damaged: Sequence[DamagedAnswer]) -> None:
    """Name the damaged entries; exit with code 1 if there are any."""
    for answer in damaged[:20]:
        warn(f"{answer.name}: {answer.reason}")
    if damaged:
        warn(f"{len(damaged):,} entries cannot be read")
        sys.exit(1)
    sys.exit(0)


@click.group(
    "batch",
    cls=SuggestingGroup,
    examples=["judge batch list"],
    page="docs/judging.md",
)
def batch() -> None:
    """List or cancel the batches that `judge RUBRIC ... --batch` made."""


@batch.command(
    "list",
    cls=GroupedCommand,
    short_help="List the batches.",
    examples=["judge batch list"],
    page="docs/judging.md",
)
@cache_option()
@output_options(["batches"])
def list_(*, cache: Path | None, table: tuple[str, ...], form: str) -> None:
    """List the batches, the oldest first, in the state in which a command last saw them."""
    with _ledger(cache) as ledger:
        batches = ledger.batches()
    rows = [
        (
            batch.id,
            batch.rubric,
            batch.judge,
            batch.provider,
            batch.created[:16].replace("T", " "),
            batch.remote_state or batch.state,
            batch.n,
            batch.answered,
        )
        for batch in batches
    ]
    head = [
        Column("batch"),
        Column("rubric"),
        Column("judge"),
        Column("provider"),
        Column("made"),
        Column("state"),
        Column("asked", kind=Kind.COUNT),
        Column("answered", kind=Kind.COUNT),
    ]
    document = Document(tables=[Table("batches", "Batches", head, rows)])
    print_document(document, form, [asdict(batch) for batch in batches], table)


@batch.command(
    "cancel",
    cls=GroupedCommand,
    short_help="Cancel a batch.",
    examples=["judge batch cancel batch_68f0"],
    page="docs/judging.md",
)
@click.argument("batch_id", metavar="ID")
@base_url_option(
    "The server that has the batch, as when it was sent. Default: the provider's own.",
    multiple=False,
)
@cache_option()
def cancel_(*, batch_id: str, base_url: str | None, cache: Path | None) -> None:
    """Cancel a batch. Its answers so far are paid for; the command that made it collects them.

    A batch that the provider no longer has is forgotten, and its questions are asked again. The
    key, from the provider's own variable, is sent to the server of --base-url, to the one that the
    provider's variable names, such as OPENAI_BASE_URL, or to the provider only.
    """
    from judge.batching.batch_run import cancel

    with _ledger(cache) as ledger:
        note(asyncio.run(cancel(ledger, batch_id, os.environ, base_url)))


def _ledger(cache: Path | None) -> Ledger:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    return Ledger(place(cache, os.environ), create=False)
