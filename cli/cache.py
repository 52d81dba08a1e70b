"""`judge cache`: what is kept, whether it is sound, in from elsewhere, and away."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cache import place
from judge.cli.options import FiniteRange
from judge.cli.output import cache_option, emit, format_of, note

if TYPE_CHECKING:
    from judge.cache.entry import Entry, Unreadable

_SHOWN = 20


@click.group("cache")
def command() -> None:
    """Look after the answers that are kept on disk.

    Nothing is ever thrown away by itself; `prune` removes what you name.
    """


@command.command("info", short_help="Say where it is, what is in it, and whether it is sound.")
@cache_option
@click.option("--check", is_flag=True, help="Name what is damaged; exit code 1 if anything is.")
@format_of("table", "json", text="Lines for people, or JSON.")
def info(cache: Path | None, check: bool, form: str) -> None:  # noqa: FBT001
    """Say where the cache is and what is in it.

    Every key is derived from its request again, and every answer held against the checksum that
    was written with it.
    """
    from judge.cache.keys import VERSION
    from judge.cache.store import DATABASE, read_entries

    folder = place(cache, os.environ)
    is_there = check or (folder / DATABASE).exists()
    unreadable: list[Unreadable] = []
    models: Counter[str] = Counter()
    times = []
    for entry in _readable(read_entries(folder) if is_there else (), unreadable):
        models[ascii(entry.model)[1:-1]] += 1
        times.append(entry.time.astimezone(UTC).isoformat(timespec="seconds"))
    facts = {
        "place": str(folder),
        "key version": VERSION,
        "entries": models.total(),
        "unreadable": len(unreadable),
        "bytes": sum(file.stat().st_size for file in folder.glob(f"{DATABASE}*")),
        "oldest": min(times, default=None),
        "newest": max(times, default=None),
    }
    if form == "json":
        from judge.tables.data import as_json

        click.echo(as_json(facts | {"models": dict(models.most_common())}))
    else:
        for name, value in facts.items():
            emit(f"{name:<12} {'-' if value is None else value}")
        for model, n in models.most_common():
            emit(f"{'model':<12} {model} ({n:,})")
    if check:
        _list(unreadable)
        sys.exit(1 if unreadable else 0)


@command.command("import", short_help="Take answers in from runs and other caches.")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER...")
@cache_option
def import_(sources: tuple[str, ...], cache: Path | None) -> None:
    """Take answers in; exit code 1 if any is refused.

    A FOLDER is that of a run, whose raw answers then need not be paid for again, or another cache,
    of another machine say. An entry that is there already stays as it is. One that is damaged is
    refused, and so are answers without a key: those of a judge that no cache keeps.
    """
    from judge.cache import CompletionCache
    from judge.cache.store import DATABASE, read_entries
    from judge.running.folder import Run
    from judge.running.rescoring import entries as answers_of

    folders = [Path(source) for source in sources]
    answers = [
        read_entries(folder) if (folder / DATABASE).exists() else answers_of(Run(folder))
        for folder in folders
    ]
    n: Counter[str] = Counter()
    unreadable: list[Unreadable] = []
    with CompletionCache(place(cache, os.environ)) as opened:
        for entry in _readable(chain.from_iterable(answers), unreadable):
            present = opened.add(entry)
            n["taken" if present is None else "kept"] += 1
            n["differing"] += present not in (None, entry.completion)
    _list(unreadable)
    note(
        f"{n['taken']:,} entries taken, {n['kept']:,} were there already, "
        f"{len(unreadable):,} refused"
    )
    if n["differing"]:
        note(f"{n['differing']:,} of those that were there already have another answer: it stays")
    sys.exit(1 if unreadable else 0)


@command.command("prune", short_help="Remove answers that you name, for good.")
@cache_option
@click.option(
    "--older-than",
    type=FiniteRange(min=0, max=100_000),
    metavar="DAYS",
    help="Answers given before that.",
)
@click.option("--model", metavar="NAME", help="Answers of this model only.")
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
def prune(
    cache: Path | None,
    older_than: float | None,
    model: str | None,
    yes: bool,  # noqa: FBT001
) -> None:
    """Remove the entries you name, for good: they would have to be paid for again.

    --older-than and --model together name the entries that are both.
    """
    from judge.cache import CompletionCache
    from judge.cache.store import read_entries

    if older_than is None and model is None:
        raise click.UsageError("say what to remove: --older-than, --model or both")
    limit = datetime.now(UTC) - timedelta(days=older_than or 0)
    folder = place(cache, os.environ)
    keys = [
        entry.key
        for entry in _readable(read_entries(folder), [])
        if (older_than is None or entry.time < limit) and model in (None, entry.model)
    ]
    if not keys:
        note("nothing to remove")
        return
    if not yes and not _confirmed(f"Remove {len(keys):,} entries from {folder}?"):
        note("nothing removed")
        return
    with CompletionCache(folder) as opened:
        note(f"{opened.remove(keys):,} entries removed")


def _confirmed(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:  # the end of the input, or Ctrl-C
        raise click.UsageError("nothing was removed; --yes removes without asking") from None


def _readable(
    entries: Iterable[Entry | Unreadable], unreadable: list[Unreadable]
) -> Iterator[Entry]:
    from judge.cache.entry import Entry

    for entry in entries:
        if isinstance(entry, Entry):
            yield entry
        else:
            unreadable.append(entry)


def _list(unreadable: Sequence[Unreadable]) -> None:
    for entry in unreadable[:_SHOWN]:
        note(f"{entry.name}: {entry.reason}")
    if len(unreadable) > _SHOWN:
        note(f"... and {len(unreadable) - _SHOWN:,} more")
