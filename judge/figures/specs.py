"""Vega-Lite specifications of the figures, as plain dicts: one function a kind of figure.

Every specification holds its own rows, so an author can restyle a figure without this program.
Lengths are points, 72 an inch. A name that is too long is cut by Vega, at `labelLimit`; titles are
broken into lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from judge.figures.lettering import broken, width_of

Spec = dict[str, Any]
Row = dict[str, Any]

INK, MUTED, GRID, PAPER = "#1a1a1a", "#595959", "#dddddd", "white"
# They differ in lightness and in shape, so also in print without colour.
SERIES_COLOURS = ("#004488", "#c46a00")
SERIES_SHAPES = ("circle", "square")
_LEVELS = (
    (0x4A, 0x0A, 0x3C),
    (0xC8, 0x3E, 0x4D),
    (0xF2, 0xA6, 0x6B),
    (0xF7, 0xEB, 0xD0),
)
"""From the most severe level to the mildest: each lighter by a fifth of the way from black to
white or more, so that they are told apart without colours too."""
_DARK_LEVELS = (
    (0xFF, 0xF3, 0xD6),
    (0xF2, 0x9A, 0x66),
    (0xB8, 0x3F, 0x5E),
    (0x4E, 0x1E, 0x52),
)
"""The same on a dark page, where light stands out."""
_LABEL, _TITLE, _SMALL = 10, 12, 9
_LABEL_LIMIT = 170
_LABEL_PADDING = 8
"""Names end left of the points of 0."""
_DRAWN_WIDTH = 480
"""Beside the names, which have at most `_LABEL_LIMIT`."""
_SPACING = 14
_TITLE_WIDTH = 460
"""Titles of a narrow figure are broken here, those of a wide one at its end."""
_ROW = 16
_SQUARE = 190
"""The sides of a panel of two measures."""
_SYMBOL = 34
"""The room of a symbol of a legend."""
_LARGEST = 260
"""The area of the circle of the most studies."""
_LARGEST_RADIUS = math.sqrt(_LARGEST / math.pi)
_IS_KNOWN = "isValid(datum.value)"
_LABELS = {"title": None, "labelColor": INK, "labelFontSize": _LABEL, "labelLimit": 400}

CONFIG: Spec = {
    "background": PAPER,
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "lineBreak": "\n",
    "padding": 6,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "labelFontSize": _LABEL,
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "titleColor": INK,
        "titleFontSize": _LABEL,
        "titleFontWeight": "normal",
        "labelLimit": _LABEL_LIMIT,
    },
    "axisX": {"labelOverlap": True, "labelFlush": True, "tickCount": 4},
    "header": _LABELS,
    "legend": {
        "orient": "top",
        "titleColor": INK,
        "titleFontSize": _LABEL,
        "titleFontWeight": "normal",
        **_LABELS,
    },
    "title": {
        "color": INK,
        "fontSize": _TITLE,
        "anchor": "start",
        "subtitleColor": MUTED,
        "subtitleFontSize": _LABEL,
    },
    "facet": {"spacing": _SPACING},
}
_UPRIGHT = "M-0.15,-1L0.15,-1L0.15,1L-0.15,1Z"
"""An upright line, as the symbol of a legend."""
_NAMES_AXIS = {"ticks": False, "domain": False, "labelPadding": _LABEL_PADDING}


def dots(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    axis: str,
    series: Sequence[str] = ("",),
    ranges: str = "",
    is_share: bool = False,
    floor: str = "",
) -> Spec:
    """Return values with their intervals: a row a name, a panel a group, a mark a series.

    `rows` have panel, name, series, value, low and high; value is None where there is none. The
    low and high of the series `ranges` are no interval: they are drawn as a broad pale band.
    `floor` is what an upright line at the `floor` of each row is called, which is None where there
    is none. The axis of shares is 0 to 100%; that of others is what the values take.
    """
    x: Spec = {
        "type": "quantitative",
        "title": None,
        "scale": {"zero": False, "nice": True},
    }
    if is_share:
        x |= {"scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    legend = _legend(series)
    place = {
        "y": _names(names),
        "color": _nominal("series", series, range=list(SERIES_COLOURS)) | legend,
    }
    if len(series) > 1 and not ranges:
        place["yOffset"] = _nominal("series", series, paddingOuter=0.5)
    shape = _nominal("series", series, range=list(SERIES_SHAPES)) | legend
    ends = {"x": x | {"field": "low"}, "x2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1}
    has_ends = "isValid(datum.low)"
    is_range = f"datum.series === {json.dumps(ranges)}"
    band = {"type": "rule", "strokeWidth": 9, "opacity": 0.35}
    layers = [
        _layer(
            {"type": "rule", "strokeWidth": 1.4},
            place | ends,
            f"{has_ends} && !({is_range})" if ranges else has_ends,
        ),
        _layer(point, place | {"x": x | {"field": "value"}, "shape": shape}, _IS_KNOWN),
        _absent(place),
    ]
    if ranges:
        layers.insert(0, _layer(band, place | ends, f"{has_ends} && {is_range}"))
    if floor:
        layers.insert(0, _floor_marks(floor, place, x))
    body = _in_panels(panels, layers)
    return _figure(title, rows, body, subtitle=axis, width=_beside(names))


def _floor_marks(label: str, place: Spec, x: Spec) -> Spec:
    """Return an upright line at the floor of each row, with a legend of its own."""
    # Lines of two series in one row lie below each other.
    height = 12
    if "yOffset" in place:
        height = 7
    mark = {"type": "tick", "thickness": 1.8, "size": height}
    legend = {"symbolType": _UPRIGHT, "symbolFillColor": INK, "symbolStrokeWidth": 0}
    # A channel without another use carries the legend; the line is opaque.
    named = {"datum": label, "type": "nominal", "title": None, "legend": legend}
    named["scale"] = {"domain": [label], "range": [1]}
    encoding = place | {"x": x | {"field": "floor"}, "opacity": named}
    return _layer(mark, encoding, "isValid(datum.floor)")


def stacks(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    levels: Sequence[str],
    axis: str,
) -> Spec:
    """Return stacked bars: a row a name, a panel a category, the first level darkest.

    `rows` have panel, name, level and value, None where it is not known. The sum is behind the bar.
    """
    ranks = {level: rank for rank, level in enumerate(levels)}
    rows = [row | {"rank": ranks[row["level"]]} for row in rows]
    colour = _nominal("level", levels, range=level_colours(len(levels)))
    colour |= _legend(levels) | {"sort": list(levels), "type": "ordinal"}
    sums: dict[tuple[str, str], float] = {}
    for row in rows:
        bar = (row["panel"], row["name"])
        sums[bar] = sums.get(bar, 0.0) + (row["value"] or 0.0)
    # Right of the longest bar there is room for its sum.
    room = width_of("00.00", _SMALL) + 6
    panel_width = _panel_width(len(panels))
    longest = max(sums.values(), default=0.0) or 1.0
    end = longest * panel_width / (panel_width - room)
    x = {
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, end], "nice": False},
    }
    y = _names(names)
    total = {"op": "sum", "field": "value", "as": "sum"}
    text = {"text": {"field": "sum", "format": ".2f"}}
    labels = _layer(
        {"type": "text", "align": "left", "dx": 3, "fontSize": _SMALL, "color": INK},
        {"y": y, "x": x | {"field": "sum"}} | text,
        _IS_KNOWN,
    )
    labels["transform"].append({"aggregate": [total], "groupby": ["panel", "name"]})
    bar_mark = {"type": "bar", "stroke": MUTED, "strokeWidth": 0.4}
    place = {
        "y": y,
        "x": x | {"field": "value"},
        "color": colour,
        "order": {"field": "rank"},
    }
    body = _in_panels(panels, [_layer(bar_mark, place), labels])
    return _figure(title, rows, body, subtitle=axis, width=_beside(names))


def boxes(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    axis: str,
) -> Spec:
    """Return box plots: a row a name, a panel a group.

    `rows` have panel, name, n, value (the mean), low, q1, median, q3 and high, all but n None where
    nothing is scored. `axis` says what the parts are, and of what.
    """
    x = {"type": "quantitative", "title": None, "scale": {"zero": False, "nice": True}}
    y = _names(names)
    whisker = {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}}
    box = {"y": y, "x": x | {"field": "q1"}, "x2": {"field": "q3"}}
    colour = SERIES_COLOURS[0]
    body = {
        "type": "bar",
        "height": 9,
        "fill": GRID,
        "stroke": colour,
        "strokeWidth": 1,
    }
    median = {"type": "tick", "thickness": 2.4, "size": 10, "color": colour}
    mean = {
        "type": "point",
        "shape": "diamond",
        "size": 30,
        "filled": True,
        "color": SERIES_COLOURS[1],
        "opacity": 1,
    }
    layers = [
        _layer(
            {"type": "rule", "strokeWidth": 1.2, "color": colour}, whisker, _IS_KNOWN
        ),
        _layer(body, box, _IS_KNOWN),
        _layer(median, {"y": y, "x": x | {"field": "median"}}, _IS_KNOWN),
        _layer(mean, {"y": y, "x": x | {"field": "value"}}, _IS_KNOWN),
        _absent({"y": y}),
    ]
    body = _in_panels(panels, layers)
    return _figure(title, rows, body, subtitle=axis, width=_beside(names))


def limits(
    title: str,
    rows: Sequence[Row],
    *,
    panels: Sequence[str],
    lines: Sequence[str],
    x_axis: str,
    y_axis: str,
    subtitle: str,
) -> Spec:
    """Return differences against means with their bias and limits of agreement, a panel a count.

    Rows of points have panel, mean, difference and studies (how many are there); rows of lines have
    panel, line, value, low and high. `lines` names first the bias, then the limits.
    """
    x = _measure(x_axis)
    y = _measure(y_axis)
    legend = _legend(lines, width=_SQUARE)
    colour = _nominal("line", lines, range=list(SERIES_COLOURS)) | legend
    dash = _nominal("line", lines, range=[[1, 0], [5, 3]]) | legend
    band = {"type": "rect", "opacity": 0.18}
    is_line = "isValid(datum.line)"
    has_ends = f"{is_line} && isValid(datum.low)"
    zero = {"type": "rule", "color": MUTED, "strokeWidth": 0.6}
    layers = [
        _layer(
            band,
            {
                "y": y | {"field": "low"},
                "y2": {"field": "high"},
                "color": colour,
            },
            has_ends,
        ),
        _layer(zero, {"y": y | {"datum": 0}}),
        _layer(
            {"type": "rule", "strokeWidth": 1.6},
            {"y": y | {"field": "value"}, "color": colour, "strokeDash": dash},
            is_line,
        ),
        _points(x | {"field": "mean"}, y | {"field": "difference"}, rows),
    ]
    return _squares(title, rows, panels, layers, subtitle=subtitle)


def scatter(
    title: str,
    rows: Sequence[Row],
    *,
    panels: Sequence[str],
    x_axis: str,
    y_axis: str,
    subtitle: str,
) -> Spec:
    """Return counts of one rater against those of others, with the line of equality.

    Rows of points have panel, x, y and studies; a row of the line has panel and end, where it ends.
    """
    x = _measure(x_axis)
    y = _measure(y_axis)
    ends = {"x2": {"datum": 0}, "y2": {"datum": 0}}
    line = {"type": "rule", "color": MUTED, "strokeDash": [5, 3]}
    layers = [
        _layer(
            line,
            {"x": x | {"field": "end"}, "y": y | {"field": "end"}} | ends,
            "isValid(datum.end)",
        ),
        _points(x | {"field": "x"}, y | {"field": "y"}, rows),
    ]
    return _squares(title, rows, panels, layers, subtitle=subtitle)


def heat_map(
    title: str,
    rows: Sequence[Row],
    *,
    down: Sequence[str],
    across: Sequence[str],
    scale: Mapping[str, Any],
    light: str,
    form: str = "",
    widest: str = "n/a",
) -> Spec:
    """Return a heat map with the value in each cell, white where `light` holds.

    `rows` have down, across and value, None where there is none. `widest` is a value of the
    greatest width, which fits into a cell.
    """
    cell = min(40.0, _DRAWN_WIDTH / max(1, len(across)))
    axis = {"labelAngle": -90, "domain": False, "ticks": False, "labelOverlap": False}
    place = {
        "x": _nominal("across", across) | {"axis": axis},
        "y": _names(down, "down"),
    }
    value = {"field": "value", "type": "quantitative"}
    ink = {"color": {"condition": {"test": light, "value": "white"}, "value": "black"}}
    size = min(float(_SMALL), (cell - 2) / width_of(widest, 1))
    text: Spec = {"type": "text", "fontSize": round(size, 1)}
    gap = {"type": "rect", "stroke": PAPER}
    colour = {"color": value | {"scale": dict(scale), "legend": None}}
    layers = [
        _layer(gap, place | colour, _IS_KNOWN),
        _layer(text, place | ink | {"text": value | {"format": form}}, _IS_KNOWN),
        _layer(text | {"text": "n/a", "color": MUTED}, place, f"!{_IS_KNOWN}"),
    ]
    width = _label_room(down) + cell * len(across)
    body = {"layer": layers, "width": {"step": cell}}
    return _figure(title, rows, body, width=width)


def level_colours(n: int, *, dark: bool = False) -> list[str]:
    """Return colours of `n` levels, the most severe first."""
    anchors = _DARK_LEVELS if dark else _LEVELS
    colours = []
    for level in range(n):
        at = level * (len(anchors) - 1) / max(1, n - 1)
        # The palest of all is hard to see on paper beside a single other one.
        if n == 2:
            at = level * 2.0
        before = min(int(at), len(anchors) - 2)
        share = at - before
        mixed = []
        for a, b in zip(anchors[before], anchors[before + 1], strict=True):
            mixed.append(round(a + share * (b - a)))
        colours.append("#" + "".join(f"{part:02x}" for part in mixed))
    return colours


def _figure(
    title: str, rows: Sequence[Row], body: Spec, *, width: float, subtitle: str = ""
) -> Spec:
    """Return a figure of a body that is `width` wide with its names."""
    wide = max(width, _TITLE_WIDTH)
    titles = broken(title, wide, _TITLE, bold=True)
    subtitles = []
    for line in subtitle.split("\n"):
        subtitles += broken(line, wide, _LABEL)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": titles, "subtitle": subtitles},
        "data": {"values": list(rows)},
        **body,
        "config": CONFIG,
    }


def _layer(mark: Spec, encoding: Spec, test: str = "true") -> Spec:
    return {"mark": mark, "transform": [{"filter": test}], "encoding": encoding}


def _absent(place: Spec) -> Spec:
    mark = {"type": "text", "text": "n/a", "fontSize": _SMALL, "align": "left"}
    return _layer(mark, place | {"x": {"value": 4}}, f"!{_IS_KNOWN}")


def _measure(title: str) -> Spec:
    """Return an axis of a square panel, with room for the circles at its ends."""
    scale = {"padding": _LARGEST_RADIUS + 2, "nice": False}
    return {"type": "quantitative", "title": title, "scale": scale}


def _points(x: Spec, y: Spec, rows: Sequence[Row]) -> Spec:
    """Return circles whose area is the number of studies."""
    largest = max((row["studies"] for row in rows if "studies" in row), default=1)
    shown = sorted({1, (1 + largest) // 2, largest})
    size = {
        "field": "studies",
        "type": "quantitative",
        # A single study stays visible beside thousands.
        "scale": {"domain": [0, largest], "range": [12, _LARGEST]},
        "legend": {
            "orient": "bottom",
            "title": "studies at a point",
            "values": shown,
            "format": ",d",
            "symbolFillColor": SERIES_COLOURS[0],
        },
    }
    mark = {"type": "circle", "color": SERIES_COLOURS[0], "opacity": 0.65}
    return _layer(mark, {"x": x, "y": y, "size": size}, "isValid(datum.studies)")


def _nominal(field: str, domain: Sequence[str], **scale: Any) -> Spec:  # noqa: ANN401
    scale |= {"domain": list(domain)}
    return {"field": field, "type": "nominal", "scale": scale, "title": None}


def _names(names: Sequence[str], field: str = "name") -> Spec:
    return _nominal(field, names) | {"axis": _NAMES_AXIS}


def _legend(labels: Sequence[str], width: float = _DRAWN_WIDTH) -> Spec:
    """Return a legend in as many columns as fit; none of a single label."""
    if len(labels) < 2:
        return {"legend": None}
    widths = [width_of(label, _LABEL) + _SYMBOL for label in labels]
    columns = len(labels)
    if sum(widths) > width:
        columns = max(1, int(width / max(widths)))
    # A pale band has a legend in full colour.
    return {"legend": {"columns": columns, "symbolOpacity": 1}}


def _label_room(names: Sequence[str]) -> float:
    widest = max((width_of(name, _LABEL) for name in names), default=0.0)
    return min(widest, _LABEL_LIMIT) + _LABEL_PADDING


def _beside(names: Sequence[str]) -> float:
    """Return the width of panels with the names beside them."""
    return _label_room(names) + _DRAWN_WIDTH - _SPACING


def _panel_width(n_panels: int) -> float:
    return _DRAWN_WIDTH / min(n_panels, 3) - _SPACING


def _header(panels: Sequence[str], width: float) -> Spec:
    """Return a header that breaks the name of a panel where it is too wide for it."""
    lines: dict[str, list[str]] = {}
    for panel in panels:
        lines[panel] = []
        for line in panel.split("\n"):
            lines[panel] += broken(line, width, _LABEL)
    # A word that is wider than the panel is cut, as a long name is.
    limit = round(width) + _SPACING // 2
    return {"labelExpr": f"{json.dumps(lines)}[datum.label]", "labelLimit": limit}


def _in_panels(panels: Sequence[str], layers: list[Spec]) -> Spec:
    width = _panel_width(len(panels))
    unit = {
        "width": width,
        "height": {"step": _ROW, "for": "position"},
        "layer": layers,
    }
    return _facet(panels, unit, columns=min(len(panels), 3), width=width)


def _facet(panels: Sequence[str], unit: Spec, *, columns: int, width: float) -> Spec:
    return {
        "facet": {
            "field": "panel",
            "sort": list(panels),
            "title": None,
            "header": _header(panels, width),
        },
        "columns": columns,
        "spec": unit,
    }


def _squares(
    title: str,
    rows: Sequence[Row],
    panels: Sequence[str],
    layers: list[Spec],
    *,
    subtitle: str,
) -> Spec:
    columns = min(len(panels), 2)
    unit = {"width": _SQUARE, "height": _SQUARE, "layer": layers}
    body = _facet(panels, unit, columns=columns, width=_SQUARE)
    body["resolve"] = {"scale": {"x": "independent", "y": "independent"}}
    beside = 36
    width = columns * (_SQUARE + beside) + (columns - 1) * _SPACING
    return _figure(title, rows, body, subtitle=subtitle, width=width)
