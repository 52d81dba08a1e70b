"""Files and what Python holds, each as one DataFrame: a row a record, its index the study ids."""

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
from os.path import isdir
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from judge import jsonio
from judge.plugins import install
from judge.studies.names import (
    KNOWN_NAMES,
    MAX_INPUT,
    ROW,
    NamedFields,
    listed,
    matching,
    named,
    plain,
)
from judge.studies.study_set import InputFile
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STDIN = "-"
TEXT = "text"
"""The column of records that are bare texts."""
INDEX = "__index_level_0__"
"""What Parquet calls an index of pandas without a name."""
KEYS = "the keys"
"""Where the ids of an object are from."""

_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK = 2**20
_ROWS_AT_A_TIME = 256
_MOST_FIELDS = 1_000
_UNNAMED = "column_{}"
_DELIMITERS = (",", "\t", ";")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SPLITS, _STATE = "dataset_dict.json", "state.json"
_FORMS = "give JSON, JSON Lines, CSV or TSV with a header, Parquet, or a .txt with a report a line"

Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Content:
    """What a source holds, decompressed; `sha256` is of the bytes before that."""

    name: str
    data: bytes
    sha256: str
    encoding: str | None = None

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.data.startswith(b"PAR1")


@dataclass(frozen=True, slots=True)
class Table:
    """Records in columns of Python's own values, None where one is missing.

    The index of `frame` are the study ids, as text; `id_field` is the field that they are from,
    None where the records are only numbered. `file` is None for what Python holds.
    """

    name: str
    frame: pd.DataFrame
    id_field: str | None
    file: InputFile | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def ids(self) -> list[str]:
        """The study ids."""
        return list(self.frame.index)

    @property
    def fields(self) -> list[str]:
        """The fields, that of the ids not among them."""
        return list(self.frame.columns)

    @property
    def all_fields(self) -> list[str]:
        """The fields, that of the ids first."""
        return [name for name in (self.id_field, *self.fields) if name not in (None, KEYS, INDEX)]

    def column(self, field: str) -> list[Any]:
        """Return a field's values, one a record."""
        return list(self.frame[field])


def load(source: str, role: str, fields: NamedFields = KNOWN_NAMES) -> Table:
    """Read a file, a folder of Hugging Face datasets, or standard input (`-`).

    The content decides the form, and of a text that may be several things its name. `role` is
    what the source is to the run: `preds`, `refs` or `both`. Raises `JudgeError` for a source
    that is not in one of the forms.
    """
    # Not Path.is_dir: where it cannot be looked at, reading it says why.
    if isdir(source):  # noqa: PTH112
        name = source
        columns, digest = _dataset_folder(source, fields.max_input)
    else:
        content = read_content(source, fields.encoding, fields.max_input)
        name, digest = content.name, content.sha256
        if content.is_parquet:
            columns = read_parquet(content, fields.max_input)
        else:
            text = decode(content)
            del content
            columns = _read_text(name, text)
    table = _table(name, columns, fields.id, first=1)
    return replace(table, file=InputFile(source, role, digest, len(table)))


def load_object(name: str, given: Any, *, ids: Sequence[object] | None = None) -> Table:  # noqa: ANN401
    """Read a DataFrame, a Series, a dataset, a dictionary by study id or a list as a file is read.

    `name` is what messages call it; `ids` are those of the records of a list. Records without
    ids are numbered from 0. Raises `JudgeError` for anything else.
    """
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        check_names(name, list(map(str, given.columns)))
        columns = {str(column): list(given[column]) for column in given.columns}
        index, label = list(given.index), str(given.index.name)
        if index != list(range(len(given))):
            columns[label if matching([label], "id") and label not in columns else INDEX] = index
    elif isinstance(given, pd.Series):
        columns = {KEYS: list(given.index), TEXT: list(given)}
    elif type(given).__module__.partition(".")[0] == "datasets":
        if isinstance(given, Mapping):
            raise JudgeError(f"{name} has splits; pass one of them: {listed(map(str, given))}")
        is_whole = hasattr(given, "num_rows")
        columns = _from_dataset(given) if is_whole else _from_records(name, list(given))
    elif isinstance(given, Mapping):
        columns = _from_keyed(name, given)
    else:
        columns = {TEXT: values_of(name, given)} | ({} if ids is None else {KEYS: list(ids)})
        if ids is not None and len(ids) != len(columns[TEXT]):
            raise JudgeError(f"{name} has {len(columns[TEXT])} values and there are {len(ids)} ids")
    return _table(name, columns, None, first=0)


def values_of(name: str, given: Any) -> list[Any]:  # noqa: ANN401
    """Return a list of values, one a study; raises `JudgeError` for one text, a set, a mapping."""
    if isinstance(given, str | bytes | Mapping | set | frozenset) or not isinstance(
        given, Iterable
    ):
        what = "one text" if isinstance(given, str) else f"a {type(given).__name__}"
        raise JudgeError(f"{name} is {what}; give a list with one value a study")
    return [cleaned(value) for value in given]


def cleaned(value: Any) -> Any:  # noqa: ANN401
    """Return a value as Python's own: None for NaN and pandas' NA, no lone halves of surrogates."""
    if isinstance(value, str):
        return encodable(value)
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def encodable(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, which JSON can escape and no file hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def id_of(value: object) -> str | None:
    """Return an id as text, None where the value is none; 17.0 is 17, as of a column with a gap."""
    if isinstance(value, str):
        return encodable(value) if value.strip() else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise `JudgeError` where two columns have one name, or there are too many."""
    if len(columns) > _MOST_FIELDS:
        raise JudgeError(
            f"{name} has {len(columns):,} fields, and at most {_MOST_FIELDS:,} are read; keep "
            "those that you group by"
        )
    if repeated := sorted(column for column, n in Counter(columns).items() if n > 1):
        raise JudgeError(f"{name} has columns of the same name: {listed(repeated)}; rename them")


# Bytes and text.


def read_content(source: str, encoding: str | None = None, max_input: int = MAX_INPUT) -> Content:
    """Read a path, or standard input for `-`; gzip is undone, whatever the name.

    Raises `JudgeError` where it cannot be read, is empty, a broken gzip file or larger than
    `max_input` bytes. `encoding` is that of a text, None for UTF-8, or UTF-16 with a mark.
    """
    name = "standard input" if source == STDIN else source
    try:
        if source == STDIN:
            data = _read_all(sys.stdin.buffer, name, max_input)
        else:
            with Path(source).open("rb") as file:
                data = _read_all(file, name, max_input)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise JudgeError(f"cannot read {source}: {reason}") from error
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(_GZIP):
        try:
            data = _read_all(gzip.GzipFile(fileobj=io.BytesIO(data)), name, max_input)
        except (EOFError, OSError, zlib.error) as error:
            raise JudgeError(f"{name} is a broken gzip file: {error}") from error
    if not data or data.isspace():
        raise JudgeError(f"{name} is empty")
    return Content(name, data, digest, encoding)


def decode(content: Content) -> str:
    """Return the text that a source holds, without a byte order mark; raises `JudgeError`."""
    data = content.data
    encoding = content.encoding or ("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except (LookupError, ValueError) as error:
        raise JudgeError(
            f"{content.name} is no text in {encoding.removesuffix('-sig')} ({error}): save it as "
            f"UTF-8 or name its encoding (--encoding), or {_FORMS}"
        ) from error
    if "\x00" in text:
        raise JudgeError(f"{content.name} is neither text nor Parquet; {_FORMS}")
    return text


def _read_all(file: BinaryIO | gzip.GzipFile, name: str, most: int) -> bytes:
    data = bytearray()
    while chunk := file.read(_CHUNK):
        data += chunk
        if len(data) > most:
            raise _too_large(name, most)
    return bytes(data)


def _too_large(name: str, most: int) -> JudgeError:
    return JudgeError(
        f"{name} unpacks to more than {most / 1e9:g} GB; give a smaller file, or raise --max-input"
    )


# Text: JSON, CSV and TSV, a report a line.


def _read_text(name: str, text: str) -> Columns:
    suffix = PurePath(name.lower().removesuffix(".gz")).suffix
    if is_json(text) or suffix in (".json", ".jsonl", ".ndjson"):
        values = read_json(name, text)
        is_line = suffix in (".jsonl", ".ndjson")
        if len(values) == 1 and isinstance(values[0], dict) and not is_line:
            return _from_keyed(name, values[0])
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        is_text = all(value is None or isinstance(value, str) for value in values)
        return {TEXT: values} if is_text else _from_records(name, values)
    if suffix == ".txt" and "\t" not in text.partition("\n")[0]:
        reports = re.split(r"\r\n|\r|\n", text)
        return {TEXT: reports if reports[-1] else reports[:-1]}
    head, rows = read_delimited(name, text)
    check_names(name, head)
    columns = zip(*(row for _, row in rows), strict=True) if rows else ([] for _ in head)
    return dict(zip(head, map(list, columns), strict=True))


def is_json(text: str) -> bool:
    """Whether a text can only be meant as JSON or JSON Lines."""
    return text.lstrip()[:1] in ("{", "[")


def read_json(name: str, text: str) -> list[Any]:
    """Return the JSON values that follow one another in a text; raises `JudgeError`."""
    try:
        return jsonio.values(text)
    except jsonio.JsonError as error:
        raise JudgeError(f"{name} cannot be read as JSON: {error}") from error


def _from_records(name: str, records: Sequence[Any]) -> Columns:
    import pandas as pd

    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise JudgeError(f"{name}: record {number} is {_what(record)}, not an object of fields")
    frame = pd.DataFrame(list(records), dtype=object)
    return {str(field): list(frame[field]) for field in frame}


def _from_keyed(name: str, entries: Mapping[Any, Any]) -> Columns:
    values = [cleaned(value) for value in entries.values()]
    if not any(isinstance(value, Mapping) for value in values):
        return {TEXT: values, KEYS: list(entries)}
    for key, value in zip(entries, values, strict=True):
        if not isinstance(value, Mapping | None):
            raise JudgeError(
                f"{name} holds objects by study id, but {_what(value)} under {str(key)!r}; give "
                "each study an object of fields"
            )
    return {**_from_records(name, [value or {} for value in values]), KEYS: list(entries)}


def _what(value: object) -> str:
    kinds = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), "a list")


def read_delimited(name: str, text: str) -> tuple[list[str], list[tuple[int, list[str | None]]]]:
    """Read CSV or TSV: the names in its first line, and the rows below with their numbers.

    The delimiter (comma, tab or semicolon) is the most frequent in that line; an empty name is
    called by its place, `column_1`. Rows without a text are left out. A cell that holds only
    `NaN` or `nan` is None, as pandas and numpy write a missing value. Raises `JudgeError` with the
    line where a row has more or fewer cells than the first (pandas would fill it up) or its
    quotes are broken.
    """
    first = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    # The module refuses cells over 131,072 characters unless told otherwise, for all its users.
    limit = csv.field_size_limit(len(text) + 1)
    lines = csv.reader((m.group() for m in _LINE.finditer(text)), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str | None]]] = []
    head: list[str] = []
    try:
        for number, row in enumerate(lines, start=1):
            if head and any(row) and len(row) != len(head):
                raise JudgeError(
                    f"{name}: the row that ends in line {lines.line_num} has {len(row)} cells, the "
                    f"header {len(head)}; quote texts that hold the delimiter or a line break"
                )
            if head and any(row):
                rows.append((number, [None if cell in ("NaN", "nan") else cell for cell in row]))
            elif any(row):
                names = enumerate(row, start=1)
                head = [cell.strip() or _UNNAMED.format(place) for place, cell in names]
    except csv.Error as error:
        raise JudgeError(
            f"{name} is not a readable CSV or TSV file: {error} in line {lines.line_num}"
        ) from error
    finally:
        csv.field_size_limit(limit)
    return head, rows


# Arrow: Parquet, and folders of datasets.


def read_parquet(content: Content, max_input: int = MAX_INPUT) -> Columns:
    """Return the columns of a Parquet file, but for images and the like; raises `JudgeError`.

    Refused is a file that decodes to more than `max_input` bytes. Its footer says so of most;
    a text that is repeated stands in a file once, so that the rest is counted a few rows at a time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = content.name
    try:
        file = pq.ParquetFile(pa.BufferReader(content.data))
        footer = file.metadata
        groups = (footer.row_group(number) for number in range(footer.num_row_groups))
        said = sum(group.total_byte_size for group in groups)
        if max(said, footer.num_rows * footer.num_columns) > max_input:
            raise _too_large(name, max_input)
        check_names(name, file.schema_arrow.names)
        decoded = 0
        for batch in file.iter_batches(_ROWS_AT_A_TIME, use_threads=False):
            decoded += sum(map(_decoded_size, batch.columns))
            if decoded > max_input:
                raise _too_large(name, max_input)
        return _from_arrow(file.read())
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        # A text that isn't UTF-8 is a ValueError, a time that is out of range an OverflowError.
        raise JudgeError(f"{name} is a broken Parquet file: {error}") from error


def _decoded_size(array: pa.Array) -> int:
    """Return the bytes of an array's values, of which a null inside a list takes eight."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_struct(array.type):
        return sum(map(_decoded_size, array.flatten()))
    if pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        return int(array.nbytes) + _decoded_size(array.flatten())
    return 8 * len(array) if pa.types.is_null(array.type) else int(array.nbytes)


def _from_arrow(table: pa.Table) -> Columns:
    import pyarrow as pa

    def is_media(kind: pa.DataType) -> bool:
        if pa.types.is_struct(kind):
            return any(is_media(field.type) for field in kind)
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    return {
        field.name: table[field.name].to_pylist()
        for field in table.schema
        if not is_media(field.type)
    }


def _dataset_folder(source: str, max_input: int) -> tuple[Columns, str]:
    folder = Path(source)
    if (folder / _SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if (path / _STATE).is_file())
        if len(splits) != 1:
            raise JudgeError(f"{source} has {len(splits)} splits; name one: {listed(splits)}")
        folder /= splits[0]
    if not (folder / _STATE).is_file():
        raise JudgeError(
            f"{source} is a folder that datasets did not write (save_to_disk); give a file"
        )
    try:
        from datasets import load_from_disk
    except ModuleNotFoundError as error:
        raise JudgeError(
            f"{source} is a folder of datasets, which is not installed: {install('datasets')}"
        ) from error
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if sum(path.stat().st_size for path in files) > max_input:
        raise _too_large(source, max_input)
    digest = hashlib.sha256()
    try:
        for path in files:
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        columns = _from_dataset(load_from_disk(str(folder)))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise JudgeError(f"{source} is a broken folder of datasets: {error}") from error
    return columns, digest.hexdigest()


def _from_dataset(dataset: Any) -> Columns:  # noqa: ANN401
    """Return the columns of a dataset, class labels by their names; -1 is none."""
    columns = _from_arrow(dataset.with_format("arrow")[:])
    for field, kind in dataset.features.items():
        labels = getattr(kind, "names", None)
        if labels and field in columns:
            columns[field] = [
                labels[value] if isinstance(value, int) and value >= 0 else None
                for value in columns[field]
            ]
    return columns


# Columns to a table.


def _table(name: str, columns: Columns, wanted: str | None, *, first: int) -> Table:
    """Make a table of columns, of which one becomes the ids.

    `wanted` is the user's name of that column; records without one are numbered from `first`.
    Raises `JudgeError` for a record without an id.
    """
    import pandas as pd

    count = len(next(iter(columns.values()), ()))
    if not count:
        raise JudgeError(f"{name} holds no study")
    columns = {encodable(str(field)): list(map(cleaned, of)) for field, of in columns.items()}
    check_names(name, list(columns))
    id_field = _id_field(name, columns, wanted)
    values = list(range(first, first + count)) if id_field is None else columns.pop(id_field)
    ids = [id_of(value) for value in values]
    if None in ids:
        row = ids.index(None)
        raise JudgeError(
            f"{name}: record {row + 1} of {count} has {str(values[row])[:40]!r} as {id_field!r}; "
            "every record needs an id, a text or a number"
        )
    # An index beside ids is no field of the user's, nor is the key that stands in its record again.
    again = [field for field in matching(columns, "id") if list(map(id_of, columns[field])) == ids]
    for field in (KEYS, INDEX, *(again if id_field == KEYS else ())):
        columns.pop(field, None)
    frame = pd.DataFrame(columns, pd.Index(ids, dtype=object), dtype=object)
    return Table(name, frame, id_field)


def _id_field(name: str, columns: Columns, wanted: str | None) -> str | None:
    found = named(columns, wanted) if wanted else matching(columns, "id")
    if wanted == ROW and not found:
        return None
    if KEYS in columns and not wanted:
        # pandas' orient="index" numbers the rows: two such files would be joined by row.
        is_numbered = columns[KEYS] == [str(row) for row in range(len(columns[KEYS]))]
        return found[0] if found and is_numbered else KEYS
    if len(found) > 1 and plain(found[0]) == plain(found[1]):
        raise JudgeError(f"{name} has the ids twice: {listed(found)}; keep one")
    if found:
        return found[0]
    fallback = next(
        (field for field in (KEYS, INDEX, _UNNAMED.format(1)) if field in columns), None
    )
    if wanted and fallback != KEYS:
        raise JudgeError(
            f"{name} has no field {wanted!r}, for the id; its fields are: {listed(columns)}"
        )
    return fallback
