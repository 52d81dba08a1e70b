"""The cache as JSON Lines: one entry a line, out and in again."""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from judge.cache.contents import Contents
from judge.cache.entry import Entry, Unreadable, UnreadableError, entry_of
from judge.cache.store import CompletionCache
from judge.types import JudgeError

_STANDARD = "-"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entries went over, how many were there already, and those that could not."""

    done: int
    kept: int
    wrong: tuple[Unreadable, ...]


def export(contents: Contents, target: str) -> Tally:
    """Write the entries to `target` (`-` is standard output; .gz is compressed).

    The file is its owner's alone, as reports stand in it; an existing one is not
    overwritten, and none is left half written. Raises `JudgeError` where nothing can be
    written.
    """
    done = 0
    wrong = []
    with _written(target) as file:
        for entry in contents:
            if isinstance(entry, Unreadable):
                wrong.append(entry)
                continue
            row = {
                "key": entry.key,
                "request": dict(entry.request),
                "completion": asdict(entry.completion),
                "stored": entry.stored,
            }
            file.write(json.dumps(row).encode("ascii") + b"\n")
            done += 1
    return Tally(done, 0, tuple(wrong))


def import_(cache: CompletionCache, source: str) -> Tally:
    """Take the entries of an exported file into `cache`; those that are there already stay.

    A line whose key is not the one that its request has is refused. Raises `JudgeError`
    where the file cannot be read to its end; what came before is kept.
    """
    done = kept = 0
    wrong = []
    with _read(source) as file:
        for number, line in enumerate(file, start=1):
            entry = _entry(number, line)
            if isinstance(entry, Unreadable):
                wrong.append(entry)
            elif cache.add(entry):
                done += 1
            else:
                kept += 1
    return Tally(done, kept, tuple(wrong))


def _entry(number: int, line: bytes) -> Entry | Unreadable:
    try:
        row = json.loads(line)
        return entry_of(number, row["key"], row, row["stored"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Unreadable(number, f"line {number}", "not the JSON object of an entry")
    except UnreadableError as error:
        return Unreadable(number, f"line {number}", str(error))


@contextmanager
def _written(name: str) -> Iterator[IO[bytes]]:
    if name == _STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    made = False
    try:
        with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as plain:
            made = True
            if name.endswith(".gz"):
                with gzip.GzipFile(fileobj=plain, mode="wb", compresslevel=6) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield plain
    except FileExistsError:
        raise JudgeError(f"{name} exists already; name another file") from None
    except OSError as error:
        raise JudgeError(f"cannot write {name}: {error.strerror or error}") from error
    else:
        made = False
    finally:
        if made:
            Path(name).unlink(missing_ok=True)


@contextmanager
def _read(name: str) -> Iterator[IO[bytes]]:
    try:
        if name == _STANDARD:
            yield sys.stdin.buffer
        elif name.endswith(".gz"):
            with gzip.open(name) as packed:
                yield packed  # type: ignore[misc]
        else:
            with Path(name).open("rb") as plain:
                yield plain
    except (OSError, EOFError, zlib.error) as error:
        raise JudgeError(f"cannot read {name} to its end: {error}") from error
