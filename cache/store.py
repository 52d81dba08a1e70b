"""Answers on disk: never evicted, never expired, never unpickled."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_RAW

from judge.cache.entry import (
    Entry,
    Unreadable,
    UnreadableError,
    decode_completion,
    decode_entry,
    encode,
)
from judge.types import Completion, JudgeError

DATABASE = "cache.db"
"""The file in its folder that holds the answers, named by diskcache."""
_SETTINGS = {
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**62,
    "sqlite_journal_mode": "wal",
    "sqlite_secure_delete": 1,  # reports stand in it: what is pruned is gone
}
_PLACES = 2**62  # the largest offset in a file


class _TextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are text, values JSON text as bytes, both in the database. Nothing is pickled."""

    def put(self, key: str) -> tuple[str, bool]:
        return key, True

    def store(self, value: bytes, *_how: object, **_named: object) -> tuple[int, int, None, bytes]:
        return len(value), MODE_RAW, None, value

    def fetch(self, _mode: object, _filename: object, value: object, _read: object) -> bytes:
        return value if isinstance(value, bytes) else b""


@dataclass(frozen=True, slots=True)
class Seen:
    """Answers to one kind of question: how many, and their means."""

    n: int
    completion_tokens: float
    seconds: float


class CompletionCache(AbstractContextManager["CompletionCache"]):
    """The folder of answers, which several processes may share; opening it writes to it."""

    def __init__(self, path: Path, *, timeout: float = 60.0) -> None:
        self.path = path.resolve()
        self._damaged: set[str] = set()
        with explained(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / DATABASE).touch(mode=0o600)
            self._cache = diskcache.Cache(str(self.path), timeout, _TextDisk, **_SETTINGS)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._claims = os.open(self.path / "cache.claims", flags, 0o600)
        self._pending: deque[tuple[str, bytes, str | None]] = deque()
        self._writer = ThreadPoolExecutor(1, "cache-writer")

    def claim(self, key: str) -> bool:
        """Lock a key before asking; False while another process asks the same."""
        try:
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(key))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
            return False
        return True

    def release(self, key: str) -> None:
        """Give the claim on a key back, after its answer was kept or none was to be had."""
        fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, _byte_of(key))

    def find(self, key: str) -> Completion | None:
        """Return the kept answer, None where there is none; a damaged one counts in `n_damaged`."""
        with explained(self.path):
            value = self._cache.get(key)
        try:
            return None if value is None else decode_completion(value)
        except UnreadableError:
            self._damaged.add(key)
            return None

    def keep(
        self,
        key: str,
        record: Mapping[str, Any],
        completion: Completion,
        took: tuple[str, float] | None = None,
    ) -> Future[None]:
        """Write an answer down; `took` is the question's kind and the answer's seconds."""
        usage = completion.usage
        tag = f"{took[0]} {took[1]:.3f} {usage.completion_tokens}" if took and usage else None
        return self._keep(key, encode({"request": record}, completion), tag)

    def add(self, entry: Entry) -> Completion | None:
        """Keep an entry from elsewhere; returns the answer that is there already, if any."""
        if (present := self.find(entry.key)) is None:
            about: dict[str, object] = {"key": entry.key, "model": entry.model}
            if entry.request:
                about = {"request": entry.request}
            self._keep(entry.key, encode(about, entry.completion), None).result()
        return present

    def seen(self, kind: str, most: int = 5_000) -> Seen | None:
        """Return the means of the newest answers to a kind of question; None without any."""
        select = "SELECT tag FROM Cache WHERE tag >= ? AND tag < ? ORDER BY rowid DESC LIMIT ?"
        with explained(self.path), closing(connect(self.path)) as data:
            rows = data.execute(select, (f"{kind} ", f"{kind}!", most)).fetchall()
        if not rows:
            return None
        _, seconds, tokens = zip(*(tag.split() for (tag,) in rows), strict=True)
        n = len(rows)
        return Seen(n, sum(map(int, tokens)) / n, sum(map(float, seconds)) / n)

    def remove(self, keys: Iterable[str]) -> int:
        """Erase the entries with these keys; returns how many there were."""
        with explained(self.path), self._cache.transact():
            return sum(self._cache.delete(key) for key in keys)

    @property
    def n_damaged(self) -> int:
        """How many entries were looked for and found damaged."""
        return len(self._damaged)

    def __len__(self) -> int:
        with explained(self.path):
            return len(self._cache)

    def __exit__(self, *_error: object) -> None:
        self._writer.submit(self._cache.close)  # each thread has a connection of its own
        self._writer.shutdown()
        os.close(self._claims)
        self._cache.close()

    def _keep(self, key: str, value: bytes, tag: str | None) -> Future[None]:
        self._pending.append((key, value, tag))
        return self._writer.submit(self._write_pending)

    def _write_pending(self) -> None:
        """Write all that has come meanwhile, in one transaction; what fails stays to be written."""
        entries = list(self._pending)
        try:
            with explained(self.path), self._cache.transact():
                for key, value, tag in entries:
                    self._cache.set(key, value, tag=tag)
        except JudgeError:
            self._cache.close()  # whatever state its transaction is in, the next begins afresh
            raise
        for _ in entries:
            self._pending.popleft()


def read_entries(folder: Path) -> Iterator[Entry | Unreadable]:
    """Yield all entries of the cache in a folder, which stays as it is."""
    if not (folder / DATABASE).exists():
        raise JudgeError(f"there is no cache in {folder}")
    with explained(folder), closing(connect(folder)) as data:
        select = "SELECT CAST(key AS TEXT), value, store_time FROM Cache ORDER BY rowid"
        for key, value, stored in data.execute(select):
            try:
                yield decode_entry(key, value, stored)
            except UnreadableError as error:
                yield Unreadable(key, str(error))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the disk or the database into a `JudgeError` that says what to do."""
    try:
        yield
    except (OSError, sqlite3.Error, diskcache.Timeout) as error:
        first: BaseException = error
        while isinstance(first.__context__, sqlite3.Error):
            first = first.__context__  # a failed ROLLBACK hides what had failed before it
        why = getattr(first, "strerror", None) or first
        raise JudgeError(
            f"the cache in {path} cannot be used ({why}); {_advice(first)}, or choose another "
            "folder with --cache"
        ) from error


def connect(folder: Path) -> sqlite3.Connection:
    """Return a connection that reads the database of a cache."""
    uri = f"{(folder / DATABASE).resolve().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=60.0)


def _advice(error: BaseException) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_BUSY:
        return "wait until the other process has ended"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return "move it away (judge cache import RUN... takes the answers of your runs back)"
    return "make it one that can be written, with room on its disk: what was kept is still there"


def _byte_of(key: str) -> int:
    return int(key[-16:], 16) % _PLACES
