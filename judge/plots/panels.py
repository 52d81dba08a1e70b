"""Panels side by side that share their rows: rates a study class or judge, boxes, agreement.

The challenge's Figure 1 and the first ReXrank paper's Figure 3; agreement is a forest plot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from judge.plots import style
from judge.plots.data import Box, Boxes, BoxesPanel, Forest, ForestPanel, Rates, RatesPanel
from judge.plots.labels import fitted, one_line, room, thinned, width_of
from judge.plots.style import Sheet, Width, line_height, nothing, rows
from judge.stats.metric import MINUS

NAMES_GAP = 0.06
"""Between a name and its panel, in inches."""
_GAP = 0.14
_RIGHT = 0.1
_LEAST_DOWN = 0.3
_RATES_ROW, _BOXES_ROW = 0.17, 0.15
# Distance of the two series of a model from the middle of its row.
_APART = 0.2
_HALF_BOX = 0.32
_HALF_END = 0.16
_MARGIN = 0.05
_BAND = "band: readers among themselves, all of them; dashed: their mean"

_AnyPanel = TypeVar("_AnyPanel", RatesPanel, BoxesPanel, ForestPanel)


class Grid:
    """Lines of panels on a sheet, each with the models' names on its left and titles above.

    `models` are the rows. `row` is the height of one and `head` the room above everything, in
    inches; `below` is written below all panels, a text a line.
    """

    def __init__(
        self,
        width: Width,
        models: Sequence[str],
        n_panels: int,
        *,
        row: float,
        head: float,
        below: Sequence[str],
    ) -> None:
        small = line_height(width.small)
        self.width, self.models, self.head, self.below = width, models, head, below
        self.names = names_room(models, width)
        self.n_across = min(width.across, n_panels)
        across = width.inches - self.names - _RIGHT - _GAP * (self.n_across - 1)
        self.across = across / self.n_across
        self.down = max(_LEAST_DOWN, row * len(models))
        self.above = line_height(width.normal) + small + 0.03
        self.line = self.above + self.down + (small + 0.08)
        lines = ceil(n_panels / self.n_across)
        self.sheet = Sheet(width.inches, head + lines * self.line + (small * len(below) + 0.04))

    def filled(self, panels: Sequence[_AnyPanel]) -> Iterator[tuple[Axes, _AnyPanel]]:
        """Yield each panel to draw in, line by line: it has its rows, its title and its n.

        After the last one it writes `below`.
        """
        small, normal = self.width.small, self.width.normal
        names = fitted(self.models, self.names - NAMES_GAP, small)
        titles = fitted([panel.title for panel in panels], self.across + _GAP / 2, normal)
        for index, (panel, title) in enumerate(zip(panels, titles, strict=True)):
            line, column = divmod(index, self.n_across)
            left = self.names + column * (self.across + _GAP)
            top = self.head + line * self.line + self.above
            axes = self.sheet.axes(left, top, self.across, self.down)
            rows(axes, None if column else names, len(names), small)
            axes.grid(axis="x", color=style.GRID, linewidth=0.5)
            axes.set_axisbelow(True)
            middle, top = left + self.across / 2, top - self.above
            self.sheet.text(title, middle, top, normal, across="center")
            top += line_height(normal)
            n = n_words(panel.n)
            self.sheet.text(n, middle, top, small, across="center", colour=style.MUTED)
            yield axes, panel
        self._words_below()

    def _words_below(self) -> None:
        size, inches = self.width.small, self.width.inches
        middle = self.names + (inches - self.names - _RIGHT) / 2
        top = self.sheet.height - line_height(size) * len(self.below) - 0.02
        for index, words in enumerate(self.below):
            text = one_line(words, inches - 0.1, size)
            # A long line is centred on the sheet rather than on the panels.
            across = inches / 2 if width_of(text, size) > inches - self.names else middle
            colour = style.MUTED if index else style.INK
            self.sheet.text(text, across, top, size, across="center", colour=colour)
            top += line_height(size)


def names_room(models: Sequence[str], width: Width) -> float:
    """Return the inches that models' names take: of the longest one, or what the width allows."""
    # A little more than it needs, so that rounding cuts nothing.
    return room(models, width.names - NAMES_GAP - 0.01, width.small) + NAMES_GAP + 0.01


def n_words(n: tuple[int, int]) -> str:
    """Return how many studies were scored, as a range where models differ."""
    low, high = n
    return f"n = {high:,}" if low == high else f"n = {low:,}\N{EN DASH}{high:,}"


def draw_rates(data: Rates, width: Width) -> Figure:
    """Return the figure: models down, rates across, with their intervals."""
    key = line_height(width.small) + 0.03
    head = key * len(data.labels) + 0.07
    below = (f"{data.axis} (%)",)
    grid = Grid(width, data.models, len(data.panels), row=_RATES_ROW, head=head, below=below)
    for series, label in enumerate(data.labels):
        middle = 0.03 + key * (series + 0.5)
        mark = grid.sheet.axes(0.04, middle - 0.05, 0.2, 0.1)
        mark.set_axis_off()
        mark.set(xlim=(0, 1), ylim=(0, 1))
        mark.plot([0.15, 0.85], [0.5, 0.5], color=style.SERIES[series], linewidth=0.9)
        mark.plot([0.5], [0.5], style.MARKERS[series], color=style.SERIES[series], markersize=3.2)
        text = one_line(label, width.inches - 0.35, width.small)
        grid.sheet.text(text, 0.28, middle - line_height(width.small) / 2, width.small)
    for axes, panel in grid.filled(data.panels):
        for row in data.marked:
            axes.axhspan(row - 0.5, row + 0.5, color=style.BOX, linewidth=0, zorder=0.5)
        for row in data.breaks:
            axes.axhline(row - 0.5, color=style.MUTED, linewidth=0.5, zorder=1)
        _draw_points(axes, panel, width.small)
        axes.set_xlim(-3, 103)
        axes.set_xticks([0, 50, 100], ["0", "50", "100"], fontsize=width.small)
    return grid.sheet.figure


def _draw_points(axes: Axes, panel: RatesPanel, size: float) -> None:
    for series, cells in enumerate(panel.series):
        shift = 0.0 if len(panel.series) == 1 else _APART * (2 * series - 1)
        at = [(row + shift, cell) for row, cell in enumerate(cells)]
        bars = [(y, c.low, c.high) for y, c in at if c.low is not None and c.high is not None]
        axes.hlines(
            [y for y, _, _ in bars],
            [100 * low for _, low, _ in bars],
            [100 * high for _, _, high in bars],
            color=style.SERIES[series],
            linewidth=0.9,
        )
        known = [(100 * c.value, y) for y, c in at if c.value is not None]
        marks = [x for x, _ in known], [y for _, y in known], style.MARKERS[series]
        axes.plot(*marks, color=style.SERIES[series], markersize=2.6)
    for row, cells in enumerate(zip(*panel.series, strict=True)):
        if any(cell.value is None for cell in cells):
            nothing(axes, 50, row, size)


def draw_forest(data: Forest, width: Width) -> Figure:
    """Return the figure: judges down, agreement across, the readers' own as a band behind."""
    below = (f"{data.coefficient} with the mean of the readers", _BAND)
    grid = Grid(width, data.rows, len(data.panels), row=_RATES_ROW, head=0.06, below=below)
    lows = [one.low for panel in data.panels for one in panel.rows if one and one.low is not None]
    values = [one.value for panel in data.panels for one in panel.rows if one]
    ceilings = [panel.ceiling[1] for panel in data.panels if panel.ceiling]
    low = min([0.0, *(one for one in (*lows, *values, *ceilings) if one is not None)])
    for axes, panel in grid.filled(data.panels):
        margin = _MARGIN * (1 - low)
        axes.set_xlim(low - margin, 1 + margin)
        ticks(axes, (low, 1.0), grid.across, width.small)
        if low < 0:
            axes.axvline(0, color=style.MUTED, linewidth=0.5)
        if panel.ceiling:
            mean, least, most = panel.ceiling
            axes.axvspan(least, most, color=style.BOX, linewidth=0, zorder=1)
            axes.axvline(mean, color=style.SERIES[1], linewidth=0.9, linestyle=(0, (4, 2)))
        known = [(row, one) for row, one in enumerate(panel.rows) if one]
        bars = [
            (y, one.low, one.high)
            for y, one in known
            if one.low is not None and one.high is not None
        ]
        ends = [low for _, low, _ in bars], [high for _, _, high in bars]
        colour = style.SERIES[0]
        axes.hlines([y for y, _, _ in bars], *ends, color=colour, linewidth=0.9, zorder=3)
        marks = [(one.value, y) for y, one in known if one.value is not None]
        places = [x for x, _ in marks], [y for _, y in marks], style.MARKERS[0]
        axes.plot(*places, color=colour, markersize=2.8, zorder=4)
        for row, one in enumerate(panel.rows):
            if one is None:
                nothing(axes, (low + 1) / 2, row, width.small)
    return grid.sheet.figure


def draw_boxes(data: Boxes, width: Width) -> Figure:
    """Return the figure: models down, the metric across, on one scale in all panels."""
    whiskers = "least to largest value" if data.is_few else "5th to 95th percentile"
    below = (data.metric, f"whiskers: {whiskers}")
    grid = Grid(width, data.models, len(data.panels), row=_BOXES_ROW, head=0.06, below=below)
    low, high = _range(data)
    for axes, panel in grid.filled(data.panels):
        axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
        ticks(axes, (low, high), grid.across, width.small, is_whole=data.is_whole)
        _draw_boxes(axes, [(row, box) for row, box in enumerate(panel.boxes) if box])
        for row, box in enumerate(panel.boxes):
            if box is None:
                nothing(axes, (low + high) / 2, row, width.small)
    return grid.sheet.figure


def _range(data: Boxes) -> tuple[float, float]:
    if data.scale is not None:
        return data.scale
    boxes = [box for panel in data.panels for box in panel.boxes if box]
    low = min((min(box.low, box.mean) for box in boxes), default=0.0)
    high = max((max(box.high, box.mean) for box in boxes), default=1.0)
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def ticks(
    axes: Axes, ends: tuple[float, float], across: float, size: float, *, is_whole: bool = False
) -> None:
    """Put round numbers below the panel, as many as stand clear of each other."""
    low, high = ends
    # Quarters are no scale of whole numbers.
    steps = [1, 2, 3, 5, 10] if is_whole else [1, 2, 2.5, 5, 10]
    locator = MaxNLocator(nbins=4, steps=steps, integer=is_whole)
    near = 1e-9 * (high - low)
    places = [t for t in locator.tick_values(low, high) if low - near <= t <= high + near]
    texts = [f"{round(tick, 10):g}".replace("-", MINUS) for tick in places]
    inches = [(tick - low) / (high - low) * across for tick in places]
    keep = thinned(inches, [width_of(text, size) for text in texts], size / 72 / 2)
    shown = [(p, t) for p, t, kept in zip(places, texts, keep, strict=True) if kept]
    axes.set_xticks([p for p, _ in shown], [t for _, t in shown], fontsize=size)


def _draw_boxes(axes: Axes, known: Sequence[tuple[int, Box]]) -> None:
    y = np.array([row for row, _ in known], dtype=float)
    boxes = [box for _, box in known]
    low, high = [box.low for box in boxes], [box.high for box in boxes]
    thin, edge = 0.7, style.SERIES[0]
    axes.hlines(y, low, high, color=edge, linewidth=thin)
    for ends in (low, high):
        axes.vlines(ends, y - _HALF_END, y + _HALF_END, color=edge, linewidth=thin)
    bars = [box.q3 - box.q1 for box in boxes], 2 * _HALF_BOX, [box.q1 for box in boxes]
    axes.barh(y, *bars, facecolor=style.BOX, edgecolor=edge, linewidth=thin, zorder=2)
    medians = [box.median for box in boxes]
    axes.vlines(medians, y - _HALF_BOX, y + _HALF_BOX, color=style.INK, linewidth=1.3, zorder=3)
    axes.plot([box.mean for box in boxes], y, "D", color=style.SERIES[1], markersize=2.2, zorder=4)
