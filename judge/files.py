"""Writing files whole or not at all, and never over something else.

The files of a run folder are opened by `open_regular` alone, to read and to write: the folder may
come from somebody else, and a link in it must lead to nobody's files.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from judge.types import JudgeError

_PREFIX = ".judge-"


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
