"""A control chart as SVG: points, centre line, limits, and the weeks of the baseline.

Colours are those of the page's style sheet, so that a chart is legible on a light and on a dark
page; signals differ in shape too.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from datetime import date

from judge.monitoring.models import ChartEntry, PointEntry
from judge.monitoring.monitor import figure_text, group_text

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 14, 30
_MOST_LABELS = 6
_STEPS = (1, 2, 2.5, 5, 10)

STYLE = """
.chart { width: 100%; max-width: 48rem; height: auto; display: block; }
.chart text { font-size: 11px; fill: var(--soft); }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .centre { stroke: var(--soft); stroke-width: 1.5; }
.chart .limit { fill: none; stroke: var(--critical); stroke-width: 1.3; stroke-dasharray: 5 3; }
.chart .line { fill: none; stroke: var(--accent); stroke-width: 1.5; }
.chart .point { fill: var(--accent); stroke: var(--paper); stroke-width: 1; }
.chart .open { fill: var(--paper); stroke: var(--accent); stroke-width: 1.5; }
.chart .worse { fill: var(--critical); stroke: var(--paper); stroke-width: 1; }
.chart .better { fill: var(--in); stroke: var(--paper); stroke-width: 1; }
.chart .baseline { fill: var(--rule); opacity: .45; }
.chart .version { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 1 3; }
.to-open { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 0 0 1rem; }
.to-open li { list-style: none; }
.chart .version-name { fill: var(--ink); }
"""
"""What a page's style sheet needs beside its own rules."""


def control_chart(chart: ChartEntry, versions: Mapping[str, str] | None = None) -> str:
    """Return the SVG of a chart; `versions` has the first day of each version to mark."""
    points = [point for point in chart.points if point.value is not None]
    label = html.escape(f"{chart.label}, {group_text(chart.group)}", quote=True)
    start = f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    if not points:
        return f'{start}<text x="{_LEFT}" y="{HEIGHT / 2}">no scored study</text></svg>'
    place = _Place(points, is_share=chart.kind == "p", centre=_centre(chart))
    parts = [start]
    parts += _baseline(points, place)
    parts += _axes(points, place, chart.kind)
    parts += _version_marks(versions or {}, points, place)
    if chart.baseline is not None:
        y = place.y(chart.baseline.centre)
        parts.append(_line("centre", _LEFT, y, WIDTH - _RIGHT, y))
    parts += _limits(points, place)
    line = " ".join(f"{place.x(point):.1f},{place.y_of(point):.1f}" for point in points)
    parts.append(f'<polyline class="line" points="{line}"/>')
    parts += [_mark(point, place, chart.kind) for point in points]
    parts.append("</svg>")
    return "".join(parts)


class _Place:
    """Where days and figures lie in the chart."""

    def __init__(
        self, points: Sequence[PointEntry], *, is_share: bool, centre: float | None
    ) -> None:
        days = [_day(point) for point in points]
        self._first = min(days).toordinal()
        self._days = max(1, max(days).toordinal() - self._first)
        figures = [] if centre is None else [centre]
        for point in points:
            for value in (point.value, point.lower, point.upper):
                if value is not None:
                    figures.append(value)
        low, high = min(figures), max(figures)
        room = 0.08 * (high - low) or 0.1
        self.low, self.high = max(0.0, low - room), high + room
        if is_share:
            self.high = min(1.0, self.high)
        # A share of 0 or 1 throughout has no range.
        if self.high <= self.low:
            self.low = max(0.0, self.high - 0.1)
        self.step = _step(self.high - self.low)

    def x_of_day(self, day: date) -> float:
        """Return where a day lies."""
        share = (day.toordinal() - self._first) / self._days
        return _LEFT + 8 + share * (WIDTH - _LEFT - _RIGHT - 16)

    def x(self, point: PointEntry) -> float:
        """Return where a point's period begins."""
        return self.x_of_day(_day(point))

    def y(self, figure: float) -> float:
        """Return how high a figure lies."""
        share = (figure - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    def y_of(self, point: PointEntry) -> float:
        """Return how high a point lies."""
        assert point.value is not None
        return self.y(point.value)


def _day(point: PointEntry) -> date:
    return date.fromisoformat(point.start)


def _centre(chart: ChartEntry) -> float | None:
    return None if chart.baseline is None else chart.baseline.centre


def _step(span: float) -> float:
    """Return a round distance between grid lines, of which there are about four."""
    rough = span / 4
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough)


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{name}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _baseline(points: Sequence[PointEntry], place: _Place) -> list[str]:
    """Return the shade behind the periods of the baseline."""
    inside = [place.x(point) for point in points if point.in_baseline]
    if not inside:
        return []
    left = max(_LEFT, min(inside) - 8)
    width = max(inside) + 8 - left
    height = HEIGHT - _TOP - _BOTTOM
    place_and_size = f'x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{height}"'
    return [f'<rect class="baseline" {place_and_size}><title>baseline</title></rect>']


def _axes(points: Sequence[PointEntry], place: _Place, kind: str) -> list[str]:
    parts = []
    tick = math.ceil(place.low / place.step) * place.step
    while tick <= place.high + 1e-9:
        y = place.y(tick)
        parts.append(_line("grid", _LEFT, y, WIDTH - _RIGHT, y))
        digits = 0 if place.step >= 0.01 else 1
        text = f"{100 * tick:.{digits}f}%" if kind == "p" else figure_text(tick, kind)
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )
        tick += place.step
    every = math.ceil(len(points) / _MOST_LABELS)
    for number, point in enumerate(points):
        if number % every == 0:
            parts.append(
                f'<text x="{place.x(point):.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
                f"{html.escape(point.period)}</text>"
            )
    return parts


def _version_marks(
    versions: Mapping[str, str], points: Sequence[PointEntry], place: _Place
) -> list[str]:
    """Return a line at the first day of each version but the first."""
    parts = []
    first = points[0].start
    last = points[-1].end
    for version, day in versions.items():
        if first < day <= last:
            x = min(place.x_of_day(date.fromisoformat(day)), WIDTH - _RIGHT)
            parts.append(_line("version", x, _TOP, x, HEIGHT - _BOTTOM))
            name = html.escape(version)
            parts.append(
                f'<text class="version-name" x="{x - 3:.1f}" y="{_TOP + 9}" text-anchor="end">'
                f"{name}</text>"
            )
    return parts


def _limits(points: Sequence[PointEntry], place: _Place) -> list[str]:
    """Return both limits as lines with a step at each period, as its studies make them."""
    parts = []
    limited = [point for point in points if point.upper is not None]
    for side in ("lower", "upper"):
        path = []
        for number, point in enumerate(limited):
            y = place.y(getattr(point, side))
            x = place.x(point)
            before = limited[number - 1] if number else point
            left = (place.x(before) + x) / 2
            after = limited[number + 1] if number + 1 < len(limited) else point
            right = (x + place.x(after)) / 2
            path += [f"{left:.1f},{y:.1f}", f"{right:.1f},{y:.1f}"]
        if path:
            parts.append(f'<polyline class="limit" points="{" ".join(path)}"/>')
    return parts


def _mark(point: PointEntry, place: _Place, kind: str) -> str:
    """Return a point: a circle, an open one where the period is not over, a diamond as signal."""
    x, y = place.x(point), place.y_of(point)
    assert point.value is not None
    text = f"{point.period}: {figure_text(point.value, kind)} of {point.n:,} studies"
    if point.signal is not None:
        text += f", {point.signal} than the limits"
    if not point.is_complete:
        text += ", not complete"
    title = f"<title>{html.escape(text)}</title>"
    if point.signal is not None:
        corners = f"{x:.1f},{y - 7:.1f} {x + 7:.1f},{y:.1f} {x:.1f},{y + 7:.1f} {x - 7:.1f},{y:.1f}"
        return f'<polygon class="{point.signal}" points="{corners}">{title}</polygon>'
    name = "point" if point.is_complete else "open"
    return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">{title}</circle>'
