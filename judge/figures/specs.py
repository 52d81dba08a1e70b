"""Vega-Lite specifications of the figures, as plain dicts: one function a kind of figure.

Every specification holds its own rows, so an author can restyle a figure without this program.
Lengths are points, 72 an inch: in a column of 7 inches a label of 10 points has 8.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

Spec = dict[str, Any]
Row = dict[str, Any]

PAGE_WIDTH = 672
INK, MUTED, GRID, BAND = "#1a1a1a", "#595959", "#dddddd", "#f4f4f4"
# They differ in lightness and in shape, so also in print without colour.
SERIES_COLOURS = ("#004488", "#c46a00")
SERIES_SHAPES = ("circle", "square")
# The more severe, the darker; the same colours as on the pages.
TONE_COLOURS = {
    "critical": "#5c0f2e",
    "serious": "#b5541c",
    "notable": "#7ab0e0",
    "mild": "#d3dbe3",
    "good": "#e9f5ec",
}
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_CHARACTER = 5.7
"""The mean width of a character of a label, in pixels."""
_MAX_NAME = 170
_ROW = 16
_SPACING = 14

CONFIG: Spec = {
    "background": "white",
    "font": _FONT,
    "padding": 6,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 10,
        "titleFontSize": 10,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "labelLimit": _MAX_NAME,
    },
    "axisX": {"labelOverlap": True, "labelFlush": True, "tickCount": 4},
    "axisY": {"grid": False, "ticks": False, "domain": False, "title": None},
    "header": {"labelColor": INK, "labelFontSize": 11, "title": None, "labelLimit": 300},
    "legend": {
        "orient": "top",
        "title": None,
        "labelColor": INK,
        "labelFontSize": 10,
        "labelLimit": 300,
    },
    "title": {
        "color": INK,
        "fontSize": 12,
        "fontWeight": "bold",
        "anchor": "start",
        "subtitleColor": MUTED,
        "subtitleFontSize": 10,
    },
    "facet": {"spacing": _SPACING},
}


def dots(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    axis: str,
    series: Sequence[str] = ("",),
    domain: tuple[float, float] | None = None,
    percent: bool = False,
    bold: Sequence[str] = (),
) -> Spec:
    """Return values with their intervals: a row a name, a panel a group, a mark a series.

    `rows` have panel, name, series, value, low and high; value is None where there is none.
    Where they have band_low, band_high and band_mean, these are drawn behind a panel.
    `domain` is the axis from end to end, by default what the values take.
    """
    x = _measure(domain) | {"axis": {"format": "%"} if percent else {}}
    legend = {"legend": {"symbolSize": 60} if len(series) > 1 else None}
    encoding = {
        "y": _names_axis(names, bold),
        "color": _nominal("series", series, range=list(SERIES_COLOURS)) | legend,
    }
    shape = _nominal("series", series, range=list(SERIES_SHAPES)) | legend
    if len(series) > 1:
        encoding["yOffset"] = _nominal("series", series, paddingOuter=0.5)
    layers = [_stripes(names)]
    if any(row.get("band_mean") is not None for row in rows):
        ends = ("band_low", "band_mean", "band_high")
        layers += _band("x", x, ends, opacity=0.18, known="band_mean")
    rule = {"type": "rule", "strokeWidth": 1.4}
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1}
    layers += [
        _layer(rule, encoding | {"x": x | {"field": "low"}, "x2": {"field": "high"}}, "low"),
        _layer(point, encoding | {"x": x | {"field": "value"}, "shape": shape}, "value"),
        _missing(encoding),
    ]
    return _figure(title, rows, _rows_in_panels(names, panels, layers), axis)


def stacks(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    whole: str,
    panels: Sequence[str],
    levels: Mapping[str, str],
    axis: str,
    bold: Sequence[str] = (),
) -> Spec:
    """Return stacked bars: all items in one panel, and below it a panel a category.

    `rows` have panel, name, level and value, None where it is not known; `levels` have their
    colours, the most severe first. Categories share one scale.
    """
    ranks = {level: rank for rank, level in enumerate(levels)}
    rows = [row | {"rank": ranks[row["level"]]} for row in rows]
    colour = _nominal("level", list(levels), range=list(levels.values())) | {"sort": list(levels)}
    y = _names_axis(names, bold)
    x: Spec = {"field": "value", "type": "quantitative", "title": None}
    sums = _layer(
        {"type": "text", "align": "left", "dx": 3, "fontSize": 9, "color": INK},
        {
            "y": y,
            "x": {"field": "sum", "type": "quantitative"},
            "text": {"field": "sum", "format": ".2f"},
        },
        "value",
    )
    total = {"op": "sum", "field": "value", "as": "sum"}
    sums["transform"].append({"aggregate": [total], "groupby": ["panel", "name"]})
    bar = {"type": "bar", "stroke": MUTED, "strokeWidth": 0.4}
    layers = [
        _layer(bar, {"y": y, "x": x, "color": colour, "order": {"field": "rank"}}),
        sums,
        _missing({"y": y}),
    ]
    bars: Spec = {"height": _rows(_ROW - 2), "layer": layers}
    parts = [
        {
            "transform": [{"filter": f"datum.panel === {json.dumps(whole)}"}],
            "title": {"text": whole, "fontSize": 11, "fontWeight": "normal", "anchor": "middle"},
            "width": PAGE_WIDTH - _names_width(names) - 40,
        }
        | bars
    ]
    if panels:
        n_across = _across(panels, 3)
        wrapped = _in_panels(panels, n_across, {"width": _panel_width(names, n_across)} | bars)
        wrapped["transform"] = [{"filter": f"datum.panel !== {json.dumps(whole)}"}]
        parts.append(wrapped)
    return _figure(title, rows, {"vconcat": parts, "spacing": 18}, axis)


def ranks(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    groups: Sequence[str],
    bold: Sequence[str] = (),
) -> Spec:
    """Return a heat map of ranks: names down, groups across, the best the darkest.

    `rows` have name, group and rank, None where there is none.
    """
    worst = max((row["rank"] for row in rows if row["rank"] is not None), default=1)
    cell = min(40.0, (PAGE_WIDTH - _names_width(names)) / max(1, len(groups)))
    colour = {
        "field": "rank",
        "type": "quantitative",
        "scale": {"scheme": "blues", "domain": [1, max(2, worst)], "reverse": True},
        "legend": None,
    }
    x = _columns("group", groups, orient="top", labelLimit=140)
    light = f"datum.rank <= {1 + 0.4 * (worst - 1)}"
    heat = _cells(x, _names_axis(names, bold), colour, light)
    return _figure(title, rows, heat | {"width": {"step": cell}, "height": _rows(_ROW)})


def matrix(title: str, rows: Sequence[Row], *, labels: Sequence[str]) -> Spec:
    """Return a correlation matrix, blue below 0 and red above; its figures are in the cells.

    `rows` have across, down, value (-1 to 1, None where there is none) and n.
    """
    cell = min(44.0, (PAGE_WIDTH - _names_width(labels)) / max(1, len(labels)))
    colour = {
        "field": "value",
        "type": "quantitative",
        "scale": {"scheme": "redblue", "domain": [-1, 1], "reverse": True},
        "legend": {"orient": "bottom", "gradientLength": 160, "values": [-1, 0, 1]},
    }
    y = _names_axis(labels, ()) | {"field": "down"}
    light, size = "abs(datum.value) > 0.65", 9 if cell >= 24 else 7
    heat = _cells(_columns("across", labels), y, colour, light, ".2f", size)
    return _figure(title, rows, heat | {"width": {"step": cell}, "height": {"step": cell}})


def boxes(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    axis: str,
    domain: tuple[float, float] | None = None,
    bold: Sequence[str] = (),
) -> Spec:
    """Return box plots from their figures: a row a name, a panel a group.

    `rows` have panel, name, low, q1, median, q3, high, mean and n; mean is None where nothing
    was scored.
    """
    x, y = _measure(domain), _names_axis(names, bold)
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 26}
    marks = (
        ({"type": "rule", "color": MUTED}, "low", "high"),
        ({"type": "bar", "size": 9, "color": "#c9d8e8", "stroke": MUTED}, "q1", "q3"),
        ({"type": "tick", "size": 9, "thickness": 2, "color": INK}, "median", None),
        (diamond | {"color": SERIES_COLOURS[1], "opacity": 1}, "mean", None),
    )
    layers = [_stripes(names)]
    for mark, start, end in marks:
        ends = {"x": x | {"field": start}} | ({"x2": {"field": end}} if end else {})
        layers.append(_layer(mark, {"y": y} | ends, "mean"))
    layers.append(_missing({"y": y}, "mean"))
    return _figure(title, rows, _rows_in_panels(names, panels, layers), axis)


def bubbles(
    title: str,
    rows: Sequence[Row],
    *,
    panels: Sequence[str],
    across: str,
    down: str,
    is_square: bool,
) -> Spec:
    """Return studies as bubbles, a panel a judge; a bubble's area is its number of studies.

    `rows` have panel, x, y and n, and may have bias, lower and upper with their low and high,
    which are drawn across a panel. `is_square` draws both axes alike with the line of equality.
    """
    n_across = _across(panels, 3)
    side = min(230.0, (PAGE_WIDTH - 60) / n_across - 24)
    lines = {name: (f"{name}_low", name, f"{name}_high") for name in ("bias", "lower", "upper")}
    ends = _ends(row["x"] for row in rows)
    ends_down = _ends(row.get(name) for row in rows for name in ("y", *chain(*lines.values())))
    if is_square:
        ends = ends_down = (min(ends[0], ends_down[0]), max(ends[1], ends_down[1]))
    x: Spec = {"type": "quantitative", "title": across, "scale": {"domain": list(ends)}}
    y: Spec = {"type": "quantitative", "title": down, "scale": {"domain": list(ends_down)}}
    x["axis"] = y["axis"] = {"tickCount": 5, "tickMinStep": 1, "format": "d", "grid": True}
    start, end = ends if is_square else (0, 0)
    line = {"x": x | {"datum": ends[0]}, "x2": {"datum": ends[1]}}
    line |= {"y": y | {"datum": start}, "y2": {"datum": end}}
    layers = [_layer({"type": "rule", "color": MUTED, "strokeWidth": 0.8}, line)]
    for name, fields in lines.items():
        if any(row.get(name) is not None for row in rows):
            dash = (1, 0) if name == "bias" else (4, 2)
            layers += _band("y", y, fields, opacity=0.2, dash=dash)
    size = {
        "field": "n",
        "type": "quantitative",
        "scale": {"range": [8, 320], "zero": False},
        "legend": {"title": "studies", "orient": "right", "tickCount": 3},
    }
    circle = {"type": "circle", "color": SERIES_COLOURS[0], "opacity": 0.6}
    at_study = {"x": x | {"field": "x"}, "y": y | {"field": "y"}, "size": size}
    layers.append(_layer(circle, at_study, "x"))
    height = side if is_square else 0.8 * side
    unit = {"width": side, "height": height, "layer": layers}
    return _figure(title, rows, _in_panels(panels, n_across, unit))


def _figure(title: str, rows: Iterable[Row], body: Spec, subtitle: str = "") -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": title} | ({"subtitle": subtitle} if subtitle else {}),
        "data": {"values": list(rows)},
        **body,
        "config": CONFIG,
    }


def _layer(mark: Spec, encoding: Spec, known: str = "") -> Spec:
    """Return a mark of the rows whose field `known` has a value."""
    transform = {"transform": [{"filter": f"isValid(datum.{known})"}]} if known else {}
    return {"mark": mark, **transform, "encoding": encoding}


def _measure(domain: tuple[float, float] | None) -> Spec:
    scale = {"domain": list(domain)} if domain else {"zero": False, "nice": True}
    return {"type": "quantitative", "title": None, "scale": scale}


def _nominal(field: str, domain: Sequence[str], **scale: Any) -> Spec:  # noqa: ANN401
    return {"field": field, "type": "nominal", "scale": {"domain": list(domain), **scale}}


def _columns(field: str, values: Sequence[str], **axis: Any) -> Spec:  # noqa: ANN401
    axis |= {"labelAngle": -90, "domain": False, "ticks": False}
    return {"field": field, "sort": list(values), "title": None, "axis": axis}


def _across(panels: Sequence[str], most: int = 4) -> int:
    rows = -(-len(panels) // most)
    return -(-len(panels) // max(1, rows))


def _rows_in_panels(names: Sequence[str], panels: Sequence[str], layers: list[Spec]) -> Spec:
    n_across = _across(panels)
    unit = {"width": _panel_width(names, n_across), "height": _rows(_ROW), "layer": layers}
    return _in_panels(panels, n_across, unit)


def _in_panels(panels: Sequence[str], n_across: int, unit: Spec) -> Spec:
    facet = {"field": "panel", "sort": list(panels), "header": {"labelAnchor": "middle"}}
    return {"facet": facet, "columns": n_across, "spec": unit}


def _names_axis(names: Sequence[str], bold: Sequence[str]) -> Spec:
    axis: Spec = {"title": None, "labelPadding": 6}
    if bold:
        test = f"indexof({json.dumps(list(bold))}, datum.value) >= 0"
        axis["labelFontWeight"] = {"condition": {"test": test, "value": "bold"}, "value": "normal"}
    return _nominal("name", names, type="band", padding=0.1) | {"axis": axis}


def _rows(step: int) -> Spec:
    return {"step": step, "for": "position"}


def _stripes(names: Sequence[str]) -> Spec:
    """Return every second row shaded, so that the eye stays on it."""
    y = _nominal("name", names, type="band", padding=0.1) | {"axis": {"title": None}}
    return {
        "mark": {"type": "bar", "color": BAND, "height": {"band": 1}},
        "transform": [
            {"aggregate": [{"op": "count", "as": "count"}], "groupby": ["panel", "name"]},
            {"filter": f"indexof({json.dumps(list(names)[::2])}, datum.name) >= 0"},
        ],
        "encoding": {"y": y, "x": {"value": 0}, "x2": {"value": "width"}},
    }


def _band(
    channel: str,
    axis: Spec,
    fields: tuple[str, str, str],
    *,
    opacity: float,
    dash: tuple[int, int] = (4, 2),
    known: str = "",
) -> list[Spec]:
    """Return a band across a panel, in all of whose rows its low, middle and high are the same."""
    low, middle, high = ({"aggregate": "min", "field": field} for field in fields)
    rect = {"type": "rect", "color": SERIES_COLOURS[1], "opacity": opacity}
    rule = {"type": "rule", "color": SERIES_COLOURS[1], "strokeDash": list(dash)}
    return [
        _layer(rect, {channel: axis | low, f"{channel}2": high}, known),
        _layer(rule, {channel: axis | middle}, known),
    ]


def _missing(encoding: Spec, field: str = "value") -> Spec:
    mark = {"type": "text", "text": "n/a", "fontSize": 9, "fontStyle": "italic"}
    return {
        "mark": mark | {"align": "left", "color": MUTED},
        "transform": [{"filter": f"!isValid(datum.{field})"}],
        "encoding": {key: encoding[key] for key in ("y", "yOffset") if key in encoding}
        | {"x": {"value": 4}},
    }


def _cells(x: Spec, y: Spec, colour: Spec, light: str, form: str = "", size: int = 9) -> Spec:
    """Return a heat map with a text in each cell, white where `light` holds."""
    field = colour["field"]
    text = {"field": field, "type": "quantitative"} | ({"format": form} if form else {})
    ink = {"condition": {"test": light, "value": "white"}, "value": "black"}
    place = {"x": x, "y": y}
    gap = {"type": "rect", "stroke": "white", "strokeWidth": 1}
    absent = {"type": "text", "text": "n/a", "fontSize": size - 1, "color": "black"}
    missing = {"transform": [{"filter": f"!isValid(datum.{field})"}]}
    return {
        "layer": [
            _layer(gap, place | {"color": colour}, field),
            _layer({"type": "text", "fontSize": size}, place | {"text": text, "color": ink}, field),
            _layer(gap | {"color": "#f0f0f0"}, place) | missing,
            _layer(absent, place) | missing,
        ]
    }


def _names_width(names: Sequence[str]) -> float:
    return min(_MAX_NAME, _CHARACTER * max(map(len, names), default=0)) + 12


def _panel_width(names: Sequence[str], n_across: int) -> float:
    return (PAGE_WIDTH - _names_width(names)) / n_across - _SPACING


def _ends(values: Iterable[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return min(0.0, *known, 0.0) - 0.5, max(1.0, *known, 1.0) + 0.5
