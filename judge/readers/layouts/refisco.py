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
        rubric=FINERADSCORE,
        lacks={CATEGORY.name: NO_CATEGORY},
        section="impression",
        source=file.name,
    )
    rows = list(map(_with_names_of_0, file.rows()))
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
        impression = _impression(lines_read)
        with table.checking((reader, study_id)):
            errors[reader, study_id] = list(_errors(impression, lines_read))
            impressions[study_id][reader] = impression
    for (reader, study_id), study_errors in errors.items():
        first = readings[reader, study_id][0]
        candidates = impressions[study_id]
        # Readers who saw other lines of an impression read another candidate.
        name = study_id
        if len({*candidates.values()}) > 1:
            name = f"{study_id}/{reader}"
        patient = None
        if study_id != first["id"]:
            patient = first["id"]
        table.describe(
            name,
            first.place,
            candidate=candidates[reader],
            indication=first["indication"],
            model=first["source"],
            patient=patient,
        )
        for error in study_errors:
            table.add((reader, name), **error)
    return table


def _with_names_of_0(row: Row) -> Row:
    """Return a row with the columns of version 0."""
    cells = {_NAMES_OF_1.get(name, name): row[name] for name in row.cells}
    return Row(row.place, cells)


def _impression(rows: Sequence[Row]) -> str:
    """Return the impression that a reader read: in its own column, or line by line."""
    if rows[0]["report"]:
        return rows[0]["report"]
    parts = []
    for row in rows:
        words = (row["impression_original"] or "").split()
        if words:
            parts.append(" ".join(words))
    return "\n\n".join(parts)


def _start_of(row: Row, parts: list[str], sentences: list[str], after: int) -> int:
    """Return where a row's lines start in the report: the next place, else the first one."""
    if not parts:
        return after
    n = len(parts)
    starts = [at for at in range(len(sentences)) if sentences[at : at + n] == parts]
    if not starts:
        raise row.fault("the line is not in the report")
    for at in starts:
        if at >= after:
            return at
    return starts[0]


def _errors(candidate: str, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yield what the rows of a reading say, as the arguments of `AnnotationTable.add`."""
    sentences = lines(candidate)
    end = 0
    yield {"count": 0}
    for row in rows:
        original = row["impression_original"]
        edited = row.needed("impression_edited")
        level = row.choice("score", _SCORES)
        parts: list[str] = []
        if original:
            parts = lines(original)
        start = _start_of(row, parts, sentences, after=end)
        end = start + len(parts)
        is_kept = edited == original or edited.casefold() == "[no edit]"
        is_deleted = edited.casefold() == "[delete]"
        is_contradictory = is_kept != (level is None)
        is_of_no_line = original is None and (is_kept or is_deleted)
        if is_contradictory or is_of_no_line:
            raise row.fault(
                f"the score is {row['score']!r} and the line reads {edited[:40]!r}"
            )
        if is_kept:
            continue
        text = row["notes"] or ""
        edit = None
        if original is None:
            # None inserts at the end of the report.
            line = None
            if start < len(sentences):
                line = start
            edit = Edit("insert", line, edited)
        elif len(parts) > 1:
            # An edit is of one line: one of several is told in words.
            wanted = f'should say "{edited}"'
            if is_deleted:
                wanted = "should not be said"
            note = ""
            if text:
                note = f": {text}"
            text = f'"{original}" {wanted}{note}'
        elif is_deleted:
            edit = Edit("delete", start, "")
        else:
            edit = Edit("change", start, edited)
        yield {"level": level, "text": text, "edit": edit}


REFISCO = Layout(
    name="refisco",
    columns=(_COLUMNS_0, tuple(_NAMES_OF_1)),
    read=_read,
)
