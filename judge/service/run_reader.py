"""A finished run, opened for many readers: its studies in columns, each by its row.

The columns stay in memory as they are sent, compressed; a study's record is one seek into the
run's file of annotations. Nothing is kept for a request after it was answered. Libraries
are imported when they are first needed: the service is ready before.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.comparing.names import own_model
from judge.rubrics import Rubric
from judge.running.files import LONGEST_LINE, open_file
from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET, Run
from judge.service.problems import ProblemError
from judge.service.reviews import Reviews, errors_of
from judge.types import JudgeError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

_CHUNK = 2**20
_LEAST_LIMIT = 2**26
_NEWLINE = 10

Stamp = tuple[tuple[int, int, int], ...]


def stamp(path: Path) -> Stamp:
    """Return what changes when a run is written anew; raises OSError where it lacks a file."""
    found = [(path / name).stat() for name in (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY)]
    return tuple((status.st_ino, status.st_mtime_ns, status.st_size) for status in found)


@dataclass(frozen=True)
class OpenRun:
    """A run's files as they were at `stamp`. Raises `ProblemError` where they are damaged."""

    path: Path
    stamp: Stamp

    @cached_property
    def _run(self) -> Run:
        with self._told():
            return Run(self.path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what is wrong with the run, and not where it is kept."""
        try:
            yield
        except JudgeError as error:
            text = str(error).replace(str(self.path), self.path.name)
            raise ProblemError(409, text) from error

    def open(self, name: str) -> IO[bytes]:
        """Open the annotations, or a table; no table is much larger than they are."""
        path = self.path / name
        try:
            file = open_file(path)
        except OSError as error:
            raise _unreadable(path, error) from error
        most = _LEAST_LIMIT + 4 * (int(self.offsets[-1]) if len(self.offsets) else 0)
        if name != ANNOTATIONS and os.fstat(file.fileno()).st_size > most:
            file.close()
            raise ProblemError(409, f"{name} is damaged: it is larger than the run can make it")
        return file

    @property
    def manifest(self) -> dict[str, Any]:
        """What made the run."""
        return self._run.manifest

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What was printed at its end."""
        with self._told():
            return self._run.summary()

    @property
    def rubric(self) -> Rubric:
        """The rubric it was judged by."""
        with self._told():
            return self._run.rubric

    @cached_property
    def model(self) -> str:
        """The model that it is compared as where nobody names it."""
        with self._told():
            return own_model(self._run)

    def table(self) -> pa.Table:
        """Return the table of studies, None for what is no number; too large to keep."""
        import pyarrow as pa
        import pyarrow.compute as pc

        with self._told():
            table = self._run.columns()
        self._check_fits(table.num_rows)
        for at, column in enumerate(table.column_names):
            if pa.types.is_floating(table.schema.field(at).type):  # JSON has no NaN
                values = table.column(at)
                values = pc.if_else(pc.is_nan(values), None, values)
                table = table.set_column(at, column, values)
        return table

    def _frame(self) -> pd.DataFrame:
        """Return the same table for the functions of the command line."""
        with self._told():
            return self._run.table()

    def _check_fits(self, n_rows: int) -> None:
        if n_rows != len(self.offsets):
            raise ProblemError(
                409, f"{TABLE_PARQUET} and {ANNOTATIONS} differ: judge the studies again"
            )

    @cached_property
    def index(self) -> bytes:
        """What its page filters and sorts the studies by, as JSON, gzipped."""
        from judge.report.frontend import as_json
        from judge.report.overview import index

        frame = self._frame()
        self._check_fits(len(frame))
        return gzip.compress(as_json(index(frame, self.rubric)), 6)

    @cached_property
    def overview(self) -> dict[str, Any]:
        """The run as its page shows it first."""
        from judge.report.overview import overview

        return overview(self.summary, self._frame(), self.rubric)

    @cached_property
    def offsets(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The byte at which each study's line begins."""
        import numpy as np

        path = self.path / ANNOTATIONS
        starts = [np.zeros(1, np.int64)]
        at = 0
        try:
            with open_file(path) as file:
                while chunk := file.read(_CHUNK):
                    if b"\0" in chunk:  # as in the holes of a file that only seems large
                        raise ProblemError(409, f"{path.name} is damaged: it holds zero bytes")
                    ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == _NEWLINE)
                    starts.append(ends + (at + 1))
                    at += len(chunk)
        except OSError as error:
            raise _unreadable(path, error) from error
        found = np.concatenate(starts)
        return found[:-1] if found[-1] == at else found  # the last line ends the file

    def search(self, text: str) -> list[int]:
        """Return the rows of the studies that hold every word of `text`, in either case."""
        import numpy as np
        import pyarrow.compute as pc

        holds = np.ones(len(self._texts), bool)
        for word in encodable(text).lower().split():
            found = pc.match_substring(self._texts, word)
            holds &= found.to_numpy(zero_copy_only=False)
        return [int(row) for row in np.flatnonzero(holds)]

    @cached_property
    def _texts(self) -> pa.Array:
        """What a search looks through: each study's id, reports and annotation, lower case."""
        import pyarrow as pa

        with self._told():
            found = [self._searched(n, line) for n, line in enumerate(self._run.lines(), 1)]
        return pa.array(found, pa.large_string())

    def _searched(self, n: int, line: bytes) -> str:
        from judge.report.view import search_text

        try:
            return encodable(search_text(json.loads(line)))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            with self._told():
                return encodable(search_text(self._run.parsed(n, line)))

    @cached_property
    def reviews(self) -> Reviews:
        """What readers said of the run."""
        return Reviews(self.path)

    @cached_property
    def _fingerprints(self) -> dict[str, frozenset[str]]:
        return {}

    def errors_in(self, study_id: str) -> frozenset[str]:
        """Return the fingerprints of a study's errors, none where the run has no such study."""
        if study_id not in self._fingerprints:
            row = self.row_of(study_id)
            found = frozenset(() if row is None else errors_of(self.record(row), self.rubric))
            self._fingerprints[study_id] = found
        return self._fingerprints[study_id]

    def row_of(self, study_id: str) -> int | None:
        """Return the row of the study with that id, None where the run has none."""
        return self._rows.get(encodable(study_id))

    @property
    def n_studies(self) -> int:
        """How many studies it has, where its table and its annotations agree."""
        return len(self._rows)

    @cached_property
    def _rows(self) -> dict[str, int]:
        """Every study's row by its id."""
        with self._told():
            ids = self._run.columns(["study_id"])["study_id"]
        self._check_fits(len(ids))
        return {study_id: row for row, study_id in enumerate(ids.to_pylist())}

    def record(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row; raises IndexError outside the run."""
        if not 0 <= row < len(self.offsets):
            raise IndexError(row)
        with self.open(ANNOTATIONS) as file:
            file.seek(int(self.offsets[row]))
            line = file.readline(LONGEST_LINE)
        with self._told():
            return self._run.parsed(row + 1, line)


def _unreadable(path: Path, error: OSError) -> ProblemError:
    return ProblemError(409, f"cannot read {path.name}: {error.strerror}")


class OpenRuns:
    """The runs that were asked for last, each opened once."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._open: dict[Path, OpenRun] = {}
        self._lock = threading.Lock()

    def get(self, path: Path) -> OpenRun:
        """Return the run in `path` as it is now; raises `ProblemError` where there is none."""
        try:
            now = stamp(path)
        except OSError as error:
            why = f"this run has no whole set of files: {error.strerror}"
            raise ProblemError(409, why) from error
        with self._lock:
            found = self._open.pop(path, None)
            if found is None or found.stamp != now:
                found = OpenRun(path, now)
            self._open[path] = found
            while len(self._open) > self._most:
                del self._open[next(iter(self._open))]
            return found


def encodable(text: str) -> str:
    """Return `text` without half surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
