"""Answers on disk: never evicted, never expired, never unpickled."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import sqlite3
import struct
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

import diskcache
from diskcache.core import DEFAULT_SETTINGS, MODE_RAW
from pydantic import ValidationError

from judge import jsonio
from judge.cache import VERSION, key_of
from judge.endings import NO_ANSWER, kind_of
from judge.manifest import CompletionRecord, adapter, first_of
from judge.types import Completion, JudgeError, Usage

DATABASE = "cache.db"
"""The file in its folder that holds the answers, named by diskcache."""
_LONG_NUMBER = 16  # digits that no count of tokens has
_LATEST = 253_402_300_800  # seconds from 1970 to the year 10000
_BATCHED = "batch"  # in the tag of an answer that came in a batch
_SETTINGS = {
    "eviction_policy": "none",
    "cull_limit": 0,
    "size_limit": 2**62,
    "sqlite_journal_mode": "wal",
    "sqlite_secure_delete": 1,  # reports stand in it: what is pruned is gone
}
# diskcache makes an attribute of each row of its table of settings, and these are all it has.
_KNOWN_SETTINGS = {*DEFAULT_SETTINGS, *_SETTINGS, "count", "size", "hits", "misses"}
_OWN_TRIGGERS = ("Settings_count_", "Settings_size_")


class UnreadableError(Exception):
    """An entry that is not what this program writes. Its text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept answer and its canonical request; None from a run folder, which keeps no requests.

    `stored` is when it was kept, in seconds since 1970; `tag` has the kind of its question and its
    tokens, as `CompletionCache.answer_tokens` looks for them, None where that is not known.
    """

    key: str
    model: str
    request: Mapping[str, Any] | None
    completion: Completion
    stored: float
    tag: str | None = None

    @property
    def time(self) -> datetime:
        """When the judge answered; when it was kept where the answer does not say."""
        if not self.completion.created:
            return datetime.fromtimestamp(self.stored, UTC)
        time = datetime.fromisoformat(self.completion.created)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that cannot be used: its key or place, and why."""

    name: str
    reason: str


def encode(about: Mapping[str, Any], completion: Completion) -> bytes:
    """Return the value that keeps an answer: `about` is its request, or key and model."""
    plain = completion.plain()
    if completion.mode is None:  # as in entries from before there were modes
        del plain["mode"]
    return json.dumps({**about, "completion": plain, "sha256": checksum(plain)}).encode(
        "ascii"
    )


def checksum(completion: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an answer's JSON object, written in one way."""
    written = json.dumps(completion, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()


def entry_of(key: str, data: Any, stored: object) -> Entry:  # noqa: ANN401
    """Return the entry in an object, its key derived again; raises `UnreadableError`."""
    completion = _completion(data)
    try:
        request = data.get("request")
        if request is None:  # only the checksum speaks for it
            model, derived = data["model"], data["sha256"] and data["key"]
        else:
            model, derived = request["model"], key_of(request)
    except (KeyError, TypeError, ValueError, AttributeError, JudgeError) as error:
        raise UnreadableError("not the request of an entry") from error
    if derived != key or not isinstance(model, str):
        raise UnreadableError("its key is not the one that its request has")
    time = 0.0
    if isinstance(stored, int | float) and 0 <= stored < _LATEST:
        time = float(stored)
    elif completion.created is None:
        raise UnreadableError("neither the answer nor its entry has a time")
    return Entry(key, model, request, completion, time)


def _object(value: object) -> Any:  # noqa: ANN401
    if not isinstance(value, bytes):
        raise UnreadableError("not the JSON text of an entry")
    try:
        return jsonio.read(value)
    except jsonio.JsonError as error:
        raise UnreadableError("not the JSON text of an entry") from error


def _completion(data: Mapping[str, Any]) -> Completion:
    try:
        plain, written = data["completion"], data.get("sha256")
        # An entry from before there were checksums has none.
        if written is not None and written != checksum(plain):
            raise UnreadableError("its answer is not the one that was written")
        adapter(CompletionRecord).validate_python(plain, strict=True)
        usage = None if plain["usage"] is None else Usage(**plain["usage"])
        return Completion(**{**plain, "usage": usage})
    except ValidationError as error:
        raise UnreadableError(
            f"not the fields of an entry: {first_of(error)}"
        ) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableError("not the fields of an entry") from error


class _TextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are text, values JSON text as bytes, both in the database. Nothing is pickled."""

    def put(self, key: str) -> tuple[str, bool]:
        return key, True

    def store(
        self, value: bytes, *_how: object, **_named: object
    ) -> tuple[int, int, None, bytes]:
        return len(value), MODE_RAW, None, value

    def fetch(
        self, _mode: object, _filename: object, value: object, _read: object
    ) -> bytes:
        return value if isinstance(value, bytes) else b""


class CompletionCache(AbstractContextManager["CompletionCache"]):
    """The folder of answers, which threads and processes may share; opening it writes to it.

    A question is paid for once by all that share the folder: whoever asks has a claim on its key, a
    lock that belongs to this one opened cache. Another thread, another process and another
    container of the same machine each have their own, so that each sees the claims of the others.
    The system ends a claim with its owner, also after `kill -9`.

    On a network file system the locks hold between machines where that file system passes them on
    (NFS 4, Lustre with `flock`). SQLite's log does not: one folder is for one machine at a time.

    Attributes:
        path: The folder.
        is_upgraded: Whether opening it has made a cache of an older version into one of this, for
            good: that version may not read it any more.
    """

    def __init__(self, path: Path, *, timeout: float = 60.0) -> None:
        self.path = path.resolve()
        self._damaged: set[str] = set()
        with explained(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.is_upgraded = _is_older(self.path)
            (self.path / DATABASE).touch(mode=0o600)
            _check_tables(self.path)
            self._cache = _opened(self.path, timeout)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._claims = os.open(self.path / "cache.claims", flags, 0o600)
        self._pending: deque[tuple[str, bytes, str | None]] = deque()

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

    def find(self, key: str) -> Completion | None:
        """Return the kept answer, None where there is none; a damaged one counts in `n_damaged`.

        Earlier versions kept what a server had given up (`abort`): that is no answer.
        """
        with explained(self.path):
            value = self._cache.get(key)
        if value is None:
            return None
        try:
            completion = _completion(_object(value))
        except UnreadableError:
            self._damaged.add(key)
            return None
        return None if kind_of(completion.finish_reason) == NO_ANSWER else completion

    def keep(
        self,
        key: str,
        record: Mapping[str, Any],
        completion: Completion,
        kind: str = "",
        *,
        is_batched: bool = False,
    ) -> None:
        """Write an answer down, with those that could not be written before.

        `kind` is that of its question, by which `answer_tokens` finds it; `is_batched` says that
        it has the price of a batch.
        """
        self._keep(
            key,
            {"request": record},
            completion,
            tag_of(kind, completion, is_batched=is_batched),
        )

    def is_batched(self, key: str) -> bool:
        """Whether the answer of this key is known to have come in a batch."""
        with explained(self.path):
            _, tag = self._cache.get(key, tag=True)
        return _BATCHED in (tag or "").split()

    def answer_tokens(self, kind: str) -> float | None:
        """Return the mean tokens of the newest answers to a kind of question; None without any."""
        select = "SELECT tag FROM Cache WHERE tag GLOB ? ORDER BY rowid DESC LIMIT 1000"
        with explained(self.path), closing(_connect(self.path)) as data:
            rows = data.execute(select, (f"{kind} *",)).fetchall()
        tokens = [_text(tag).split()[-1] for (tag,) in rows]
        known = [int(n) for n in tokens if n.isdigit() and len(n) < _LONG_NUMBER]
        return mean(known) if known else None

    def add(self, entry: Entry) -> Completion | None:
        """Keep an entry from elsewhere; returns the answer that is there already, if any."""
        if (present := self.find(entry.key)) is None:
            bare = {"key": entry.key, "model": entry.model}
            about = {"request": entry.request} if entry.request else bare
            self._keep(entry.key, about, entry.completion, entry.tag)
        return present

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
        os.close(self._claims)
        self._cache.close()

    def _keep(
        self,
        key: str,
        about: Mapping[str, Any],
        completion: Completion,
        tag: str | None,
    ) -> None:
        self._pending.append((key, encode(about, completion), tag))
        with explained(self.path):
            while self._pending:
                name, kept, tag = self._pending[0]
                self._cache.set(name, kept, tag=tag)
                if self._cache.get(name) != kept:
                    raise JudgeError(
                        f"the cache in {self.path} does not hold what was just written to it: "
                        "every run would pay again; name another folder with --cache"
                    )
                self._pending.popleft()


def _opened(path: Path, timeout: float) -> diskcache.Cache:
    try:
        return diskcache.Cache(str(path), timeout, _TextDisk, **_SETTINGS)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        # A setting in its table has a value of another type.
        raise sqlite3.DataError(f"its settings are damaged: {error}") from error


UPGRADED = (
    "The cache in {} was made by an older version of judge and is upgraded for good: its answers "
    "stay, but that version may not read it any more."
)


def _is_older(folder: Path) -> bool:
    """Whether the cache in a folder is as versions before the present form left it."""
    if not (folder / DATABASE).exists() or (folder / DATABASE).stat().st_size == 0:
        return False
    with closing(_connect(folder)) as data:
        try:
            rows = data.execute("SELECT key, value FROM Settings").fetchall()
        except sqlite3.OperationalError:  # no cache at all: opening it says so
            return False
    return {_text(name): value for name, value in rows}.get("sqlite_secure_delete") != 1


def tag_of(
    kind: str, completion: Completion, *, is_batched: bool = False
) -> str | None:
    """Return the kind of an answer's question and its tokens, as the words of a tag."""
    if not kind or completion.usage is None:
        return None
    words = [
        kind,
        *([_BATCHED] if is_batched else []),
        str(completion.usage.completion_tokens),
    ]
    return " ".join(words)


def read_entries(folder: Path) -> Iterator[Entry | Unreadable]:
    """Yield all entries of the cache in a folder, which stays as it is."""
    if not (folder / DATABASE).exists():
        raise JudgeError(f"there is no cache in {folder}")
    with explained(folder), closing(_connect(folder)) as data:
        select = "SELECT key, value, store_time, tag FROM Cache ORDER BY rowid"
        for named, value, stored, tagged in data.execute(select):
            key = _text(named)
            try:
                entry = entry_of(key, _object(value), stored)
                yield replace(entry, tag=None if tagged is None else _text(tagged))
            except UnreadableError as error:
                yield Unreadable(key, str(error))


def _connect(folder: Path) -> sqlite3.Connection:
    """Open the database of a folder for reading; texts come as bytes, which need not be UTF-8."""
    uri = f"{(folder / DATABASE).resolve().as_uri()}?mode=ro"
    data = sqlite3.connect(uri, uri=True, timeout=60.0)
    data.text_factory = bytes
    return data


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _check_tables(folder: Path) -> None:
    """Raise `JudgeError` where the database does more than it was made for.

    A trigger could take away what is written, and a setting replace a method of diskcache.
    """
    with closing(_connect(folder)) as data:
        query = "SELECT type, name FROM sqlite_master"
        there = [(_text(kind), _text(name)) for kind, name in data.execute(query)]
        odd = [
            f"the {kind} {name!r:.80}"
            for kind, name in there
            if kind == "view"
            or (kind == "trigger" and not name.startswith(_OWN_TRIGGERS))
        ]
        if ("table", "Settings") in there:
            settings = [
                _text(name) for (name,) in data.execute("SELECT key FROM Settings")
            ]
            odd += [
                f"the setting {name!r:.80}"
                for name in settings
                if name not in _KNOWN_SETTINGS
            ]
    if odd:
        raise JudgeError(
            f"the cache in {folder} has {odd[0]}, which judge did not make: name another folder "
            "with --cache (judge cache import FOLDER takes the answers over)"
        )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the disk or the database into a `JudgeError` that says what to do."""
    try:
        yield
    except (OSError, sqlite3.Error, diskcache.Timeout, UnicodeError) as error:
        raise JudgeError(
            f"the cache in {path} cannot be used ({error.__context__ or error}); what was kept is "
            "still there: make room, wait until another process has ended, or name another folder "
            "with --cache (judge cache import RUN... takes the answers of your runs back)"
        ) from error


def _byte_of(key: str) -> int:
    return int(key[-16:], 16) % 2**62  # the largest offset in a file


def readable(
    entries: Iterable[Entry | Unreadable], unreadable: list[Unreadable]
) -> Iterator[Entry]:
    """Yield the entries that are whole; the others are added to `unreadable`."""
    for entry in entries:
        if isinstance(entry, Entry):
            yield entry
        else:
            unreadable.append(entry)


def described(
    folder: Path, *, must_exist: bool
) -> tuple[dict[str, Any], list[Unreadable]]:
    """Return the size, dates and models of the cache in a folder, and its damaged entries."""
    is_there = must_exist or (folder / DATABASE).exists()
    unreadable: list[Unreadable] = []
    models: Counter[str] = Counter()
    times = []
    for entry in readable(read_entries(folder) if is_there else (), unreadable):
        models[ascii(entry.model)[1:-1]] += 1
        times.append(entry.time.astimezone(UTC).isoformat(timespec="seconds"))
    data = {
        "place": str(folder),
        "key version": VERSION,
        "entries": models.total(),
        "unreadable": len(unreadable),
        "bytes": sum(file.stat().st_size for file in folder.glob(f"{DATABASE}*")),
        "oldest": min(times, default=None),
        "newest": max(times, default=None),
        "models": dict(models.most_common()),
    }
    return data, unreadable
