"""The page of judges and readers: tables, the counts of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import packet_numbers
from judge.pages.run import declared
from judge.stats.agreement import mean_of
from judge.stats.intervals import Codes, Values
from judge.study.view import judged_view
from judge.tables.validation import validation_document
from judge.text import group_value

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies

MARK = "<!doctype html><!-- judge validate -->"
"""How such a file begins, so that it is known again."""
MOST_RECORDS = 20_000
"""Records of one study and rater; about half a kilobyte each in the file."""


def _shown_rows(validation: Mapping[str, Any], studies: RatedStudies) -> list[int]:
    """Return the rows of the studies whose reports the page has: all, or `MOST_RECORDS` records.

    Where there are more, each cell of a count of a judge and a mean of the readers gives one study
    in turn, the cells of the largest difference first, so that rare cells are complete.
    """
    n, n_wanted = len(studies.study_ids), MOST_RECORDS // len(studies.raters)
    if n <= n_wanted:
        return list(range(n))
    n_judges = len(studies.judges)
    turns: list[tuple[Codes, Codes, Values]] = []
    totals = [row["quantity"] for row in validation["limits"] if not row["category"]]
    for name in dict.fromkeys(totals):
        grid = studies.values[name]
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


def page(validation: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    """Yield the page as one file; a study without its reports is shown with its counts alone.

    `validation` is as `judge validate --format json` has it.
    """
    rows = _shown_rows(validation, studies)
    records = studies.records({studies.study_ids[row] for row in rows})
    pieces = _pieces(validation, studies, rows, records)
    return page_file(MARK, "validation", "Judges and readers", pieces)


def _pieces(
    validation: Mapping[str, Any],
    studies: RatedStudies,
    rows: Sequence[int],
    records: Sequence[Mapping[str, Mapping[str, Any]]],
) -> Iterator[tuple[str, bytes]]:
    quantities = {row["quantity"]: row["label"] for row in validation["limits"]}
    yield "overview", as_json(_overview(validation, studies, quantities, len(rows)))
    columns = {
        "study_id": list(studies.study_ids),
        "study_class": [group_value(name) for name in studies.study_classes],
        "packets": packet_numbers(rows, len(studies.study_ids)),
    }
    yield "columns", as_json(columns)
    for number, name in enumerate(quantities):
        # Doubles, rater by rater.
        yield f"counts-{number}", studies.values[name].T.astype("<f8").tobytes()
    raters = list(zip(studies.raters, records, strict=True))
    for number, start in enumerate(range(0, len(rows), PACKET)):
        ids = {str(row): studies.study_ids[row] for row in rows[start : start + PACKET]}
        packet = {
            row: [
                {"rater": place, **judged_view(by_id[study_id], rater.run.rubric)}
                for place, (rater, by_id) in enumerate(raters)
                if study_id in by_id
            ]
            for row, study_id in ids.items()
        }
        yield f"packet-{number}", as_json(packet)


def _overview(
    validation: Mapping[str, Any], studies: RatedStudies, quantities: Mapping[str, str], n_here: int
) -> dict[str, Any]:
    names = ("quantity", "judge", "bias", "lower", "upper")
    document = validation_document(validation)
    return {
        "facts": [{"name": name, "value": value} for name, value in document.head],
        "tables": [table.plain() for table in document.tables],
        "raters": [
            {"name": rater.name, "is_reader": rater.is_reader, "rubric": declared(rater.run.rubric)}
            for rater in studies.raters
        ],
        "quantities": [{"name": name, "label": label} for name, label in quantities.items()],
        "limits": [{name: row[name] for name in names} for row in validation["limits"]],
        "studies": {"here": n_here, "all": len(studies.study_ids)},
        "signature": validation["signature"],
    }
