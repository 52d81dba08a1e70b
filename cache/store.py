"""Completions on disk: never evicted, never expired, never unpickled."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import DEFAULT_SETTINGS, MODE_RAW

from judge.cache.entry import Entry, UnreadableError, as_object, decode, encode
from judge.cache.files import BATCHES, CLAIMS, DATABASE, FILES, explained
from judge.cache.keys import canonical, key_of
from judge.types import Completion, CompletionRequest

_SETTINGS: dict[str, Any] = {
    **DEFAULT_SETTINGS,
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**62,
    "statistics": 0,
    "tag_index": 0,
}
_BUSY_SECONDS = 60.0
# What a folder must have room for when it is opened: a few hundred answers.
_ROOM_BYTES = 2**22
# As large as an offset may be.
_PLACES = 2**62


class _TextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are text, values JSON text as bytes, both in the database. Nothing is pickled."""

    def put(self, key: object) -> tuple[object, bool]:
        if not isinstance(key, str):
            raise TypeError("a key is text")
        return key, True

    def store(
        self, value: object, *_how: object, **_named: object
    ) -> tuple[int, int, None, sqlite3.Binary]:
        if not isinstance(value, bytes):
            raise TypeError("a value is bytes")
        return len(value), MODE_RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: object, filename: object, value: object, *_how: object) -> bytes:
        plain = mode == MODE_RAW and filename is None and isinstance(value, bytes)
        return value if plain else b""  # type: ignore[return-value]


class Claims:
    """The claims of this process on the keys of a cache; raises OSError where the disk fails.

    A claim is a lock on one byte of a file, at a place that the key decides. The system takes
    it back when the process ends, however it ends, so nothing is ever left to clean up.
    """

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, name: str) -> bool:
        """Claim a key; returns False where another process has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
            return False
        return True

    def drop(self, name: str) -> None:
        """Give the claim on a key back."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))

    def close(self) -> None:
        """Give all claims back."""
        os.close(self._file)


def _place(name: str) -> int:
    return int(name[-16:], 16) % _PLACES


@dataclass(frozen=True, slots=True)
class Seen:
    """Answers to one kind of question: how many, and their means."""

    n: int
    completion_tokens: float
    seconds: float


class CompletionCache(AbstractContextManager["CompletionCache"]):
    """The folder in which answers are kept. Several processes may share it.

    Opening it writes, so that a full, read-only or damaged cache is known before anything
    is asked. Raises `JudgeError` there, and wherever the disk fails later. `timeout` is how
    many seconds another process may hold the database. A kill of the process loses nothing
    that `put` has kept; a power cut may lose the last moments.
    """

    def __init__(self, path: Path, *, timeout: float = _BUSY_SECONDS) -> None:
        # The library would read a `~` or `$` its own way.
        self.path = path.resolve()
        self._damaged: set[str] = set()
        with explained(self.path):
            if os.path.expandvars(self.path) != str(self.path):
                raise OSError("a name with a $ in it")
            _prepare(self.path)
            _check(self.path / DATABASE, timeout)
            self._cache = diskcache.Cache(
                str(self.path), timeout=timeout, disk=_TextDisk, **_SETTINGS
            )
            self._claims = Claims(self.path / CLAIMS)
        self._pending: deque[tuple[str, bytes, str | None]] = deque()
        self._writer = ThreadPoolExecutor(1, "cache-writer")

    def claim(self, name: str) -> bool:
        """Claim a key before asking; returns False while another process is asking the same."""
        with explained(self.path):
            return self._claims.take(name)

    def release(self, name: str) -> None:
        """Give the claim on a key back, after its answer was put or none was to be had."""
        with explained(self.path):
            self._claims.drop(name)

    def get(
        self, request: CompletionRequest, attempt: int = 0, repeat: int = 0
    ) -> Completion | None:
        """Return the kept answer; None where there is none.

        An entry that is damaged counts as none, and in `n_damaged`.
        """
        record = canonical(request, attempt, repeat)
        return self.find(key_of(record), record)

    def find(self, name: str, record: Mapping[str, Any]) -> Completion | None:
        """Return the answer to a canonical request, whose key `name` is, as `get` does."""
        entry = self._read(name, record)
        return entry.completion if entry else None

    def put(self, request: CompletionRequest, completion: Completion, attempt: int = 0) -> None:
        """Keep an answer. When this returns it is on disk."""
        record = canonical(request, attempt)
        self.keep(key_of(record), record, completion).result()

    def keep(
        self,
        name: str,
        record: Mapping[str, Any],
        completion: Completion,
        took: tuple[str, float] | None = None,
    ) -> Future[None]:
        """Keep the answer to a canonical request under its key, together with others that come.

        `took` is the kind of the question, as `seen` takes it, and the seconds of its answer.
        What is returned is done when the answer is on disk, and not before.
        """
        tag = None
        if took and completion.usage:
            # The question's kind, the seconds and the tokens of its answer.
            tag = f"{took[0]} {took[1]:.3f} {completion.usage.completion_tokens}"
        return self._keep(name, encode(record, completion), tag)

    def seen(self, kind: str, most: int = 5_000) -> Seen | None:
        """Return what the newest answers to a kind of question took, at `most` so many.

        `kind` is sixteen hexadecimal digits. None where there are none; answers from before
        their kinds were kept, and those that came from elsewhere, are not among them.
        """
        select = "SELECT tag FROM Cache WHERE tag >= ? AND tag < ? ORDER BY rowid DESC"
        with explained(self.path), closing(_connect(self.path / DATABASE, _BUSY_SECONDS)) as data:
            rows = data.execute(f"{select} LIMIT ?", (f"{kind} ", f"{kind}!", most)).fetchall()
        if not rows:
            return None
        _, seconds, tokens = zip(*(tag.split() for (tag,) in rows), strict=True)
        n = len(rows)
        return Seen(n, sum(map(int, tokens)) / n, sum(map(float, seconds)) / n)

    def add(self, entry: Entry) -> Entry | None:
        """Keep an entry from elsewhere; returns the readable one that is there already, if any."""
        if (there := self._read(entry.key, entry.request)) is not None:
            return there
        value = json.dumps(as_object(replace(entry, is_checked=True))).encode("ascii")
        self._keep(entry.key, value).result()
        return None

    def remove(self, rows: Iterable[int]) -> int:
        """Erase the entries in these rows, whatever they hold; returns how many there were."""
        with explained(self.path), closing(_connect(self.path / DATABASE, _BUSY_SECONDS)) as data:
            # What is pruned must not linger in the file's free pages or in the log.
            data.execute("PRAGMA secure_delete = ON").fetchall()
            data.execute("BEGIN IMMEDIATE")
            delete = "DELETE FROM Cache WHERE rowid = ?"
            removed = sum(data.execute(delete, (row,)).rowcount for row in rows)
            data.execute("COMMIT")
            data.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed

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
        self._claims.close()
        self._cache.close()

    def _read(self, name: str, record: Mapping[str, Any] | None) -> Entry | None:
        with explained(self.path):
            value = self._cache.get(name)
        if value is None:
            return None
        try:
            return decode(0, name, value, 0.0, record)
        except UnreadableError:
            self._damaged.add(name)
            return None

    def _keep(self, name: str, value: bytes, tag: str | None = None) -> Future[None]:
        self._pending.append((name, value, tag))
        return self._writer.submit(self._write_pending)

    def _write_pending(self) -> None:
        """Write all that has come meanwhile, in one transaction; what fails stays to be written."""
        entries = [self._pending[at] for at in range(len(self._pending))]
        if not entries:
            return
        with explained(self.path):
            try:
                # Not with `retry`: it would try for ever on a disk that has gone read-only.
                with self._cache.transact():
                    for name, value, tag in entries:
                        self._cache.set(name, value, tag=tag)
            except diskcache.Timeout:
                self._cache.close()
                # The library keeps the cause to itself; a write of our own says it.
                with closing(_connect(self.path / DATABASE, 1.0)) as data:
                    data.execute("BEGIN IMMEDIATE")
                raise
            except sqlite3.Error:
                # Whatever state its transaction is in, the next write begins afresh.
                self._cache.close()
                raise
        for _ in entries:
            self._pending.popleft()


def _prepare(folder: Path) -> None:
    """Make the folder and an empty file in it where they are missing; keep others out."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = [file.name for file in folder.iterdir()]
    # A folder that holds other things too is the user's own affair; the database is 0600.
    if set(names) <= {*FILES, BATCHES} and folder.stat().st_mode & 0o077:
        with suppress(PermissionError):
            folder.chmod(0o700)
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(bytes(_ROOM_BYTES))
        probe.flush()
        os.fsync(probe.fileno())
    (folder / DATABASE).touch(mode=0o600)


def _check(file: Path, timeout: float) -> None:
    """Raise where the database is damaged, or cannot be written within `timeout` seconds."""
    with closing(_connect(file, timeout)) as data:
        ((found,),) = data.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        data.execute("BEGIN IMMEDIATE")  # can it be written, and now?
        data.execute("ROLLBACK")


def _connect(file: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{file.as_uri()}?mode=rw", uri=True, timeout=timeout, isolation_level=None
    )
