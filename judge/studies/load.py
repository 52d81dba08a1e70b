"""Reads files and Python objects: first into columns (`Table`), then by study id (`InputTable`)."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os.path import isdir
from pathlib import Path, PurePath
from typing import Any

import pandas as pd

from judge import jsonio
from judge.jsonio import replace_surrogates
from judge.studies import spreadsheets
from judge.studies.columns import (
    FIELD_NAMES,
    KNOWN_NAMES,
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    join_names,
    normalise_name,
)
from judge.studies.input_table import InputFile, InputTable
from judge.studies.json_layouts import (
    INDEX,
    KEYS,
    Columns,
    columns_of,
    columns_of_keyed,
    columns_of_list,
)
from judge.types import JudgeError

STDIN = "-"
MAX_FIELDS = 1000
MAX_INPUT = 4 * 10**9
"""The most bytes that a file may unpack to."""
FILE_NAMES = "the file names"
"""Where the ids of a folder of text files are from."""
UNNAMED = (INDEX, "column_1", "Unnamed: 0")
"""The names of an index that was written without one."""

# The first bytes of files, whatever their names.
_PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_FORMS = "give JSON, JSON Lines, CSV or TSV with a header, Parquet, or a .txt with a report a line"
_JSON_LINES = (".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv", ".txt")
# A byte order mark says what a text is written in.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEPARATOR = re.compile(r'\A"?sep=(.)"?[ \t]*\r?(?:\n|\Z)', re.IGNORECASE)
_COLUMN_NAMES = set(map(normalise_name, chain.from_iterable(FIELD_NAMES.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns of a file or an object, before one of them becomes the ids.

    `first` is the number of the first record where records have no ids. `index` is the column that
    was the named index of a DataFrame.
    """

    name: str
    columns: Columns
    file: InputFile | None = None
    first: int = 0
    index: str | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def usual_ids(self) -> list[str]:
        """The columns that have ids by their names, the likeliest first."""
        # pandas' orient="index" numbers the rows: two such files would be joined by row.
        is_numbered = self.columns.get(KEYS) == [str(row) for row in range(len(self))]
        has_keys = KEYS in self.columns and not is_numbered
        found: list[str] = []
        if not has_keys:
            found += columns_for(self.columns, "id")
        for name in (self.index, KEYS, FILE_NAMES, *UNNAMED):
            if name in self.columns and name not in found:
                found.append(name)
        return found


def load(source: str, role: str, fields: NamedFields = KNOWN_NAMES) -> InputTable:
    """Read a file, or standard input (`-`), for the role `preds`, `refs`, `both` or another.

    Records without ids are numbered from 1. Raises `JudgeError` for what cannot be read.
    """
    table = read_table(source, role, fields)
    option = "--column id"
    if role == "metrics":
        option = "--metrics"
    return by_id(table, _id_field(table, fields.id, option))


def load_object(
    name: str,
    value: Any,  # noqa: ANN401
    fields: NamedFields = KNOWN_NAMES,
) -> InputTable:
    """Read a Python object as a file is read; records without ids are numbered from 0."""
    table = table_of(name, value)
    return by_id(table, _id_field(table, fields.id, "--column id"))


def _id_field(table: Table, wanted: str | None, option: str) -> str | None:
    """Return the column of the ids: the one that the user names, or the likeliest."""
    if wanted:
        return find_column(table.columns, wanted, option, table.name)
    return next(iter(table.usual_ids), None)


def read_table(source: str, role: str, fields: NamedFields = KNOWN_NAMES) -> Table:
    """Read a file, a folder of text files or standard input (`-`) into columns."""
    below = ""
    # Not Path.is_dir, which raises for a name that is no path: reading it says why.
    if source != STDIN and isdir(source):  # noqa: PTH112
        name, columns, digest = _read_folder(source, fields.encoding)
    else:
        name, data, digest = read_content(source)
        if data.startswith(_PARQUET) or name.lower().endswith(".parquet"):
            columns = _read_parquet(name, data)
        elif spreadsheets.is_workbook(data):
            columns = spreadsheets.read(name, data, MAX_INPUT)
        else:
            text = decode(name, data, fields.encoding)
            columns, below = _read_text(name, text, fields)
    table = _cleaned(Table(name=name, columns=columns, first=1))
    file = InputFile(source, role, digest, len(table))
    notes: tuple[str, ...] = ()
    if below:
        notes = (f"{name}: the records are those below {below!r}",)
    return replace(table, file=file, notes=notes)


def table_of(name: str, value: Any) -> Table:  # noqa: ANN401
    """Return the columns of a Python object; records without ids are numbered from 0."""
    # A dataset of Hugging Face, a table of Arrow or of Polars.
    if hasattr(value, "to_pandas"):
        value = value.to_pandas()
    named = None
    if isinstance(value, pd.DataFrame):
        columns, named = _columns_of_frame(name, value)
    elif isinstance(value, pd.Series):
        columns = {KEYS: list(value.index), TEXT: list(value)}
    elif isinstance(value, Mapping):
        columns = columns_of_keyed(name, value)
    else:
        columns = columns_of_list(name, values_of(name, value))
    return replace(_cleaned(Table(name=name, columns=columns)), index=named)


def _columns_of_frame(name: str, frame: pd.DataFrame) -> tuple[Columns, str | None]:
    """Return the columns of a DataFrame, and which of them was its named index, if any."""
    _check_names(name, list(map(str, frame.columns)))
    columns = {str(column): list(frame[column]) for column in frame.columns}
    index = list(frame.index)
    if index == list(range(len(frame))):
        return columns, None
    label = str(frame.index.name)
    if frame.index.name is None or label in columns:
        columns[INDEX] = index
        return columns, None
    columns[label] = index
    return columns, label


def _cleaned(table: Table) -> Table:
    """Return the table with plain values; raises `JudgeError` where it has no record."""
    _check_names(table.name, list(table.columns))
    if not len(table):
        raise JudgeError(f"{table.name} holds no study")
    columns: Columns = {}
    for field, values in table.columns.items():
        columns[replace_surrogates(field)] = [_clean(value) for value in values]
    return replace(table, columns=columns)


def values_of(name: str, values: Any) -> list[Any]:  # noqa: ANN401
    """Return a list of values, one a study; raises `JudgeError` for one text, a set, a mapping."""
    is_other = isinstance(values, str | bytes | Mapping | set | frozenset)
    if is_other or hasattr(values, "columns") or not isinstance(values, Iterable):
        raise JudgeError(
            f"{name} is one {type(values).__name__}; give a list with a value a study"
        )
    return list(map(_clean, values))


def to_id(value: object) -> str | None:
    """Return an id as text, None for a missing value; 17.0 becomes 17."""
    if isinstance(value, str):
        if not value.strip():
            return None
        return replace_surrogates(value)
    if isinstance(value, float) and math.isfinite(value):
        if value.is_integer():
            return str(int(value))
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def read_content(source: str) -> tuple[str, bytes, str]:
    """Read a path, or standard input for `-`; gzip is undone, whatever the name.

    Return the name for messages, the bytes, and the SHA-256 of the bytes as they were stored.
    """
    name = source
    if source == STDIN:
        name = "standard input"
    try:
        if source == STDIN:
            data = sys.stdin.buffer.read()
        else:
            data = Path(source).read_bytes()
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
    for chunk in iter(lambda: file.read(2**20), b""):
        data += chunk
        _check_size(name, len(data))
    return bytes(data)


def _check_size(name: str, n_bytes: int) -> None:
    """Refuse what unpacks to too much: a file may be an upload."""
    if n_bytes > MAX_INPUT:
        raise JudgeError(
            f"{name} unpacks to more than {MAX_INPUT / 1e9:g} GB; split it"
        )


def decode(name: str, data: bytes, encoding: str | None = None) -> str:
    """Return the text that a source holds, without a byte order mark; raises `JudgeError`.

    A byte order mark comes first, then UTF-8, then `encoding`: of two files, one may be in UTF-8.
    """
    if data.startswith(_ZIP):
        raise JudgeError(
            f"{name} is an archive; unpack it, and give the file that is in it"
        )
    if data.startswith(_OLD_EXCEL):
        raise JudgeError(
            f"{name} is a workbook of Excel before 2007; save it as .xlsx or CSV"
        )
    chosen = _encoding(data, encoding)
    try:
        text = data.decode(chosen)
    except ValueError as error:
        if encoding:
            raise JudgeError(
                f"{name} is not text in {encoding}, nor in UTF-8"
            ) from error
        raise JudgeError(
            f"{name} is not text in UTF-8; say what it is in with --encoding, which is cp1252 for "
            f"files from Excel on Windows; otherwise {_FORMS}"
        ) from error
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise JudgeError(f"{name} is empty")
    if "\x00" in text:
        raise JudgeError(f"{name} is neither text nor Parquet; {_FORMS}")
    return text


def _encoding(data: bytes, wanted: str | None) -> str:
    """Return the encoding of a text: of its byte order mark, UTF-8 if it is that, or `wanted`."""
    if wanted is not None:
        check_encoding(wanted)
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    if wanted is None or data.isascii():
        return wanted or "utf-8"
    try:
        data.decode("utf-8")
    except ValueError:
        return wanted
    return "utf-8"


def check_encoding(name: str) -> None:
    """Raise `JudgeError` unless Python knows an encoding of text with this name."""
    try:
        b" ".decode(name, "replace")  # of no bytes at all Python looks up nothing
    except (LookupError, ValueError) as error:
        raise JudgeError(
            f"--encoding: there is no encoding of text named {name!r}; usual ones are utf-8, "
            "cp1252 (Excel on Windows), latin-1, utf-16 and shift_jis"
        ) from error


def _read_folder(source: str, encoding: str | None) -> tuple[str, Columns, str]:
    """Read the .txt files of a folder and of its folders: a report a file, the name is the id."""
    folder = Path(source)
    try:
        names = sorted(
            path.relative_to(folder).as_posix() for path in folder.rglob("*")
        )
    except OSError as error:
        raise JudgeError(f"cannot read {source}: {error.strerror}") from error
    visible = [name for name in names if not re.search(r"(?:\A|/)\.", name)]
    texts = [name for name in visible if name.lower().endswith(".txt")]
    if not texts:
        if {"manifest.json", "annotations.jsonl"} <= {*visible}:
            raise JudgeError(
                f"{source} is the folder of a run; give it alone, without REFS"
            )
        there = join_names(visible, 5) or "nothing"
        raise JudgeError(f"{source} is a folder without .txt files; it has: {there}")
    digest = hashlib.sha256()
    reports: list[str] = []
    n_bytes = 0
    for name in texts:
        place, data, sha256 = read_content(f"{source.rstrip('/')}/{name}")
        n_bytes += len(data)
        _check_size(source, n_bytes)
        digest.update(f"{sha256}  {name}\n".encode("utf-8", "surrogateescape"))
        # A model may have written nothing.
        report = ""
        if data.strip():
            report = decode(place, data, encoding)
        reports.append(report)
    ids = [PurePath(name).name[: -len(".txt")] for name in texts]
    return source, {FILE_NAMES: ids, TEXT: reports}, digest.hexdigest()


def _read_parquet(name: str, data: bytes) -> Columns:
    """Return the columns, but for images and the like."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: Columns = {}
    n_bytes = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_names(name, file.schema_arrow.names)
        names = [
            field.name for field in file.schema_arrow if "binary" not in str(field.type)
        ]
        for batch in file.iter_batches(256, columns=names, use_threads=False):
            for field in names:
                column = batch[field]
                # A dictionary is small, and what it stands for may not be.
                if pa.types.is_dictionary(column.type):
                    n_bytes += column.dictionary_decode().nbytes
                else:
                    n_bytes += column.nbytes
                _check_size(name, n_bytes)
                columns.setdefault(field, []).extend(column.to_pylist())
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        # A text that isn't UTF-8 is a ValueError, a time that is out of range an OverflowError.
        raise JudgeError(f"{name} is a damaged Parquet file; write it again") from error
    return columns


def _read_text(name: str, text: str, fields: NamedFields) -> tuple[Columns, str]:
    """Return the columns of a text, and the key in a JSON file that its records were below."""
    suffix = PurePath(name.lower().removesuffix(".gz")).suffix
    may_be_json = text.lstrip()[0] in "{[" or suffix in (".json", *_JSON_LINES)
    if may_be_json:
        try:
            return _read_json(name, text, fields, are_lines=suffix in _JSON_LINES)
        except jsonio.JsonError as error:
            # A table or a report may begin with a bracket.
            if suffix not in _TABLES:
                raise JudgeError(f"{name} cannot be read as JSON: {error}") from error
    if suffix == ".txt" and not _has_header(text):
        return {TEXT: _lines(text)}, ""
    return read_delimited(name, text), ""


def _read_json(
    name: str, text: str, fields: NamedFields, *, are_lines: bool
) -> tuple[Columns, str]:
    values = jsonio.values(text)
    if len(values) != 1 or are_lines:
        return columns_of_list(name, values), ""
    named = (fields.id, fields.candidate, fields.reference)
    wanted = [field for field in named if field]
    return columns_of(name, values[0], wanted, several=fields.several)


def _lines(text: str) -> list[str]:
    """Return the lines of a text, a report each; an empty line is an empty report."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _has_header(text: str) -> bool:
    """Return whether a .txt is a table: its first line names two columns that are known."""
    first = _SEPARATOR.sub("", text).lstrip("\r\n").splitlines()[0]
    cells = [normalise_name(cell) for cell in re.split(r"[,;\t]", first)]
    return sum(cell in _COLUMN_NAMES for cell in cells) > 1


def read_delimited(name: str, text: str) -> Columns:
    """Read CSV or TSV; the delimiter is the most frequent in its first line, which has the names.

    Excel's line `sep=;` before that names the delimiter, and is skipped. Not by pandas, which fills
    up a short row and reads on over a quote that is never closed.
    """
    separator = _SEPARATOR.match(text)
    n_skipped = 0
    if separator:
        text = text[separator.end() :]
        n_skipped = 1
    if not text.strip():
        raise JudgeError(f"{name} holds no study")
    first = text.lstrip("\r\n").splitlines()[0]
    if separator:
        delimiter = separator[1]
    else:
        delimiter = max(",\t;", key=first.count)
    csv.field_size_limit(2**31 - 1)  # else 131,072
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    rows: list[list[str | None]] = []
    try:
        for row in filter(any, lines):
            if not names:
                names = _header_names(row)
            elif len(row) == len(names):
                rows.append(list(map(_cell, row)))
            else:
                cells = f"has {len(row)} cells and the header {len(names)}"
                if len(names) == 1:
                    cells += "; if it has a report a line, call it .txt"
                line = lines.line_num + n_skipped
                raise JudgeError(f"{name}: the row that ends in line {line} {cells}")
    except csv.Error as error:
        line = lines.line_num + n_skipped
        raise JudgeError(f"{name}: no CSV or TSV in line {line}: {error}") from error
    if not rows:
        why = "it has a header and no rows"
        if len(names) == 1:
            why = f"its one line, {names[0][:40]!r}, is taken for a header"
        raise JudgeError(
            f"{name} holds no study: {why}; a file with a report a line is a .txt"
        )
    _check_names(name, names)
    columns: Columns = {}
    for number, field in enumerate(names):
        columns[field] = [row[number] for row in rows]
    return columns


def _cell(text: str) -> str | None:
    # pandas writes a missing value so; "NA" and the like may be words of a report.
    if text in ("NaN", "nan"):
        return None
    return text


def _header_names(cells: Sequence[str]) -> list[str]:
    """Return the names of a header's cells; an empty one is numbered from 1."""
    names = []
    for number, cell in enumerate(cells, start=1):
        names.append(cell.strip() or f"column_{number}")
    return names


def by_id(table: Table, id_field: str | None) -> InputTable:
    """Return a table by study id, of which one column becomes the ids; None numbers the rows.

    Raises `JudgeError` for a record without an id.
    """
    columns = dict(table.columns)
    count = len(table)
    if id_field is None:
        values: list[Any] = list(range(table.first, table.first + count))
    else:
        values = columns.pop(id_field)
    ids = list(map(to_id, values))
    if None in ids:
        row = ids.index(None) + 1
        raise JudgeError(
            f"{table.name}: record {row} of {count} has no id in {id_field!r}"
        )
    # An index beside ids is no field of the user's, nor is the key that stands in its record again.
    for field in (KEYS, FILE_NAMES, INDEX):
        columns.pop(field, None)
    if id_field == KEYS:
        for field in columns_for(columns, "id"):
            if list(map(to_id, columns[field])) == ids:
                del columns[field]
    index = pd.Index(ids, dtype=object, name=id_field)
    return InputTable(
        name=table.name,
        frame=pd.DataFrame(columns, index, dtype=object),
        file=table.file,
        notes=table.notes,
    )


def _check_names(name: str, columns: Sequence[str]) -> None:
    if len(columns) > MAX_FIELDS:
        raise JudgeError(
            f"{name} has {len(columns):,} fields, more than {MAX_FIELDS:,}: leave out those that "
            "are not of the studies"
        )
    repeated = sorted(column for column, n in Counter(columns).items() if n > 1)
    if repeated:
        raise JudgeError(
            f"{name} has two columns named {join_names(repeated)}; rename one"
        )


def _clean(value: Any) -> Any:  # noqa: ANN401
    """Return a value as Python's own: None for NaN and pandas' NA, no lone halves of surrogates."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
