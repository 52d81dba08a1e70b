"""Folders that one process writes at a time and that appear whole, and files of appended lines."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from judge.types import JudgeError

WRITING = ".writing"
"""The folder in a run's own where it is written; only the process that holds its lock may."""
ANOTHER = "name another folder with --out"
Stamp = tuple[int, int, int]
"""What changes when something is appended to a file, or it is another file."""


@contextmanager
def held(run: Path) -> Iterator[Path]:
    """Lock the folder `run` for writing, and give a new folder in it for the files to be written.

    Lock and folder end with the block. The system releases the lock of a killed process, and the
    next writer removes what that process left. Raises `JudgeError` where another process holds the
    lock, and OSError where nothing can be written.
    """
    from filelock import FileLock, Timeout

    place = run / WRITING
    lock = FileLock(place / "lock", blocking=False, mode=0o600)
    while not lock.is_locked:
        place.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # the last writer has just removed the place
            try:
                lock.acquire()
            except Timeout:
                raise JudgeError(
                    f"{run} is being written by another process: wait until it has ended, or "
                    f"{ANOTHER}"
                ) from None
    try:
        _clear(place)
        yield Path(tempfile.mkdtemp(dir=place))
    finally:
        _clear(place)
        # The lock's own file goes while it is held: who waits for it sees that, and makes another.
        (place / "lock").unlink()
        with suppress(OSError):  # the next writer is there already
            place.rmdir()
        lock.release()


def _clear(place: Path) -> None:
    for left in place.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


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
            place.replace(whole)
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror or error}") from error
    finally:
        for folder in (staged, *made):
            with suppress(OSError):  # never made, or what was written is in it
                folder.rmdir()


def put_in_place(file: Path, target: Path) -> None:
    """Move a written file to where it belongs: its owner's alone, or as open as the old one was."""
    file.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
    file.replace(target)


def entries_of(out: Path) -> set[str]:
    """Return the names of what lies in a folder that is to be written, none where it is new.

    Raises `JudgeError` for a file, and where it cannot be read.
    """
    try:
        if out.exists() and not out.is_dir():
            raise JudgeError(f"{out} is a file; {ANOTHER}")
        return {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror}; {ANOTHER}") from error


def no_run(path: Path, manifest: str) -> str:
    """Say what a path without a manifest is; raises OSError where that cannot be seen."""
    if path.is_dir() and any((below / manifest).is_file() for below in path.iterdir()):
        shown = shlex.quote(str(path))
        return (
            f"{path} is a folder of runs; name one of them (judge runs {shown} lists them). All "
            f"of them: judge compare {shown}/*, judge serve --runs {shown}"
        )
    return f"{path} is not a run: it holds no {manifest}"


def append_line(path: Path, line: bytes) -> None:
    """Append `line`, which has no newline, to a file; when this returns it is on disk.

    What a crash has cut short stays as it is, and the next line begins on a line of its own.
    Raises OSError where the line cannot be kept; nothing of it is then in the file.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        data = b"\n" * is_torn + line + b"\n"
        if os.write(file, data) != len(data):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, "no room left")
        os.fsync(file)
    finally:
        os.close(file)


def stamp(path: Path) -> Stamp | None:
    """Return what changes with the file, None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)
