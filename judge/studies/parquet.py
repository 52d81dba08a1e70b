"""Parquet."""

from __future__ import annotations

from judge.studies.table import StudyTable, check_names, cleaned, to_table
from judge.types import JudgeError

MAGIC = b"PAR1"

INDEX = "__index_level_0__"
"""What pandas calls an index without a name."""


def read_parquet(name: str, data: bytes, id_field: str | None) -> StudyTable:
    """Read a Parquet file; raises `JudgeError` where it is broken or holds no study."""
    return to_table(name, parquet_columns(name, data), id_field=id_field, fallback=INDEX)


def parquet_columns(name: str, data: bytes) -> dict[str, list[object]]:
    """Return the columns of a Parquet file by name; raises `JudgeError` where it is broken."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        check_names(name, file.schema_arrow.names)
        table = file.read()
        values = {column: table[column].to_pylist() for column in table.column_names}
    except OverflowError as error:
        raise JudgeError(f"{name} holds a time that is out of range: {error}") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        # A text that isn't UTF-8 shows only here, as a ValueError.
        raise JudgeError(f"{name} is a broken Parquet file: {error}") from error
    return {column: [cleaned(_text(value)) for value in found] for column, found in values.items()}


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
