"""The folder of figures: what judge wrote there is replaced, all of it or nothing.

A person's own files are never touched. Figures say inside that judge drew them; the last line
of the captions holds a digest of what stands above it, so that an edited text is known.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from judge.plots import CAPTIONS
from judge.plots.style import WIDTHS
from judge.types import JudgeError

_STAGING = ".judge-"
# Bytes that are read of captions, and of the head of a figure.
_MOST = 2**20
_HEADING = "# Figures\n"
_LISTED = re.compile(r"^- `([A-Za-z0-9_-]{1,80})`: ", re.MULTILINE)
_SIGNED = re.compile(rb"(.*\n)<!-- judge ([0-9a-f]{16}) -->\n*", re.DOTALL)
# What each form of figure says of who wrote it.
_MARKS = {"svg": b"<dc:title>judge</dc:title>", "png": b"Software\x00judge"}
# Any figure that a comparison may have, whatever its metrics.
_FIGURE = re.compile(
    r"(rates|ranks|correlation|boxes)_[A-Za-z0-9_-]+"
    rf"\.({'|'.join(width.name for width in WIDTHS)})\.({'|'.join(_MARKS)})"
)
_REMEDY = "move it, or name another folder with --figures"


def signed(text: str) -> bytes:
    """Return captions as they are written: `text`, and a last line with its digest."""
    body = text.encode(errors="replace")
    return body + f"<!-- judge {_digest(body)} -->\n".encode()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def check_folder(folder: Path) -> None:
    """Raise `JudgeError` where figures cannot be written to `folder`; leaves nothing behind.

    That is also where it holds captions that judge did not write or somebody has changed
    since, or a file that is named as a figure is and that judge did not draw.
    """
    try:
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        _check(folder, [name for name in names if name == CAPTIONS or _FIGURE.fullmatch(name)])
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there, prefix=_STAGING):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write every file to `folder`, which is made where it is not there, or none of them.

    Files of these names that judge wrote are replaced, and figures that the captions there
    list and the new ones do not are taken away; others stay. Whatever goes wrong, Ctrl-C
    too, the folder is as it was. Raises `JudgeError` as `check_folder` does.
    """
    made: list[Path] = []
    staging: Path | None = None
    moves: list[tuple[Path, Path]] = []
    try:
        _check(folder, files)
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
        new, old = staging / "new", staging / "old"
        new.mkdir()
        old.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
        stale = _disowned(folder, files)
        for name in files:
            if os.path.lexists(folder / name):
                _move(folder / name, old / name, moves)
            _move(new / name, folder / name, moves)
        for name in stale:
            _move(folder / name, old / name, moves)
    except BaseException as error:
        for source, place in reversed(moves):
            with suppress(OSError):  # the move that was not made, or a disk that is gone
                place.replace(source)
        _remove(staging, made)
        if isinstance(error, OSError):
            raise _cannot_write(folder, error) from error
        raise
    _remove(staging, [])
    return tuple(folder / name for name in files)


def _cannot_write(folder: Path, error: OSError) -> JudgeError:
    return JudgeError(f"cannot write figures to {folder}: {error.strerror or error}")


def _check(folder: Path, names: Iterable[str]) -> None:
    if folder.exists() and not folder.is_dir():
        raise JudgeError(f"{folder} is a file; name a folder with --figures")
    for path in (folder / name for name in names):
        if not os.path.lexists(path):
            continue
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "no file to replace"
            raise JudgeError(f"{path} is {kind}; {_REMEDY}")
        wrong = _captions_fault(path) if path.name == CAPTIONS else _figure_fault(path)
        if wrong:
            raise JudgeError(f"{path} {wrong}, and would be replaced; {_REMEDY}")


def _captions_fault(path: Path) -> str | None:
    """Say why captions that are there must not be replaced; None where they may be."""
    if _is_empty(path):
        return None
    # Git and editors may end lines as Windows does: that changes no word.
    text = b"" if path.is_symlink() else path.read_bytes().replace(b"\r\n", b"\n")
    found = _SIGNED.fullmatch(text)
    if found is None:
        return "is not as judge writes it"
    return None if _digest(found[1]) == found[2].decode() else "was changed since judge wrote it"


def _figure_fault(path: Path) -> str | None:
    return None if _is_empty(path) or _is_ours(path) else "is no figure that judge drew"


def _is_empty(path: Path) -> bool:
    return not path.is_symlink() and path.stat().st_size == 0


def _move(source: Path, place: Path, moves: list[tuple[Path, Path]]) -> None:
    moves.append((source, place))  # first: Ctrl-C may come in between
    source.replace(place)


def _remove(staging: Path | None, made: Iterable[Path]) -> None:
    if staging is not None:
        shutil.rmtree(staging, ignore_errors=True)
    for path in made:
        with suppress(OSError):  # never made, or somebody put something there meanwhile
            path.rmdir()


def _disowned(folder: Path, files: Collection[str]) -> list[str]:
    """Return the figures in `folder` that its captions list and `files` no longer has.

    Captions are a text that anybody may write, so that only what is named as our figures are,
    lies in the folder itself and says inside that judge drew it is believed.
    """
    captions = folder / CAPTIONS
    if CAPTIONS not in files or not captions.is_file():
        return []
    # Capitals may be one with small letters: what was just written must not be taken away.
    kept = {name.lower() for name in files}
    text = captions.read_bytes()[:_MOST].decode("utf-8", "replace")
    stems = dict.fromkeys(_LISTED.findall(text)) if text.startswith(_HEADING) else ()
    names = [f"{s}.{width.name}.{form}" for s in stems for width in WIDTHS for form in _MARKS]
    return [name for name in names if name.lower() not in kept and _is_ours(folder / name)]


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        mark = _MARKS.get(path.suffix[1:])
        return mark is not None and mark in file.read(_MOST)
