"""Reads the sheet of a workbook of Excel (.xlsx), by openpyxl (the extra `excel`)."""

from __future__ import annotations

import io
import zipfile
from datetime import date, datetime, time
from typing import Any

from judge import plugins
from judge.studies.json_layouts import Columns
from judge.types import JudgeError

_ZIP = b"PK\x03\x04"
_CONTENT = "xl/workbook.xml"


def is_workbook(data: bytes) -> bool:
    """Return whether a file is an .xlsx, whatever its name."""
    if not data.startswith(_ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _CONTENT in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def read(name: str, data: bytes, most: int) -> Columns:
    """Return the columns of the one sheet that holds a table; its first row has their names.

    Raises `JudgeError` for a damaged workbook, one that unpacks to more than `most` bytes, several
    tables, and where openpyxl is missing.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise JudgeError(
            f"{name} is a workbook of Excel, which openpyxl reads: "
            f"{plugins.install('openpyxl')}; or save it as CSV"
        ) from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            n_bytes = sum(entry.file_size for entry in archive.infolist())
        if n_bytes > most:
            raise JudgeError(f"{name} unpacks to more than {most / 1e9:g} GB; split it")
        workbook = openpyxl.load_workbook(
            io.BytesIO(data), read_only=True, data_only=True
        )
        sheets = {}
        for sheet in workbook.worksheets:
            sheets[sheet.title] = list(map(list, sheet.iter_rows(values_only=True)))
    # openpyxl raises what its parsers and its own checks raise.
    except (
        zipfile.BadZipFile,
        AttributeError,
        EOFError,
        IndexError,
        KeyError,
        OSError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise JudgeError(
            f"{name} is a damaged workbook of Excel; save it again"
        ) from error
    filled = {title: _without_blanks(rows) for title, rows in sheets.items()}
    tables = {title: rows for title, rows in filled.items() if len(rows) > 1}
    if len(tables) > 1:
        raise JudgeError(
            f"{name} has several sheets with rows ({', '.join(tables)}); save the one with the "
            "reports as a file of its own"
        )
    if not tables:
        raise JudgeError(f"{name} holds no study")
    (rows,) = tables.values()
    return _columns(name, rows)


def _without_blanks(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the rows that hold something, without the blank cells to their right."""
    kept: list[list[Any]] = []
    width = 0
    for row in rows:
        filled = [at for at, cell in enumerate(row, 1) if cell not in (None, "")]
        if filled:
            kept.append(row)
            width = max(width, filled[-1])
    # Rows may differ in length.
    return [row[:width] + [None] * (width - len(row)) for row in kept]


def _columns(name: str, rows: list[list[Any]]) -> Columns:
    header, *records = rows
    names = []
    for number, cell in enumerate(header, 1):
        title = ""
        if cell is not None:
            title = str(_plain(cell)).strip()
        names.append(title or f"column_{number}")
    repeated = sorted({title for title in names if names.count(title) > 1})
    if repeated:
        raise JudgeError(
            f"{name} has two columns named {', '.join(repeated)}; rename one"
        )
    columns: Columns = {}
    for at, title in enumerate(names):
        columns[title] = [_plain(row[at]) for row in records]
    return columns


def _plain(cell: Any) -> Any:  # noqa: ANN401
    """Return a cell as text, number or None; dates as ISO 8601 writes them."""
    if isinstance(cell, datetime):
        if cell.time() == time():
            return cell.date().isoformat()
        return cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if cell is None or isinstance(cell, str | int | float):
        return cell
    return str(cell)
