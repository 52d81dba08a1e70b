"""The layout of our own: a row an error, or a row a count, by study and reader."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from judge.readers.readings import (
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    PATIENT,
    Readings,
    RubricName,
    Studies,
    an_error,
    blank,
)
from judge.readers.sheet import Row, Sheet
from judge.rubrics.categories import CATEGORY
from judge.rubrics.category_names import category_of
from judge.rubrics.fineradscore.wording import severity_of
from judge.rubrics.green.layout import MATCHED, matched_finding
from judge.rubrics.reading import EDIT, own_name
from judge.rubrics.significance import INSIGNIFICANT, SIGNIFICANT
from judge.studies.load import check_names
from judge.studies.names import plain
from judge.types import Annotated, Annotation, Item, JudgeError, Unparsed

_OURS = (
    *("study_id", "reader", "category", "level", "significant", "count", "text", "reference"),
    *("candidate", "model", "study_class", PATIENT),
)
_SIGNIFICANCE = {
    **dict.fromkeys(("significant", "clinicallysignificant"), SIGNIFICANT),
    **dict.fromkeys(("insignificant", "clinicallyinsignificant"), INSIGNIFICANT),
}
_YES = {
    **_SIGNIFICANCE,
    **dict.fromkeys(("true", "yes", "y", "1"), SIGNIFICANT),
    **dict.fromkeys(("false", "no", "n", "0"), INSIGNIFICANT),
}
_UNNAMED = re.compile(r"column_[0-9]+|__index_level_[0-9]+__")
"""A column without a name, as pandas writes the numbers of rows."""
_MATCHED = ("matched", "matchedfinding", "matchedfindings")


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a row says: `n` errors, or matched findings, of a category and a level."""

    row: Row
    category: str | None
    level: str | None
    n: int | None
    text: str

    @property
    def is_nothing(self) -> bool:
        return self.n == 0 and self.category is None and self.level is None


def fits(sheet: Sheet) -> bool:
    """Whether a file is of this layout."""
    return sheet.has("study_id", "reader") and (sheet.has("level") or sheet.has("significant"))


def read(sheet: Sheet) -> Readings:
    """Return the readings in a file; raises `JudgeError` for the first row that is wrong."""
    if not fits(sheet):
        raise JudgeError(
            f"{sheet.name} is no tidy file: it needs the columns study_id, reader, and level or "
            f"significant; it has: {', '.join(sheet.head[:20])}"
        )
    known = {name: column for name in _OURS if (column := sheet.column(name))}
    if "level" in known and "significant" in known:
        raise JudgeError(f"{sheet.name} has both level and significant; keep one of them")
    rubric = _rubric(sheet, known)
    several = _several(sheet, known)
    others = [c for c in sheet.head if c not in known.values() and not _UNNAMED.fullmatch(c)]
    check_names(sheet.name, sheet.head)
    studies = Studies()
    entries: dict[tuple[str, str], list[_Entry]] = defaultdict(list)
    fields: dict[tuple[str, str], dict[str, object]] = defaultdict(dict)
    for row in sheet.rows():
        study, reader = row.needed(known["study_id"]), row.needed(known["reader"])
        told = {name: _cell(row, known, name) for name in ("model", "study_class", PATIENT)}
        study_id = study
        if study in several:
            if told["model"] is None:
                row.wrong(f"study {study!r} has several candidates, and model is blank here")
            study_id = f"{study}/{told['model']}"
            told[PATIENT] = told[PATIENT] or study
        texts = {side: _cell(row, known, side) for side in ("reference", "candidate")}
        studies.add(row, study_id, **texts, **told)
        key = (reader, study_id)
        for name in others:
            value = row.text(name)
            if value is not None and fields[key].setdefault(name, value) != value:
                row.wrong(
                    f"{name} of study {study_id!r} is {value!r} here and {fields[key][name]!r}"
                )
        entries[key].append(_entry(row, known, rubric))
    found = [entry for of_study in entries.values() for entry in of_study]
    has_category = any(entry.category for entry in found)
    has_matched = any(entry.category == MATCHED for entry in found)
    outcomes = {
        key: _outcome(
            of_study,
            rubric,
            has_category=has_category,
            has_matched=has_matched,
            has_count="count" in known,
        )
        for key, of_study in entries.items()
    }
    lacks = studies.lacking()
    lacks |= {} if has_category else {CATEGORY.name: NO_CATEGORY}
    if rubric == GREEN:
        lacks |= {} if has_matched else {MATCHED: NO_MATCHED}
    else:
        lacks |= {EDIT: NO_EDIT}
    codes = {label.name for label in CATEGORY.labels} | {MATCHED}
    own = dict.fromkeys(e.category for e in found if e.category and e.category not in codes)
    return Readings(
        rubric,
        studies.read(outcomes, fields),
        lacks,
        tuple(own),
        source=sheet.name if "candidate" in known else None,
    )


def _cell(row: Row, known: Mapping[str, str], name: str) -> str | None:
    return row.text(known[name]) if name in known else None


def _several(sheet: Sheet, known: Mapping[str, str]) -> set[str]:
    models: dict[str, set[str]] = defaultdict(set)
    if "model" in known:
        for row in sheet.rows():
            if (model := row.text(known["model"])) is not None:
                models[row.needed(known["study_id"])].add(model)
    return {study for study, names in models.items() if len(names) > 1}


def _rubric(sheet: Sheet, known: Mapping[str, str]) -> RubricName:
    """Return the rubric whose levels the file has; raises where a row has none of either."""
    if "significant" in known:
        return GREEN
    rows = [row for row in sheet.rows() if row.text(known["level"]) is not None]
    if all(plain(row.needed(known["level"])) in _SIGNIFICANCE for row in rows):
        return GREEN
    for row in rows:
        if severity_of(row.needed(known["level"])) is None:
            row.wrong(
                f"level is {row.needed(known['level'])[:40]!r}; the levels of a file are either "
                "significant and insignificant, or severities from 1 (not actionable) to 4 "
                "(emergent)"
            )
    return "fineradscore"


def _entry(row: Row, known: Mapping[str, str], rubric: RubricName) -> _Entry:
    category, level, text = (
        _category(row, known),
        _level(row, known, rubric),
        _cell(row, known, "text"),
    )
    n = row.count(known["count"]) if "count" in known else None
    if text is not None and n not in (None, 1):
        row.wrong(f"count is {n} beside a text; write a row for each error that has one")
    if category == MATCHED:
        if rubric != GREEN:
            row.wrong("matched findings are GREEN's; FineRadScore has none")
        if level is not None:
            row.wrong("a matched finding has no level")
    elif n == 0 and (category is None) != (level is None):
        row.wrong("a count of 0 needs category and level, or neither where nothing is wrong")
    if n is None and (text is not None or "count" not in known):
        n = 1
    if n and category is None and level is None and text is None:
        row.wrong("it says nothing; a study that was read and has no error has count 0")
    return _Entry(row, category, level, n, text or "")


def _category(row: Row, known: Mapping[str, str]) -> str | None:
    text = _cell(row, known, "category")
    if text is None:
        return None
    if plain(text) in _MATCHED:
        return MATCHED
    found = category_of(text)
    name = found.value if found else own_name(text)
    if name is None:
        row.wrong(f"category is {text[:40]!r}; there are a to f, or 1 to 6, or words of your own")
    return name


def _level(row: Row, known: Mapping[str, str], rubric: RubricName) -> str | None:
    if "significant" in known:
        return row.choice(known["significant"], _YES)
    text = row.text(known["level"])
    if text is None:
        return None
    if rubric == GREEN:
        return _SIGNIFICANCE[plain(text)]
    return f"severity{severity_of(text)}"


def _outcome(
    entries: list[_Entry],
    rubric: RubricName,
    *,
    has_category: bool,
    has_matched: bool,
    has_count: bool,
) -> Annotated | Unparsed:
    """Return what a reader said of a study; raises for rows that contradict each other."""
    seen: dict[tuple[str | None, str | None, str], _Entry] = {}
    items: list[Item] = []
    for one in entries:
        _fits(one, entries, has_category=has_category, has_count=has_count)
        twin = seen.setdefault((one.category, one.level, one.text), one)
        if twin is not one and (one.text or has_count):
            if twin.n != one.n:
                one.row.wrong(f"it says {one.n} where row {twin.row.number} says {twin.n}")
            one.row.wrong(f"it repeats row {twin.row.number}; leave one of them out")
        if one.category == MATCHED:
            items += [matched_finding(one.text)] * (one.n or 0)
        elif one.level is not None:
            items += [an_error(rubric, one.category, one.level, one.text)] * (one.n or 0)
    for one in entries:
        if one.n is None:
            return blank(f"row {one.row.number}: the count is blank")
        if one.level is None and one.category != MATCHED and not one.is_nothing:
            return blank(f"row {one.row.number}: the level is blank")
    if has_matched and not any(one.category == MATCHED for one in entries):
        entries[0].row.wrong(
            "other studies have a row of matched findings and this one has none; where none "
            "matched, write it with count 0"
        )
    return Annotated(Annotation(tuple(items)))


def _fits(one: _Entry, entries: list[_Entry], *, has_category: bool, has_count: bool) -> None:
    if one.is_nothing:
        for other in entries:
            if other.n and other.category != MATCHED:
                other.row.wrong(
                    f"it has an error where row {one.row.number} says that there is none"
                )
    elif has_category and one.category is None:
        one.row.wrong("category is blank where other rows have one")
    if one.text and has_count:
        same = [e for e in entries if (e.category, e.level) == (one.category, one.level)]
        for other in same:
            if not other.text:
                other.row.wrong(f"it counts errors that row {one.row.number} lists")
