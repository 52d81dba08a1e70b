"""CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from judge.studies.names import ROW, NamedFields, matching, plain
from judge.studies.table import StudyTable, check_names, cleaned, to_table
from judge.types import JudgeError

_DELIMITERS = (",", "\t", ";")
_UNNAMED = "column_{}"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def has_header(text: str, fields: NamedFields) -> bool:
    """Whether the first line has names that tell a table of studies: for the id and for reports."""
    headers = [_header(text, delimiter) for delimiter in _DELIMITERS]
    return any(
        _names_id(header, fields.id) or (len(header) > 1 and fields.names_report(header))
        for header in headers
    )


def read_delimited(
    name: str, text: str, fields: NamedFields, *, is_table: bool = False
) -> StudyTable:
    """Read CSV or TSV with a header; the delimiter (comma, tab, semicolon) is that of the header.

    Cells have no types: ids match numbers and texts alike, and a cell that holds only
    `NaN` or `nan` is missing, as pandas and numpy write it. An empty cell is an empty text.
    `is_table` says that the file's name promises one, whatever its columns are called. Raises
    `JudgeError` with the line where a row is ragged or its quotes are broken.
    """
    delimiter = max(_DELIMITERS, key=lambda one: _rank(_header(text, one), fields))
    header = _header(text, delimiter)
    # pandas writes an index without a name as a first column without one.
    fallback = _UNNAMED.format(1)
    is_known = _names_id(header, fields.id) or fields.names_report(header) or fallback in header
    all_named = len(header) > 1 and not any(cell.startswith("column_") for cell in header)
    if not (is_known or (is_table and all_named)):
        raise JudgeError(
            f"{name} is neither JSON nor a table of studies: its first line is "
            f"{text.lstrip()[:60].splitlines()[0]!r}; expected JSON, CSV or TSV with a header "
            "that names its fields (--id-field, --candidate-field and --reference-field say which "
            "is which), or a file called .txt with a report a line"
        )
    check_names(name, header)
    columns = _read_columns(name, text, delimiter, header)
    return to_table(name, columns, typed=False, id_field=fields.id, fallback=fallback)


def _lines(text: str) -> Iterator[str]:
    return (match.group() for match in _LINE.finditer(text))


def _rank(header: list[str], fields: NamedFields) -> tuple[bool, bool, int]:
    return _names_id(header, fields.id), fields.names_report(header), len(header)


def _names_id(header: list[str], id_field: str | None) -> bool:
    if id_field not in (None, ROW):
        return plain(str(id_field)) in map(plain, header)
    return bool(matching(header, "id"))


def _header(text: str, delimiter: str) -> list[str]:
    try:
        first = next(filter(any, csv.reader(_lines(text), delimiter=delimiter)), [])
    except csv.Error:
        return []
    return [cell.strip() or _UNNAMED.format(at) for at, cell in enumerate(first, start=1)]


def _read_columns(
    name: str, text: str, delimiter: str, header: list[str]
) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {column: [] for column in header}
    for _, row in read_rows(name, text, delimiter, len(header)):
        for column, cell in zip(header, row, strict=True):
            columns[column].append(cell)
    return columns


def read_rows(
    name: str, text: str, delimiter: str, width: int
) -> Iterator[tuple[int, list[object]]]:
    """Yield the rows below the header, each of as many cells as that has, with their numbers.

    Rows count from 1, as a spreadsheet numbers them; those without a text are left out. Raises
    `JudgeError` with the line where a row is ragged or its quotes are broken.
    """
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    # The module refuses cells over 131,072 characters unless told otherwise, for all its users.
    limit = csv.field_size_limit(len(text) + 1)
    try:
        filled = ((number, row) for number, row in enumerate(rows, start=1) if any(row))
        next(filled)
        for number, row in filled:
            if len(row) != width:
                raise JudgeError(
                    f"{name}: the row that ends in line {rows.line_num} has {len(row)} cells, "
                    f"the header {width}; quote texts that hold the delimiter or a line break"
                )
            yield number, [None if cell in ("NaN", "nan") else cleaned(cell) for cell in row]
    except csv.Error as error:
        raise JudgeError(
            f"{name} is not a readable CSV or TSV file: {error} in line {rows.line_num}"
        ) from error
    finally:
        csv.field_size_limit(limit)


def header_of(text: str) -> tuple[list[str], str]:
    """Return the names in the first line and the delimiter that makes the most of them."""
    headers = {delimiter: _header(text, delimiter) for delimiter in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda one: len(headers[one]))
    return headers[delimiter], delimiter
