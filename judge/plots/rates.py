"""Error rates of models, a panel a study class (the challenge's Figure 1)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judge.plots.drawings import Rates, RatesPanel
from judge.plots.labels import one_line
from judge.plots.panels import Grid, n_words
from judge.plots.sheet import Sheet, line_height, nothing, rows
from judge.plots.style import GRID, MARKERS, SERIES, Width

_ROW = 0.17
_TICKS = (0, 50, 100)
# Distance of the two series of a model from the middle of its row.
_APART = 0.2


def draw(data: Rates, width: Width) -> Figure:
    """Return the figure: models down, rates across, with their intervals."""
    key = line_height(width.small) + 0.03
    grid = Grid(
        width,
        n_panels=len(data.panels),
        models=data.models,
        row=_ROW,
        head=key * len(data.labels) + 0.07,
        below=(f"{data.axis} (%)",),
    )
    sheet = Sheet(width.inches, grid.height)
    for series, label in enumerate(data.labels):
        middle = 0.03 + key * (series + 0.5)
        mark = sheet.axes(0.04, middle - 0.05, 0.2, 0.1)
        mark.set_axis_off()
        mark.set(xlim=(0, 1), ylim=(0, 1))
        mark.plot([0.15, 0.85], [0.5, 0.5], color=SERIES[series], linewidth=0.9)
        mark.plot([0.5], [0.5], MARKERS[series], color=SERIES[series], markersize=3.2)
        text = one_line(label, width.inches - 0.35, width.small)
        sheet.text(text, 0.28, middle - line_height(width.small) / 2, width.small)
    names = grid.labels
    titles = grid.titles([panel.title for panel in data.panels])
    for position, panel, title in zip(grid.positions(), data.panels, titles, strict=True):
        axes = sheet.axes(position.left, position.top, grid.across, grid.down)
        rows(axes, names if position.is_first else None, len(data.models), width.small)
        _points(axes, panel, width.small)
        axes.set_xlim(-3, 103)
        axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS], fontsize=width.small)
        axes.grid(axis="x", color=GRID, linewidth=0.5)
        axes.set_axisbelow(True)
        grid.title(sheet, position, title, n_words(panel.n))
    grid.words_below(sheet)
    return sheet.figure


def _points(axes: Axes, panel: RatesPanel, size: float) -> None:
    for series, points in enumerate(panel.series):
        shift = 0.0 if len(panel.series) == 1 else _APART * (2 * series - 1)
        known = [(row + shift, point) for row, point in enumerate(points) if point]
        bars = [(y, p.low, p.high) for y, p in known if p.low is not None and p.high is not None]
        axes.hlines(
            [y for y, _, _ in bars],
            [100 * low for _, low, _ in bars],
            [100 * high for _, _, high in bars],
            color=SERIES[series],
            linewidth=0.9,
        )
        axes.plot(
            [100 * point.value for _, point in known],
            [y for y, _ in known],
            MARKERS[series],
            color=SERIES[series],
            markersize=2.6,
        )
    for row, points in enumerate(zip(*panel.series, strict=True)):
        if None in points:
            nothing(axes, 50, row, size)
