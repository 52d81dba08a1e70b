"""All that lies in a cache, and the same as JSON Lines: one entry a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

from judge import jsonio
from judge.cache.entry import Entry, Unreadable, UnreadableError, decode_entry, entry_of
from judge.cache.files import DATABASE
from judge.cache.store import connect, explained
from judge.types import JudgeError


def read_entries(folder: Path) -> Iterator[Entry | Unreadable]:
    """Yield the entries of the cache in a folder, which stays as it is, in their order.

    Raises `JudgeError` where there is none, or where the database cannot be read.
    """
    if not (folder / DATABASE).exists():
        raise JudgeError(f"there is no cache in {folder}")
    with explained(folder), closing(connect(folder)) as data:
        select = "SELECT rowid, CAST(key AS TEXT), value, store_time FROM Cache ORDER BY rowid"
        for row, key, value, stored in data.execute(select):
            try:
                yield decode_entry(row, key, value, stored)
            except UnreadableError as error:
                yield Unreadable(row, key, str(error))


def damage(folder: Path) -> str:
    """Return what SQLite finds wrong with the database of a cache, "" where it is sound."""
    with explained(folder), closing(connect(folder)) as data:
        ((verdict,),) = data.execute("PRAGMA integrity_check(1)").fetchall()
    return "" if verdict == "ok" else " ".join(verdict.split())


def exported_entries(source: str) -> Iterator[Entry | Unreadable]:
    """Yield the entries of an exported file (`-` is standard input)."""
    try:
        with nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb") as file:
            for number, line in enumerate(file, start=1):
                name = f"{source}, line {number}"
                try:
                    row = jsonio.read(line)
                    yield entry_of(number, row["key"], row, row["stored"])
                except (ValueError, KeyError, TypeError):
                    yield Unreadable(number, name, "not the JSON object of an entry")
                except UnreadableError as error:
                    yield Unreadable(number, name, str(error))
    except OSError as error:
        raise JudgeError(f"cannot read {source}: {error.strerror}") from error
