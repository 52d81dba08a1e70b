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

from judge.pages import FRONTEND
from judge.pages.frontend import as_json
from judge.pages.run import index, overview
from judge.rubrics import Rubric
from judge.study.view import study_view
from judge.tables.run import run_title

if TYPE_CHECKING:
    import pandas as pd

MARK = "<!doctype html><!-- judge audit -->"
"""How such a file begins, so that it is known again."""

PACKET = 50
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
    title = run_title(summary, rubric)
    return FRONTEND.file(MARK, "run", title, _data(summary, table, records, rubric))


def _data(
    summary: Mapping[str, Any],
    table: pd.DataFrame,
    records: Iterable[Mapping[str, Any]],
    rubric: Rubric,
) -> Iterator[tuple[str, bytes]]:
    yield "overview", as_json(overview(summary, table, rubric))
    yield "index", as_json({"packet": PACKET, **index(table, rubric)})
    n_written = 0
    views = (study_view(record, rubric) for record in records)
    while packet := list(islice(views, PACKET)):
        yield f"packet-{n_written // PACKET}", as_json(packet)
        n_written += len(packet)
    if n_written != len(table):
        raise ValueError(f"{n_written} records for a table of {len(table)} studies")
