"""Answers in a folder, by diskcache: never evicted, never expired, never unpickled."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import struct
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from statistics import mean
from typing import Any

import diskcache

from judge.cache import VERSION
from judge.cache.answers import (
    DamagedAnswer,
    DamagedError,
    KeptAnswer,
    decode,
    decode_whole,
    encode,
    intact,
    is_batched_by,
    tokens_in,
)
from judge.endings import NO_ANSWER, kind_of
from judge.types import Completion, JudgeError

_DATABASE = "cache.db"  # named by diskcache
_SETTINGS = {
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**62,
    "disk_min_file_size": 2**62,  # no value is long enough for a file of its own
    "sqlite_journal_mode": "wal",
    "sqlite_secure_delete": 1,  # reports stand in it: what is pruned is gone
}
# So many of the newest answers to a kind of question say how long the next will be. They are
# looked for among so many of the newest of all kinds.
_RECENT, _LOOKED_AT = 1_000, 100_000

_UPGRADED = (
    "The cache in {} was made by an older version of judge and is upgraded for good: its answers "
    "stay, but that version may not read it any more."
)


class AnswerDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are text and values JSON text as bytes, both in the database. Nothing is unpickled.

    diskcache's own unpickles what a row says is a pickle: whoever can write to the database could
    run code.
    """

    def put(self, key: str) -> tuple[str, bool]:
        """Return a key as it stands in the database."""
        return key, True

    def get(self, key: object, raw: object) -> str:
        """Return a key of the database, whatever its row says that it is."""
        del raw
        return key if isinstance(key, str) else repr(key)

    def fetch(
        self, mode: object, filename: object, value: object, read: object
    ) -> bytes:
        """Return a value of the database, whatever its row says that it is."""
        del mode, filename, read
        return value if isinstance(value, bytes) else b""


class CompletionCache(AbstractContextManager["CompletionCache"]):
    """The folder of answers, which threads and processes may share; opening it writes to it.

    A question is paid for once by all that share the folder: whoever asks has a claim on its key, a
    lock that belongs to this one opened cache. Another thread, another process and another
    container of the same machine each have their own, so that each sees the claims of the others.
    The system ends a claim with its owner, also after `kill -9`.

    On a network file system the locks hold between machines where that file system passes them on
    (NFS 4, Lustre with `flock`). SQLite's log does not: one folder is for one machine at a time.

    It is an `AnswerStore`.

    Attributes:
        path: The folder.
        notice: Says that opening it has made a cache of an older version into one of this.
    """

    def __init__(
        self, path: Path, *, timeout: float = 60.0, must_exist: bool = False
    ) -> None:
        """Open a folder; one that `must_exist` is only read, and keeps its form.

        `timeout` is how many seconds to wait for another process that writes. Raises `JudgeError`
        where it cannot be opened, or is to be read and is not there.
        """
        self.path = path.resolve()
        self._damaged: set[str] = set()
        self._unwritten: deque[KeptAnswer] = deque()
        self._claims: int | None = None
        self.notice = ""
        if must_exist and not holds_answers(path):
            raise JudgeError(f"there is no cache in {path}")
        with explained(self.path):
            if must_exist:
                self._cache = _opened(self.path, timeout)
                return
            self._cache = self._prepared(timeout)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._claims = os.open(self.path / "cache.claims", flags, 0o600)

    def _prepared(self, timeout: float) -> diskcache.Cache:
        """Open the folder in the present form, made where it is not there."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = self.path / _DATABASE
        database.touch(mode=0o600)
        if database.stat().st_size > 0:
            # First with the settings that stand in it: they tell of which version it is.
            cache = _opened(self.path, timeout)
            if all(
                getattr(cache, name, None) == value for name, value in _SETTINGS.items()
            ):
                return cache
            if getattr(cache, "sqlite_secure_delete", 0) != 1:
                self.notice = _UPGRADED.format(self.path)
            cache.close()
        return _opened(self.path, timeout, **_SETTINGS)

    def claim(self, key: str) -> bool:
        """Claim a key before asking; False while another opened cache has the claim.

        The caller sees to it that one opened cache claims a key once at a time.
        """
        with explained(self.path):
            return self._lock(fcntl.F_WRLCK, key)

    def release(self, key: str) -> None:
        """Give the claim on a key back, after its answer was kept or none was to be had."""
        with explained(self.path):
            self._lock(fcntl.F_UNLCK, key)

    def _lock(self, kind: int, key: str) -> bool:
        """Lock or unlock the byte of a key; False where another has it locked."""
        assert self._claims is not None, "a cache that is only read asks nothing"
        # A lock of the open file, not of the process as by `lockf`: that one is no obstacle to the
        # process's other threads, and is lost as soon as any of them closes the file.
        one_byte = struct.pack("hhqqi", kind, os.SEEK_SET, _byte_of(key), 1, 0)
        try:
            fcntl.fcntl(self._claims, fcntl.F_OFD_SETLK, one_byte)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def get(self, key: str) -> Completion | None:
        """Return the kept answer, None where there is none; a damaged one counts in `n_damaged`.

        Earlier versions kept what a server had given up (`abort`): that is no answer.
        """
        with explained(self.path):
            value = self._cache.get(key)
        if value is None:
            return None
        try:
            completion = decode(value)
        except DamagedError:
            self._damaged.add(key)
            return None
        if kind_of(completion.finish_reason) == NO_ANSWER:
            return None
        return completion

    def put(self, answer: KeptAnswer) -> None:
        """Write an answer down, after those that could not be written before.

        Raises `JudgeError` where it cannot be written, or is not there after it was.
        """
        self._unwritten.append(answer)
        with explained(self.path):
            while self._unwritten:
                self._write(self._unwritten[0])
                self._unwritten.popleft()

    def _write(self, answer: KeptAnswer) -> None:
        value = encode(answer)
        self._cache.set(answer.key, value, tag=answer.tag)
        if self._cache.get(answer.key) != value:
            raise JudgeError(
                f"the cache in {self.path} does not hold what was just written to it: "
                "every run would pay again; name another folder with --cache"
            )

    def is_batched(self, key: str) -> bool:
        """Whether the answer of this key is known to have come in a batch."""
        with explained(self.path):
            _, tag = self._cache.get(key, tag=True)
        return is_batched_by(_text(tag))

    def answer_tokens(self, kind: str) -> float | None:
        """Return the mean tokens of the newest answers to a kind of question; None without any."""
        found: list[int] = []
        with explained(self.path):
            # diskcache has no search by tag, and reads a tag with its value only.
            for n_seen, key in enumerate(reversed(self._cache), 1):
                _, tag = self._cache.get(key, tag=True)
                tokens = tokens_in(_text(tag), kind)
                if tokens is not None:
                    found.append(tokens)
                if len(found) == _RECENT or n_seen == _LOOKED_AT:
                    break
        return mean(found) if found else None

    def iterate(self) -> Iterator[KeptAnswer | DamagedAnswer]:
        """Yield all answers, in the order in which they were kept first."""
        latest = 0.0
        with explained(self.path):
            for key in self._cache:
                value, tag = self._cache.get(key, tag=True)
                try:
                    answer = decode_whole(key, value, _text(tag))
                except DamagedError as error:
                    yield DamagedAnswer(key, str(error))
                    continue
                if answer.completion.created is None and not answer.stored:
                    # Earlier versions relied on diskcache's own time, which its interface does
                    # not give: it was kept after the one before it.
                    answer = replace(answer, stored=latest)
                latest = max(latest, answer.time.timestamp())
                yield answer

    def remove(self, keys: Iterable[str]) -> int:
        """Erase the answers with these keys; returns how many there were."""
        with explained(self.path), self._cache.transact():
            return sum(self._cache.delete(key) for key in keys)

    @property
    def n_damaged(self) -> int:
        """How many answers were looked for and found damaged."""
        return len(self._damaged)

    def leave_thread(self) -> None:
        """Close the calling thread's connection; other threads have their own."""
        self._cache.close()

    def __len__(self) -> int:
        with explained(self.path):
            return len(self._cache)

    def __exit__(self, *_error: object) -> None:
        if self._claims is not None:
            os.close(self._claims)
        self._cache.close()


def holds_answers(folder: Path) -> bool:
    """Whether a folder is a cache."""
    return (folder / _DATABASE).exists()


def _opened(path: Path, timeout: float, **settings: object) -> diskcache.Cache:
    """Open a folder with diskcache, which takes settings that are not given from the folder."""
    try:
        cache = diskcache.Cache(str(path), timeout, AnswerDisk, **settings)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        # One has a value of another type, or the name of something else.
        raise sqlite3.DataError(f"its settings are damaged: {error}") from error
    # diskcache makes an attribute of each, and would lose a method to one of the same name.
    for name in vars(cache):
        if hasattr(diskcache.Cache, name):
            raise JudgeError(
                f"the cache in {path} has the setting {name!r:.80}, which judge did not make: name "
                "another folder with --cache"
            )
    return cache


def _text(tag: object) -> str | None:
    return tag if isinstance(tag, str) else None


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the disk or the database into a `JudgeError` that says what to do."""
    try:
        yield
    except (OSError, sqlite3.Error, diskcache.Timeout, UnicodeError) as error:
        # A timeout of diskcache says nothing; the error of SQLite behind it does.
        why = error.__context__ if isinstance(error, diskcache.Timeout) else error
        raise JudgeError(
            f"the cache in {path} cannot be used ({why}); what was kept is "
            "still there: make room, wait until another process has ended, or name another folder "
            "with --cache (judge cache import RUN... takes the answers of your runs back)"
        ) from error


def _byte_of(key: str) -> int:
    return int(key[-16:], 16) % 2**62  # the largest offset in a file


def size_of(folder: Path) -> int:
    """Return how many bytes the cache in a folder takes."""
    return sum(file.stat().st_size for file in folder.glob(f"{_DATABASE}*"))


def described(
    folder: Path, *, must_exist: bool
) -> tuple[dict[str, Any], list[DamagedAnswer]]:
    """Return the size, dates and models of the cache in a folder, and its damaged answers."""
    damaged: list[DamagedAnswer] = []
    models: Counter[str] = Counter()
    times = []
    if must_exist or holds_answers(folder):
        with CompletionCache(folder, must_exist=True) as cache:
            for answer in intact(cache.iterate(), damaged):
                models[ascii(answer.model)[1:-1]] += 1
                times.append(answer.time.astimezone(UTC).isoformat(timespec="seconds"))
    data = {
        "place": str(folder),
        "key version": VERSION,
        "entries": models.total(),
        "unreadable": len(damaged),
        "bytes": size_of(folder),
        "oldest": min(times, default=None),
        "newest": max(times, default=None),
        "models": dict(models.most_common()),
    }
    return data, damaged
