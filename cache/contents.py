"""All that lies in a cache, read without changing it, and as JSON Lines: one entry a line.

Of a damaged cache that is what SQLite can read.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from diskcache.core import MODE_RAW

from judge import jsonio
from judge.cache.entry import Entry, Unreadable, UnreadableError, as_object, decode, entry_of
from judge.cache.files import DATABASE, FILES, explained, said
from judge.cache.store import CompletionCache
from judge.types import JudgeError

Row = tuple[int, object, object, object, object, object, object]
"""rowid, key, raw, store_time, mode, filename, value of the library's table `Cache`."""

_ROWS = "SELECT rowid, key, raw, store_time, mode, filename, value FROM Cache"
_CANNOT_OPEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_STANDARD = "-"
# A schema that makes no sense, and one without what ours has.
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Contents:
    """The entries of the cache in a folder.

    `damage` says what is wrong with the database as a whole. Then only the entries are given that
    SQLite still finds, and `expected` is how many there should be, None where that is lost too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.damage: str | None = None
        self.expected: int | None = None
        file = self.path / DATABASE
        self._uri = f"{file.as_uri()}?mode=ro"
        if not file.exists():
            raise JudgeError(f"there is no cache in {path}")
        with explained(self.path):
            try:
                self.damage = self._inspected()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    raise
                self.damage = said(error)

    def __iter__(self) -> Iterator[Entry | Unreadable]:
        with explained(self.path), closing(sqlite3.connect(self._uri, uri=True)) as data:
            data.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            rows = self._left(data) if self.damage else data.execute(f"{_ROWS} ORDER BY rowid")
            yield from map(_read, rows)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        files = (self.path / name for name in FILES)
        return sum(file.stat().st_size for file in files if file.exists())

    def _inspected(self) -> str | None:
        log = self.path / f"{DATABASE}-wal"
        try:
            return self._check()
        except sqlite3.OperationalError as error:
            cannot_open = error.sqlite_errorcode & 0xFF in _CANNOT_OPEN
            if not cannot_open or (log.exists() and log.stat().st_size):
                raise
            # On a disk that cannot be written there is no place for the index of a log.
            self._uri += "&immutable=1"
            return self._check()

    def _check(self) -> str | None:
        with closing(sqlite3.connect(self._uri, uri=True)) as data:
            ((found,),) = data.execute("PRAGMA integrity_check(1)").fetchall()
            if found != "ok":
                return str(found)
            data.execute(f"{_ROWS} LIMIT 0")
            return None

    def _left(self, data: sqlite3.Connection) -> Iterator[Row]:
        """Yield the rows of a damaged database that SQLite finds; sets `expected`."""
        # SQLite would refuse all of a file that was cut off, or whose schema is damaged.
        data.execute("PRAGMA writable_schema = ON")
        with suppress(sqlite3.DatabaseError, ValueError, TypeError):
            select = "SELECT value FROM Settings WHERE key = 'count'"
            self.expected = int(data.execute(select).fetchone()[0])
        last = self.expected
        with suppress(sqlite3.DatabaseError):
            (last,) = data.execute("SELECT max(rowid) FROM Cache").fetchone()
        # Each by itself: one that cannot be read hides no other. A row has at least a byte.
        for number in range(1, min(last or 0, self.size) + 1):
            try:
                yield from data.execute(f"{_ROWS} WHERE rowid = ?", (number,))
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGED


def _read(row: Row) -> Entry | Unreadable:
    number, name, raw, stored, mode, filename, value = row
    shown = ascii(name) if isinstance(name, str) else "no key"
    if not (isinstance(name, str) and raw == 1):
        return Unreadable(number, shown, "its key is not text")
    if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
        return Unreadable(number, shown, "its value is not JSON text in the database")
    try:
        return decode(number, name, value, stored)  # type: ignore[arg-type]
    except UnreadableError as error:
        return Unreadable(number, shown, str(error))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entries went over; `differing` of those already there have another answer."""

    done: int
    wrong: tuple[Unreadable, ...]
    kept: int = 0
    differing: int = 0


def export(contents: Contents, file: IO[bytes]) -> Tally:
    """Write the entries to `file`."""
    done = 0
    wrong = []
    for entry in contents:
        if isinstance(entry, Unreadable):
            wrong.append(entry)
            continue
        file.write(json.dumps(as_object(entry)).encode("ascii") + b"\n")
        done += 1
    return Tally(done, tuple(wrong))


def import_(cache: CompletionCache, entries: Iterable[Entry | Unreadable]) -> Tally:
    """Take entries into `cache`; those that are there already stay as they are."""
    done = kept = differing = 0
    wrong = []
    for entry in entries:
        if isinstance(entry, Unreadable):
            wrong.append(entry)
        elif (there := cache.add(entry)) is None:
            done += 1
        else:
            kept += 1
            differing += there.completion != entry.completion
    return Tally(done, tuple(wrong), kept, differing)


def exported(source: str) -> Iterator[Entry | Unreadable]:
    """Yield the entries of an exported file (`-` is standard input)."""
    with _opened(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                row = jsonio.read(line)
                yield entry_of(number, row["key"], row, row["stored"])
            except (ValueError, KeyError, TypeError):
                reason = "not the JSON object of an entry"
                yield Unreadable(number, f"{source}, line {number}", reason)
            except UnreadableError as error:
                yield Unreadable(number, f"{source}, line {number}", str(error))


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    try:
        if name == _STANDARD:
            yield sys.stdin.buffer
        else:
            with gzip.open(name) if name.endswith(".gz") else Path(name).open("rb") as file:
                yield file  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        raise JudgeError(f"cannot read {name} to its end: {error}") from error
