"""All that lies in a cache, read without changing it, and out of the wreck of one too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from diskcache.core import MODE_RAW

from judge.cache.carve import Row, carve
from judge.cache.entry import Entry, Unreadable, UnreadableError, decode
from judge.cache.files import DATABASE, FILES, explained, regular
from judge.types import JudgeError

_ROWS = "SELECT rowid, key, raw, store_time, mode, filename, value FROM Cache ORDER BY rowid"
_CANNOT_OPEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


class Contents:
    """The entries of the cache in a folder.

    `damage` says what is wrong with the database as a whole, None where nothing is. Then
    the entries are picked out of its pages, as each proves itself by its key; `expected` is
    how many there should be, None where that is lost too. An entry that was pruned or
    replaced may come back in this way. Raises `JudgeError` where there is no cache or its
    files cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.damage: str | None = None
        self.expected: int | None = None
        self._uri: str | None = None
        file = self.path / DATABASE
        if not file.exists():
            raise JudgeError(f"there is no cache in {path}")
        with explained(self.path):
            try:
                regular(file)
                self._inspect(file)
            except sqlite3.DatabaseError as error:
                if error.__class__ is sqlite3.OperationalError:
                    raise
                self.damage = str(error)

    def __iter__(self) -> Iterator[Entry | Unreadable]:
        seen: set[str] = set()
        for row in self._rows():
            found = _read(row)
            if self.damage and _again(found, seen):
                continue
            yield found

    @property
    def size(self) -> int:
        """Bytes on disk."""
        files = (self.path / name for name in FILES)
        return sum(file.stat().st_size for file in files if file.exists())

    def _inspect(self, file: Path) -> None:
        """Find the way in which the database opens and see whether it is whole."""
        uri = file.as_uri()
        log = file.with_name(f"{DATABASE}-wal")
        ways = [f"{uri}?mode=ro"]
        if not log.exists() or log.stat().st_size == 0:
            # On a disk that cannot be written the first way has no place for its index.
            ways.append(f"{uri}?mode=ro&immutable=1")
        for way in ways:
            with closing(sqlite3.connect(way, uri=True)) as data:
                try:
                    ((found,),) = data.execute("PRAGMA quick_check(1)").fetchall()
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF in _CANNOT_OPEN:
                        continue
                    raise
                with suppress(sqlite3.DatabaseError, ValueError, TypeError):
                    select = "SELECT value FROM Settings WHERE key = 'count'"
                    self.expected = int(data.execute(select).fetchone()[0])
                if found != "ok":
                    self.damage = found
                else:
                    # A database without such a table is none of ours, and holds nothing.
                    data.execute(f"{_ROWS} LIMIT 0")
                self._uri = way
                return
        # Only its pages are left, in the file and in its log.
        self.damage = "its disk cannot be written and its log cannot be merged"

    def _rows(self) -> Iterator[Row]:
        if self.damage or self._uri is None:
            with explained(self.path):
                yield from carve(self.path / DATABASE)
            return
        with explained(self.path), closing(sqlite3.connect(self._uri, uri=True)) as data:
            data.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            yield from data.execute(_ROWS)


def _again(found: Entry | Unreadable, seen: set[str]) -> bool:
    """Whether an entry was in another page already; notes it."""
    if isinstance(found, Unreadable):
        return False
    if found.key in seen:
        return True
    seen.add(found.key)
    return False


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
