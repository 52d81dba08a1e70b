"""A file of studies as columns, whatever its form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from judge.studies.names import ROW, listed, matching, named, plain
from judge.types import JudgeError

_MOST_FIELDS = 1_000
IdKind = Literal["number", "text", "untyped"]


@dataclass(frozen=True, slots=True)
class StudyTable:
    """One file: ids as text with the type they had, and columns of equal length.

    A missing value (absent, null, NaN) is None. `columns` doesn't hold the ids. `id_field` is
    the field that they are from; `is_numbered` says that there was none, and that they number
    the records from 1. `notes` say what was odd about the file.
    """

    name: str
    ids: tuple[str, ...]
    id_kinds: tuple[IdKind, ...]
    columns: Mapping[str, list[object]]
    notes: tuple[str, ...] = ()
    id_field: str | None = None
    is_numbered: bool = False

    def __len__(self) -> int:
        return len(self.ids)


def check_width(name: str, fields: int) -> None:
    """Raise `JudgeError` where a file has more fields than a table of studies can."""
    if fields > _MOST_FIELDS:
        raise JudgeError(
            f"{name} has {fields:,} fields or more, and a file of studies at most "
            f"{_MOST_FIELDS:,}; keep those that you group by"
        )


def to_columns(name: str, records: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    """Turn records into columns of equal length, None where a record has no such field.

    Raises `JudgeError` where the records of the file `name` have too many fields.
    """
    columns: dict[str, list[object]] = {}
    count = 0
    for record in records:
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column.extend([None] * (count - len(column)))
            column.append(cleaned(value))
        count += 1
        check_width(name, len(columns))
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


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise `JudgeError` where two columns have one name, or there are too many."""
    check_width(name, len(columns))
    if repeated := sorted(column for column, n in Counter(columns).items() if n > 1):
        raise JudgeError(f"{name} has columns of the same name: {listed(repeated)}; rename them")


def to_table(
    name: str,
    columns: dict[str, list[object]],
    *,
    typed: bool = True,
    id_field: str | None = None,
    fallback: str | None = None,
    notes: tuple[str, ...] = (),
) -> StudyTable:
    """Make a table of columns, of which one is taken out to be the ids.

    `typed` says that the ids have the types of their values; `fallback` is the column to take
    where none has a known name. Records are numbered where there is none either, or where
    `id_field` is `ROW` and no column is called so. Raises `JudgeError` where a record has no id
    and where there is no record.
    """
    n = len(next(iter(columns.values()), ()))
    if not n:
        raise JudgeError(f"{name} holds no study: it has no rows")
    column = _id_column(name, columns, id_field, fallback)
    if column is None:
        numbers = tuple(str(number) for number in range(1, n + 1))
        untyped: tuple[IdKind, ...] = tuple("untyped" for _ in numbers)
        return StudyTable(name, numbers, untyped, columns, notes, is_numbered=True)
    values = columns.pop(column)
    found = [id_of(value) for value in values]
    if None in found:
        row = found.index(None)
        what = "no value" if values[row] in (None, "") else repr(values[row])[:40]
        raise JudgeError(
            f"{name}: record {row + 1} of {len(values)} has {what} in {column!r}; "
            "every record needs an id, a text or a number"
        )
    ids = [one for one in found if one is not None]
    kinds = tuple(kind if typed else "untyped" for _, kind in ids)
    return StudyTable(name, tuple(text for text, _ in ids), kinds, columns, notes, column)


def _id_column(
    name: str, columns: Mapping[str, list[object]], id_field: str | None, fallback: str | None
) -> str | None:
    found = matching(columns, "id") if id_field is None else named(columns, id_field)
    if found:
        return _unambiguous(name, found, columns)
    if id_field is None:
        return fallback if fallback in columns else None
    if id_field != ROW:
        raise JudgeError(
            f"{name} has no field {id_field!r}, for the id; its fields are: {listed(columns)}"
        )
    return None


def _unambiguous(name: str, found: list[str], columns: Mapping[str, list[object]]) -> str:
    same = [column for column in found if plain(column) == plain(found[0])]
    if any(columns[column] != columns[same[0]] for column in same):
        raise JudgeError(f"{name} has the ids twice, and they differ: {listed(same)}; keep one")
    return same[0]
