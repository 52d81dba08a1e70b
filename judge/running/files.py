"""The files of a run on disk: opened without surprises, written by one process at a time.

The service reads runs by this too, and follows no link: what is opened is a plain file that stands
in its folder.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from judge.types import JudgeError

WRITING = ".writing"
"""The folder in a run's own where it is written; only the process that holds its lock may."""
LONGEST_LINE = 2**26
"""Bytes of the longest record that is read: both reports, the annotation, the raw answer."""
LARGEST = 2**28
"""Bytes of the largest file that is read whole."""
_LOCK = "lock"
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


def open_file(path: Path) -> IO[bytes]:
    """Open a file for reading; raises OSError for a link, a pipe and anything else but a file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, which is not followed", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return os.fdopen(file, "rb")


def read_file(path: Path) -> bytes:
    """Return what a file holds that is read whole; raises OSError also for one of over 256 MB."""
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST:,} bytes", str(path))
        return file.read(LARGEST)


@contextmanager
def held(run: Path) -> Iterator[Path]:
    """Hold the folder `run` for writing and give a new folder in it, for its owner alone.

    Both hold and folder end with the block; the system gives the hold back where the process
    is killed, and what it left is removed by the next. Raises `JudgeError` where another
    process holds it, and OSError where nothing can be written.
    """
    place = run / WRITING
    lock, is_locked = _lock(place)
    try:
        if is_locked:
            for left in place.iterdir():
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                elif left.name != _LOCK:
                    left.unlink(missing_ok=True)
        staging = Path(tempfile.mkdtemp(dir=place))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            with suppress(OSError):
                if is_locked:
                    (place / _LOCK).unlink()
                place.rmdir()  # or somebody else is there already
    finally:
        os.close(lock)


@contextmanager
def folder_at_once(out: Path) -> Iterator[Path]:
    """Give a folder that takes the place of `out` at the end, or leaves nothing behind.

    Raises `JudgeError` where another process writes there, and where nothing can be written.
    """
    whole = Path(os.path.realpath(out))
    staged = whole.parent / f".{whole.name}.new"
    made = [folder for folder in (staged, *staged.parents) if not folder.exists()]
    try:
        staged.mkdir(mode=0o700, parents=True, exist_ok=True)
        with held(staged) as place:
            yield place
            os.rename(place, whole)  # noqa: PTH104 - also onto an empty folder
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror or error}") from error
    finally:
        for folder in (staged, *made):
            with suppress(OSError):  # never made, or what was written is in it
                folder.rmdir()


def put_in_place(file: Path, target: Path) -> None:
    """Move a written file to where it belongs: its owner's alone, or as open as the old one was."""
    try:
        old = target.lstat().st_mode
    except FileNotFoundError:
        old = 0
    file.chmod(stat.S_IMODE(old) if stat.S_ISREG(old) else 0o600)
    file.replace(target)


def _lock(place: Path) -> tuple[int, bool]:
    while True:
        place.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the one who held it has just ended
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return lock, False
            with os.fdopen(lock, "rb") as file:
                if isinstance(error, BlockingIOError):
                    raise JudgeError(_held_by(place.parent, file.read(4096))) from None
                raise
        if _is_there(place / _LOCK, lock):
            since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
            os.ftruncate(lock, 0)
            os.pwrite(lock, json.dumps(holder).encode(), 0)
            return lock, True
        os.close(lock)


def _is_there(path: Path, file: int) -> bool:
    """Whether `path` is still the file that was opened; who held it before has removed it."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _held_by(run: Path, holder: bytes) -> str:
    who = "another process"
    with suppress(ValueError, TypeError, KeyError):
        said = json.loads(holder)
        who = f"process {said['pid']} on {said['host']}, since {said['since']}"
    return (
        f"{run} is being written by {who}: wait until it has ended, end it, or name another "
        "folder with --out"
    )


def no_run(path: Path, manifest: str) -> str:
    """Say what a path without a manifest is; raises OSError where that cannot be seen."""
    if path.is_dir() and any((below / manifest).is_file() for below in path.iterdir()):
        shown = shlex.quote(str(path))
        return (
            f"{path} is a folder of runs; name one of them (judge runs {shown} lists them). All "
            f"of them: judge compare {shown}/*, judge serve --runs {shown}"
        )
    return f"{path} is not a run: it holds no {manifest}"


ANOTHER = "name another folder with --out"


def entries_of(out: Path) -> set[str]:
    """Return the names of what lies in a folder that is to be written, none where it is new.

    Raises `JudgeError` for a file, and where it cannot be looked into.
    """
    try:
        if out.exists() and not out.is_dir():
            raise JudgeError(f"{out} is a file; {ANOTHER}")
        return {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror}; {ANOTHER}") from error
