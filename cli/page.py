"""Writes a page to a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.rubrics import Rubric
    from judge.run.folder import Run


def write_page(run: Run, rubric: Rubric, path: Path) -> None:
    """Write the page of `run` to `path`, whole or not at all.

    A page of ours that stands there is replaced. Raises `JudgeError` for any other file,
    and where the run's own files are at odds.
    """
    from judge.report.page.file import MARK, html_file

    try:
        write_html(html_file(run.summary(), run.table(), run.records(), rubric), path, MARK)
    except (KeyError, ValueError) as error:
        raise JudgeError(
            f"the files of {run.path} do not fit together ({error}); "
            "make the run again, or read its answers again with judge rescore"
        ) from error


def write_html(pieces: Iterable[str], path: Path, mark: str) -> None:
    """Write `pieces` to `path`, whole or not at all.

    A page that begins with `mark` is replaced. Raises `JudgeError` for any other file there,
    and where it cannot be written.
    """
    _check(path, mark)
    staged: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            staged = Path(file.name)
            for piece in pieces:
                file.write(piece)
        staged.chmod(0o666 & ~_umask())
        staged.replace(path)
        staged = None
    except OSError as error:
        raise JudgeError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if staged is not None:
            with suppress(OSError):
                staged.unlink()


def _check(path: Path, mark: str) -> None:
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            ours = file.read(len(mark)) == mark.encode()
            empty = path.stat().st_size == 0
    except OSError as error:
        raise JudgeError(f"cannot write {path}: {error.strerror or error}") from error
    if not (ours or empty):
        raise JudgeError(f"{path} is not a page that judge wrote; name another file with --html")


def _umask() -> int:
    """Return which rights a new file does not get; it can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
