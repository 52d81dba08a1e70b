"""Parquet."""

from __future__ import annotations

from judge.studies.names import listed
from judge.studies.table import Table, cleaned, take_ids
from judge.types import JudgeError

MAGIC = b"PAR1"

_INDEX = "__index_level_0__"
"""What pandas calls an index without a name."""


def read_parquet(name: str, data: bytes, *, id_field: str | None) -> Table:
    """Read a Parquet file; raises `JudgeError` where it is broken or holds no study."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
        names = table.column_names
        values = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError) as error:
        # A text that isn't UTF-8 shows only here, as a ValueError.
        raise JudgeError(f"{name} is a broken Parquet file: {error}") from error
    repeated = sorted({column for column in names if names.count(column) > 1})
    if repeated:
        raise JudgeError(f"{name} has columns of the same name: {listed(repeated)}; rename them")
    columns: dict[str, list[object]] = {
        column: [cleaned(_text(value)) for value in column_values]
        for column, column_values in zip(names, values, strict=True)
    }
    ids, kinds = take_ids(name, columns, typed=True, id_field=id_field, fallback=_INDEX)
    if not ids:
        raise JudgeError(f"{name} holds no study: it has no rows")
    return Table(name, ids, kinds, columns)


def _text(value: object) -> object:
    """Return bytes, as which some writers store texts, as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
