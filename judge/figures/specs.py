"""Vega-Lite specifications of the figures, as plain dicts: one function a kind of figure.

Every specification holds its own rows, so an author can restyle a figure without this program.
Lengths are points, 72 an inch: in a column of 7 inches a label of 10 points has 8.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    x: Spec = {"type": "quantitative", "title": None, "scale": {"zero": False, "nice": True}}
    x["axis"] = {"format": "%"} if percent else {}
    if domain:
        x["scale"] = {"domain": list(domain)}
    colour: Spec = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(series), "range": list(SERIES_COLOURS)},
        "legend": {"symbolSize": 60} if len(series) > 1 else None,
    }
    shape = colour | {"scale": {"domain": list(series), "range": list(SERIES_SHAPES)}}
    encoding: Spec = {"y": _names_axis(names, bold), "color": colour}
    if len(series) > 1:
        encoding["yOffset"] = {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": list(series), "paddingOuter": 0.5},
        }
    layers: list[Spec] = [_stripes(names)]
    if any(row.get("band_mean") is not None for row in rows):
        layers += _band(x)
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 1.4},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": encoding | {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1},
            "transform": [{"filter": "isValid(datum.value)"}],
            "encoding": encoding | {"x": x | {"field": "value"}, "shape": shape},
        },
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
    names, panels = list(names), list(panels)
    ranks = {level: rank for rank, level in enumerate(levels)}
    rows = [row | {"rank": ranks[row["level"]]} for row in rows]
    colour: Spec = {
        "field": "level",
        "type": "nominal",
        "sort": list(levels),
        "scale": {"domain": list(levels), "range": list(levels.values())},
    }
    y = _names_axis(names, bold)
    x: Spec = {"field": "value", "type": "quantitative", "title": None}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "stroke": MUTED, "strokeWidth": 0.4},
            "encoding": {"y": y, "x": x, "color": colour, "order": {"field": "rank"}},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 3, "fontSize": 9, "color": INK},
            "transform": [
                {"filter": "isValid(datum.value)"},
                {
                    "aggregate": [{"op": "sum", "field": "value", "as": "sum"}],
                    "groupby": ["panel", "name"],
                },
            ],
            "encoding": {
                "y": y,
                "x": {"field": "sum", "type": "quantitative"},
                "text": {"field": "sum", "format": ".2f"},
            },
        },
        _missing({"y": y}),
    ]
    n_across = _across(panels, 3)
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
    groups = list(groups)
    cell = min(40.0, (PAGE_WIDTH - _names_width(names)) / max(1, len(groups)))
    x = {
        "field": "group",
        "sort": groups,
        "title": None,
        "axis": {"orient": "top", "labelAngle": -90, "labelLimit": 140}
        | {"domain": False, "ticks": False},
    }
    colour = {
        "field": "rank",
        "type": "quantitative",
        "scale": {"scheme": "blues", "domain": [1, max(2, worst)], "reverse": True},
        "legend": None,
    }
    light = f"datum.rank <= {1 + 0.4 * (worst - 1)}"
    heat = _cells(x, _names_axis(names, bold), colour, "rank", light, "")
    return _figure(title, rows, heat | {"width": {"step": cell}, "height": _rows(_ROW)})


def matrix(title: str, rows: Sequence[Row], *, labels: Sequence[str]) -> Spec:
    """Return a correlation matrix, blue below 0 and red above; its figures are in the cells.

    `rows` have across, down, value (-1 to 1, None where there is none) and n.
    """
    labels = list(labels)
    cell = min(44.0, (PAGE_WIDTH - _names_width(labels)) / max(1, len(labels)))
    size = 9 if cell >= 24 else 7
    x = {
        "field": "across",
        "sort": labels,
        "title": None,
        "axis": {"labelAngle": -90, "domain": False, "ticks": False},
    }
    colour = {
        "field": "value",
        "type": "quantitative",
        "scale": {"scheme": "redblue", "domain": [-1, 1], "reverse": True},
        "legend": {"orient": "bottom", "gradientLength": 160, "values": [-1, 0, 1]},
    }
    y = _names_axis(labels, ()) | {"field": "down"}
    heat = _cells(x, y, colour, "value", "abs(datum.value) > 0.65", ".2f", size)
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
    x: Spec = {"type": "quantitative", "title": None}
    x["scale"] = {"domain": list(domain)} if domain else {"zero": False, "nice": True}
    y = _names_axis(names, bold)
    known = [{"filter": "isValid(datum.mean)"}]
    layers: list[Spec] = [
        _stripes(names),
        {
            "mark": {"type": "rule", "color": MUTED},
            "transform": known,
            "encoding": {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "bar", "size": 9, "color": "#c9d8e8", "stroke": MUTED},
            "transform": known,
            "encoding": {"y": y, "x": x | {"field": "q1"}, "x2": {"field": "q3"}},
        },
        {
            "mark": {"type": "tick", "size": 9, "thickness": 2, "color": INK},
            "transform": known,
            "encoding": {"y": y, "x": x | {"field": "median"}},
        },
        {
            "mark": {"type": "point", "shape": "diamond", "filled": True, "size": 26}
            | {"color": SERIES_COLOURS[1], "opacity": 1},
            "transform": known,
            "encoding": {"y": y, "x": x | {"field": "mean"}},
        },
        _missing({"y": y}, "mean"),
    ]
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
    panels = list(panels)
    n_across = _across(panels, 3)
    side = min(230.0, (PAGE_WIDTH - 60) / n_across - 24)
    ends = _ends([row["x"] for row in rows])
    ends_down = _ends([row["y"] for row in rows] + _levels(rows))
    if is_square:
        ends = ends_down = (min(ends[0], ends_down[0]), max(ends[1], ends_down[1]))
    x: Spec = {"type": "quantitative", "title": across, "scale": {"domain": list(ends)}}
    y: Spec = {"type": "quantitative", "title": down, "scale": {"domain": list(ends_down)}}
    x["axis"] = y["axis"] = {"tickCount": 5, "tickMinStep": 1, "format": "d", "grid": True}
    start, end = ends if is_square else (0, 0)
    line: Spec = {
        "mark": {"type": "rule", "color": MUTED, "strokeWidth": 0.8},
        "encoding": {"x": x | {"datum": ends[0]}, "x2": {"datum": ends[1]}}
        | {"y": y | {"datum": start}, "y2": {"datum": end}},
    }
    layers = [line]
    for name, dash in (("bias", [1, 0]), ("lower", [4, 2]), ("upper", [4, 2])):
        if all(row.get(name) is None for row in rows):
            continue
        low, value, high = (_least(field) for field in (f"{name}_low", name, f"{name}_high"))
        layers += [
            {
                "mark": {"type": "rect", "color": SERIES_COLOURS[1], "opacity": 0.2},
                "encoding": {"y": y | low, "y2": high},
            },
            {
                "mark": {"type": "rule", "color": SERIES_COLOURS[1], "strokeDash": dash},
                "encoding": {"y": y | value},
            },
        ]
    layers.append(
        {
            "mark": {"type": "circle", "color": SERIES_COLOURS[0], "opacity": 0.6},
            "transform": [{"filter": "isValid(datum.x)"}],
            "encoding": {"x": x | {"field": "x"}, "y": y | {"field": "y"}}
            | {
                "size": {
                    "field": "n",
                    "type": "quantitative",
                    "scale": {"range": [8, 320], "zero": False},
                    "legend": {"title": "studies", "orient": "right", "tickCount": 3},
                }
            },
        }
    )
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
    return _rows_of(names) | {"axis": axis}


def _rows_of(names: Sequence[str]) -> Spec:
    return {
        "field": "name",
        "type": "nominal",
        "scale": {"type": "band", "domain": list(names), "padding": 0.1},
    }


def _rows(step: int) -> Spec:
    return {"step": step, "for": "position"}


def _stripes(names: Sequence[str]) -> Spec:
    """Return every second row shaded, so that the eye stays on it."""
    shaded = json.dumps(list(names)[::2])
    return {
        "mark": {"type": "bar", "color": BAND, "height": {"band": 1}},
        "transform": [
            {"aggregate": [{"op": "count", "as": "count"}], "groupby": ["panel", "name"]},
            {"filter": f"indexof({shaded}, datum.name) >= 0"},
        ],
        "encoding": {
            "y": _rows_of(names) | {"axis": {"title": None}},
            "x": {"value": 0},
            "x2": {"value": "width"},
        },
    }


def _least(field: str) -> Spec:
    """Return an encoding of a field that is the same in all rows of a panel."""
    return {"aggregate": "min", "field": field}


def _band(x: Spec) -> list[Spec]:
    low, mean, high = (_least(f"band_{name}") for name in ("low", "mean", "high"))
    known = [{"filter": "isValid(datum.band_mean)"}]
    return [
        {
            "mark": {"type": "rect", "color": SERIES_COLOURS[1], "opacity": 0.18},
            "transform": known,
            "encoding": {"x": x | low, "x2": high},
        },
        {
            "mark": {"type": "rule", "color": SERIES_COLOURS[1], "strokeDash": [4, 2]},
            "transform": known,
            "encoding": {"x": x | mean},
        },
    ]


def _missing(encoding: Spec, field: str = "value") -> Spec:
    return {
        "mark": {"type": "text", "text": "n/a", "fontSize": 9, "fontStyle": "italic"}
        | {"align": "left", "color": MUTED},
        "transform": [{"filter": f"!isValid(datum.{field})"}],
        "encoding": {key: encoding[key] for key in ("y", "yOffset") if key in encoding}
        | {"x": {"value": 4}},
    }


def _cells(
    x: Spec,
    y: Spec,
    colour: Spec,
    field: str,
    light: str,
    form: str,
    size: int = 9,
) -> Spec:
    """Return a heat map with a text in each cell, white where `light` holds."""
    text: Spec = {"field": field, "type": "quantitative"} | ({"format": form} if form else {})
    known = [{"filter": f"isValid(datum.{field})"}]
    missing = [{"filter": f"!isValid(datum.{field})"}]
    gap = {"type": "rect", "stroke": "white", "strokeWidth": 1}
    return {
        "layer": [
            {"mark": gap, "transform": known, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "text", "fontSize": size},
                "transform": known,
                "encoding": {"x": x, "y": y, "text": text}
                | {"color": {"condition": {"test": light, "value": "white"}, "value": "black"}},
            },
            {
                "mark": gap | {"color": "#f0f0f0"},
                "transform": missing,
                "encoding": {"x": x, "y": y},
            },
            {
                "mark": {"type": "text", "text": "n/a", "fontSize": size - 1, "color": "black"},
                "transform": missing,
                "encoding": {"x": x, "y": y},
            },
        ]
    }


def _names_width(names: Sequence[str]) -> float:
    return min(_MAX_NAME, _CHARACTER * max(map(len, names), default=0)) + 12


def _panel_width(names: Sequence[str], n_across: int) -> float:
    return (PAGE_WIDTH - _names_width(names)) / n_across - _SPACING


def _ends(values: Iterable[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return min(0.0, *known, 0.0) - 0.5, max(1.0, *known, 1.0) + 0.5


def _levels(rows: Sequence[Row]) -> list[float | None]:
    ends = [f"{name}{end}" for name in ("bias", "lower", "upper") for end in ("", "_low", "_high")]
    return [row.get(end) for row in rows for end in ends]
