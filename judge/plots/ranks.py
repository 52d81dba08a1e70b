"""Ranks of models at sites (the challenge's Figure 2)."""

from __future__ import annotations

from math import ceil

from matplotlib.figure import Figure

from judge.plots.drawings import Ranks
from judge.plots.labels import fitted, one_line, width_of
from judge.plots.panels import NAMES_GAP, names_room
from judge.plots.sheet import Sheet, heat_map, line_height
from judge.plots.style import Width

_ROW = 0.15
_LEAST_COLUMN = 0.17
_MOST_COLUMN = 0.5
_MOST_HEAD = 1.2
_RIGHT = 0.08
_N_ROOM = 0.45


def draw(data: Ranks, width: Width) -> Figure:
    """Return the figure: models down, sites across, in as many blocks as the width asks for."""
    left = names_room(data.models, width)
    room = width.inches - left - _RIGHT
    n_blocks = ceil(len(data.sites) / int(room / _LEAST_COLUMN))
    n_columns = ceil(len(data.sites) / n_blocks)
    column = min(room / n_columns, _MOST_COLUMN)
    sites = _site_labels(data, width.small)
    head = max(width_of(site, width.small) for site in sites) + 0.08
    down = _ROW * len(data.models)
    title = line_height(width.normal) + 0.08
    foot = line_height(width.small) + 0.06
    block = head + down + 0.12
    sheet = Sheet(width.inches, title + n_blocks * block + foot)
    text = one_line(f"Rank by {data.metric}", width.inches - 0.1, width.normal)
    sheet.text(text, 0.05, 0.05, width.normal)
    names = fitted(data.models, left - NAMES_GAP, width.small)
    worst = max((p for line in data.places for p in line if p is not None), default=1)
    for at in range(n_blocks):
        part = slice(at * n_columns, (at + 1) * n_columns)
        places = [line[part] for line in data.places]
        axes = sheet.axes(left, title + at * block + head, column * len(sites[part]), down)
        heat_map(
            axes,
            [[_share(place, worst) for place in line] for line in places],
            [["n/a" if place is None else str(place) for place in line] for line in places],
            min(width.small, 6.0),
        )
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(sites[part])), sites[part], rotation=90, fontsize=width.small)
        axes.set_yticks(range(len(names)), names, fontsize=width.small)
    legend = "1 = best; site (number of studies)"
    if any(place is None for line in data.places for place in line):
        legend += "; n/a: no scored study"
    sheet.text(legend, 0.05, sheet.height - foot + 0.03, width.small)
    return sheet.figure


def _site_labels(data: Ranks, size: float) -> list[str]:
    names = fitted(data.sites, _MOST_HEAD - _N_ROOM, size)
    return [f"{name} ({n:,})" for name, n in zip(names, data.n, strict=True)]


def _share(place: int | None, worst: int) -> float | None:
    """The best is the lightest."""
    if place is None:
        return None
    return 1.0 if worst == 1 else 1 - (place - 1) / (worst - 1)
