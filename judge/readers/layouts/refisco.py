"""ReFiSco, version 0 or 1: radiologists' corrections of impressions, a row a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from judge.readers.annotations import (
    FINERADSCORE,
    NO_CATEGORY,
    AnnotationTable,
    File,
    Key,
    Row,
)
from judge.readers.layouts.layout import Layout
from judge.rubrics.categories import CATEGORY
from judge.sentences import lines
from judge.types import Edit

_COLUMNS_0 = ("id", "impression_original", "impression_edited", "score", "annotator")
_NAMES_OF_1 = {
    "data_id": "id",
    "original_line": "impression_original",
    "corrected_line": "impression_edited",
    "error_clinical_severity": "score",
    "annotator_id": "annotator",
    "report_type": "source",
    "comments": "notes",
    "report_text": "report",
}
_SCORES = {
    "noerror": None,
    "notactionable": "severity1",
    "actionablenonurgenterror": "severity2",
    "urgenterror": "severity3",
    "emergenterror": "severity4",
}


def _read(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReFiSco v0 or v1: radiologists' corrections of impressions, a row a line."""
    (file,) = files
    table = AnnotationTable(
        FINERADSCORE, {CATEGORY.name: NO_CATEGORY}, "impression", file.name
    )
    rows = [
        Row(row.place, {_NAMES_OF_1.get(name, name): row[name] for name in row.cells})
        for row in file.rows()
    ]
    sources: dict[str | None, set[str | None]] = defaultdict(set)
    for row in rows:
        sources[row["id"]].add(row["source"])
    readings: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        study, reader = row.ids("id", "annotator")
        if len(sources[study]) > 1:
            study = f"{study}/{row.ids('source')[0]}"
        readings[reader, study].append(row)
    errors: dict[Key, list[dict[str, Any]]] = {}
    impressions: dict[str, dict[str, str]] = defaultdict(dict)
    for (reader, study_id), lines_read in readings.items():
        parts = [
            " ".join((row["impression_original"] or "").split()) for row in lines_read
        ]
        impression = lines_read[0]["report"] or "\n\n".join(filter(None, parts))
        with table.checking((reader, study_id)):
            errors[reader, study_id] = [*_refisco_errors(impression, lines_read)]
            impressions[study_id][reader] = impression
    for (reader, study_id), study_errors in errors.items():
        first, candidates = readings[reader, study_id][0], impressions[study_id]
        # Readers who saw other lines of an impression read another candidate.
        name = study_id if len({*candidates.values()}) == 1 else f"{study_id}/{reader}"
        table.describe(
            name,
            first.place,
            candidate=candidates[reader],
            indication=first["indication"],
            model=first["source"],
            patient=first["id"] if study_id != first["id"] else None,
        )
        for error in study_errors:
            table.add((reader, name), **error)
    return table


def _refisco_errors(candidate: str, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    sentences, place = lines(candidate), 0
    yield {"count": 0}
    for row in rows:
        original, edited = row["impression_original"], row.needed("impression_edited")
        level = row.choice("score", _SCORES)
        parts = lines(original) if original else []
        starts = [
            n for n in range(len(sentences)) if sentences[n : n + len(parts)] == parts
        ]
        if parts and not starts:
            raise row.fault("the line is not in the report")
        start = next((n for n in starts if n >= place), starts[0]) if parts else place
        place = start + len(parts)
        is_kept = edited == original or edited.casefold() == "[no edit]"
        is_deleted = edited.casefold() == "[delete]"
        if is_kept != (level is None) or (original is None and (is_kept or is_deleted)):
            raise row.fault(
                f"the score is {row['score']!r} and the line reads {edited[:40]!r}"
            )
        if is_kept:
            continue
        text, edit = row["notes"] or "", None
        if original is None:
            edit = Edit("insert", start if start < len(sentences) else None, edited)
        elif len(parts) > 1:
            wanted = "should not be said" if is_deleted else f'should say "{edited}"'
            text = f'"{original}" {wanted}' + (f": {text}" if text else "")
        else:
            edit = (
                Edit("delete", start, "")
                if is_deleted
                else Edit("change", start, edited)
            )
        yield {"level": level, "text": text, "edit": edit}


REFISCO = Layout(
    name="refisco",
    columns=(_COLUMNS_0, tuple(_NAMES_OF_1)),
    read=_read,
)
