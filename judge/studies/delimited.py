"""CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from judge.studies.names import FIELD_NAMES, listed, matching, plain
from judge.studies.table import StudyTable, check_names, cleaned, to_table
from judge.types import JudgeError

_DELIMITERS = (",", "\t", ";")
_UNNAMED = "column_{}"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def header_has_id(text: str, id_field: str | None) -> bool:
    """Whether the first line names a column for the id."""
    return any(_names_id(_header(text, delimiter), id_field) for delimiter in _DELIMITERS)


def read_delimited(name: str, text: str, *, id_field: str | None) -> StudyTable:
    """Read CSV or TSV with a header; the delimiter (comma, tab, semicolon) is that of the header.

    Cells have no types: ids match numbers and texts alike, and a cell that holds only
    `NaN` or `nan` is missing, as pandas and numpy write it. An empty cell is an empty text.
    Raises `JudgeError` with the line where a row is ragged or its quotes are broken.
    """
    delimiter = max(_DELIMITERS, key=lambda one: _rank(_header(text, one), id_field))
    header = _header(text, delimiter)
    # pandas writes an index without a name as a first column without one.
    fallback = _UNNAMED.format(1)
    if not (_names_id(header, id_field) or fallback in header):
        raise JudgeError(
            f"{name} is neither JSON nor a table of studies: its first line is "
            f"{text.lstrip()[:60].splitlines()[0]!r}; expected JSON, or CSV or TSV with a header "
            f"that names the id ({id_field or listed(FIELD_NAMES['id']) + ', or --id-field'})"
        )
    check_names(name, header)
    columns = _read_columns(name, text, delimiter, header)
    return to_table(name, columns, typed=False, id_field=id_field, fallback=fallback)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines with their ends, one at a time: a `StringIO` takes four bytes a character."""
    return (match.group() for match in _LINE.finditer(text))


def _rank(header: list[str], id_field: str | None) -> tuple[bool, int]:
    """Order the headers that the delimiters make: one that names an id, then the longest."""
    return _names_id(header, id_field), len(header)


def _names_id(header: list[str], id_field: str | None) -> bool:
    if id_field is not None:
        return plain(id_field) in map(plain, header)
    return bool(matching(header, "id"))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the names in the first line; empty where it can't be read."""
    try:
        first = next(filter(any, csv.reader(_lines(text), delimiter=delimiter)), [])
    except csv.Error:
        return []
    return [cell.strip() or _UNNAMED.format(at) for at, cell in enumerate(first, start=1)]


def _read_columns(
    name: str, text: str, delimiter: str, header: list[str]
) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {column: [] for column in header}
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    # The module refuses cells over 131,072 characters unless told otherwise, for all its users.
    limit = csv.field_size_limit(len(text) + 1)
    try:
        filled = filter(any, rows)
        next(filled)
        for row in filled:
            if len(row) != len(header):
                raise JudgeError(
                    f"{name}: the row that ends in line {rows.line_num} has {len(row)} cells, "
                    f"the header {len(header)}; quote texts that hold the delimiter or a line break"
                )
            for column, cell in zip(header, row, strict=True):
                columns[column].append(None if cell in ("NaN", "nan") else cleaned(cell))
    except csv.Error as error:
        raise JudgeError(
            f"{name} is not a readable CSV or TSV file: {error} in line {rows.line_num}"
        ) from error
    finally:
        csv.field_size_limit(limit)
    return columns
