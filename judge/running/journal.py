"""Files beside a run that are only ever appended to: one line for each thing somebody said.

A line is written at once, under a lock, and is on disk before its writer is told so. A line
that a crash has cut short stays as it is, and the next begins on a line of its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from judge.running.files import LARGEST, LONGEST_LINE, open_file

Stamp = tuple[int, int, int]
"""What changes when something is appended to a file, or it is another file."""


def append_line(path: Path, line: bytes) -> None:
    """Append `line`, which has no newline; when this returns it is on disk.

    Raises OSError where it cannot be kept, and nothing of it is then in the file: no room, a
    line of more than `LONGEST_LINE`, a link or a pipe in the file's place.
    """
    if len(line) >= LONGEST_LINE:
        raise OSError(errno.EFBIG, f"it is longer than {LONGEST_LINE:,} bytes")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(path, flags | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        data = b"\n" * torn + line + b"\n"
        if os.write(file, data) != len(data):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, "no room left")
        os.fsync(file)
    finally:
        os.close(file)


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines, the first first, torn ones too; none where there is no such file.

    Raises OSError where it cannot be read, and for one that is larger than can be.
    """
    try:
        file = open_file(path)
    except FileNotFoundError:
        return
    with file:
        if os.fstat(file.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST:,} bytes", str(path))
        while line := file.readline(LONGEST_LINE):
            yield line.removesuffix(b"\n")


def stamp(path: Path) -> Stamp | None:
    """Return what changes with the file, None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)
