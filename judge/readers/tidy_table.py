"""The layout of a user's own table: one row per error, or per count of errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from judge.readers.annotations import (
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    SIGNIFICANCE,
    AnnotationTable,
    Cells,
    FaultError,
    File,
    Key,
    Row,
)
from judge.rubrics.categories import CATEGORY, category_of
from judge.rubrics.derived import EDIT, category_name
from judge.rubrics.fineradscore.parse import severity_of
from judge.rubrics.green.parse import MATCHED
from judge.studies.columns import normalise_name
from judge.types import JudgeError

_STUDY_COLUMNS = ("reference", "candidate", "model", "study_class", "patient")
_ERROR_COLUMNS = ("study_id", "reader", "category", "level", "significant", "count", "text")


def tidy(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read a user's own table."""
    (file,) = files
    if file.has("level", "significant"):
        raise JudgeError(f"{file.name} has both level and significant; keep one of them")
    rows = [*file.rows()]
    levels = [row["level"] for row in rows if row["level"]]
    n_severities = sum(severity_of(level) is not None for level in levels)
    is_green = file.has("significant") or 2 * n_severities < len(levels)
    table = AnnotationTable(GREEN if is_green else FINERADSCORE)
    table.source = file.name if file.has("candidate") else None
    models = defaultdict(set)
    for row in rows:
        models[row["study_id"]].add(row["model"])
    readings: dict[Key, list[Cells]] = defaultdict(list)
    for row in rows:
        study_id, reader = row.ids("study_id", "reader")
        values = {name: row[name] for name in _STUDY_COLUMNS}
        if len(models[study_id]) > 1:
            values["patient"] = values["patient"] or study_id
            study_id = f"{study_id}/{row.ids('model')[0]}"
        table.describe(study_id, row.place, **values)
        readings[reader, study_id].append(row)
    has_category = any(row["category"] for row in rows)
    has_matched = any(_is_matched(row["category"]) for row in rows)
    for key, study_rows in readings.items():
        with table.checking(*key):
            errors = [_error(file, key, row, is_green=is_green) for row in study_rows]
            _check(errors, study_rows, has_category=has_category)
            if has_matched and all(error.category != MATCHED for error in errors):
                raise FaultError("it has no row of matched findings, but other studies have one")
            # Counts come first: a list of the same errors would repeat them.
            table.rows += sorted(errors, key=lambda error: error.text != "")
            table.fields[key] = _fields(study_rows)
    table.lacks = {} if has_category else {CATEGORY.name: NO_CATEGORY}
    if not is_green:
        table.lacks = {**table.lacks, EDIT: NO_EDIT}
    elif not has_matched:
        table.lacks = {**table.lacks, MATCHED: NO_MATCHED}
    return table


def _is_matched(category: str | None) -> bool:
    return normalise_name(category or "") in ("matched", "matchedfinding", "matchedfindings")


def _fields(rows: Sequence[Cells]) -> dict[str, object]:
    values: dict[str, object] = {}
    for row in rows:
        for name, text in row.cells.items():
            # pandas writes the row numbers in a column without a name.
            is_used = name in (*_ERROR_COLUMNS, *_STUDY_COLUMNS) or name.startswith("column_")
            if text and not is_used and values.setdefault(name, text) != text:
                raise row.fault(f"{name} differs from an earlier row")
    return values


def _error(file: File, key: Key, row: Cells, *, is_green: bool) -> Row:
    named = "significant" if file.has("significant") else "level"
    category, level = _category(row), None
    count = row.count("count") if file.has("count") and not row["text"] else 1
    if row[named] is not None and is_green:
        level = row.choice(named, SIGNIFICANCE)
    elif row[named] is not None:
        severity = severity_of(row[named])
        if severity is None:
            raise row.fault(f"level is {row[named]!r}; it must be 1 (not actionable) to 4")
        level = f"severity{severity}"
    if row["text"] and row["count"] not in (None, "1"):
        raise row.fault(f"count is {row['count']} beside a text; write a row for each error")
    if category == MATCHED and (level is not None or not is_green):
        raise row.fault("matched findings are only for GREEN and have no level")
    if category != MATCHED and level is None and (count or category is not None):
        raise row.fault(f"{named} is blank")
    return Row(*key, category=category, level=level, text=row["text"] or "", count=count)


def _category(row: Cells) -> str | None:
    text = row["category"]
    if text is None or _is_matched(text):
        return MATCHED if text else None
    known = category_of(text)
    name = known.value if known else category_name(text)
    if name is None:
        raise row.fault(f"category is {text[:40]!r}; it must be a to f, 1 to 6, or words")
    return name


def _check(errors: Sequence[Row], rows: Sequence[Cells], *, has_category: bool) -> None:
    seen: dict[tuple[object, ...], str] = {}
    is_clean = any(error.category is error.level is None and not error.count for error in errors)
    for error, row in zip(errors, rows, strict=True):
        same = (error.category, error.level, error.text)
        if is_clean and error.count and error.category != MATCHED:
            raise row.fault("it has an error, but another row says that there is none")
        if has_category and error.category is None and error.count:
            raise row.fault("category is blank, but other rows have one")
        if (error.text or "count" in row.cells) and seen.setdefault(same, row.place) != row.place:
            raise row.fault(f"it repeats {seen[same]}")
    counts = {(error.category, error.level) for error in errors if error.count and not error.text}
    if both := counts & {(error.category, error.level) for error in errors if error.text}:
        raise FaultError(f"errors of category {min(both, key=str)[0]} are both listed and counted")
