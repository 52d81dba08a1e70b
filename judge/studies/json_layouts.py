"""The layouts of JSON files of reports: which value is a study, and which a column.

[{"study_id": "s1", "report": "..."}, ...]              a list of records
["...", "..."]                                           a list of texts
{"s1": {"report": "..."}, ...}   {"s1": "...", ...}      records or texts by study id
{"data": [{...}, ...], "version": 1}                     records under the only key with a list
{"study_id": "s1", "report": "..."}                      one record
{"study_id": {"0": "s1"}, "report": {"0": "..."}}        columns, as pandas' `to_json()` writes
{"study_id": ["s1"], "report": ["..."]}                  columns, as lists
{"columns": [...], "index": [...], "data": [[...]]}      pandas' orient="split"
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from judge.studies.columns import (
    FIELD_NAMES,
    REPORT_ROLES,
    TEXT,
    join_names,
    normalise_name,
)
from judge.types import JudgeError

KEYS = "the keys"
"""Where the ids of an object are from."""

INDEX = "__index_level_0__"
"""The column of an index without a name, as pandas calls it in Parquet."""

Columns = dict[str, list[Any]]


def _normal_names(*roles: str) -> set[str]:
    names: set[str] = set()
    for role in roles:
        names |= set(map(normalise_name, FIELD_NAMES[role]))
    return names


_REPORT_NAMES = _normal_names(*REPORT_ROLES)
_COLUMN_NAMES = _normal_names("id", *REPORT_ROLES)
# Keys that name a list of reports, and no study.
_WRAPPERS = {
    "annotations",
    "data",
    "examples",
    "instances",
    "items",
    "outputs",
    "predictions",
    "records",
    "reports",
    "results",
    "rows",
    "samples",
    "studies",
    "test",
}


def columns_of(
    name: str, value: object, named: Collection[str] = (), *, several: bool = False
) -> tuple[Columns, str]:
    """Return the columns of a JSON value, and the key that its records were below, if any.

    `named` are the fields that the user named; with `several` a study may have several references.
    Raises `JudgeError` for another shape.
    """
    if isinstance(value, Mapping):
        return _columns_of_object(name, value, named, several=several)
    if isinstance(value, list):
        return columns_of_list(name, value), ""
    raise JudgeError(
        f"{name} is JSON of the wrong shape: it is {_described(value)}; expected a list of "
        "records, or an object of study id to report"
    )


def columns_of_list(name: str, values: Sequence[Any], below: str = "") -> Columns:
    """Make columns of texts, or of records, whose fields need not be the same."""
    if not any(isinstance(value, Mapping) for value in values):
        _check_texts(name, values)
        return {TEXT: list(values)}
    for number, record in enumerate(values, 1):
        if not isinstance(record, Mapping):
            place = ""
            if below:
                place = f" of {below!r}"
            raise JudgeError(
                f"{name}: record {number}{place} is {_described(record)}, and others are objects "
                "of fields; write all records alike"
            )
    # The fields of all records, in the order in which they come.
    fields: dict[Any, None] = {}
    for record in values:
        fields |= dict.fromkeys(record)
    columns: Columns = {}
    for field in fields:
        columns[str(field)] = [record.get(field) for record in values]
    return columns


def _check_texts(name: str, values: Sequence[Any]) -> None:
    """Raise `JudgeError` for a list of numbers and the like."""
    for number, value in enumerate(values, 1):
        # NaN is not itself; pandas' NA is left for later.
        is_missing = value is None or value != value
        if isinstance(value, bool | int | float) and not is_missing:
            raise JudgeError(
                f"{name}: record {number} is {_described(value)}; expected a report, or an object "
                "of fields with a 'text' or another field of reports"
            )


def columns_of_keyed(name: str, entries: Mapping[Any, Any]) -> Columns:
    """Make columns of records or texts that are keyed by study id."""
    values = list(entries.values())
    has_records = any(isinstance(value, Mapping) for value in values)
    for key, record in entries.items():
        if has_records and not isinstance(record, Mapping):
            raise JudgeError(
                f"{name}: the record of {str(key)!r} is {_described(record)}, and others are "
                "objects of fields; write all records alike"
            )
    return {**columns_of_list(name, values), KEYS: list(entries)}


def _columns_of_object(
    name: str, entries: Mapping[Any, Any], named: Collection[str], *, several: bool
) -> tuple[Columns, str]:
    known = _COLUMN_NAMES | {normalise_name(field) for field in named}
    for read in (_one_record, _split_columns, _columns_by_row, _columns_as_lists):
        table = read(entries, known)
        if table is not None:
            return table, ""
    if _is_keyed(entries, several=several):
        return columns_of_keyed(name, entries), ""
    # An empty list holds no records.
    lists: dict[str, list[Any]] = {}
    for key, value in entries.items():
        if isinstance(value, list) and value:
            lists[str(key)] = value
    if len(lists) == 1:
        ((below, values),) = lists.items()
        return columns_of_list(name, values, below), below
    if len(entries) == 1:
        ((key, value),) = entries.items()
        if isinstance(value, Mapping):
            columns, inner = _columns_of_object(name, value, named, several=several)
            if inner:
                return columns, f"{key}.{inner}"
            return columns, str(key)
    keys = join_names(map(str, entries))
    if lists:
        raise JudgeError(
            f"{name} has the keys {keys}, with lists under {join_names(lists)}; save the list that "
            "holds the reports as a file of its own"
        )
    raise JudgeError(
        f"{name} has the keys {keys}, and reports under none of them; expected a list of records, "
        "or an object of study id to report"
    )


def _one_record(entries: Mapping[Any, Any], known: Collection[str]) -> Columns | None:
    """Return the columns of a single record, None for another shape."""
    names = [str(name) for name in entries if normalise_name(str(name)) in known]
    is_flat = not any(isinstance(value, Mapping | list) for value in entries.values())
    if len(names) < 2 or not is_flat or not _has_report(entries):
        return None
    return {str(name): [value] for name, value in entries.items()}


def _is_keyed(entries: Mapping[Any, Any], *, several: bool) -> bool:
    """Return whether the keys of an object are study ids.

    Below a study id stands a record, a text, or (`several`) a list of references.
    """
    values = [value for value in entries.values() if value is not None]
    records = [value for value in values if isinstance(value, Mapping)]
    texts = [value for value in values if isinstance(value, str)]
    lists = [value for value in values if isinstance(value, list)]
    if any(map(_has_records, lists)):
        return any(map(_has_report, records))
    if records:
        is_nested = len(entries) == 1 and not _has_report(records[0])
        if not is_nested:
            return True
        return not any(map(_has_records, records[0].values()))
    if not lists:
        return True
    keys_of_lists = [key for key, value in entries.items() if isinstance(value, list)]
    if any(map(_is_wrapper, keys_of_lists)):
        return False
    if len(texts) + len(lists) < len(values):
        return False  # numbers beside a list describe it; they are no reports
    # One key with several texts: a list of reports, unless a study may have several references.
    return several or len(entries) > 1 or len(lists[0]) == 1


def _has_records(value: Any) -> bool:  # noqa: ANN401
    """Return whether a value is a list in which a record is."""
    if not isinstance(value, list):
        return False
    return any(isinstance(record, Mapping) for record in value)


def _has_report(record: Mapping[Any, Any]) -> bool:
    return any(normalise_name(str(field)) in _REPORT_NAMES for field in record)


def _is_wrapper(key: object) -> bool:
    """Return whether a key is a name of reports or of records, in the singular or the plural."""
    name = normalise_name(str(key))
    return bool({name, name.removesuffix("s")} & (_REPORT_NAMES | _WRAPPERS))


def _columns_by_row(
    entries: Mapping[Any, Any], known: Collection[str]
) -> Columns | None:
    """Return the columns of pandas' `to_json()`: objects of row to value, None for another shape.

    It is told from records by study id by its names: those of columns stand outside.
    """
    columns = [value for value in entries.values() if isinstance(value, Mapping)]
    if not columns or len(columns) < len(entries):
        return None
    rows = list(columns[0])
    for column in columns:
        if {*column} != {*rows}:
            return None
        if any(isinstance(cell, Mapping) for cell in column.values()):
            return None
    is_numbered = list(map(str, rows)) == [str(row) for row in range(len(rows))]
    has_known = any(normalise_name(str(name)) in known for name in entries)
    has_fields = any(normalise_name(str(row)) in known for row in rows)
    if has_fields or not (has_known or (is_numbered and rows)):
        return None
    table = {}
    for name, column in entries.items():
        table[str(name)] = [column[row] for row in rows]
    if not is_numbered:
        table[INDEX] = rows
    return table


def _columns_as_lists(
    entries: Mapping[Any, Any], known: Collection[str]
) -> Columns | None:
    """Return columns that are written as lists of one length, None for another shape."""
    columns = {str(name): value for name, value in entries.items()}
    are_lists = all(isinstance(column, list) for column in columns.values())
    if not are_lists or len(columns) < 2:
        return None
    lengths = {len(column) for column in columns.values()}
    has_known = any(normalise_name(name) in known for name in columns)
    if not has_known or len(lengths) != 1:
        return None
    return columns


def _split_columns(
    entries: Mapping[Any, Any], _known: Collection[str]
) -> Columns | None:
    """Return the columns of pandas' orient="split", None for another shape."""
    if not {"columns", "data"} <= {*entries} <= {"columns", "data", "index"}:
        return None
    names = entries["columns"]
    rows = entries["data"]
    index = entries.get("index")
    if not isinstance(names, list) or not isinstance(rows, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    table = {}
    for at, name in enumerate(names):
        table[str(name)] = [row[at] for row in rows]
    if isinstance(index, list) and len(index) == len(rows):
        is_numbering = index == list(range(len(rows)))
        if not is_numbering:
            table[INDEX] = index
    return table


def _described(value: object) -> str:
    if isinstance(value, bool):
        return f"the value {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    return f"a {type(value).__name__}"
