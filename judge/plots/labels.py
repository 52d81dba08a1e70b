"""Names cut to the room that there is for them."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

_CUT = "…"
_INCH = 72.0
_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""An SVG holds each text that it draws, in a comment."""
_WORD_BEGUN = re.compile(r"[^\W_]+$")


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

    Names that differ stay different: those that a cut makes equal lose what they share at
    their beginning and end instead. Where that cannot be they get their position in the list
    before them, from 1.
    """
    whole = [flat(name) for name in names]
    cut = [_cut(name, inches, size) for name in whole]
    # Whole words of what differs are easier to read than the letters alone, but longer.
    for shared in (_shared_words, _shared_letters):
        found = _cut_apart(whole, cut, shared, inches, size)
        if len(set(found)) == len(set(names)):
            return found
    marks = [f"{number}. " for number in range(1, len(names) + 1)]
    return [
        mark + _cut(name, inches - width_of(mark, size), size) if cut.count(short) > 1 else short
        for mark, name, short in zip(marks, whole, cut, strict=True)
    ]


def _cut_apart(
    names: Sequence[str],
    cut: Sequence[str],
    shared: Callable[[Sequence[str]], int],
    inches: float,
    size: float,
) -> list[str]:
    """Return `cut`, but where it made names equal, without what these share at both ends."""
    alike = defaultdict(set)
    for name, short in zip(names, cut, strict=True):
        alike[short].add(name)
    ends = {}
    for short, group in alike.items():
        start = shared(sorted(group))
        ends[short] = start, shared(sorted(name[start:][::-1] for name in group))
    found = []
    for name, short in zip(names, cut, strict=True):
        start, end = ends[short]
        stop = len(name) - end
        apart = _fit(name[:start], name[start:stop], name[stop:], inches, size)
        is_apart = len(alike[short]) > 1 and width_of(apart, size) <= inches
        found.append(apart if is_apart else short)
    return found


def _shared_letters(names: Sequence[str]) -> int:
    return len(os.path.commonprefix(list(names)))  # noqa: RUF071 - letters, no path


def _shared_words(names: Sequence[str]) -> int:
    """Return the same without the beginning of a word."""
    return len(_WORD_BEGUN.sub("", names[0][: _shared_letters(names)]))


def _cut(name: str, inches: float, size: float) -> str:
    half = (len(name) + 1) // 2
    return _fit(name[:half], "", name[half:], inches, size)


def _fit(head: str, core: str, tail: str, inches: float, size: float) -> str:
    """Return `core` with as much as fits of what stands around it."""
    whole = f"{head}{core}{tail}"
    if width_of(whole, size) <= inches:
        return whole
    keep = bisect_right(
        range(1, len(head) + len(tail)),
        inches,
        key=lambda keep: width_of(_shortened(head, core, tail, keep), size),
    )
    return _shortened(head, core, tail, keep)


def _shortened(head: str, core: str, tail: str, keep: int) -> str:
    """Keep `keep` characters of the beginning and the end, the larger half at the beginning."""
    before = min(len(head), max(keep - keep // 2, keep - len(tail)))
    after = keep - before
    start = head if before == len(head) else head[:before].rstrip() + _CUT
    end = tail if after == len(tail) else _CUT + tail[len(tail) - after :].lstrip()
    return f"{start}{core}{end}".replace(_CUT + _CUT, _CUT)


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
