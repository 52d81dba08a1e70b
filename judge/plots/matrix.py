"""Correlation of metrics (the challenge's Figure 3)."""

from __future__ import annotations

from matplotlib.figure import Figure

from judge.plots.drawings import Matrix
from judge.plots.labels import MINUS, width_of, wrapped
from judge.plots.panels import n_words
from judge.plots.sheet import Sheet, heat_map, line_height
from judge.plots.style import Width

_MOST_CELL = 0.5
_MOST_NAMES = 1.04
_LEAST_TYPE = 5.0
_RIGHT = 0.08


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
    foot = line_height(width.small) + 0.06
    sheet = Sheet(width.inches, title + k * cell + names + foot)
    heading = f"{data.method.capitalize()} correlation, {n_words(data.n)} pairs"
    left = (width.inches - _RIGHT - names - k * cell) / 2
    sheet.text(heading, left + 0.05, 0.05, width.normal)
    axes = sheet.axes(left + names, title, k * cell, k * cell)
    shares = [[None if v is None else (v + 1) / 2 for v in line] for line in data.values]
    heat_map(axes, shares, texts, size or _LEAST_TYPE)
    axes.set_yticks(range(k), labels, fontsize=width.small, linespacing=1.0)
    axes.set_xticks(range(k), labels, fontsize=width.small, rotation=90, linespacing=1.0)
    legend = f"{MINUS}1 dark, 1 light; hatched: n/a (a metric with one value)"
    sheet.text(legend, left + 0.05, sheet.height - foot + 0.03, width.small)
    return sheet.figure


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
