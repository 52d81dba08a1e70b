"""Where a cache is, its files, and what is said when they fail."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import diskcache

from judge.types import JudgeError

VARIABLE = "JUDGE_CACHE"
DATABASE = "cache.db"
CLAIMS = "cache.claims"
BATCHES = "batches"
"""The folder in it that says what was asked in which batch (`judge.batching`)."""
FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", CLAIMS)

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
_PRIMARY = 0xFF


def place(option: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the cache's folder: the one asked for, else `JUDGE_CACHE`, else the platform's own.

    A `~` that no shell has replaced means the user's folder.
    """
    named = option or environ.get(VARIABLE)
    if named:
        # Unlike Path's, this one leaves the name of an unknown user as it is.
        return Path(os.path.expanduser(named))  # noqa: PTH111
    from platformdirs import user_cache_path

    return user_cache_path("judge", appauthor=False)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the disk or the database into a `JudgeError` that says what to do."""
    try:
        yield
    except (OSError, sqlite3.Error, diskcache.Timeout, UnicodeDecodeError) as error:
        first: BaseException = error
        while isinstance(first.__context__, sqlite3.Error):
            # A failed ROLLBACK hides what had failed before it.
            first = first.__context__
        why = said(first) or "another process holds it"
        raise JudgeError(
            f"the cache in {path} cannot be used ({' '.join(why.split())}); {_advice(first, path)}"
        ) from error


def said(error: BaseException) -> str:
    """Return what an error says, in printable characters.

    What SQLite says of a damaged schema quotes it; bytes that are no text make Python raise
    UnicodeDecodeError in its place.
    """
    if isinstance(error, UnicodeDecodeError):
        return ascii(error.object.decode("utf-8", "replace"))[1:-1]
    text = error.strerror if isinstance(error, OSError) else None
    return "".join(c if c.isprintable() else " " for c in text or str(error))


def _advice(error: BaseException, path: Path) -> str:
    number = error.errno if isinstance(error, OSError) else None
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if number in _FULL or code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return (
            "make room on its disk, or choose another place with --cache; "
            "what was kept before is still there"
        )
    if number is not None or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return "make it a folder of yours that can be written, or choose another with --cache"
    if isinstance(error, OSError):
        return "choose another folder with --cache"
    if isinstance(error, diskcache.Timeout) or code in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    ):
        return "wait until the other process has ended, or choose another place with --cache"
    return (
        f"`judge cache export FILE --cache {path}` saves what is readable; then move the folder "
        "away, and `judge cache import FILE RUN...` takes that, and the answers in your run "
        "folders, into a new one"
    )
