"""Tables for programs: CSV, a DataFrame, and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.tables.document import Document, Estimate, Table

if TYPE_CHECKING:
    import pandas as pd


def as_json(data: object) -> str:
    """Return `data` as indented JSON; NaN raises ValueError."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def as_csv(document: Document, name: str = "") -> str:
    """Return the tables of one name as CSV, unrounded, by default the first."""
    columns, rows = _columns(document, name)
    return rows_as_csv(rows, columns)


def rows_as_csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV; without `columns` those of the first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def as_frame(document: Document, name: str = "") -> pd.DataFrame:
    """Return the same as a DataFrame."""
    import pandas as pd

    columns, rows = _columns(document, name)
    return pd.DataFrame(rows, columns=columns)


def _columns(document: Document, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and the rows of all tables of a name, the signatures in each row.

    A figure `x` has its interval, counts and reason in `x_low`, `x_high`, `x_k`, `x_n`, `x_why`.
    """
    name = name or next(iter(document.names), "")
    signatures = {
        label if label == "signature" else f"{label}_signature": line
        for label, line in document.signatures
        if label != "reader"
    }
    columns: dict[str, None] = {}
    rows = []
    for table in document.tables if not name else document.only([name]).tables:
        names, cells = _flat(table)
        columns |= dict.fromkeys(names)
        rows += [dict(zip(names, row, strict=True)) | signatures for row in cells]
    return [*columns, *signatures], rows


def _flat(table: Table) -> tuple[list[str], Iterator[list[Any]]]:
    names: list[str] = []
    parts: list[tuple[int, str]] = []
    for index, column in enumerate(table.columns):
        names.append(column.name)
        parts.append((index, "value"))
        estimates = [row[index] for row in table.rows if isinstance(row[index], Estimate)]
        for part in ("low", "high", "k", "n", "why"):
            if any(getattr(estimate, part) not in (None, "") for estimate in estimates):
                names.append(f"{column.name}_{part}")
                parts.append((index, part))

    def value(row: tuple[Any, ...], index: int, part: str) -> Any:  # noqa: ANN401
        cell = row[index]
        if isinstance(cell, Estimate):
            return getattr(cell, part)
        return cell if part == "value" else None

    return names, ([value(row, *place) for place in parts] for row in table.rows)
