"""The page of judges and readers: tables, the counts of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import packet_numbers
from judge.pages.run import declared
from judge.stats.agreement import mean_of
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

    Where there are more, those in which a judge and the mean of the readers differ most.
    """
    n_judges, n_wanted = len(studies.judges), MOST_RECORDS // len(studies.raters)
    totals = {row["quantity"] for row in validation["limits"] if not row["category"]}
    gaps = np.zeros(len(studies.study_ids))
    for name in totals:
        grid = studies.values[name]
        gap = np.abs(grid[:, :n_judges] - mean_of(grid[:, n_judges:])[:, None])
        gaps = np.fmax(gaps, np.nan_to_num(gap).max(axis=1))
    return sorted(np.argsort(-gaps, kind="stable")[:n_wanted].tolist())


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
