"""Vega-Lite specifications of the figures, as plain dicts: one function a kind of figure.

Every specification holds its own rows, so an author can restyle a figure without this program.
Lengths are points, 72 an inch. A name that is too long is cut by Vega, at `labelLimit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]
Row = dict[str, Any]

INK, MUTED, GRID = "#1a1a1a", "#595959", "#dddddd"
# They differ in lightness and in shape, so also in print without colour.
SERIES_COLOURS = ("#004488", "#c46a00")
SERIES_SHAPES = ("circle", "square")
_DRAWN_WIDTH = 480
"""Beside the names, which have at most `labelLimit`."""
_ROW = 16
_IS_KNOWN = "isValid(datum.value)"
_LABELS = {"title": None, "labelColor": INK, "labelFontSize": 10, "labelLimit": 300}

CONFIG: Spec = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "padding": 6,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "labelFontSize": 10,
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "labelLimit": 170,
    },
    "axisX": {"labelOverlap": True, "labelFlush": True, "tickCount": 4},
    "axisY": {"ticks": False, "domain": False},
    "header": _LABELS,
    "legend": {"orient": "top", **_LABELS},
    "title": {"color": INK, "fontSize": 12, "anchor": "start", "subtitleColor": MUTED},
    "facet": {"spacing": 14},
}


def dots(
    title: str,
    rows: Sequence[Row],
    *,
    names: Sequence[str],
    panels: Sequence[str],
    axis: str,
    series: Sequence[str] = ("",),
    is_share: bool = False,
) -> Spec:
    """Return values with their intervals: a row a name, a panel a group, a mark a series.

    `rows` have panel, name, series, value, low and high; value is None where there is none.
    The axis of shares is 0 to 100%; that of others is what the values take.
    """
    x: Spec = {
        "type": "quantitative",
        "title": None,
        "scale": {"zero": False, "nice": True},
    }
    if is_share:
        x |= {"scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    legend = {} if len(series) > 1 else {"legend": None}
    place = {
        "y": _nominal("name", names),
        "color": _nominal("series", series, range=list(SERIES_COLOURS)) | legend,
    }
    if len(series) > 1:
        place["yOffset"] = _nominal("series", series, paddingOuter=0.5)
    shape = _nominal("series", series, range=list(SERIES_SHAPES)) | legend
    ends = {"x": x | {"field": "low"}, "x2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1}
    absent = {"type": "text", "text": "n/a", "fontSize": 9, "align": "left"}
    layers = [
        _layer(
            {"type": "rule", "strokeWidth": 1.4}, place | ends, "isValid(datum.low)"
        ),
        _layer(point, place | {"x": x | {"field": "value"}, "shape": shape}, _IS_KNOWN),
        _layer(absent, place | {"x": {"value": 4}}, f"!{_IS_KNOWN}"),
    ]
    return _figure(title, rows, _in_panels(panels, layers), axis)


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
    dark_first = {"scheme": {"name": "blues", "extent": [0.1, 1]}, "reverse": True}
    colour = _nominal("level", levels, **dark_first) | {
        "sort": list(levels),
        "type": "ordinal",
    }
    y, x = _nominal("name", names), {"type": "quantitative", "title": None}
    total = {"op": "sum", "field": "value", "as": "sum"}
    text = {"text": {"field": "sum", "format": ".2f"}}
    sums = _layer(
        {"type": "text", "align": "left", "dx": 3, "fontSize": 9, "color": INK},
        {"y": y, "x": x | {"field": "sum"}} | text,
        _IS_KNOWN,
    )
    sums["transform"].append({"aggregate": [total], "groupby": ["panel", "name"]})
    bar = {"type": "bar", "stroke": MUTED, "strokeWidth": 0.4}
    place = {
        "y": y,
        "x": x | {"field": "value"},
        "color": colour,
        "order": {"field": "rank"},
    }
    return _figure(title, rows, _in_panels(panels, [_layer(bar, place), sums]), axis)


def heat_map(
    title: str,
    rows: Sequence[Row],
    *,
    down: Sequence[str],
    across: Sequence[str],
    scale: Mapping[str, Any],
    light: str,
    form: str = "",
) -> Spec:
    """Return a heat map with the value in each cell, white where `light` holds.

    `rows` have down, across and value, None where there is none.
    """
    cell = min(40.0, _DRAWN_WIDTH / max(1, len(across)))
    axis = {"labelAngle": -90, "domain": False, "ticks": False, "labelOverlap": False}
    place = {
        "x": _nominal("across", across) | {"axis": axis},
        "y": _nominal("down", down),
    }
    value = {"field": "value", "type": "quantitative"}
    ink = {"color": {"condition": {"test": light, "value": "white"}, "value": "black"}}
    text: Spec = {"type": "text", "fontSize": 9 if cell >= 24 else 7}
    gap = {"type": "rect", "stroke": "white"}
    colour = {"color": value | {"scale": dict(scale), "legend": None}}
    layers = [
        _layer(gap, place | colour, _IS_KNOWN),
        _layer(text, place | ink | {"text": value | {"format": form}}, _IS_KNOWN),
        _layer(text | {"text": "n/a", "color": MUTED}, place, f"!{_IS_KNOWN}"),
    ]
    return _figure(title, rows, {"layer": layers, "width": {"step": cell}})


def _figure(title: str, rows: Sequence[Row], body: Spec, subtitle: str = "") -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": title, "subtitle": subtitle},
        "data": {"values": list(rows)},
        **body,
        "config": CONFIG,
    }


def _layer(mark: Spec, encoding: Spec, test: str = "true") -> Spec:
    return {"mark": mark, "transform": [{"filter": test}], "encoding": encoding}


def _nominal(field: str, domain: Sequence[str], **scale: Any) -> Spec:  # noqa: ANN401
    scale |= {"domain": list(domain)}
    return {"field": field, "type": "nominal", "scale": scale, "title": None}


def _in_panels(panels: Sequence[str], layers: list[Spec]) -> Spec:
    n_across = min(len(panels), 3)
    height = {"step": _ROW, "for": "position"}
    unit = {"width": _DRAWN_WIDTH / n_across - 14, "height": height, "layer": layers}
    return {
        "facet": {"field": "panel", "sort": list(panels), "title": None},
        "columns": n_across,
        "spec": unit,
    }
