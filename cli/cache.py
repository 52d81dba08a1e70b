"""`judge cache`: what is kept, whether it is sound, out, in, and away."""

from __future__ import annotations

import gzip
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from os.path import isdir
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from judge.cli.files import replacing
from judge.cli.numbers import FiniteRange
from judge.cli.output import cache_option, emit, format_of, note
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.cache.contents import Contents
    from judge.cache.entry import Unreadable

_SHOWN = 20


@click.group("cache")
def command() -> None:
    """Look after the answers that are kept on disk.

    Nothing is ever thrown away by itself; `prune` removes what you name.
    """


def _place(option: Path | None) -> Path:
    from judge.cache import place

    return place(option, os.environ)


@command.command("info", short_help="Say where it is and what is in it.")
@cache_option
@format_of("table", "json", text="Lines for people, or JSON.")
def info(cache: Path | None, form: str) -> None:
    """Say where the cache is and what is in it."""
    from judge.cache.contents import Contents
    from judge.cache.entry import Unreadable
    from judge.cache.files import DATABASE
    from judge.cache.keys import VERSION

    path = _place(cache)
    contents = Contents(path) if (path / DATABASE).exists() else None
    models: Counter[str] = Counter()
    times: list[datetime] = []
    unreadable = 0
    for entry in contents or ():
        if isinstance(entry, Unreadable):
            unreadable += 1
        else:
            models[entry.model] += 1
            times.append(entry.time)
    # Names come from outside: in ASCII, they can steer no terminal.
    by_model = {ascii(name)[1:-1]: n for name, n in models.most_common()}
    facts = {
        "place": str(path),
        "key version": VERSION,
        "entries": models.total(),
        "unreadable": unreadable,
        "damage": contents.damage if contents else None,
        "bytes": contents.size if contents else 0,
        "oldest": _second(min(times)) if times else None,
        "newest": _second(max(times)) if times else None,
    }
    if form == "json":
        from judge.report.formats import as_json

        click.echo(as_json(facts | {"models": by_model}))
        return
    for name, value in facts.items():
        click.echo(f"{name:<12} {'-' if value is None else value}")
    for model, n in by_model.items():
        emit(f"{'model':<12} {model} ({n:,})")


@command.command("verify", short_help="Check every key and every answer.")
@cache_option
def verify(cache: Path | None) -> None:
    """Check every key and answer; exit code 1 if any entry is wrong or unreadable.

    A key is derived from its request again, an answer is held against the checksum that was
    written with it.
    """
    from judge.cache.contents import Contents
    from judge.cache.entry import Unreadable

    contents = Contents(_place(cache))
    sound = bad = unchecked = keyed = 0
    for entry in contents:
        if isinstance(entry, Unreadable):
            bad += 1
            emit(f"row {entry.row}  {entry.name}: {entry.reason}")
        else:
            sound += 1
            unchecked += not entry.is_checked
            keyed += entry.request is None
    click.echo(f"{sound:,} entries are sound, {bad:,} are not")
    if unchecked:
        note(f"{unchecked:,} of them were kept before answers had checksums and cannot be checked")
    if keyed:
        note(f"{keyed:,} of them came from run folders, without the requests: their keys stand")
    _say_damage(contents, sound)
    sys.exit(1 if bad or contents.damage else 0)


@command.command("export", short_help="Write all answers to a file.")
@click.argument("file")
@cache_option
def export(file: str, cache: Path | None) -> None:
    """Write all entries to FILE as JSON Lines (- is standard output, .gz compressed).

    Of a damaged cache all that SQLite still reads is written. Exit code 1 if any entry is not.
    """
    from judge.cache.contents import Contents
    from judge.cache.contents import export as write

    contents = Contents(_place(cache))
    with _written(file) as out:
        tally = write(contents, out)
    _list(tally.wrong)
    note(f"{tally.done:,} entries written, {len(tally.wrong):,} could not be read")
    _say_damage(contents, tally.done)
    sys.exit(1 if tally.wrong or contents.damage else 0)


@contextmanager
def _written(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    if path.exists() or path.is_symlink():
        raise JudgeError(f"{name} exists already; name another file")
    with (
        replacing(path) as staged,
        gzip.open(staged, "wb", 6) if name.endswith(".gz") else staged.open("wb") as file,
    ):
        yield file  # type: ignore[misc]


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
    from judge.cache.contents import exported
    from judge.cache.contents import import_ as take
    from judge.running.answers import entries
    from judge.running.folder import Run

    found = [
        entries(Run(Path(s))) if isdir(s) else exported(s)  # noqa: PTH112 - for any name
        for s in sources
    ]
    with CompletionCache(_place(cache)) as opened:
        tally = take(opened, chain.from_iterable(found))
    _list(tally.wrong)
    note(
        f"{tally.done:,} entries taken, {tally.kept:,} were there already, "
        f"{len(tally.wrong):,} refused"
    )
    if tally.differing:
        note(f"{tally.differing:,} of those that were there already have another answer: it stays")
    sys.exit(1 if tally.wrong else 0)


@command.command("prune", short_help="Remove answers that you name, for good.")
@cache_option
@click.option(
    "--older-than",
    type=FiniteRange(min=0, max=100_000),
    metavar="DAYS",
    help="Answers given before that.",
)
@click.option("--model", metavar="NAME", help="Answers of this model only.")
@click.option("--unreadable", is_flag=True, help="Entries that cannot be used.")
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
def prune(
    cache: Path | None,
    older_than: float | None,
    model: str | None,
    unreadable: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
) -> None:
    """Remove the entries you name, for good: they would have to be paid for again.

    --older-than and --model together name the entries that are both; --unreadable adds to
    them.
    """
    from judge.cache import CompletionCache
    from judge.cache.contents import Contents
    from judge.cache.entry import Unreadable

    chosen = older_than is not None or model is not None
    if not (chosen or unreadable):
        raise click.UsageError("say what to remove: --older-than, --model or --unreadable")
    limit = datetime.now(UTC) - timedelta(days=older_than or 0)
    contents = Contents(_place(cache))
    rows = []
    for entry in contents:
        if isinstance(entry, Unreadable):
            named = unreadable
        else:
            named = chosen and (
                (older_than is None or entry.time < limit)
                and (model is None or entry.model == model)
            )
        rows += [entry.row] if named else []
    if not rows:
        note("nothing to remove")
        return
    if not yes:
        click.confirm(f"Remove {len(rows):,} entries from {contents.path}?", abort=True)
    with CompletionCache(contents.path) as opened:
        note(f"{opened.remove(rows):,} entries removed")


def _list(entries: tuple[Unreadable, ...]) -> None:
    for entry in entries[:_SHOWN]:
        note(f"{entry.name}: {entry.reason}")
    if len(entries) > _SHOWN:
        note(f"... and {len(entries) - _SHOWN:,} more")


def _say_damage(contents: Contents, n_read: int) -> None:
    if contents.damage is None:
        return
    if contents.expected is None:
        lost = "how many entries are lost cannot be told"
    else:
        lost = f"of {contents.expected:,} entries {max(contents.expected - n_read, 0):,} are lost"
    note(f"the database is damaged ({' '.join(contents.damage.split())}): {lost}")
    note("judge cache import RUN... takes answers back from run folders, into a cache elsewhere")


def _second(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")
