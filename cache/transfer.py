"""The cache as JSON Lines: one entry a line, out and in again."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from judge.cache.contents import Contents
from judge.cache.entry import Entry, Unreadable, UnreadableError, as_object, entry_of
from judge.cache.store import CompletionCache
from judge.types import JudgeError

_STANDARD = "-"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entries went over, and those that could not.

    `kept` are those that were there already, `differing` those among them whose answer is
    another one, which stays.
    """

    done: int
    wrong: tuple[Unreadable, ...]
    kept: int = 0
    differing: int = 0


def export(contents: Contents, file: IO[bytes]) -> Tally:
    """Write the entries to `file`."""
    done = 0
    wrong = []
    for entry in contents:
        if isinstance(entry, Unreadable):
            wrong.append(entry)
            continue
        file.write(json.dumps(as_object(entry)).encode("ascii") + b"\n")
        done += 1
    return Tally(done, tuple(wrong))


def import_(cache: CompletionCache, entries: Iterable[Entry | Unreadable]) -> Tally:
    """Take entries into `cache`; those that are there already stay as they are.

    Where `entries` raises, what came before is kept.
    """
    done = kept = differing = 0
    wrong = []
    for entry in entries:
        if isinstance(entry, Unreadable):
            wrong.append(entry)
        elif (there := cache.add(entry)) is None:
            done += 1
        else:
            kept += 1
            differing += there.completion != entry.completion
    return Tally(done, tuple(wrong), kept, differing)


def exported(source: str) -> Iterator[Entry | Unreadable]:
    """Yield the entries of an exported file (`-` is standard input).

    A line is `Unreadable` whose key is not the one that its request has, or whose answer does
    not fit its checksum, where it has one. Raises `JudgeError` where the file cannot be read
    to its end.
    """
    with _read(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                yield entry_of(number, row["key"], row, row["stored"])
            except (ValueError, KeyError, TypeError, RecursionError):
                reason = "not the JSON object of an entry"
                yield Unreadable(number, f"{source}, line {number}", reason)
            except UnreadableError as error:
                yield Unreadable(number, f"{source}, line {number}", str(error))


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
