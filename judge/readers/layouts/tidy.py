"""A user's own table: a row an error, or a count of errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from judge.readers.annotations import (
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    SIGNIFICANCE,
    AnnotationTable,
    FaultError,
    File,
    Key,
    Row,
)
from judge.readers.layouts.layout import Layout
from judge.rubrics.categories import CATEGORY, category_of
from judge.rubrics.derived import EDIT, category_name
from judge.rubrics.fineradscore.parse import severity_of
from judge.rubrics.green.parse import MATCHED
from judge.studies.columns import normalise_name

_STUDY_COLUMNS = ("reference", "candidate", "model", "study_class", "patient")
_ERROR_COLUMNS = (
    "study_id",
    "reader",
    "category",
    "level",
    "significant",
    "count",
    "text",
)


def _rubric(*, is_green: bool) -> Literal["green", "fineradscore"]:
    if is_green:
        return GREEN
    return FINERADSCORE


def _read(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read a user's own table: a row an error, or a count of errors."""
    (file,) = files
    rows = file.rows()
    grade = "level"
    if file.has("significant"):
        grade = "significant"
    is_green = grade == "significant" or not _are_severities(rows)
    table = AnnotationTable(rubric=_rubric(is_green=is_green))
    if file.has("candidate"):
        table.source = file.name
    models = defaultdict(set)
    for row in rows:
        models[row["study_id"]].add(row["model"])
    readings: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        study_id, reader = row.ids("study_id", "reader")
        values = {name: row[name] for name in _STUDY_COLUMNS}
        if len(models[study_id]) > 1:
            values["patient"] = values["patient"] or study_id
            study_id = f"{study_id}/{row.ids('model')[0]}"
        table.describe(study_id, row.place, **values)
        readings[reader, study_id].append(row)
    has_category = any(row["category"] for row in rows)
    has_matched = any(map(_is_matched, rows))
    for key, study_rows in readings.items():
        with table.checking(key):
            errors = [
                _tidy_error(file, row, grade, is_green=is_green) for row in study_rows
            ]
            _check_tidy(errors, study_rows, has_category=has_category)
            if has_matched and not any(map(_is_matched, study_rows)):
                raise FaultError(
                    "it has no row of matched findings, but other studies have one"
                )
            table.fields[key] = _further_fields(study_rows)
            for error in errors:
                table.add(key, **error)
    table.lacks = {}
    if not has_category:
        table.lacks = {CATEGORY.name: NO_CATEGORY}
    if not is_green:
        table.lacks = {**table.lacks, EDIT: NO_EDIT}
    elif not has_matched:
        table.lacks = {**table.lacks, MATCHED: NO_MATCHED}
    return table


def _are_severities(rows: Sequence[Row]) -> bool:
    """Return whether at least half of the levels that are filled are FineRadScore's."""
    levels = [row["level"] for row in rows if row["level"]]
    n_severities = sum(severity_of(level) is not None for level in levels)
    return 2 * n_severities >= len(levels)


def _further_fields(rows: Sequence[Row]) -> dict[str, object]:
    """Return the columns of a study that the layout does not know.

    Raises `FaultError` where two rows of the study differ.
    """
    further: dict[str, object] = {}
    for row in rows:
        for name, text in row.cells.items():
            is_used = name in _ERROR_COLUMNS or name in _STUDY_COLUMNS
            # pandas writes the row numbers in a column without a name.
            is_number = name.startswith("column_")
            if not text or is_used or is_number:
                continue
            if further.setdefault(name, text) != text:
                raise row.fault(f"{name} differs from an earlier row")
    return further


def _is_matched(row: Row) -> bool:
    name = normalise_name(row["category"] or "")
    return name in ("matched", "matchedfinding", "matchedfindings")


def _tidy_error(file: File, row: Row, grade: str, *, is_green: bool) -> dict[str, Any]:
    """Return what a row says, as the arguments of `AnnotationTable.add`."""
    text = row["text"] or ""
    category = row["category"]
    level = row[grade]
    if _is_matched(row):
        category = MATCHED
    elif category:
        known = category_of(category)
        if known:
            category = known.value
        else:
            category = category_name(category)
        if category is None:
            raise row.fault(
                f"category is {row['category']!r}; it must be a to f, 1 to 6, or words"
            )
    if category == MATCHED and (level or not is_green):
        raise row.fault("matched findings are only for GREEN and have no level")
    if level and is_green:
        level = row.choice(grade, SIGNIFICANCE)
    elif level:
        severity = severity_of(level)
        if severity is None:
            raise row.fault(f"level is {level!r}; it must be 1 (not actionable) to 4")
        level = f"severity{severity}"
    count = 1
    if file.has("count") and not text:
        count = row.count("count")
    if text and row["count"] not in (None, "1"):
        raise row.fault(
            f"count is {row['count']} beside a text; write a row for each error"
        )
    if category != MATCHED and level is None and (count or category):
        raise row.fault(f"{grade} is blank")
    return {"category": category, "level": level, "text": text, "count": count}


def _check_tidy(
    errors: Sequence[Mapping[str, Any]], rows: Sequence[Row], *, has_category: bool
) -> None:
    """Raise `FaultError` where the rows of a study contradict or repeat each other."""
    seen: dict[tuple[str | None, str | None], set[str]] = defaultdict(set)
    is_clean = any(error["category"] is error["level"] is None for error in errors)
    for error, row in zip(errors, rows, strict=True):
        category, text = error["category"], error["text"]
        if is_clean and error["count"] and category != MATCHED:
            raise row.fault("it has an error, but another row says that there is none")
        if has_category and category is None and error["count"]:
            raise row.fault("category is blank, but other rows have one")
        if text or "count" in row.cells:
            texts = seen[category, error["level"]]
            if texts & {text, ""} or (texts and not text):
                raise row.fault(
                    "it repeats an error that an earlier row lists or counts"
                )
            texts.add(text)


TIDY = Layout(
    name="tidy",
    columns=(
        ("study_id", "reader", "level"),
        ("study_id", "reader", "significant"),
    ),
    read=_read,
)
