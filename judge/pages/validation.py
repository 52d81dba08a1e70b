"""The page of judges beside readers: its tables, and the studies behind them."""

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

VALIDATION = "<!doctype html><!-- judge validate -->"


def validation_page(data: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    """Yield the page of `data`, as `judge validate --format json` has it, as one file."""
    pieces = _validation_pieces(data, studies)
    return page_file(VALIDATION, "validation", "Judges and readers", pieces)


def _validation_pieces(
    data: Mapping[str, Any], studies: RatedStudies
) -> Iterator[tuple[str, bytes]]:
    quantities = {row["quantity"]: row["label"] for row in data["limits"]}
    document = validation_document(data)
    raters = []
    for rater in studies.raters:
        about = {
            "name": rater.name,
            "is_reader": rater.is_reader,
            "rubric": declared(rater.run.rubric),
        }
        raters.append(about)
    overview = {
        "facts": [{"name": name, "value": value} for name, value in document.head],
        "tables": [table.plain() for table in document.tables],
        "raters": raters,
        "quantities": [
            {"name": name, "label": label} for name, label in quantities.items()
        ],
        "signature": data["signature"],
    }
    yield "overview", as_json(overview)
    columns = {
        "study_id": list(studies.study_ids),
        "study_class": [group_value(name) for name in studies.study_classes],
        "packet": PACKET,
    }
    yield "columns", as_json(columns)
    for number, name in enumerate(quantities):
        # Doubles, rater by rater.
        doubles = studies.values[name].T.astype("<f8")
        yield f"counts-{number}", doubles.tobytes()
    records = list(studies.records(set(studies.study_ids)))
    for number, start in enumerate(range(0, len(studies.study_ids), PACKET)):
        packet = []
        for study_id in studies.study_ids[start : start + PACKET]:
            views = []
            of_raters = zip(studies.raters, records, strict=True)
            for place, (rater, by_id) in enumerate(of_raters):
                if study_id in by_id:
                    view = judged_view(by_id[study_id], rater.run.rubric)
                    views.append({"rater": place, **view})
            packet.append(views)
        yield f"packet-{number}", as_json(packet)
