"""Journals beside a run: each save of a reader appends a line, and lines are never changed."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from judge.running.folder import Stamp, append_line, stamp
from judge.running.records import adapter, first_of
from judge.types import JudgeError


def append(file: Path, entry: Any) -> None:  # noqa: ANN401
    """Append a data class to a journal; when this returns it is on disk.

    Raises `JudgeError` where the file cannot be written.
    """
    line = json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "replace")
    try:
        append_line(file, line)
    except OSError as error:
        raise JudgeError(f"this was not saved in {file.name}: {error.strerror}") from error


def read(file: Path, form: type) -> list[Any]:
    """Return the entries of a journal in the order of their saves; without a file there are none.

    A line that a crash has cut short is skipped: its save was never confirmed. Raises `JudgeError`
    for any other line that is no entry.
    """
    from pydantic import ValidationError

    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JudgeError(f"cannot read {file}: {error.strerror}") from error
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(adapter(form).validate_json(line, strict=True))
        except ValidationError as error:
            if error.errors()[0]["type"] != "json_invalid":
                raise JudgeError(
                    f"{file} is damaged in line {number:,}: {first_of(error)}; correct the line or "
                    "remove it"
                ) from error
    return entries


def read_again(file: Path, form: type) -> tuple[Any, ...]:
    """Return the entries of a journal, which is read again when it has changed."""
    # A line that is appended meanwhile changes the stamp, and is read the next time.
    changed = stamp(file)
    return _cached(file, form, changed) if changed else ()


@lru_cache(maxsize=16)
def _cached(file: Path, form: type, _stamp: Stamp) -> tuple[Any, ...]:
    return tuple(read(file, form))
