"""The page of judges and readers: tables, the counts of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.run import declared
from judge.study.view import judged_view
from judge.tables.validation import validation_document
from judge.text import group_value

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies

MARK = "<!doctype html><!-- judge validate -->"
"""How such a file begins, so that it is known again."""


def page(validation: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    """Yield the page as one file; a study without its reports is shown with its counts alone.

    `validation` is as `judge validate --format json` has it.
    """
    return page_file(MARK, "validation", "Judges and readers", _pieces(validation, studies))


def _pieces(validation: Mapping[str, Any], studies: RatedStudies) -> Iterator[tuple[str, bytes]]:
    quantities = {row["quantity"]: row["label"] for row in validation["limits"]}
    yield "overview", as_json(_overview(validation, studies, quantities))
    columns = {
        "study_id": list(studies.study_ids),
        "study_class": [group_value(name) for name in studies.study_classes],
        "packet": PACKET,
    }
    yield "columns", as_json(columns)
    for number, name in enumerate(quantities):
        # Doubles, rater by rater.
        yield f"counts-{number}", studies.values[name].T.astype("<f8").tobytes()
    raters = list(zip(studies.raters, studies.records(set(studies.study_ids)), strict=True))
    for number, start in enumerate(range(0, len(studies.study_ids), PACKET)):
        packet = [
            [
                {"rater": place, **judged_view(by_id[study_id], rater.run.rubric)}
                for place, (rater, by_id) in enumerate(raters)
                if study_id in by_id
            ]
            for study_id in studies.study_ids[start : start + PACKET]
        ]
        yield f"packet-{number}", as_json(packet)


def _overview(
    validation: Mapping[str, Any], studies: RatedStudies, quantities: Mapping[str, str]
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
        "signature": validation["signature"],
    }
