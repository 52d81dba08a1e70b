"""Box plots of a metric, a panel a data set (the first ReXrank paper's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from judge.plots.drawings import Box, Boxes
from judge.plots.labels import thinned, width_of
from judge.plots.panels import Grid, n_words
from judge.plots.sheet import Sheet, nothing, rows
from judge.plots.style import BOX, GRID, INK, SERIES, Width
from judge.stats.metric import MINUS

_ROW = 0.15
_HALF = 0.32
_END = 0.16
_MARGIN = 0.05


def draw(data: Boxes, width: Width) -> Figure:
    """Return the figure: models down, the metric across, on one scale in all panels."""
    whiskers = "least to largest value" if data.is_few else "5th to 95th percentile"
    below = (data.metric, f"whiskers: {whiskers}")
    grid = Grid(
        width, models=data.models, n_panels=len(data.panels), row=_ROW, head=0.06, below=below
    )
    sheet = Sheet(width.inches, grid.height)
    names = grid.labels
    titles = grid.titles([panel.title for panel in data.panels])
    low, high = _range(data)
    for position, panel, title in zip(grid.positions(), data.panels, titles, strict=True):
        axes = sheet.axes(position.left, position.top, grid.across, grid.down)
        rows(axes, names if position.is_first else None, len(data.models), width.small)
        axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
        _ticks(axes, data, (low, high), grid.across, width.small)
        _draw_boxes(axes, [(row, box) for row, box in enumerate(panel.boxes) if box])
        for row, box in enumerate(panel.boxes):
            if box is None:
                nothing(axes, (low + high) / 2, row, width.small)
        axes.set_ylim(len(data.models) - 0.5, -0.5)
        grid.title(sheet, position, title, n_words(panel.n))
    grid.words_below(sheet)
    return sheet.figure


def _range(data: Boxes) -> tuple[float, float]:
    """Return the ends of the scale: the metric's own, or the outermost whiskers and means."""
    if data.scale is not None:
        return data.scale
    boxes = [box for panel in data.panels for box in panel.boxes if box]
    low = min((min(box.low, box.mean) for box in boxes), default=0.0)
    high = max((max(box.high, box.mean) for box in boxes), default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def _ticks(axes: Axes, data: Boxes, ends: tuple[float, float], across: float, size: float) -> None:
    """Put round numbers below the panel, as many as stand clear of each other."""
    low, high = ends
    # Quarters are no scale of whole numbers.
    steps = [1, 2, 3, 5, 10] if data.is_whole else [1, 2, 2.5, 5, 10]
    locator = MaxNLocator(nbins=4, steps=steps, integer=data.is_whole)
    near = 1e-9 * (high - low)
    ticks = [t for t in locator.tick_values(low, high) if low - near <= t <= high + near]
    texts = [f"{round(tick, 10):g}".replace("-", MINUS) for tick in ticks]
    inches = [(tick - low) / (high - low) * across for tick in ticks]
    keep = thinned(inches, [width_of(text, size) for text in texts], size / 72 / 2)
    shown = [(p, t) for p, t, kept in zip(ticks, texts, keep, strict=True) if kept]
    axes.set_xticks([p for p, _ in shown], [t for _, t in shown], fontsize=size)
    axes.grid(axis="x", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)


def _draw_boxes(axes: Axes, known: Sequence[tuple[int, Box]]) -> None:
    y = np.array([row for row, _ in known], dtype=float)
    boxes = [box for _, box in known]
    low, high = [box.low for box in boxes], [box.high for box in boxes]
    axes.hlines(y, low, high, color=SERIES[0], linewidth=0.7)
    for ends in (low, high):
        axes.vlines(ends, y - _END, y + _END, color=SERIES[0], linewidth=0.7)
    axes.barh(
        y,
        [box.q3 - box.q1 for box in boxes],
        2 * _HALF,
        [box.q1 for box in boxes],
        facecolor=BOX,
        edgecolor=SERIES[0],
        linewidth=0.7,
        zorder=2,
    )
    medians = [box.median for box in boxes]
    axes.vlines(medians, y - _HALF, y + _HALF, color=INK, linewidth=1.3, zorder=3)
    means = [box.mean for box in boxes]
    axes.plot(means, y, "D", color=SERIES[1], markersize=2.2, zorder=4)
