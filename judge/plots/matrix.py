"""Correlation of metrics (the challenge's Figure 3)."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from judge.plots.drawings import Matrix
from judge.plots.labels import one_line, width_of, wrapped
from judge.plots.panels import n_words
from judge.plots.sheet import Sheet, heat_map, line_height
from judge.plots.style import Width, shade
from judge.stats.metric import MINUS

_MOST_CELL = 0.5
_MOST_NAMES = 1.04
_LEAST_TYPE = 5.0
_RIGHT = 0.08
_BAR, _BAR_HIGH = 1.2, 0.09
_SHADES = 81


def draw(data: Matrix, width: Width) -> Figure:
    """Return the figure: metrics down and across, the figures in the cells where they fit."""
    k = len(data.labels)
    labels = wrapped(data.labels, _MOST_NAMES, width.small)
    longest = max(width_of(line, width.small) for label in labels for line in label.split("\n"))
    names = longest + 0.1
    cell = min((width.inches - names - _RIGHT) / k, _MOST_CELL)
    texts = [[_figure(value) for value in line] for line in data.values]
    size = _type_size(texts, cell, width.small)
    if size is None:
        texts = [[""] * k for _ in texts]
    title = line_height(width.normal) + 0.09
    words = _words(data)
    line = line_height(width.small)
    foot = 2 * line + _BAR_HIGH + 0.04 + line * len(words)
    # No wider than what is in it.
    across = min(max(names + k * cell + _RIGHT, width.least), width.inches)
    sheet = Sheet(across, title + k * cell + names + foot)
    heading = f"{data.method.capitalize()} correlation, {n_words(data.n)} values"
    left = (across - _RIGHT - names - k * cell) / 2
    room = across - width_of(heading, width.normal) - 0.05
    sheet.text(heading, min(left + 0.05, room), 0.05, width.normal)
    axes = sheet.axes(left + names, title, k * cell, k * cell)
    shares = [[None if v is None else (v + 1) / 2 for v in line] for line in data.values]
    heat_map(axes, shares, texts, size or _LEAST_TYPE)
    axes.set_yticks(range(k), labels, fontsize=width.small, linespacing=1.0)
    axes.set_xticks(range(k), labels, fontsize=width.small, rotation=90, linespacing=1.0)
    top = sheet.height - foot + 0.06
    middle = left + names + k * cell / 2
    _bar(sheet, min(middle, across - _BAR / 2 - 0.15), top, width.small)
    top += _BAR_HIGH + line + 0.04
    for text in words:
        shown = one_line(text, across - 0.1, width.small)
        sheet.text(shown, across / 2, top, width.small, across="center")
        top += line
    return sheet.figure


def _bar(sheet: Sheet, middle: float, top: float, size: float) -> None:
    """Draw the scale of colours from -1 to 1."""
    left = middle - _BAR / 2
    axes = sheet.axes(left, top, _BAR, _BAR_HIGH)
    axes.set_axis_off()
    axes.set(xlim=(0, _SHADES), ylim=(0, 1))
    for at in range(_SHADES):
        # Each reaches below the next, so that no seam shows between them at any size.
        reach = min(2, _SHADES - at)
        colour = shade(at / (_SHADES - 1))
        axes.add_patch(Rectangle((at, 0), reach, 1, facecolor=colour, linewidth=0))
    below = top + _BAR_HIGH + 0.02
    for text, share in ((f"{MINUS}1", 0.0), ("0", 0.5), ("1", 1.0)):
        sheet.text(text, left + share * _BAR, below, size, across="center")


def _words(data: Matrix) -> list[str]:
    """Say what a reader cannot see from the scale, of what is there."""
    found = []
    if any(label.startswith(MINUS) for label in data.labels):
        found.append(f"{MINUS} before a metric: less is better, so it is turned round")
    if any(value is None for line in data.values for value in line):
        found.append("n/a: fewer than two different values")
    return found


def _figure(value: float | None) -> str:
    """Two decimals without the leading 0."""
    if value is None:
        return "n/a"
    text = f"{value:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)
    return text.replace("-", MINUS)


def _type_size(texts: list[list[str]], cell: float, size: float) -> float | None:
    """Return the largest type in which all figures fit their cells, None where none does."""
    longest = max(width_of(text, size) for line in texts for text in line)
    fits = min(size, size * (cell - 0.04) / longest)
    return fits if fits >= _LEAST_TYPE else None
