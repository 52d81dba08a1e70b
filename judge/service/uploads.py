"""Uploaded files: only kinds that are read, under names of our own, of a size that can be had."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path, PurePath
from typing import BinaryIO

from judge.service.problems import ProblemError

KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_CHUNK = 2**20
_LONGEST_NAME = 200


def shown_name(name: str) -> str:
    """Return what a client called its file, for messages: no folders and no control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:_LONGEST_NAME]


def kind_of(name: str) -> str:
    """Return the ending of a file's name that says its kind, such as `.csv` or `.json.gz`.

    Raises `ProblemError` 415 for any other.
    """
    path = PurePath(shown_name(name).lower())
    packed = ".gz" if path.suffix == ".gz" else ""
    kind = (PurePath(path.stem) if packed else path).suffix
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise ProblemError(415, f"{shown_name(name)!r} is of no known kind: {known}, or with .gz")
    return kind + packed


def keep(file: BinaryIO, name: str, folder: Path, side: str, max_unpacked: int) -> str:
    """Copy an upload into `folder`, called after its `side`; returns that name.

    Raises `ProblemError` 413 for one that unpacks to more than `max_unpacked` bytes, and
    415 for one that is not of the kind that its name says.
    """
    kept = folder / f"{side}{kind_of(name)}"
    with kept.open("xb") as out:
        while chunk := file.read(_CHUNK):
            out.write(chunk)
    if _unpacked(kept, shown_name(name), max_unpacked) > max_unpacked:
        raise ProblemError(413, f"{shown_name(name)!r} unpacks to more than {max_unpacked:,} bytes")
    return kept.name


def _unpacked(path: Path, name: str, most: int) -> int:
    """Return how many bytes a file unpacks to, never holding them; counts little beyond `most`."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == _PARQUET:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            footer = pq.read_metadata(path)
        except (OSError, ValueError, pa.ArrowException):
            raise ProblemError(415, f"{name!r} is a broken Parquet file") from None
        groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
        return sum(group.total_byte_size for group in groups)
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
