"""A file of studies as columns, whatever its form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from judge.studies.names import FIELD_NAMES, listed, matching, plain
from judge.types import JudgeError

IdKind = Literal["number", "text", "untyped"]


@dataclass(frozen=True, slots=True)
class Table:
    """One file: ids as text with the type they had, and columns of equal length.

    A missing value (absent, null, NaN) is None. `columns` doesn't hold the ids. `notes`
    say what was odd about the file.
    """

    name: str
    ids: tuple[str, ...]
    id_kinds: tuple[IdKind, ...]
    columns: Mapping[str, list[object]]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def to_columns(records: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    """Turn records into columns of equal length, None where a record has no such field."""
    columns: dict[str, list[object]] = {}
    count = 0
    for record in records:
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column.extend([None] * (count - len(column)))
            column.append(cleaned(value))
        count += 1
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return {encodable(key): column for key, column in columns.items()}


def cleaned(value: object) -> object:
    """Return a value with NaN as None and without lone halves of surrogate pairs."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, str):
        return encodable(value)
    return value


def encodable(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, which JSON can escape and no file hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def id_of(value: object) -> tuple[str, IdKind] | None:
    """Return an id as text with its type, or None where the value can't be an id.

    17.0 is 17: a column of whole numbers with a gap becomes one of floats.
    """
    if isinstance(value, str):
        return (encodable(value), "text") if value.strip() else None
    if isinstance(value, float) and math.isfinite(value):
        return (str(int(value)) if value.is_integer() else repr(value)), "number"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), "number"
    return None


def take_ids(
    name: str,
    columns: dict[str, list[object]],
    *,
    typed: bool,
    id_field: str | None,
    fallback: str | None = None,
) -> tuple[tuple[str, ...], tuple[IdKind, ...]]:
    """Take the id column out of `columns` and return the ids with the types they had.

    `fallback` is the column to take where none has a known name. Raises `JudgeError` where
    no column can be the id, or a record has none.
    """
    column = _id_column(name, columns, id_field, fallback)
    values = columns.pop(column)
    ids: list[str] = []
    kinds: list[IdKind] = []
    for number, value in enumerate(values, start=1):
        found = id_of(value)
        if found is None:
            what = "no value" if value is None or value == "" else repr(value)[:40]
            raise JudgeError(
                f"{name}: record {number} of {len(values)} has {what} in {column!r}; "
                "every record needs an id, a text or a number"
            )
        ids.append(found[0])
        kinds.append(found[1] if typed else "untyped")
    return tuple(ids), tuple(kinds)


def _id_column(
    name: str, columns: Mapping[str, list[object]], id_field: str | None, fallback: str | None
) -> str:
    """Return the name of the column that holds the ids."""
    if id_field is not None:
        found = [column for column in columns if column == id_field] or [
            column for column in columns if plain(column) == plain(id_field)
        ]
    else:
        found = matching(columns, "id")
    if found:
        return _unambiguous(name, found, columns)
    if id_field is None and fallback in columns:
        return str(fallback)
    wanted = f"called {id_field!r}" if id_field else f"for the id ({listed(FIELD_NAMES['id'])})"
    raise JudgeError(
        f"{name} has no field {wanted}; its fields are: {listed(columns)}; "
        "name the one that holds the id with --id-field"
    )


def _unambiguous(name: str, found: list[str], columns: Mapping[str, list[object]]) -> str:
    """Return the likeliest of the columns found, unless its name is there twice and they differ."""
    same = [column for column in found if plain(column) == plain(found[0])]
    if any(columns[column] != columns[same[0]] for column in same):
        raise JudgeError(f"{name} has the ids twice, and they differ: {listed(same)}; keep one")
    return same[0]
