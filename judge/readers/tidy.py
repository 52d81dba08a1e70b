"""A table of one's own: a row for each error, or for a count of errors, by study and reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from judge.readers.annotations import (
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    PATIENT,
    AnnotationTable,
    FaultError,
    Key,
    RubricName,
)
from judge.readers.files import SIGNIFICANCE, File, Row, choice, count_of, identifiers, only
from judge.rubrics.categories import CATEGORY, category_of
from judge.rubrics.fineradscore.answers import severity_of
from judge.rubrics.green.layout import MATCHED
from judge.rubrics.reading import EDIT, own_name
from judge.studies.names import plain
from judge.types import JudgeError

_OF_STUDY = ("reference", "candidate", "model", "study_class", PATIENT)
_COLUMNS = ("study_id", "reader", "category", "level", "significant", "count", "text", *_OF_STUDY)


def tidy(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read a table of one's own: a row for each error, or for a count of errors."""
    file = only(files)
    if file.has("level", "significant"):
        raise JudgeError(f"{file.name} has both level and significant; keep one of them")
    rows = [*file.rows(_COLUMNS)]
    table = AnnotationTable(_rubric(file, [row["level"] for _, row in rows if row["level"]]))
    table.source = file.name if file.has("candidate") else None
    models = defaultdict(set)
    for _, row in rows:
        models[row["study_id"]].add(row["model"])
    places: dict[Key, list[tuple[str, Row]]] = defaultdict(list)
    for place, row in rows:
        study_id, reader = identifiers(file, place, row, "study_id", "reader")
        values = {name: row[name] for name in _OF_STUDY}
        if len(models[study_id]) > 1:
            (model,) = identifiers(file, place, row, "model")
            values[PATIENT] = values[PATIENT] or study_id
            study_id = f"{study_id}/{model}"
        table.describe(study_id, place, **values)
        places[reader, study_id].append((place, row))
    categories = [plain(row["category"]) for _, row in rows if row["category"]]
    has_matched = any(category.startswith("matched") for category in categories)
    for key, of_study in places.items():
        errors = []
        with table.checking(*key, "its rows"):
            for place, cells in of_study:
                errors.append((place, _error(file, place, cells, table.rubric)))
                _keep_fields(table.fields.setdefault(key, {}), cells, place)
            # What is counted comes first: a list beside it repeats it.
            errors.sort(key=lambda entry: entry[1]["text"] != "")
            _check(errors, has_category=bool(categories), has_count=file.has("count"))
            if has_matched and all(error["category"] != MATCHED for _, error in errors):
                raise FaultError("no row of matched findings, as other studies have")
        for _, error in errors:
            table.add(*key, **error)
    table.lacks = {} if categories else {CATEGORY.name: NO_CATEGORY}
    if table.rubric == FINERADSCORE:
        table.lacks = {**table.lacks, EDIT: NO_EDIT}
    elif not has_matched:
        table.lacks = {**table.lacks, MATCHED: NO_MATCHED}
    return table


def _rubric(file: File, levels: Sequence[str]) -> RubricName:
    """Return the rubric whose levels most rows have."""
    n_severities = sum(severity_of(level) is not None for level in levels)
    is_green = file.has("significant") or 2 * n_severities < len(levels)
    return GREEN if is_green else FINERADSCORE


def _keep_fields(values: dict[str, object], row: Row, place: str) -> None:
    for name, text in row.items():
        if name not in _COLUMNS and text is not None and values.setdefault(name, text) != text:
            raise FaultError(f"{place}: {name} differs from an earlier row")


def _error(file: File, place: str, row: Row, rubric: str) -> dict[str, Any]:
    """Return the category, level, count and text of a row."""
    named = "significant" if file.has("significant") else "level"
    try:
        category, level = _category(row), None
        count = count_of(row, "count") if file.has("count") and not row["text"] else 1
        if row[named] is not None and rubric == GREEN:
            level = choice(row, named, SIGNIFICANCE)
        elif row[named] is not None:
            severity = severity_of(row[named])
            if severity is None:
                raise FaultError(f"level is {row[named]!r}, none of 1 (not actionable) to 4")  # noqa: TRY301
            level = f"severity{severity}"
        if row["text"] and row["count"] not in (None, "1"):
            raise FaultError(f"count is {row['count']} beside a text; write a row for each error")  # noqa: TRY301
        if category == MATCHED and (level is not None or rubric != GREEN):
            raise FaultError("a matched finding is GREEN's and has no level")  # noqa: TRY301
        if category != MATCHED and level is None and (count or category is not None):
            raise FaultError(f"{named} is blank")  # noqa: TRY301
    except FaultError as fault:
        raise FaultError(f"{place}: {fault}") from None
    return {"category": category, "level": level, "count": count, "text": row["text"] or ""}


def _category(row: Row) -> str | None:
    text = row["category"]
    if text is None:
        return None
    if plain(text) in ("matched", "matchedfinding", "matchedfindings"):
        return MATCHED
    known = category_of(text)
    name = known.value if known else own_name(text)
    if name is None:
        raise FaultError(f"category is {text[:40]!r}, neither a to f, 1 to 6 nor words")
    return name


def _check(
    rows: Sequence[tuple[str, Mapping[str, Any]]], *, has_category: bool, has_count: bool
) -> None:
    """Raise for rows of a study that contradict each other."""
    seen: dict[tuple[object, ...], str] = {}
    nothing = next((place for place, row in rows if _is_nothing(row)), None)
    for place, row in rows:
        category, level, text = row["category"], row["level"], row["text"]
        if nothing and row["count"] and category != MATCHED:
            raise FaultError(f"{place} has an error where {nothing} says that there is none")
        if has_category and category is None and not _is_nothing(row):
            raise FaultError(f"{place}: category is blank where other rows have one")
        if text or has_count:
            first = seen.setdefault((category, level, text), place)
            if first != place:
                raise FaultError(f"{place} repeats {first}")
            if text and (category, level, "") in seen:
                raise FaultError(f"{place}: its errors are both listed and counted")


def _is_nothing(row: Mapping[str, Any]) -> bool:
    return row["category"] is row["level"] is None and not row["count"]


def is_tidy(file: File) -> bool:
    """Return whether a file has the columns of this layout."""
    return file.has("study_id", "reader") and (file.has("level") or file.has("significant"))
