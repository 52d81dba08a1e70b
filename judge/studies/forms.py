"""JSON in its forms: an object keyed by study id, a flat object, a list, JSONL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from judge import jsonio
from judge.studies.names import FALLBACK_ROLES, ROW, TEXT_ROLES, matching, plain
from judge.studies.table import IdKind, StudyTable, cleaned, encodable, id_of, to_columns, to_table
from judge.types import JudgeError

FLAT_TEXT = "text"
"""The column of a file that holds one unnamed text a study."""

_EXPECTED = (
    "expected an object keyed by study id, an object of id to text, a list of objects or of "
    "texts, or JSONL"
)


class _Object(dict[str, Any]):
    """A JSON object in which a key stands more than once; `pairs` has them all."""

    pairs: Sequence[tuple[str, Any]] = ()


def looks_like_json(text: str) -> bool:
    """Whether a text can only be meant as JSON or JSONL."""
    return text.lstrip()[:1] in ("{", "[")


def read_json(
    name: str, text: str, *, lines: bool, id_field: str | None, several: bool = False
) -> StudyTable:
    """Read JSON or JSONL; `lines` says that the file's name promises JSONL.

    Objects that follow one another are JSONL, whatever the name and wherever the lines
    break. Raises `JudgeError` with line and column where it isn't JSON, and with what was
    found where it is JSON of another shape.
    """
    values = _values(name, text)
    value = values[0]
    if len(values) > 1 or _is_record(value, id_field, lines=lines):
        return _from_records(name, values, id_field)
    if isinstance(value, list):
        return _from_records(name, value, id_field)
    if isinstance(value, dict):
        return _from_keyed(name, value, id_field, several=several)
    raise _wrong_shape(name, _what(value))


def read_object(name: str, text: str) -> dict[str, Any]:
    """Read JSON that is one object, and no studies; raises `JudgeError` as `read_json` does."""
    values = _values(name, text)
    if len(values) != 1 or not isinstance(values[0], dict):
        raise JudgeError(f"{name} is no JSON object")
    _check_record(name, "its object", values[0])
    return values[0]


def _values(name: str, text: str) -> list[Any]:
    try:
        return jsonio.values(text, _object)
    except jsonio.JsonError as error:
        raise JudgeError(f"{name} cannot be read as JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) == len(pairs):
        return unique
    repeated = _Object(unique)
    repeated.pairs = pairs
    return repeated


def _is_record(value: object, id_field: str | None, *, lines: bool) -> bool:
    if not isinstance(value, dict):
        return False
    named = id_field or next(iter(matching(value, "id")), None)
    if named not in value:
        return lines and not any(isinstance(entry, dict) for entry in value.values())
    if isinstance(value[named], dict | list):
        return False
    return lines or any(matching(value, role) for role in TEXT_ROLES + FALLBACK_ROLES)


def _from_records(name: str, records: Sequence[object], id_field: str | None) -> StudyTable:
    if records and all(record is None or isinstance(record, str) for record in records):
        return to_table(name, {FLAT_TEXT: [cleaned(text) for text in records]}, id_field=id_field)
    checked = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise _wrong_shape(name, f"record {number} is {_what(record)}")
        _check_record(name, f"record {number}", record)
        checked.append(record)
    if not checked:
        raise JudgeError(f"{name} holds no study: its list is empty")
    return to_table(name, to_columns(name, checked), id_field=id_field)


def _from_keyed(
    name: str, value: dict[str, Any], id_field: str | None, *, several: bool
) -> StudyTable:
    pairs = list(value.pairs if isinstance(value, _Object) else value.items())
    if not pairs:
        raise JudgeError(f"{name} holds no study: its object is empty")
    flat = not any(isinstance(entry, dict) for _, entry in pairs)
    records: list[Mapping[str, object]] = []
    for key, entry in pairs:
        if isinstance(entry, dict):
            _check_record(name, repr(key), entry)
            records.append(entry)
        elif _is_missing(entry) or (
            flat and (isinstance(entry, str) or (several and _is_texts(entry)))
        ):
            records.append({FLAT_TEXT: entry} if flat else {})
        else:
            if isinstance(entry, list) and any(isinstance(one, dict) for one in entry):
                raise _wrong_shape(name, f"its records stand under {key!r}; give that list alone")
            beside = "" if flat else " beside objects"
            beside += "; --references takes several of a study" if _is_texts(entry) else ""
            raise _wrong_shape(name, f"{key!r} holds {_what(entry)}{beside}")
    columns = to_columns(name, records)
    keys = tuple(encodable(key) for key, _ in pairs)
    if id_field == ROW and ROW not in columns:
        return to_table(name, columns, id_field=ROW)
    inner = id_field if id_field in columns else _id_beside_row_numbers(keys, columns)
    if inner is None or flat:
        kinds: tuple[IdKind, ...] = tuple("text" for _ in keys)
        for field in matching(columns, "id"):
            if tuple(map(id_of, columns[field])) == tuple(zip(keys, kinds, strict=True)):
                del columns[field]
        return StudyTable(name, keys, kinds, columns)
    note = f"{name}: its keys number the rows; the ids are those of {inner}"
    return to_table(name, columns, id_field=inner, notes=() if inner == id_field else (note,))


def _id_beside_row_numbers(keys: Sequence[str], columns: Mapping[str, list[object]]) -> str | None:
    """Return the id field of an object that is keyed by row number, as pandas writes it.

    Two such files would otherwise be joined by row.
    """
    if list(keys) != [str(row) for row in range(len(keys))]:
        return None
    found = [field for field in matching(columns, "id") if plain(field) in ("studyid", "id")]
    return found[0] if found and None not in columns[found[0]] else None


def _check_record(name: str, where: str, record: dict[str, Any]) -> None:
    inner: list[object] = [record]
    while inner:
        value = inner.pop()
        if isinstance(value, _Object):
            for key, entry in value.pairs:
                if entry != value[key]:
                    raise JudgeError(
                        f"{name}: {where} has {key!r} more than once, with different values; "
                        "keep one"
                    )
        if isinstance(value, dict | list):
            entries = value.values() if isinstance(value, dict) else value
            inner += [entry for entry in entries if isinstance(entry, dict | list)]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _wrong_shape(name: str, found: str) -> JudgeError:
    return JudgeError(f"{name} is JSON of the wrong shape: {found}; {_EXPECTED}")


def _what(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {value}"
        case str():
            return "a text"
        case _:
            return "a list"
