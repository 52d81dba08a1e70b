"""The fields that are kept beside each study."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence

from judge.studies.names import is_reserved

Columns = Mapping[str, Sequence[object]]

_INT64 = 2**63


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
