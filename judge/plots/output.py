"""Figures as bytes, and as files: all of them or none."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from judge.plots import CAPTIONS, boxes, matrix, ranks, rates
from judge.plots.drawings import Boxes, Drawing, Matrix, Ranks, Rates
from judge.plots.style import RC, WIDTHS, Width
from judge.types import JudgeError

_DPI = 300
_STAGING = ".judge-"
# Bytes that are read of captions, and of the head of a figure.
_MOST = 2**20
_HEADING = "# Figures\n"
_LISTED = re.compile(r"^- `([A-Za-z0-9_-]{1,80})`: ", re.MULTILINE)
# What each form of figure says of who wrote it.
_MARKS = {"svg": b"<dc:title>judge</dc:title>", "png": b"Software\x00judge"}


def draw(drawing: Drawing, width: Width) -> Figure:
    """Return one figure at one width. Call it, and write it, within `settings()`."""
    match drawing.data:
        case Rates() as data:
            return rates.draw(data, width)
        case Ranks() as data:
            return ranks.draw(data, width)
        case Matrix() as data:
            return matrix.draw(data, width)
        case Boxes() as data:
            return boxes.draw(data, width)


def as_svg(drawing: Drawing, width: Width, signature: str) -> bytes:
    """Return a figure as SVG, its text as outlines; the same input gives the same bytes."""
    with settings():
        return _svg(draw(drawing, width), drawing, signature)


def as_svg_and_png(drawing: Drawing, width: Width, signature: str) -> tuple[bytes, bytes]:
    """Return a figure as `as_svg` does, and as PNG at 300 dots an inch."""
    with settings():
        figure = draw(drawing, width)
        return _svg(figure, drawing, signature), _png(figure, drawing, signature)


@contextmanager
def settings() -> Iterator[None]:
    """Draw with these settings, whatever a user's own style file says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def _svg(figure: Figure, drawing: Drawing, signature: str) -> bytes:
    return _saved(figure, "svg", {**_words(drawing, signature), "Creator": "judge", "Date": None})


def _png(figure: Figure, drawing: Drawing, signature: str) -> bytes:
    return _saved(figure, "png", {**_words(drawing, signature), "Software": "judge"})


def _words(drawing: Drawing, signature: str) -> dict[str, str]:
    return {"Title": drawing.title, "Description": f"{drawing.caption}\n{signature}"}


def _saved(figure: Figure, form: str, metadata: dict[str, str | None] | dict[str, str]) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=_DPI, metadata=metadata)
    return out.getvalue()


def write_all(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write every file to `folder`, which is made where it is not there, or none of them.

    Files of these names that are there already are replaced, and figures that the captions
    there list and the new ones do not are taken away; others stay. Whatever goes wrong,
    Ctrl-C too, the folder is as it was. Raises `JudgeError` where it cannot be written to.
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
            why = error.strerror or str(error)
            raise JudgeError(f"cannot write figures to {folder}: {why}") from error
        raise
    _remove(staging, [])
    return tuple(folder / name for name in files)


def _check(folder: Path, names: Iterable[str]) -> None:
    if folder.exists() and not folder.is_dir():
        raise JudgeError(f"{folder} is a file; name a folder with --figures")
    for path in (folder / name for name in names):
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "no file to replace"
            raise JudgeError(f"{path} is {kind}; name another with --figures")


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

    Captions are a text that anybody may have changed, so that only what is named as our
    figures are, lies in the folder itself and says inside that judge wrote it is believed.
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
        return _MARKS[path.suffix[1:]] in file.read(_MOST)
