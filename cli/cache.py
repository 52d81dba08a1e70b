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
    argument,
    cache_option,
    command,
    format_option,
    option,
    options,
)
from judge.cli.output import note, print_document
from judge.tables.document import Column, Document, Table
from judge.tables.kinds import Kind

if TYPE_CHECKING:
    from judge.batching.ledger import Ledger
    from judge.cache.answers import DamagedAnswer, KeptAnswer


@click.group("cache")
def cache() -> None:
    """Inspect, extend or prune the cached answers.

    Answers stay until you remove them with judge cache prune.
    """


@options
class _Info:
    cache: Path | None = cache_option()
    check: bool = option(
        "--check", "Name the damaged entries; exit with code 1 if there are any."
    )
    form: str = format_option("table", "json")


@command("info", group=cache, short_help="Show size, models and damaged entries.")
def info(options: _Info) -> None:
    """Show where the cache is, how many answers it has, and of which models.

    Checks every entry: its key against its request, its answer against its checksum.
    """
    from judge.cache import place
    from judge.cache.store import described

    data, damaged = described(
        place(options.cache, os.environ), must_exist=options.check
    )
    lines = [(name, str(value)) for name, value in data.items() if name != "models"]
    lines += [("model", f"{model} ({n:,})") for model, n in data["models"].items()]
    print_document(Document(facts=lines), options.form, data)
    if options.check:
        _end(damaged)


@options
class _Import:
    sources: tuple[str, ...] = argument("FOLDER...")
    cache: Path | None = cache_option()


@command("import", group=cache, short_help="Add answers of runs or other caches.")
def import_(options: _Import) -> None:
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
    with CompletionCache(place(options.cache, os.environ)) as opened:
        if opened.notice:
            note(opened.notice)
        for source in options.sources:
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


@options
class _Prune:
    cache: Path | None = cache_option()
    older_than: float | None = option(
        "--older-than DAYS",
        "Answers that are older than this.",
        type=FiniteRange(0, 100_000),
    )
    model: str | None = option("--model NAME", "Answers of this model.")
    yes: bool = option("--yes", "Remove without asking.")


@command("prune", group=cache, short_help="Remove answers for good.")
def prune(options: _Prune) -> None:
    """Remove answers for good; they would have to be paid for again.

    With both --older-than and --model, those that are both are removed.
    """
    from judge.cache import place
    from judge.cache.answers import intact
    from judge.cache.store import CompletionCache

    if options.older_than is None and options.model is None:
        raise click.UsageError("give --older-than, --model or both")
    limit = datetime.now(UTC) - timedelta(days=options.older_than or 0)
    folder = place(options.cache, os.environ)
    with CompletionCache(folder, must_exist=True) as opened:
        keys = [
            answer.key
            for answer in intact(opened.iterate(), [])
            if answer.time < limit and options.model in (None, answer.model)
        ]
    if keys and not options.yes:
        click.confirm(f"Remove {len(keys):,} entries from {folder}?", abort=True)
    with CompletionCache(folder) as opened:
        note(f"{opened.remove(keys):,} entries removed")


def _end(damaged: Sequence[DamagedAnswer]) -> None:
    """Name the damaged entries; exit with code 1 if there are any."""
    for answer in damaged[:20]:
        note(f"{answer.name}: {answer.reason}")
    if damaged:
        note(f"{len(damaged):,} entries cannot be read")
        sys.exit(1)
    sys.exit(0)


@click.group("batch")
def batch() -> None:
    """List or cancel the batches that `judge RUBRIC ... --batch` made."""


@options
class _List:
    cache: Path | None = cache_option()
    form: str = format_option("table", "json")


@command("list", group=batch, short_help="List the batches.")
def list_(options: _List) -> None:
    """List the batches, the oldest first, in the state in which a command last saw them."""
    with _ledger(options.cache) as ledger:
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
    print_document(document, options.form, [asdict(batch) for batch in batches])


@options
class _Cancel:
    batch_id: str = argument("ID")
    base_url: str | None = option(
        "--base-url URL",
        "The server that has the batch, as when it was sent. Default: the provider's own.",
    )
    cache: Path | None = cache_option()


@command("cancel", group=batch, short_help="Cancel a batch.")
def cancel_(options: _Cancel) -> None:
    """Cancel a batch. Its answers so far are paid for; the command that made it collects them.

    A batch that the provider no longer has is forgotten, and its questions are asked again. The
    key, from the provider's own variable, is sent to the server of --base-url, to the one that the
    provider's variable names, such as OPENAI_BASE_URL, or to the provider only.
    """
    from judge.batching.batch_run import cancel

    with _ledger(options.cache) as ledger:
        note(
            asyncio.run(cancel(ledger, options.batch_id, os.environ, options.base_url))
        )


def _ledger(cache: Path | None) -> Ledger:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    return Ledger(place(cache, os.environ), create=False)
