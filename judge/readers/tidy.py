"""A table of one's own: a row for each error, or for a count of errors, by study and reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

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
from judge.readers.files import SIGNIFICANCE, File, Row, choice, identifiers, needed_count, only
from judge.rubrics.categories import CATEGORY, category_of
from judge.rubrics.fineradscore.answers import severity_of
from judge.rubrics.green.layout import MATCHED
from judge.rubrics.reading import EDIT, own_name
from judge.studies.names import plain
from judge.types import JudgeError

_TIDY: tuple[str, ...] = (
    "study_id",
    "reader",
    "category",
    "level",
    "significant",
    "count",
    "text",
    "reference",
)
_TIDY += ("candidate", "model", "study_class", PATIENT)


def tidy(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read a table of one's own: a row for each error, or for a count of errors."""
    file = only(files)
    if file.has("level", "significant"):
        raise JudgeError(f"{file.name} has both level and significant; keep one of them")
    rows = [*file.rows(_TIDY)]
    table = AnnotationTable(_rubric(file, [row["level"] for _, row in rows if row["level"]]))
    table.source = file.name if file.has("candidate") else None
    models = defaultdict(set)
    for _, row in rows:
        models[row["study_id"]].add(row["model"])
    entries: dict[Key, list[_Entry]] = defaultdict(list)
    for place, row in rows:
        study, reader = identifiers(file, place, row, "study_id", "reader")
        patient, study_id = row[PATIENT], study
        if len(models[study]) > 1:
            (model,) = identifiers(file, place, row, "model")
            study_id, patient = f"{study}/{model}", patient or study
        texts = {name: row[name] for name in ("reference", "candidate", "model", "study_class")}
        table.describe(study_id, place, **texts, **{PATIENT: patient})
        key = (reader, study_id)
        entries[key] += []
        with table.checking(*key, place):
            _keep_fields(table.fields.setdefault(key, {}), row)
            entries[key].append(_entry(file, place, row, table.rubric))
    found = [entry for of_study in entries.values() for entry in of_study]
    has_category = any(entry.category for entry in found)
    has_matched = any(entry.category == MATCHED for entry in found)
    for key, of_study in entries.items():
        with table.checking(*key, "its rows"):
            if key not in table.left_out:
                _check(of_study, has_category=has_category, has_matched=has_matched)
        for entry in of_study:
            table.add(
                *key,
                category=entry.category,
                level=entry.level,
                text=entry.text,
                count=entry.count,
            )
    table.lacks = {} if has_category else {CATEGORY.name: NO_CATEGORY}
    if table.rubric == FINERADSCORE:
        table.lacks = {**table.lacks, EDIT: NO_EDIT}
    elif not has_matched:
        table.lacks = {**table.lacks, MATCHED: NO_MATCHED}
    return table


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a row says: `count` errors, or matched findings, of a category and a level."""

    place: str
    category: str | None
    level: str | None
    count: int
    text: str
    is_counted: bool

    @property
    def is_nothing(self) -> bool:
        return self.count == 0 and self.category is None and self.level is None


def _rubric(file: File, levels: Sequence[str]) -> RubricName:
    """Return the rubric whose levels most rows have."""
    n_severities = sum(severity_of(level) is not None for level in levels)
    is_green = file.has("significant") or 2 * n_severities < len(levels)
    return GREEN if is_green else FINERADSCORE


def _keep_fields(values: dict[str, object], row: Row) -> None:
    for name, text in row.items():
        if name not in _TIDY and text is not None and values.setdefault(name, text) != text:
            raise FaultError(f"{name} differs from an earlier row")


def _entry(file: File, place: str, row: Row, rubric: str) -> _Entry:
    """Return what a row says."""
    is_green, has_count = rubric == GREEN, file.has("count")
    count, level = 1, None
    if has_count and (row["count"] or not row["text"]):
        count = needed_count(row, "count")
    category = _category(row)
    named = "significant" if file.has("significant") else "level"
    if row[named] is not None:
        severity = None if is_green else severity_of(row[named])
        if not is_green and severity is None:
            raise FaultError(f"level is {row[named]!r}, none of 1 (not actionable) to 4")
        level = choice(row, named, SIGNIFICANCE) if is_green else f"severity{severity}"
    if row["text"] is not None and count != 1:
        raise FaultError(f"count is {count} beside a text; write a row for each error")
    if category == MATCHED and (level is not None or not is_green):
        raise FaultError("a matched finding is GREEN's and has no level")
    if category != MATCHED and level is None and (count or category is not None):
        raise FaultError(f"{named} is blank")
    text = row["text"] or ""
    return _Entry(place, category, level, count, text, has_count and not text)


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


def _check(of_study: Sequence[_Entry], *, has_category: bool, has_matched: bool) -> None:
    """Raise for rows of a study that contradict each other."""
    seen: dict[tuple[object, ...], str] = {}
    forms: dict[tuple[object, ...], bool] = {}
    nothing = next((entry.place for entry in of_study if entry.is_nothing), None)
    for entry in of_study:
        kind = (entry.category, entry.level)
        if nothing and entry.count and entry.category != MATCHED:
            raise FaultError(f"{entry.place} has an error where {nothing} says that there is none")
        if has_category and entry.category is None and not entry.is_nothing:
            raise FaultError(f"{entry.place}: category is blank where other rows have one")
        if entry.text or entry.is_counted:
            first = seen.setdefault((*kind, entry.text), entry.place)
            if first != entry.place:
                raise FaultError(f"{entry.place} repeats {first}")
            if forms.setdefault(kind, entry.is_counted) != entry.is_counted:
                raise FaultError(f"{entry.place}: its errors are both listed and counted")
    if has_matched and all(entry.category != MATCHED for entry in of_study):
        raise FaultError("no row of matched findings, as other studies have")


def is_tidy(file: File) -> bool:
    """Return whether a file has the columns of this layout."""
    return file.has("study_id", "reader") and (file.has("level") or file.has("significant"))
