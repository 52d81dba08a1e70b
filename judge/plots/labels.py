"""Names cut to the room that there is for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

_CUT = "…"
_INCH = 72.0
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""An SVG holds each text that it draws, in a comment."""


def width_of(text: str, size: float) -> float:
    """Return the width of one line of text in inches, at `size` points."""
    if not text:
        return 0.0
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=size), ismath=False
    )
    return float(width) / _INCH


def flat(text: str) -> str:
    """Return `text` on one line."""
    return " ".join(_NOT_IN_XML.sub(" ", text).split())


def room(names: Sequence[str], most: float, size: float) -> float:
    """Return the inches that the longest name takes on one line, at most `most`."""
    return min(max((width_of(name, size) for name in map(flat, names)), default=0.0), most)


def one_line(text: str, inches: float, size: float) -> str:
    """Return a text that stands alone on one line of at most `inches`, cut in its middle."""
    return _cut(flat(text), inches, size)


def fitted(names: Sequence[str], inches: float, size: float) -> list[str]:
    """Return each name on one line of at most `inches`, cut in its middle where it must be.

    Names that a cut would make equal get their position in the list before them, from 1.
    """
    cut = [one_line(name, inches, size) for name in names]
    narrow = 0.98 * inches  # digits are drawn a little wider than they measure
    return [
        _cut(flat(name), narrow, size, f"{number}. ") if cut.count(short) > 1 else short
        for number, (name, short) in enumerate(zip(names, cut, strict=True), 1)
    ]


def _cut(name: str, inches: float, size: float, mark: str = "") -> str:
    """Return `mark` and as much of the name as there is room for."""
    if width_of(mark + name, size) <= inches:
        return mark + name
    keep = bisect_right(
        range(1, len(name)), inches, key=lambda keep: width_of(mark + _shortened(name, keep), size)
    )
    return mark + _shortened(name, keep)


def _shortened(name: str, keep: int) -> str:
    after = keep // 2
    return name[: keep - after].rstrip() + _CUT + name[len(name) - after :].lstrip()


def wrapped(names: Sequence[str], inches: float, size: float) -> list[str]:
    """Return each name on one line or two, broken where the longer line is shortest.

    A line that is still too long is cut in its middle.
    """
    return [_wrap(name, inches, size) for name in map(flat, names)]


def _wrap(name: str, inches: float, size: float) -> str:
    words = name.split(" ")
    if width_of(name, size) <= inches or len(words) == 1:
        return _cut(name, inches, size)
    breaks = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    lines = min(breaks, key=lambda pair: max(width_of(line, size) for line in pair))
    return "\n".join(_cut(line, inches, size) for line in lines)


def broken(text: str, inches: float, size: float) -> str:
    """Return `text` on as many lines as it takes; a word that is too long stays whole."""
    lines: list[str] = []
    for word in flat(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= inches:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def thinned(positions: Sequence[float], widths: Sequence[float], gap: float) -> list[bool]:
    """Return which labels to keep so that none comes nearer than `gap` to the one before it."""
    is_tight = any(
        right - left < (a + b) / 2 + gap
        for (left, a), (right, b) in pairwise(zip(positions, widths, strict=True))
    )
    last = len(positions) - 1
    return [not is_tight or index in (0, last) for index in range(last + 1)]
