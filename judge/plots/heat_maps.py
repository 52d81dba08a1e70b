"""Heat maps: ranks of models at sites and correlation of metrics (the challenge's Figures 2, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from judge.plots.data import Matrix, Ranks
from judge.plots.labels import fitted, one_line, width_of, wrapped
from judge.plots.panels import NAMES_GAP, n_words, names_room
from judge.plots.style import INK, MUTED, NOTHING, Sheet, Width, ink_on, line_height, shade
from judge.stats.metric import MINUS

_ROW = 0.15
_LEAST_COLUMN = 0.15
_MOST_COLUMN = 0.5
_MOST_HEAD = 1.2
_RIGHT = 0.08
_N_ROOM = 0.45
_MOST_CELL = 0.5
_MOST_NAMES = 1.04
_LEAST_TYPE = 5.0
_BAR, _BAR_HIGH = 1.2, 0.09
_SHADES = 81
# So that a word on a hatched cell can be read.
_BEHIND = {"facecolor": NOTHING, "linewidth": 0, "pad": 0.6}


def draw_ranks(data: Ranks, width: Width) -> Figure:
    """Return the figure: models down, groups across, in as many blocks as the width asks for."""
    left = names_room(data.models, width)
    room = width.inches - left - _RIGHT
    n_blocks = ceil(len(data.groups) / int(room / _LEAST_COLUMN))
    n_columns = ceil(len(data.groups) / n_blocks)
    column = min(room / n_columns, _MOST_COLUMN)
    fit = fitted(data.groups, _MOST_HEAD - _N_ROOM, width.small)
    sites = [f"{name} ({n:,})" for name, n in zip(fit, data.n, strict=True)]
    head = max(width_of(site, width.small) for site in sites) + 0.08
    down = _ROW * len(data.models)
    title = line_height(width.normal) + 0.08
    foot = line_height(width.small) + 0.06
    block = head + down + 0.12
    legend = f"1 = best; {data.group} (number of studies)"
    if any(rank is None for line in data.ranks for rank in line):
        legend += "; n/a: no scored study"
    text = one_line(f"Rank by {data.metric}", width.inches - 0.1, width.normal)
    # No wider than what is in it.
    needed = max(left + n_columns * column + _RIGHT, width_of(text, width.normal) + 0.1)
    across = min(max(needed, width_of(legend, width.small) + 0.1, width.least), width.inches)
    sheet = Sheet(across, title + n_blocks * block + foot)
    sheet.text(text, 0.05, 0.05, width.normal)
    names = fitted(data.models, left - NAMES_GAP, width.small)
    worse = max((p - 1 for line in data.ranks for p in line if p is not None), default=0) or 1
    for index in range(n_blocks):
        part = slice(index * n_columns, (index + 1) * n_columns)
        ranks = [line[part] for line in data.ranks]
        axes = sheet.axes(left, title + index * block + head, column * len(sites[part]), down)
        _heat_map(
            axes,
            # The best is the lightest.
            [[None if rank is None else 1 - (rank - 1) / worse for rank in line] for line in ranks],
            [["n/a" if rank is None else str(rank) for rank in line] for line in ranks],
            min(width.small, 6.0),
        )
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(sites[part])), sites[part], rotation=90, fontsize=width.small)
        axes.set_yticks(range(len(names)), names, fontsize=width.small)
    sheet.text(legend, 0.05, sheet.height - foot + 0.03, width.small)
    return sheet.figure


def draw_correlations(data: Matrix, width: Width) -> Figure:
    """Return the figure: metrics down and across, the figures in the cells where they fit."""
    k = len(data.labels)
    labels = wrapped(data.labels, _MOST_NAMES, width.small)
    lines = [line for label in labels for line in label.split("\n")]
    names = max(width_of(line, width.small) for line in lines) + 0.1
    cell = min((width.inches - names - _RIGHT) / k, _MOST_CELL)
    texts = [[_figure(value) for value in line] for line in data.values]
    longest = max(width_of(text, width.small) for line in texts for text in line)
    # The largest type in which all figures fit their cells; where none does they are left out.
    size = min(width.small, width.small * (cell - 0.04) / longest)
    if size < _LEAST_TYPE:
        texts = [[""] * k for _ in texts]
    above = line_height(width.normal) if data.dataset is not None else 0.0
    title = above + line_height(width.normal) + 0.09
    words = _words(data)
    line = line_height(width.small)
    foot = 2 * line + _BAR_HIGH + 0.04 + line * len(words)
    # No wider than what is in it.
    across = min(max(names + k * cell + _RIGHT, width.least), width.inches)
    sheet = Sheet(across, title + k * cell + names + foot)
    heading = f"{data.method.capitalize()} correlation, {n_words(data.n)} values"
    left = (across - _RIGHT - names - k * cell) / 2
    room = across - width_of(heading, width.normal) - 0.05
    if data.dataset is not None:
        name = one_line(data.dataset, 0.9 * (across - left), width.normal)
        sheet.text(name, min(left + 0.05, room), 0.05, width.normal)
    sheet.text(heading, min(left + 0.05, room), 0.05 + above, width.normal)
    axes = sheet.axes(left + names, title, k * cell, k * cell)
    shares = [[None if v is None else (v + 1) / 2 for v in line] for line in data.values]
    _heat_map(axes, shares, texts, max(size, _LEAST_TYPE))
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
    left = middle - _BAR / 2
    axes = sheet.axes(left, top, _BAR, _BAR_HIGH)
    axes.set_axis_off()
    axes.set(xlim=(0, _SHADES), ylim=(0, 1))
    for step in range(_SHADES):
        # Each reaches below the next, so that no seam shows between them at any size.
        reach = min(2, _SHADES - step)
        colour = shade(step / (_SHADES - 1))
        axes.add_patch(Rectangle((step, 0), reach, 1, facecolor=colour, linewidth=0))
    below = top + _BAR_HIGH + 0.02
    for text, share in ((f"{MINUS}1", 0.0), ("0", 0.5), ("1", 1.0)):
        sheet.text(text, left + share * _BAR, below, size, across="center")


def _words(data: Matrix) -> list[str]:
    found = []
    if any(label.startswith(MINUS) for label in data.labels):
        found.append(f"{MINUS} before a metric: less is better, so it is negated")
    if any(value is None for line in data.values for value in line):
        few = f"fewer than {data.least} pairs, or one value only"
        found.append(f"n/a: {'fewer than two different values' if data.least == 2 else few}")
    return found


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    text = f"{value:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)
    return text.replace("-", MINUS)


def _heat_map(
    axes: Axes,
    shares: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    size: float,
) -> None:
    """Draw cells coloured by their share of the scale (0 to 1), hatched where it is None."""
    for row, (line, words) in enumerate(zip(shares, texts, strict=True)):
        for column, (share, word) in enumerate(zip(line, words, strict=True)):
            colour = shade(share) if share is not None else None
            axes.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5),
                    1,
                    1,
                    facecolor=colour or NOTHING,
                    edgecolor="white" if colour else MUTED,
                    linewidth=0.5 if colour else 0,
                    hatch=None if colour else "////",
                )
            )
            axes.text(
                column,
                row,
                word,
                fontsize=size,
                ha="center",
                va="center",
                color=ink_on(colour) if colour else INK,
                bbox=None if colour or not word else _BEHIND,
            )
    axes.set_xlim(-0.5, len(shares[0]) - 0.5)
    axes.set_ylim(len(shares) - 0.5, -0.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
