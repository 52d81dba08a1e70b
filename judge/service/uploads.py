"""Uploaded files: only kinds that are read, under names of our own, of a size that can be had."""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from judge.service import ProblemError
from judge.studies.parquet import MAGIC
from judge.studies.source import read_content
from judge.types import JudgeError

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_GZIP = b"\x1f\x8b"
_CHUNK = 2**20
_LONGEST_NAME = 200
_ROWS_AT_A_TIME = 4096


def shown_name(name: str) -> str:
    """Return what a client called its file, for messages: no folders and no control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:_LONGEST_NAME]


def kind_of(name: str) -> str:
    """Return the ending of a file's name that says its kind, such as `.csv` or `.json.gz`.

    Raises `ProblemError` 415 for any other.
    """
    shown = shown_name(name)
    found = re.fullmatch(rf".+({'|'.join(map(re.escape, KINDS))})(\.gz)?", shown.lower())
    if found is None:
        raise ProblemError(415, f"{shown!r} is of no known kind: {', '.join(KINDS)}, or with .gz")
    return found[1] + (found[2] or "")


def keep(file: BinaryIO, name: str, folder: Path, side: str, max_unpacked: int) -> str:
    """Copy an upload into `folder`, called after its `side`; returns that name.

    Raises `ProblemError` 413 for one that unpacks to more than `max_unpacked` bytes, and
    415 for one that is not of the kind that its name says.
    """
    kept = folder / f"{side}{kind_of(name)}"
    with kept.open("xb") as out:
        shutil.copyfileobj(file, out, _CHUNK)
    if _unpacked(kept, shown_name(name), max_unpacked) > max_unpacked:
        raise ProblemError(413, f"{shown_name(name)!r} unpacks to more than {max_unpacked:,} bytes")
    return kept.name


def _unpacked(path: Path, name: str, most: int) -> int:
    """Return how many bytes a file unpacks to, never holding them; counts little beyond `most`."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == MAGIC:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            footer = pq.read_metadata(path)
        except (OSError, ValueError, pa.ArrowException):
            raise ProblemError(415, f"{name!r} is a broken Parquet file") from None
        # What it says of itself; the process that reads it counts.
        said = sum(footer.row_group(at).total_byte_size for at in range(footer.num_row_groups))
        return max(int(said), int(footer.num_rows * footer.num_columns))
    if not start.startswith(_GZIP):
        return path.stat().st_size
    try:
        with gzip.open(path) as unpacked:
            size = 0
            while size <= most and (chunk := unpacked.read(_CHUNK)):
                size += len(chunk)
    except (EOFError, OSError, zlib.error):
        raise ProblemError(415, f"{name!r} is a broken gzip file") from None
    return size


def check_decoded(name: str, most: int) -> None:
    """Raise `JudgeError` for a Parquet file whose texts and numbers take over `most` bytes.

    A text that is repeated stands in such a file once, so that a few kilobytes can hold
    terabytes. They are counted without ever being written out.
    """
    data = read_content(name).data
    if not data.startswith(MAGIC):
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    try:
        schema = pq.read_schema(pa.BufferReader(data))
        texts = [field.name for field in schema if field.type in kinds]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        size = 0
        for column in dict.fromkeys(schema.names):
            for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=[column], use_threads=False):
                size += sum(map(_decoded_size, batch.columns))
                if size > most:
                    raise JudgeError(f"{name} unpacks to more than {most:,} bytes")
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise JudgeError(f"{name} is a broken Parquet file: {error}") from error


def _decoded_size(column: pa.Array) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return len(column) + (pc.sum(lengths).as_py() or 0)
