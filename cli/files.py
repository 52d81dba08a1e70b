"""Files that a user names: each is written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from judge.types import JudgeError

_PREFIX = ".judge-"
# Of a new file, which may hold reports: its owner's alone.
_RIGHTS = 0o600


class NamedPath(click.Path):
    """A path that is not empty: `Path("")` would be the folder that one is in.

    Nor is it `-`, by which other programs mean standard output: that holds the results.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(path_type=Path, **options)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        """Return the path; raises `click.BadParameter` for an empty one and for `-`."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        if value == "-":
            why = "it is not written to standard output, which has the results"
            self.fail(f"{why}; name a path (./- for one that is called -)", param, ctx)
        return super().convert(value, param, ctx)


def target(path: Path) -> Path:
    """Return the file that writing to `path` makes or replaces: of a link, what it points to.

    Raises `JudgeError` for a folder, a device and the like, which are never replaced.
    """
    there = Path(os.path.realpath(path))
    try:
        mode = there.stat().st_mode
    except FileNotFoundError:
        return there
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISDIR(mode):
        raise JudgeError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(mode):
        raise JudgeError(f"{path} is a device or a pipe, no file to replace; name another")
    return there


def check_writable(path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise `JudgeError` where no file can be written at `path`; leaves nothing behind.

    Nor may it be one of the `inputs`, which would be lost.
    """
    there = target(path)
    if path.exists() and any(one and Path(one).exists() and path.samefile(one) for one in inputs):
        raise JudgeError(f"{path} is a file to read, which would be lost; name another for --out")
    try:
        with tempfile.TemporaryFile(dir=there.parent, prefix=_PREFIX):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file beside `path` to write to, which takes its place when all went well.

    Whatever goes wrong, Ctrl-C too, what stood there still does and nothing else is left. A
    file that is replaced keeps its rights. Raises `JudgeError` where it cannot be written.
    """
    there = target(path)
    staged: Path | None = None
    try:
        number, name = tempfile.mkstemp(there.suffix, _PREFIX, there.parent)
        staged = Path(name)
        os.close(number)
        yield staged
        staged.chmod(_rights(there))
        staged.replace(there)
        staged = None
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if staged is not None:
            with suppress(OSError):
                staged.unlink()


def cannot_write(path: Path, error: OSError) -> JudgeError:
    """Return the error that says why `path` cannot be written."""
    return JudgeError(f"cannot write {path}: {error.strerror or error}")


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else _RIGHTS
