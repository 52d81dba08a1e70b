"""The fields that are kept beside each study, and its class and patient where one gives them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence

from judge.studies.names import FIELD_NAMES, is_reserved, matching, plain, the_field

Columns = Mapping[str, Sequence[object]]
Classes = tuple[str | None, ...]

_INT64 = 2**63
_WORDS = ("normal", "abnormal")
_YES = ("true", "yes", "y", "1")
_NO = ("false", "no", "n", "0")
_STUDY_CLASS = plain(FIELD_NAMES["study class"][0])


def merge(refs: Columns, preds: Columns) -> dict[str, tuple[object, ...]]:
    """Merge the fields of both sides, one value a study.

    A field that both have is one where they agree or PREDS says nothing; else that of
    PREDS is kept as `candidate_<name>`.
    """
    merged = {name: tidy_column(column) for name, column in refs.items()}
    for name, raw in preds.items():
        column = tidy_column(raw)
        if name not in merged:
            merged[name] = column
        elif not _agree(merged[name], column):
            merged[free_name(f"candidate_{name}", {*merged, *preds})] = column
    return merged


def renamed(fields: Columns, further: Collection[str] = ()) -> dict[str, tuple[object, ...]]:
    """Return the fields, those that would hide a column of the table as `field_<name>`."""
    kept: dict[str, tuple[object, ...]] = {}
    for name, column in fields.items():
        free = free_name(f"field_{name}", {*fields, *kept}) if is_reserved(name, further) else name
        kept[free] = tuple(column)
    return kept


def tidy_column(values: Sequence[object]) -> tuple[object, ...]:
    """Return a column of one type, None where a value is missing or empty.

    Nested values become compact JSON; whole numbers beside fractions become fractions;
    other mixtures become texts.
    """
    tidy = [_tidy(value) for value in values]
    kinds = {type(value) for value in tidy if value is not None}
    if len(kinds) < 2:
        return tuple(tidy)
    if kinds == {int, float}:
        return tuple(None if value is None else float(str(value)) for value in tidy)
    return tuple(None if value is None else as_text(value) for value in tidy)


def as_text(value: object) -> str:
    """Return a value as text: true and false in lower case, a whole fraction as a whole number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _tidy(value: object) -> object:
    match value:
        case None | bool():
            return value
        case int():
            return value if -_INT64 <= value < _INT64 else str(value)
        case float():
            return None if math.isnan(value) else value if math.isfinite(value) else str(value)
        case str():
            return value.replace("\r\n", "\n").replace("\r", "\n").strip() or None
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        case _:
            return str(value)


def _agree(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    return all(
        b is None or (a is not None and as_text(a) == as_text(b))
        for a, b in zip(ours, theirs, strict=True)
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, ... that isn't taken."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free


def find_classes(
    fields: Columns, n_studies: int, class_field: str | None
) -> tuple[Classes, str | None]:
    """Return each study's class, None where it isn't known, and the field that gave it.

    `class_field` may hold any values. Without one, `study_class` may too, in lower case;
    the other likely names count only where their values say normal or abnormal. Raises
    `JudgeError` where there is no field `class_field`.
    """
    if class_field is not None:
        name = the_field(fields, class_field, "--class-field")
        answers = _answers(name, fields[name])
        return answers or tuple(map(_class_of, fields[name])), name
    for name in matching(fields, "study class"):
        words = [None if value is None else as_text(value).lower() for value in fields[name]]
        known = set(filter(None, words))
        if known and (plain(name) == _STUDY_CLASS or known <= set(_WORDS)):
            return tuple(words), name
    for name in matching(fields, "study class, true or false"):
        if (answers := _answers(name, fields[name])) is not None:
            return answers, name
    return (None,) * n_studies, None


def without_class(
    fields: Mapping[str, tuple[object, ...]], class_field: str | None
) -> dict[str, tuple[object, ...]]:
    """Return the fields without `study_class` where it is the study class, or says nothing."""
    return {
        name: column
        for name, column in fields.items()
        if plain(name) != _STUDY_CLASS or not (name == class_field or set(column) == {None})
    }


def with_patient(
    fields: Mapping[str, tuple[object, ...]], wanted: str | None
) -> tuple[dict[str, tuple[object, ...]], str | None]:
    """Return the fields, the user's field of the patient called `patient`, and what it was called.

    Raises `JudgeError` where there is no field `wanted`.
    """
    known = FIELD_NAMES["patient"]
    usual = next((name for name in known if name in fields), None)
    if wanted is None:
        return dict(fields), usual
    name = the_field(fields, wanted, "--patient-field")
    if name == usual:  # as it is, it is the one that is taken
        return dict(fields), name
    kept = {}
    for key, column in fields.items():
        other = free_name(f"field_{key}", fields) if key == known[0] else key
        kept[known[0] if key == name else other] = column
    return kept, name


def _class_of(value: object) -> str | None:
    text = None if value is None else as_text(value)
    return text.lower() if text and text.lower() in _WORDS else text


def _answers(name: str, values: Sequence[object]) -> Classes | None:
    """Return classes from answers to `abnormal?` or `normal?`; None where they are not that."""
    if not matching([name], "study class, true or false"):
        return None
    yes, no = _WORDS[::-1] if "abnormal" in plain(name) else _WORDS
    words = {None: None} | dict.fromkeys(_YES, yes) | dict.fromkeys(_NO, no)
    texts = [None if value is None else as_text(value).lower() for value in values]
    if not any(texts) or any(text not in words for text in texts):
        return None
    return tuple(words[text] for text in texts)
