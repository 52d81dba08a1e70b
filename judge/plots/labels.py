"""Names cut to the room that there is for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font
from matplotlib.textpath import text_to_path

MINUS = "\N{MINUS SIGN}"
_CUT = "…"
_UNKNOWN = "□"
_INCH = 72.0


def width_of(text: str, size: float) -> float:
    """Return the width of one line of text in inches, at `size` points."""
    if not text:
        return 0.0
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=size), ismath=False
    )
    return float(width) / _INCH


def plain(text: str) -> str:
    """Return `text` on one line, with a box for each character that the font has not."""
    line = " ".join(text.split())
    return "".join(char if ord(char) in _characters() else _UNKNOWN for char in line)


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())


def fitted(names: Sequence[str], inches: float, size: float) -> list[str]:
    """Return each name on one line of at most `inches`, cut in its middle where it must be.

    Names that differ stay different: those that a cut makes equal get a number.
    """
    cut = [_cut(plain(name), inches, size) for name in names]
    seen = Counter(cut)
    number: Counter[str] = Counter()
    own = []
    for name, short in zip(names, cut, strict=True):
        if seen[short] > 1:
            number[short] += 1
            mark = f" ({number[short]})"
            own.append(_cut(plain(name), inches - width_of(mark, size), size) + mark)
        else:
            own.append(short)
    return own


def _cut(name: str, inches: float, size: float) -> str:
    if width_of(name, size) <= inches:
        return name
    low, high = 0, len(name) - 1
    while low < high:
        keep = (low + high + 1) // 2
        if width_of(_without_middle(name, keep), size) <= inches:
            low = keep
        else:
            high = keep - 1
    return _without_middle(name, low)


def _without_middle(name: str, keep: int) -> str:
    """Keep `keep` characters, the larger half at the start."""
    tail = keep // 2
    return name[: keep - tail].rstrip() + _CUT + (name[-tail:].lstrip() if tail else "")


def wrapped(names: Sequence[str], inches: float, size: float) -> list[str]:
    """Return each name on one line or two, broken where the longer line is shortest.

    A line that is still too long is cut in its middle.
    """
    return [_wrap(plain(name), inches, size) for name in names]


def _wrap(name: str, inches: float, size: float) -> str:
    words = name.split(" ")
    if width_of(name, size) <= inches or len(words) == 1:
        return _cut(name, inches, size)
    breaks = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    lines = min(breaks, key=lambda pair: max(width_of(line, size) for line in pair))
    return "\n".join(_cut(line, inches, size) for line in lines)


def thinned(places: Sequence[float], widths: Sequence[float], gap: float) -> list[bool]:
    """Return which labels to keep so that none comes nearer than `gap` to the one before it."""
    if not any(
        right - left < (a + b) / 2 + gap
        for (left, a), (right, b) in pairwise(zip(places, widths, strict=True))
    ):
        return [True] * len(places)
    last = len(places) - 1
    return [at in (0, last) for at in range(len(places))]
