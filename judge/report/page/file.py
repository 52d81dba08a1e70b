"""A run as one HTML file that needs nothing else: no server, no network.

The overview and the columns of the list come first and are read when the page opens. The
studies follow in packets; a packet is unpacked when one of its studies is opened, and in
the background for the search. Everything that comes from a report or a judge is compressed
and written in base64, so that no text can end the element it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from judge.report.overview import cell, field_names, overview
from judge.report.page import FRONTEND
from judge.report.page.packing import element, packed_json
from judge.report.view import study_view
from judge.rubrics import Rubric
from judge.stats.worst import categories, worst_order
from judge.types import Category

if TYPE_CHECKING:
    import pandas as pd

MARK = "<!doctype html><!-- judge audit -->"
"""How such a file begins, so that it is known again."""

_PACKET = 50
"""Studies a packet: opening one unpacks its neighbours too, and more compress better."""


def html_file(
    summary: Mapping[str, Any],
    table: pd.DataFrame,
    records: Iterable[Mapping[str, Any]],
    rubric: Rubric,
) -> Iterator[str]:
    """Yield the file piece by piece; `records` are read one packet at a time.

    The order of `records` is that of `table`. Raises ValueError where there are more or
    fewer.
    """
    title = f"{rubric.title} of {summary['judge']['name']}"
    yield FRONTEND.opening(MARK, title)
    yield _data("overview", overview(summary, table, rubric))
    yield _data("columns", {"packet": _PACKET, **_columns(table, rubric)})
    n_written = 0
    views = (study_view(record, rubric) for record in records)
    while packet := list(islice(views, _PACKET)):
        yield _data(f"packet-{n_written // _PACKET}", packet)
        n_written += len(packet)
    if n_written != len(table):
        raise ValueError(f"{n_written} records for a table of {len(table)} studies")
    yield FRONTEND.closing()


def _columns(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    names = ["study_id", "study_class", "outcome", "reason"]
    names += [score.name for score in rubric.scores]
    names += [f"n_{level.name}" for level in rubric.levels]
    names += [f"{level.name}_{category}" for level in rubric.levels for category in Category]
    names += field_names(table, rubric)
    columns: dict[str, list[Any]] = {name: [cell(value) for value in table[name]] for name in names}
    columns["categories"] = list(categories(table, rubric))
    return {"order": worst_order(table, rubric), "columns": columns}


def _data(name: str, value: object) -> str:
    return element(name, packed_json(value))
