"""The page of judges and readers: tables, the counts of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import packet_numbers
from judge.pages.run import declared
from judge.rubrics import Rubric
from judge.stats.agreement import mean_of
from judge.stats.intervals import Codes
from judge.stats.scores import Values
from judge.study.view import judged_view
from judge.tables.validation import facts, tables
from judge.text import group_value

MARK = "<!doctype html><!-- judge validate -->"
"""How such a file begins, so that it is known again."""
MOST_RECORDS = 20_000
"""Records of one study and rater; about half a kilobyte each in the file."""


Records = Sequence[Mapping[str, Mapping[str, Any]]]
"""A rater's records by study id, a rater each: as a run keeps them."""


@dataclass(frozen=True, slots=True)
class PageRater:
    """A judge or a reader as the page calls them, and the rubric as they used it."""

    name: str
    is_reader: bool
    rubric: Rubric


@dataclass(frozen=True, slots=True)
class Beside:
    """The counts of raters, the judges first, and the report of `judge validate` on them.

    `values` has by quantity an array of studies by raters, NaN where a rater gave none.
    """

    found: Mapping[str, Any]
    raters: tuple[PageRater, ...]
    study_ids: tuple[str, ...]
    study_classes: tuple[str | None, ...]
    values: Mapping[str, Values]

    @property
    def quantities(self) -> dict[str, str]:
        """The quantities that are counts, with their labels."""
        return {row["quantity"]: row["label"] for row in self.found["limits"]}


def wanted(data: Beside, *, most: int = MOST_RECORDS) -> list[int]:
    """Return the rows of the studies whose reports the page has: all, or `most` records.

    Where there are more, each cell of a count of a judge and a mean of the readers gives one study
    in turn, the cells of the largest difference first, so that rare cells are complete.
    """
    n, n_wanted = len(data.study_ids), most // len(data.raters)
    if n <= n_wanted:
        return list(range(n))
    n_judges = sum(not rater.is_reader for rater in data.raters)
    by_category = {row["quantity"] for row in data.found["limits"] if row["category"]}
    turns: list[tuple[Codes, Codes, Values]] = []
    for name in data.quantities:
        if name in by_category:
            continue
        grid = data.values[name]
        readers = mean_of(grid[:, n_judges:])
        for judge in grid[:, :n_judges].T:
            rows = np.flatnonzero(~(np.isnan(judge) | np.isnan(readers)))
            pairs = np.column_stack([judge[rows], readers[rows]])
            cell = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
            turns.append((rows, _place_within(cell), np.abs(judge[rows] - readers[rows])))
    if not turns:
        return list(range(n_wanted))
    rows, places, gaps = (np.concatenate(parts) for parts in zip(*turns, strict=True))
    in_turn = rows[np.lexsort((rows, -gaps, places))]
    return sorted(int(row) for row in list(dict.fromkeys(in_turn.tolist()))[:n_wanted])


def _place_within(group: Codes) -> Codes:
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    places = np.empty(len(group), dtype=np.intp)
    places[order] = np.arange(len(group)) - starts
    return places


def page(data: Beside, rows: Sequence[int], records: Records) -> Iterator[str]:
    """Yield the page as one file; `records` are those of the studies in `rows`.

    A study without records is shown with its counts alone.
    """
    return page_file(MARK, "validation", "Judges and readers", _pieces(data, rows, records))


def _pieces(data: Beside, rows: Sequence[int], records: Records) -> Iterator[tuple[str, bytes]]:
    yield "overview", as_json(overview(data, rows))
    columns = {
        "study_id": list(data.study_ids),
        "study_class": [group_value(name) for name in data.study_classes],
        "packets": packet_numbers(rows, len(data.study_ids)),
    }
    yield "columns", as_json(columns)
    for number, name in enumerate(data.quantities):
        # Doubles, rater by rater.
        yield f"counts-{number}", data.values[name].T.astype("<f8").tobytes()
    raters = list(zip(data.raters, records, strict=True))
    for number, start in enumerate(range(0, len(rows), PACKET)):
        ids = {str(row): data.study_ids[row] for row in rows[start : start + PACKET]}
        packet = {
            row: [
                {"rater": place, **judged_view(studies[study_id], rater.rubric)}
                for place, (rater, studies) in enumerate(raters)
                if study_id in studies
            ]
            for row, study_id in ids.items()
        }
        yield f"packet-{number}", as_json(packet)


def overview(data: Beside, rows: Sequence[int]) -> dict[str, Any]:
    """Return all but the single studies, in JSON's types."""
    report = data.found
    ends = ("value", "low", "high")
    return {
        "facts": [{"name": name, "value": value} for name, value in facts(report)],
        "tables": [table.plain() for table in tables(report)],
        "raters": [
            {"name": rater.name, "is_reader": rater.is_reader, "rubric": declared(rater.rubric)}
            for rater in data.raters
        ],
        "quantities": [{"name": name, "label": label} for name, label in data.quantities.items()],
        "limits": [
            {
                **{name: row[name] for name in ("quantity", "judge")},
                "reason": row["bias"].get("reason"),
                **{
                    name: {end: row[name][end] for end in ends}
                    for name in ("bias", "lower", "upper")
                },
            }
            for row in report["limits"]
        ],
        "studies": {"here": len(rows), "all": len(data.study_ids)},
        "signature": report["signature"],
    }
