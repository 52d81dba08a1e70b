"""Figures as bytes: SVG and PNG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib.figure import Figure

from judge.plots import boxes, heat_maps, rates
from judge.plots.drawings import Boxes, Drawing, Matrix, Ranks, Rates
from judge.plots.style import RC, Width

_DPI = 300


def draw(drawing: Drawing, width: Width) -> Figure:
    """Return one figure at one width. Call it, and write it, within `settings()`."""
    match drawing.data:
        case Rates() as data:
            return rates.draw(data, width)
        case Ranks() as data:
            return heat_maps.draw_ranks(data, width)
        case Matrix() as data:
            return heat_maps.draw_correlations(data, width)
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
