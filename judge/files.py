"""Writing files and folders whole or not at all, and never over something else; locks.

The files of a run folder are opened by `open_regular` alone, to read and to write: the folder may
come from somebody else, and a link in it must lead to nobody's files.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from io import BufferedReader
from pathlib import Path

from judge.types import JudgeError

_PREFIX = ".judge-"
WRITING = ".writing"
"""The folder in a run's own where it is written; only the process that holds its lock may."""
ANOTHER = "name another folder with --out"
Stamp = tuple[int, int, int]
"""What changes when something is appended to a file, or it is another file."""
_LOCK_PAUSE = 0.05  # seconds between two looks at a lock that another process has
_LOOKS = 4  # whoever asks whether a run is being written has its lock for a moment


def open_regular(path: Path) -> BufferedReader:
    """Open a plain file for reading; raises `OSError` as `descriptor_of` does."""
    return os.fdopen(descriptor_of(path, os.O_RDONLY), "rb")


def descriptor_of(path: Path, flags: int) -> int:
    """Open a plain file, and return its descriptor, which is the caller's to close.

    Links are not followed, and nothing that is no file is waited for. `flags` are those of
    `os.open`; a file that `O_CREAT` makes is its owner's alone. Raises `OSError`, whose `strerror`
    says in words what a link, a folder, a pipe or a device is.
    """
    # First without opening: to open a device may do something.
    if is_there(path):
        _check_regular(os.lstat(path).st_mode)
    number = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        _check_regular(os.fstat(number).st_mode)
    except OSError:
        os.close(number)
        raise
    return number


def write_regular(path: Path, data: bytes) -> None:
    """Write a plain file, in place of what it held; raises `OSError` as `descriptor_of` does."""
    number = descriptor_of(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(number, "wb") as file:
        file.write(data)


def is_there(path: Path) -> bool:
    """Return whether something has this name, be it a link that leads nowhere."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def is_regular(path: Path) -> bool:
    """Return whether `path` is a plain file; False also where that cannot be known."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def folders_with(folder: Path, name: str) -> list[Path]:
    """Return the folders in `folder`, but for hidden ones, that hold something of that name."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    below = [path for path in inside if not path.name.startswith(".")]
    return [path for path in below if os.path.lexists(path / name)]


def _check_regular(mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a link, which is not followed here")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no plain file")


def stamp(path: Path) -> Stamp | None:
    """Return a stamp that changes with the file, None without one that can be looked at."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


# Locks: `flock` of an opened file, which the system takes back from a process that ends


def try_lock(number: int) -> bool:
    """Lock an opened file by its descriptor; False where another process has it locked."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def lock_when_free(number: int, pause: float = _LOCK_PAUSE) -> None:
    """Lock an opened file, after waiting for another process that has it locked.

    It is looked at each `pause` seconds: a wait in the system would hold the event loop up.
    """
    while not try_lock(number):
        await asyncio.sleep(pause)


@asynccontextmanager
async def holding_lock(path: Path) -> AsyncIterator[None]:
    """Hold the lock of a file in the block; it is made where it is not there."""
    number = descriptor_of(path, os.O_RDWR | os.O_CREAT)
    try:
        await lock_when_free(number)
        yield
    finally:
        os.close(number)


# Writing


def _target(path: Path) -> Path:
    """Return the file that writing to `path` replaces: behind a link, what it points to."""
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise JudgeError(f"{path} is a folder; name a file")
    if real.exists() and not real.is_file():
        raise JudgeError(f"{path} is a device or a pipe; name a file")
    return real


def check_writable(
    path: Path, inputs: Iterable[str | Path | None] = (), mark: str = ""
) -> None:
    """Raise `JudgeError` where `path` cannot be written, or is one of `inputs`.

    A file that is there may be replaced if it begins with `mark`.
    """
    try:
        real = _target(path)
        is_there = real.exists()
        if is_there and any(
            file and real == Path(os.path.realpath(file)) for file in inputs
        ):
            raise JudgeError(f"{path} is an input file; name another for --out")
        with tempfile.TemporaryFile(dir=real.parent, prefix=_PREFIX):
            pass
        start = real.read_bytes()[: len(mark)] if mark and is_there else b""
    except OSError as error:
        raise cannot_write(path, error) from error
    if start not in (b"", mark.encode()):
        raise JudgeError(f"{path} is not a page that judge wrote; choose another place")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file beside `path` that takes its place, and its permissions, if the block succeeds.

    Raises `JudgeError` where it cannot be written.
    """
    staged: Path | None = None
    try:
        real = _target(path)
        number, name = tempfile.mkstemp(real.suffix, _PREFIX, real.parent)
        os.close(number)
        staged = Path(name)
        yield staged
        # A new file may hold reports: only its owner can read it.
        staged.chmod(stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600)
        staged.replace(real)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if staged is not None:
            staged.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> JudgeError:
    """Return the error that says why `path` cannot be written."""
    return JudgeError(f"cannot write {path}: {error.strerror or error}")


def write_html(pieces: Iterable[str], path: Path, mark: str) -> None:
    """Write a page whole or not at all; raises `JudgeError` as `check_writable` does."""
    check_writable(path, mark=mark)
    # The name of a folder may hold half a surrogate pair, which UTF-8 cannot encode.
    with (
        replacing(path) as staged,
        staged.open("w", encoding="utf-8", errors="replace") as file,
    ):
        for piece in pieces:
            file.write(piece)


def append_line(
    path: Path, line: bytes, check: Callable[[], None] | None = None
) -> None:
    """Append `line` to a plain file, whole or not at all; on disk when this returns.

    `check` is called while no other process can append, and what it raises keeps the line out.
    """
    file = descriptor_of(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # for a moment: no line is long
        if check is not None:
            check()
        size = os.fstat(file).st_size
        is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        data = line + b"\n"
        if is_torn:
            data = b"\n" + data
        if os.write(file, data) != len(data):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, "no room left")
        os.fsync(file)
    finally:
        os.close(file)


# Folders


def entries_of(out: Path) -> set[str]:
    """Return the names of what lies in a folder that is to be written, none where it is new."""
    try:
        return {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise JudgeError(
            f"cannot write to {out}: {error.strerror}; {ANOTHER}"
        ) from error


@contextmanager
def staging_folder(run: Path) -> Iterator[Path]:
    """Lock the folder `run` for writing, and give a new folder in it for the files."""
    place = run / WRITING
    place.mkdir(mode=0o700, exist_ok=True)
    if place.is_symlink():  # its target would be emptied
        raise JudgeError(f"{place} is a link: remove it, or {ANOTHER}")
    lock = descriptor_of(place / "lock", os.O_RDWR | os.O_CREAT)
    try:
        # Without a link left to it, another process has removed it since.
        if not _lock_soon(lock) or os.fstat(lock).st_nlink == 0:
            raise JudgeError(
                f"{run} is being written by another process: wait, or {ANOTHER}"
            )
        try:
            for left in place.iterdir():
                if (
                    left.is_dir() and not left.is_symlink()
                ):  # of a process that was killed
                    shutil.rmtree(left, ignore_errors=True)
            yield Path(tempfile.mkdtemp(dir=place))
        finally:
            shutil.rmtree(place, ignore_errors=True)  # while the lock is held
    finally:
        os.close(lock)


def is_being_written(run: Path) -> bool:
    """Return whether a process writes the run in a folder: whether it has the lock."""
    file = run / WRITING / "lock"
    if not is_regular(file):
        return False
    try:
        with open_regular(file) as lock:
            return not try_lock(lock.fileno())
    except FileNotFoundError:  # it has ended since
        return False
    except OSError:
        return True


def _lock_soon(number: int) -> bool:
    """Lock an opened file; False where another process has it for longer than a look takes."""
    for _ in range(_LOOKS):
        if try_lock(number):
            return True
        time.sleep(_LOCK_PAUSE)
    return try_lock(number)


@contextmanager
def atomic_folder(out: Path) -> Iterator[Path]:
    """Give a folder that takes the place of `out` at the end, or leaves nothing behind."""
    whole = Path(os.path.realpath(out))
    try:
        whole.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=whole.parent, prefix=f".{whole.name}."))
        try:
            yield staged
            staged.replace(whole)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror or error}") from error


def replace_file(file: Path, target: Path) -> None:
    """Move a written file to where it belongs: its owner's alone, or as open as the old one was."""
    file.chmod(stat.S_IMODE(target.lstat().st_mode) if is_regular(target) else 0o600)
    file.replace(target)
