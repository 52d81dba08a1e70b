"""Errors per scored study as stacked bars: all of them in one panel, below it one a category."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from judge.plots import style
from judge.plots.data import Errors, ErrorsPanel, Level
from judge.plots.labels import broken, fitted, one_line, width_of
from judge.plots.panels import NAMES_GAP, n_words, names_room, ticks
from judge.plots.style import Sheet, Width, line_height, nothing, rows

_ROW = 0.13
_LEAST_DOWN = 0.3
_RIGHT = 0.1
_GAP = 0.14
_LEAST_ACROSS = 0.55
_HALF_BAR = 0.34
_SQUARE = 0.09
_TITLE_LINES = 3
_EDGE = 0.25
_BEHIND = 0.03
"""Between a bar and its sum, in inches."""

_Look = tuple[str, str | None]
"""A colour, and the hatch of what shares it with a label before."""


def draw_errors(data: Errors, width: Width) -> Figure:
    """Return the figure: models down, errors across, stacked by level, the gravest on the left."""
    small, line = width.small, line_height(width.small)
    looks = _looks(data.levels)
    left = names_room(data.models, width)
    names = fitted(data.models, left - NAMES_GAP, small)
    room = width.inches - left - _RIGHT
    n_across, titles = _across(data.panels, room, small)
    across = (room - _GAP * (n_across - 1)) / n_across
    key = _key(data, width)
    head = line * (1 + max(at for at, _, _ in key)) + 0.12
    down = max(_LEAST_DOWN, _ROW * len(data.models))
    whole_top = head + line_height(width.normal) + line + 0.03
    above = line * max(title.count("\n") + 1 for title in titles) + 0.05
    each = above + down + line + 0.1
    panels_top = whole_top + down + 2 * line + 0.14
    n_lines = ceil(len(data.panels) / n_across)
    sheet = Sheet(width.inches, panels_top + n_lines * each + line + 0.04)
    _draw_key(sheet, key, looks, small)

    middle, words = left + room / 2, f"{data.items} per scored study"
    sheet.text(data.whole.title, middle, head, width.normal, across="center")
    n, below = f"{n_words(data.n)} studies", head + line_height(width.normal)
    sheet.text(n, middle, below, small, across="center", colour=style.MUTED)
    axes = sheet.axes(left, whole_top, room, down)
    _draw_bars(axes, data.whole, looks, names, _most([data.whole]), room, small)
    sheet.text(words, middle, whole_top + down + line + 0.06, small, across="center")

    most = _most(data.panels)
    for index, (panel, title) in enumerate(zip(data.panels, titles, strict=True)):
        at, column = divmod(index, n_across)
        start, top = left + column * (across + _GAP), panels_top + at * each
        lines = title.split("\n")
        for up, text in enumerate(reversed(lines), 1):
            y = top + above - 0.05 - up * line
            sheet.text(text, start + across / 2, y, small, across="center")
        axes = sheet.axes(start, top + above, across, down)
        _draw_bars(axes, panel, looks, None if column else names, most, across, small)
    foot = one_line(f"{words}, the same scale in these panels", width.inches - 0.1, small)
    # A long line is centred on the sheet rather than on the panels.
    middle = width.inches / 2 if width_of(foot, small) > room else middle
    sheet.text(foot, middle, sheet.height - line - 0.02, small, across="center")
    return sheet.figure


def _most(panels: Sequence[ErrorsPanel]) -> float:
    return max((sum(bar) for panel in panels for bar in panel.bars if bar), default=0.0) or 1.0


def _looks(levels: Sequence[Level]) -> list[_Look]:
    found: list[_Look] = []
    for level in levels:
        colour = style.TONES[level.tone]
        before = sum(1 for taken, _ in found if taken == colour)
        found.append((colour, style.HATCHES[before % len(style.HATCHES)]))
    return found


def _across(panels: Sequence[ErrorsPanel], room: float, size: float) -> tuple[int, list[str]]:
    """Return how many panels stand beside each other, and their titles broken into lines.

    As many as their titles leave room for, and the lines of panels as even as can be.
    """
    for n_lines in range(1, len(panels) + 1):
        n = ceil(len(panels) / n_lines)
        across = (room - _GAP * (n - 1)) / n
        titles = [broken(panel.title, across + _GAP - 0.08, size) for panel in panels]
        fits = all(
            title.count("\n") < _TITLE_LINES
            and max(width_of(line, size) for line in title.split("\n")) <= across + _GAP - 0.07
            for title in titles
        )
        if across >= _LEAST_ACROSS and fits:
            return n, titles
    return 1, [one_line(panel.title, room, size) for panel in panels]


def _key(data: Errors, width: Width) -> list[tuple[int, float, str]]:
    texts = [f"{data.facet}:", *(level.label for level in data.levels)]
    at, across = 0, 0.05
    found: list[tuple[int, float, str]] = []
    for index, text in enumerate(texts):
        square = (_SQUARE + 0.05) if index else 0.0
        shown = one_line(text, width.inches - square - 0.1, width.small)
        needed = square + width_of(shown, width.small)
        if found and across + needed > width.inches - 0.05:
            at, across = at + 1, 0.05
        found.append((at, across, shown))
        across += needed + 0.12
    return found


def _draw_key(
    sheet: Sheet, key: Sequence[tuple[int, float, str]], looks: Sequence[_Look], size: float
) -> None:
    line = line_height(size)
    for (at, across, text), look in zip(key, [None, *looks], strict=True):
        top = 0.04 + at * line
        start = across
        if look is not None:
            axes = sheet.axes(across, top + (line - _SQUARE) / 2 - 0.005, _SQUARE, _SQUARE)
            axes.set_axis_off()
            axes.set(xlim=(0, 1), ylim=(0, 1))
            axes.add_patch(Rectangle((0, 0), 1, 1, clip_on=False, **_filled(look)))
            start += _SQUARE + 0.05
        sheet.text(text, start, top, size)


def _filled(look: _Look) -> dict[str, Any]:
    colour, hatch = look
    return {"facecolor": colour, "edgecolor": style.INK, "linewidth": _EDGE, "hatch": hatch}


def _draw_bars(
    axes: Axes,
    panel: ErrorsPanel,
    looks: Sequence[_Look],
    names: Sequence[str] | None,
    most: float,
    across: float,
    size: float,
) -> None:
    rows(axes, names, len(panel.bars), size)
    axes.grid(axis="x", color=style.GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    sums = ["" if bar is None else f"{sum(bar):.2f}" for bar in panel.bars]
    behind = width_of(f"{most:.2f}", size) + 2 * _BEHIND
    high = most * across / (across - behind)
    axes.set_xlim(0, high)
    ticks(axes, (0.0, high), across, size)
    for row, (bar, text) in enumerate(zip(panel.bars, sums, strict=True)):
        if bar is None:
            nothing(axes, high / 2, row, size)
            continue
        start = 0.0
        for length, look in zip(bar, looks, strict=True):
            if length:
                place = (start, row - _HALF_BAR)
                axes.add_patch(Rectangle(place, length, 2 * _HALF_BAR, **_filled(look), zorder=2))
            start += length
        after = start + _BEHIND * high / across
        axes.text(after, row, text, fontsize=size, ha="left", va="center_baseline", zorder=3)
