"""The figures of judges beside readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judge.figures import specs
from judge.figures.files import Figure, FigureSet, count_range, flat
from judge.tables.validation import row_name

Report = Mapping[str, Any]

_READERS = "each reader, against the others"


def validation_figures(validation: Report) -> FigureSet:
    """Return the figures of what `judge validate --format json` prints."""
    raters = [*validation["judges"], *validation["readers"]]
    return FigureSet(
        "validation",
        tuple(_agreement(validation)),
        validation["signature"],
        tuple(validation["notes"]),
        tuple(rater["name"] for rater in raters),
    )


def _agreement(validation: Report) -> Iterable[Figure]:
    rows = []
    for ceiling in validation["ceiling_mean"]:
        if ceiling["category"]:
            continue
        cells = [
            (flat(row_name(row)), row["kendall"])
            for row in validation["agreement"]
            if row["quantity"] == ceiling["quantity"]
        ]
        if all(cell["value"] is None for _, cell in cells):
            continue
        low, high = ceiling["range"]["kendall"] or (None, None)
        readers = {"value": ceiling["kendall"]["value"], "low": low, "high": high}
        panel = f"{ceiling['label']}, n {count_range(c['n'] for _, c in cells if c['value'])}"
        for name, cell in [(_READERS, readers), *cells]:
            row = {
                "panel": panel,
                "name": name,
                "series": "",
                "value": cell.get("value"),
                "low": cell.get("low"),
                "high": cell.get("high"),
            }
            rows.append(row)
    if rows:
        title = "Agreement of judges with the readers (Kendall's tau-b)"
        yield Figure(
            "agreement_kendall",
            title,
            "Kendall's tau-b of each judge, score or metric with the mean of the readers, a panel "
            "a quantity; bars are 95% bootstrap intervals, n is the number of studies. A "
            "score of which more is better where more of the quantity is worse, or the other way "
            "round, is negated, so that agreement is positive. The first row is the readers' "
            "ceiling: each reader against the mean of the others, their mean and, as a bar, the "
            "least to the greatest.",
            specs.dots(title, rows, **_places(rows), axis="Kendall's tau-b"),
        )


def _places(rows: list[specs.Row]) -> dict[str, Any]:
    """Return the names, panels and series of some rows, each in the order of the rows."""
    places = {}
    for name, field in {"names": "name", "panels": "panel", "series": "series"}.items():
        places[name] = list(dict.fromkeys(row[field] for row in rows))
    return places
