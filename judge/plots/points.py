"""Clouds of studies, a panel a judge: counts against the readers', and their differences."""

from __future__ import annotations

from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from judge.plots import style
from judge.plots.data import Points, PointsPanel
from judge.plots.labels import fitted, one_line
from judge.plots.panels import n_words, ticks
from judge.plots.style import Sheet, Width, line_height
from judge.stats.metric import MINUS

_LEFT = 0.5
_RIGHT = 0.1
_GAP = 0.16
_MOST = 2.6
_FLAT = 0.8
"""The height of a panel that is not square, of its width."""
_MARGIN = 0.5
_MANY = 500
"""More points than this are drawn as an image, or a figure of them fills megabytes."""


def draw_points(data: Points, width: Width) -> Figure:
    """Return the figure: a point a study, and where a judge and the readers would be one."""
    small, line = width.small, line_height(width.small)
    most_across = max(2, width.across - 1)
    n_across = min(most_across, len(data.panels))
    room = width.inches - _LEFT - _RIGHT - _GAP * (n_across - 1)
    side = min(room / n_across, _MOST)
    high = side if data.is_square else _FLAT * side
    head = line_height(width.normal) + 0.1
    above = line_height(width.normal) + 2 * line + 0.04
    each = above + high + line + 0.1
    sheet_width = max(_LEFT + n_across * (side + _GAP) - _GAP + _RIGHT, width.least)
    sheet = Sheet(sheet_width, head + ceil(len(data.panels) / n_across) * each + line + 0.06)
    start = (sheet_width - n_across * (side + _GAP) + _GAP + _LEFT - _RIGHT) / 2
    middle = start + (n_across * (side + _GAP) - _GAP) / 2
    title = one_line(f"{data.quantity} per study", sheet_width - 0.1, width.normal)
    sheet.text(title, sheet_width / 2, 0.05, width.normal, across="center", bold=True)
    ends = _ends(data)
    names = fitted([panel.title for panel in data.panels], side + _GAP / 2, width.normal)
    for index, (panel, name) in enumerate(zip(data.panels, names, strict=True)):
        at, column = divmod(index, n_across)
        left, top = start + column * (side + _GAP), head + at * each
        centre = left + side / 2
        sheet.text(name, centre, top, width.normal, across="center")
        top += line_height(width.normal)
        n = n_words((len(panel.x), len(panel.x)))
        for words in (n, panel.said):
            sheet.text(words, centre, top, small, across="center", colour=style.MUTED)
            top += line
        axes = sheet.axes(left, head + at * each + above, side, high)
        _draw(axes, panel, data, ends)
        ticks(axes, ends[0], side, small, is_whole=True)
        _ticks_up(axes, ends[1], small, is_named=not column)
        if not column:
            axes.set_ylabel(data.down, fontsize=small)
            axes.yaxis.set_label_coords(-(_LEFT - 0.16) / side, 0.5)
    words = one_line(data.across, sheet_width - 0.1, small)
    sheet.text(words, middle, sheet.height - line - 0.03, small, across="center")
    return sheet.figure


_Ends = tuple[tuple[float, float], tuple[float, float]]


def _ends(data: Points) -> _Ends:
    x = [float(end) for panel in data.panels if len(panel.x) for end in _outer(panel.x)]
    y = [float(end) for panel in data.panels if len(panel.y) for end in _outer(panel.y)]
    y += [
        end
        for panel in data.panels
        for one in panel.levels
        for end in (one.value, one.low, one.high)
        if end is not None
    ]
    across, down = ((min(0.0, *of, 0.0) - _MARGIN, max(1.0, *of, 1.0) + _MARGIN) for of in (x, y))
    if not data.is_square:
        return across, down
    both = min(across[0], down[0]), max(across[1], down[1])
    return both, both


def _outer(of: np.ndarray) -> tuple[float, float]:
    return of.min(), of.max()


def _draw(axes: Axes, panel: PointsPanel, data: Points, ends: _Ends) -> None:
    axes.set(xlim=ends[0], ylim=ends[1])
    axes.grid(color=style.GRID, linewidth=0.4)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if data.is_square:
        axes.plot(ends[0], ends[0], color=style.MUTED, linewidth=0.7, zorder=1)
    else:
        axes.axhline(0, color=style.MUTED, linewidth=0.7, zorder=1)
    colour = style.SERIES[1]
    for at, one in enumerate(panel.levels):
        if one.low is not None and one.high is not None:
            axes.axhspan(one.low, one.high, color=colour, alpha=0.2, linewidth=0, zorder=1.5)
        if one.value is not None:
            dashes = (0, (4, 2)) if at else "solid"
            axes.axhline(one.value, color=colour, linewidth=0.9, linestyle=dashes, zorder=3)
    n = len(panel.x)
    axes.plot(
        panel.x,
        panel.y,
        "o",
        color=style.SERIES[0],
        # So that thousands on one place do not look as a few do.
        alpha=min(0.6, 15 / max(1.0, n**0.5)),
        markersize=2.2,
        markeredgewidth=0,
        zorder=2,
        rasterized=n > _MANY,
    )


def _ticks_up(axes: Axes, ends: tuple[float, float], size: float, *, is_named: bool) -> None:
    locator = MaxNLocator(nbins=4, steps=[1, 2, 3, 5, 10], integer=True)
    places = [tick for tick in locator.tick_values(*ends) if ends[0] <= tick <= ends[1]]
    texts = [f"{round(tick):d}".replace("-", MINUS) if is_named else "" for tick in places]
    axes.set_yticks(places, texts, fontsize=size)
