"""`judge cache`: what is kept, whether it is sound, out, in, and away."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from judge.cli.options import FiniteRange, replacing
from judge.cli.output import cache_option, emit, format_of, note
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.cache.entry import Entry, Unreadable

_SHOWN = 20


@click.group("cache")
def command() -> None:
    """Look after the answers that are kept on disk.

    Nothing is ever thrown away by itself; `prune` removes what you name.
    """


def _folder(option: Path | None) -> Path:
    from judge.cache import place

    return place(option, os.environ)


@command.command("info", short_help="Say where it is, what is in it, and whether it is sound.")
@cache_option
@click.option("--check", is_flag=True, help="Name what is damaged; exit code 1 if anything is.")
@format_of("table", "json", text="Lines for people, or JSON.")
def info(cache: Path | None, check: bool, form: str) -> None:  # noqa: FBT001
    """Say where the cache is and what is in it.

    Every key is derived from its request again, and every answer held against the checksum that
    was written with it. --check has SQLite look through its file too.
    """
    from judge.cache.contents import damage, read_entries
    from judge.cache.files import DATABASE
    from judge.cache.keys import VERSION

    folder = _folder(cache)
    is_there = check or (folder / DATABASE).exists()
    models: Counter[str] = Counter()
    oldest = newest = None
    unreadable: list[Unreadable] = []
    for entry in _readable(read_entries(folder) if is_there else (), unreadable):
        models[ascii(entry.model)[1:-1]] += 1
        time = entry.time.astimezone(UTC).isoformat(timespec="seconds")
        oldest, newest = min(oldest or time, time), max(newest or time, time)
    fault = damage(folder) if check else ""
    facts = {
        "place": str(folder),
        "key version": VERSION,
        "entries": models.total(),
        "unreadable": len(unreadable),
        "bytes": sum(file.stat().st_size for file in folder.glob(f"{DATABASE}*")),
        "oldest": oldest,
        "newest": newest,
    }
    if form == "json":
        from judge.report.formats import as_json

        click.echo(as_json(facts | {"models": dict(models.most_common())}))
    else:
        for name, value in facts.items():
            emit(f"{name:<12} {'-' if value is None else value}")
        for model, n in models.most_common():
            emit(f"{'model':<12} {model} ({n:,})")
    if check:
        _list(unreadable)
        if fault:
            note(f"the database is damaged: {fault}")
        sys.exit(1 if unreadable or fault else 0)


@command.command("export", short_help="Write all answers to a file.")
@click.argument("file")
@cache_option
def export(file: str, cache: Path | None) -> None:
    """Write all entries to FILE as JSON Lines (- is standard output).

    Exit code 1 if any entry cannot be read.
    """
    from judge.cache.contents import read_entries
    from judge.cache.entry import as_object

    path, n = Path(file), 0
    if file != "-" and path.exists():
        raise JudgeError(f"{file} exists already; name another file")
    unreadable: list[Unreadable] = []
    with ExitStack() as stack:
        if file == "-":
            out: IO[bytes] = sys.stdout.buffer
        else:
            out = stack.enter_context(stack.enter_context(replacing(path)).open("wb"))
        for entry in _readable(read_entries(_folder(cache)), unreadable):
            out.write(json.dumps(as_object(entry)).encode("ascii") + b"\n")
            n += 1
    _list(unreadable)
    note(f"{n:,} entries written, {len(unreadable):,} could not be read")
    sys.exit(1 if unreadable else 0)


@command.command("import", short_help="Take answers in from files and runs.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@cache_option
def import_(sources: tuple[str, ...], cache: Path | None) -> None:
    """Take answers back; exit code 1 if any is refused.

    A SOURCE is the folder of a run, whose raw answers then need not be paid for again, or a
    file that `export` wrote (- is standard input). An entry that is there already stays as it
    is. One that is damaged is refused, and so are answers without a key: those of a judge that
    no cache keeps.
    """
    from judge.cache import CompletionCache
    from judge.cache.contents import exported_entries
    from judge.running.answers import entries as answers_of
    from judge.running.folder import Run

    answers = [
        answers_of(Run(Path(source))) if Path(source).is_dir() else exported_entries(source)
        for source in sources
    ]
    n: Counter[str] = Counter()
    unreadable: list[Unreadable] = []
    with CompletionCache(_folder(cache)) as opened:
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
    from judge.cache.contents import read_entries

    if older_than is None and model is None:
        raise click.UsageError("say what to remove: --older-than, --model or both")
    limit = datetime.now(UTC) - timedelta(days=older_than or 0)
    folder = _folder(cache)
    keys = [
        entry.key
        for entry in _readable(read_entries(folder), [])
        if (older_than is None or entry.time < limit) and model in (None, entry.model)
    ]
    if not keys:
        note("nothing to remove")
        return
    if not yes:
        click.confirm(f"Remove {len(keys):,} entries from {folder}?", abort=True)
    with CompletionCache(folder) as opened:
        note(f"{opened.remove(keys):,} entries removed")


def _readable(
    entries: Iterable[Entry | Unreadable], unreadable: list[Unreadable]
) -> Iterator[Entry]:
    """Yield the entries; the others are added to `unreadable`."""
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
