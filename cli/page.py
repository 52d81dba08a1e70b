"""Writes a page to a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from judge.cli.options import cannot_write, check_writable, replacing, target
from judge.types import JudgeError


def write_html(pieces: Iterable[str], path: Path, mark: str) -> None:
    """Write `pieces` to `path`, whole or not at all; of a link, to what it points to.

    A page that begins with `mark` is replaced. Raises `JudgeError` for anything else there,
    and where it cannot be written.
    """
    check_html(path, mark)
    # Half a surrogate pair, as the name of a folder may hold, is no text for a page.
    with replacing(path) as staged, staged.open("w", encoding="utf-8", errors="replace") as file:
        for piece in pieces:
            file.write(piece)


def check_html(path: Path, mark: str) -> None:
    """Raise `JudgeError` where no page that begins with `mark` can be written to `path`."""
    check_writable(path)
    there = target(path)
    try:
        if not there.exists() or there.stat().st_size == 0:
            return
        with there.open("rb") as file:
            ours = file.read(len(mark)) == mark.encode()
    except OSError as error:
        raise cannot_write(path, error) from error
    if not ours:
        raise JudgeError(f"{path} is not a page that judge wrote; name another file with --html")
