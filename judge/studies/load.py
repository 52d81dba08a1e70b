"""Reads files and Python objects into a DataFrame: one row a record, indexed by study id.

The index has the name of the field of ids, None where records are numbered; `attrs` has the
`name` for messages and the `file`, if any.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import pandas as pd

from judge import jsonio
from judge.jsonio import replace_surrogates
from judge.studies.columns import (
    KNOWN_NAMES,
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    join_names,
)
from judge.studies.study_set import InputFile
from judge.types import JudgeError

STDIN = "-"
MAX_FIELDS = 1000
MAX_INPUT = 4 * 10**9
"""The most bytes that a file may unpack to."""
KEYS = "the keys"
"""Where the ids of an object are from."""

_INDEX = "__index_level_0__"
_PARQUET, _GZIP, _ZIP = b"PAR1", b"\x1f\x8b", b"PK\x03\x04"
_FORMS = "give JSON, JSON Lines, CSV or TSV with a header, or Parquet"

Columns = dict[str, list[Any]]


def load(source: str, role: str, fields: NamedFields = KNOWN_NAMES) -> pd.DataFrame:
    """Read a file, or standard input (`-`), for the role `preds`, `refs`, `both` or another."""
    name, data, digest = read_content(source)
    is_parquet = data.startswith(_PARQUET) or name.lower().endswith(".parquet")
    columns = _read_parquet(name, data) if is_parquet else _read_text(name, decode(name, data))
    option = "--metrics" if role == "metrics" else "--column id"
    frame = _by_id(name, columns, fields.id, first=1, option=option)
    frame.attrs["file"] = InputFile(source, role, digest, len(frame))
    return frame


def load_object(name: str, value: Any) -> pd.DataFrame:  # noqa: ANN401
    """Read a Python object as a file is read; records without ids are numbered from 0."""
    if hasattr(value, "to_pandas"):  # a dataset of Hugging Face, a table of Arrow or Polars
        value = value.to_pandas()
    if isinstance(value, pd.DataFrame):
        _check_names(name, list(map(str, value.columns)))
        columns = {str(column): list(value[column]) for column in value.columns}
        index, label = list(value.index), str(value.index.name)
        if index != list(range(len(value))):
            is_named = columns_for([label], "id") and label not in columns
            columns[label if is_named else _INDEX] = index
    elif isinstance(value, pd.Series):
        columns = {KEYS: list(value.index), TEXT: list(value)}
    elif isinstance(value, Mapping):
        columns = _from_keyed(name, value)
    else:
        columns = _from_list(name, values_of(name, value))
    return _by_id(name, columns, None, first=0)


def values_of(name: str, values: Any) -> list[Any]:  # noqa: ANN401
    """Return a list of values, one a study; raises `JudgeError` for one text, a set, a mapping."""
    is_other = isinstance(values, str | bytes | Mapping | set | frozenset)
    if is_other or hasattr(values, "columns") or not isinstance(values, Iterable):
        raise JudgeError(f"{name} is one {type(values).__name__}; give a list with a value a study")
    return list(map(_clean, values))


def to_id(value: object) -> str | None:
    """Return an id as text, None for a missing value; 17.0 becomes 17."""
    if isinstance(value, str):
        return replace_surrogates(value) if value.strip() else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def read_content(source: str) -> tuple[str, bytes, str]:
    """Read a path, or standard input for `-`; gzip is undone, whatever the name.

    Return the name for messages, the bytes, and the SHA-256 of the bytes as they were stored.
    """
    name = "standard input" if source == STDIN else source
    try:
        data = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if data.startswith(_GZIP):
            data = _unpack(name, gzip.GzipFile(fileobj=io.BytesIO(data)))
        _check_size(name, len(data))
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise JudgeError(f"cannot read {name}: {reason}") from error
    return name, data, digest


def _unpack(name: str, file: gzip.GzipFile) -> bytes:
    data = bytearray()
    while chunk := file.read(2**20):
        data += chunk
        _check_size(name, len(data))
    return bytes(data)


def _check_size(name: str, n_bytes: int) -> None:
    """Refuse what unpacks to too much: a file may be an upload."""
    if n_bytes > MAX_INPUT:
        raise JudgeError(f"{name} unpacks to more than {MAX_INPUT / 1e9:g} GB; split it")


def decode(name: str, data: bytes) -> str:
    """Return the text that a source holds, without a byte order mark; raises `JudgeError`."""
    if data.startswith(_ZIP):
        raise JudgeError(f"{name} is a spreadsheet or an archive; save it as CSV")
    try:
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise JudgeError(f"{name} is not text in UTF-8; {_FORMS}") from error
    if not text.strip():
        raise JudgeError(f"{name} is empty")
    if "\x00" in text:
        raise JudgeError(f"{name} is neither text nor Parquet; {_FORMS}")
    return text


def _read_parquet(name: str, data: bytes) -> Columns:
    """Return the columns, but for images and the like."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: Columns = {}
    n_bytes = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_names(name, file.schema_arrow.names)
        names = [field.name for field in file.schema_arrow if "binary" not in str(field.type)]
        for batch in file.iter_batches(256, columns=names, use_threads=False):
            for field in names:
                column = batch[field]
                is_short = pa.types.is_dictionary(column.type)
                n_bytes += (column.dictionary_decode() if is_short else column).nbytes
                _check_size(name, n_bytes)
                columns.setdefault(field, []).extend(column.to_pylist())
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        # A text that isn't UTF-8 is a ValueError, a time that is out of range an OverflowError.
        raise JudgeError(f"{name} is a damaged Parquet file; write it again") from error
    return columns


def _read_text(name: str, text: str) -> Columns:
    suffix = PurePath(name.lower().removesuffix(".gz")).suffix
    if text.lstrip()[0] not in "{[" and suffix not in (".json", ".jsonl", ".ndjson"):
        return read_delimited(name, text)
    try:
        values = jsonio.values(text)
    except jsonio.JsonError as error:
        raise JudgeError(f"{name} cannot be read as JSON: {error}") from error
    is_one = len(values) == 1 and suffix not in (".jsonl", ".ndjson")
    if is_one and isinstance(values[0], dict):
        return _from_keyed(name, values[0])
    return _from_list(name, values[0] if is_one and isinstance(values[0], list) else values)


def _from_list(name: str, values: Sequence[Any]) -> Columns:
    """Make columns of texts, or of records, whose fields need not be the same."""
    if not any(isinstance(value, Mapping) for value in values):
        return {TEXT: list(values)}
    for number, record in enumerate(values, 1):
        if not isinstance(record, Mapping):
            raise JudgeError(f"{name}: record {number} is no object of fields")
    fields = dict.fromkeys(field for record in values for field in record)
    return {str(field): [record.get(field) for record in values] for field in fields}


def _from_keyed(name: str, entries: Mapping[Any, Any]) -> Columns:
    return {**_from_list(name, list(entries.values())), KEYS: list(entries)}


def read_delimited(name: str, text: str) -> Columns:
    """Read CSV or TSV; the delimiter is the most frequent in its first line, which has the names.

    Not by pandas, which fills up a short row and reads on over a quote that is never closed.
    """
    delimiter = max(",\t;", key=text.lstrip("\r\n").splitlines()[0].count)
    csv.field_size_limit(2**31 - 1)  # else 131,072
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    rows: list[list[str | None]] = []
    try:
        for row in filter(any, lines):
            if not names:
                names = [cell.strip() or f"column_{n}" for n, cell in enumerate(row, start=1)]
            elif len(row) == len(names):
                rows.append([None if cell in ("NaN", "nan") else cell for cell in row])
            else:
                cells = f"has {len(row)} cells and the header {len(names)}"
                raise JudgeError(f"{name}: the row that ends in line {lines.line_num} {cells}")
    except csv.Error as error:
        raise JudgeError(f"{name}: no CSV or TSV in line {lines.line_num}: {error}") from error
    _check_names(name, names)
    return {field: [row[column] for row in rows] for column, field in enumerate(names)}


def _by_id(
    name: str, columns: Columns, wanted: str | None, *, first: int, option: str = ""
) -> pd.DataFrame:
    """Make a DataFrame of columns, of which one (`wanted`, if it is named) becomes the ids."""
    _check_names(name, list(columns))
    count = len(next(iter(columns.values()), ()))
    if not count:
        raise JudgeError(f"{name} holds no study")
    columns = {replace_surrogates(key): [*map(_clean, values)] for key, values in columns.items()}
    # pandas' orient="index" numbers the rows: two such files would be joined by row.
    is_numbered = columns.get(KEYS) == [str(row) for row in range(count)]
    known = columns_for(columns, "id") if KEYS not in columns or is_numbered else []
    known += [field for field in (KEYS, _INDEX, "column_1") if field in columns]
    id_field = find_column(columns, wanted, option, name) if wanted else [*known, None][0]
    values = list(range(first, first + count)) if id_field is None else columns.pop(id_field)
    ids = list(map(to_id, values))
    if None in ids:
        row = ids.index(None) + 1
        raise JudgeError(f"{name}: record {row} of {count} has no id in {id_field!r}")
    # An index beside ids is no field of the user's, nor is the key that stands in its record again.
    for field in (KEYS, _INDEX, *columns_for(columns, "id")):
        if field in (KEYS, _INDEX):
            columns.pop(field, None)
        elif id_field == KEYS and list(map(to_id, columns[field])) == ids:
            del columns[field]
    frame = pd.DataFrame(columns, pd.Index(ids, dtype=object, name=id_field), dtype=object)
    frame.attrs = {"name": name, "file": None}
    return frame


def _check_names(name: str, columns: Sequence[str]) -> None:
    if len(columns) > MAX_FIELDS:
        raise JudgeError(
            f"{name} has {len(columns):,} fields, more than {MAX_FIELDS:,}: leave out those that "
            "are not of the studies"
        )
    if repeated := sorted(column for column, n in Counter(columns).items() if n > 1):
        raise JudgeError(f"{name} has two columns named {join_names(repeated)}; rename one")


def _clean(value: Any) -> Any:  # noqa: ANN401
    """Return a value as Python's own: None for NaN and pandas' NA, no lone halves of surrogates."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value
