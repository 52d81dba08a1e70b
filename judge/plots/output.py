"""Figures as bytes, and as files: all of them or none."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from judge.plots import boxes, matrix, ranks, rates
from judge.plots.drawings import Boxes, Drawing, Matrix, Ranks, Rates
from judge.plots.style import RC, Width
from judge.types import JudgeError

_DPI = 300
_STAGING = ".writing"


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

    Files of these names that are there already are replaced; others stay. Raises
    `JudgeError` where the folder cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise JudgeError(f"{folder} is a file; name a folder with --figures")
    in_the_way = [name for name in files if (folder / name).is_dir()]
    if in_the_way:
        raise JudgeError(f"{folder / in_the_way[0]} is a folder; name another with --figures")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    staging = folder / _STAGING
    try:
        staging.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (staging / name).write_bytes(content)
        for name in files:
            (staging / name).replace(folder / name)
        staging.rmdir()
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        with suppress(OSError):  # somebody put something there meanwhile
            for path in made:
                path.rmdir()
        raise JudgeError(f"cannot write figures to {folder}: {error.strerror}") from error
    return tuple(folder / name for name in files)
