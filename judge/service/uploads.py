"""Uploaded files: only kinds that are read, under names of our own, of a size that can be had."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import BinaryIO

from judge.service import ProblemError

KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
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
    shown = shown_name(name)
    found = re.fullmatch(rf".+({'|'.join(map(re.escape, KINDS))})(\.gz)?", shown.lower())
    if found is None:
        raise ProblemError(415, f"{shown!r} is of no known kind: {', '.join(KINDS)}, or with .gz")
    return found[1] + (found[2] or "")


def keep(file: BinaryIO, name: str, folder: Path, side: str) -> str:
    """Copy an upload into `folder`, called after its `side`; returns that name.

    What it decodes to is checked by the process that reads it. Raises `ProblemError` 415 for a
    kind that is not read.
    """
    kept = folder / f"{side}{kind_of(name)}"
    with kept.open("xb") as out:
        shutil.copyfileobj(file, out, _CHUNK)
    return kept.name
