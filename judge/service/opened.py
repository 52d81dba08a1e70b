"""A finished run, opened for many readers: its table in columns, its studies by their place.

The table stays in memory, column by column; a study's record is one seek into the run's
file of annotations. Nothing is kept for a request after it was answered. Libraries
are imported when they are first needed: the service is ready before.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.comparing.names import own_model
from judge.rubrics import Rubric
from judge.run.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET, Run
from judge.service.problems import ProblemError
from judge.service.reviews import Kept, errors_of
from judge.types import JudgeError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

_CHUNK = 2**20
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

    @cached_property
    def table(self) -> pa.Table:
        """The table of studies with `row`, its place, and `categories`, its errors' letters."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from judge.stats.worst import categories

        with self._told():
            table = self._run.columns()
        if table.num_rows != len(self.offsets):
            raise ProblemError(
                409, f"{TABLE_PARQUET} and {ANNOTATIONS} differ: judge the studies again"
            )
        found = categories(self._frame, self.rubric)
        for at, column in enumerate(table.column_names):
            if pa.types.is_floating(table.schema.field(at).type):  # JSON has no NaN
                values = table.column(at)
                values = pc.if_else(pc.is_nan(values), None, values)
                table = table.set_column(at, column, values)
        rows = pa.array(range(table.num_rows), pa.int64())
        for name, column in (("row", rows), ("categories", pa.array(found, pa.string()))):
            if name in table.column_names:  # a field of the user's
                table = table.drop_columns([name])
            table = table.append_column(name, column)
        return table.combine_chunks()

    @property
    def _frame(self) -> pd.DataFrame:
        """The same table for the functions of the command line; too large to keep."""
        with self._told():
            return self._run.table()

    @cached_property
    def worst(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """All places, the worst study's first."""
        import numpy as np

        from judge.stats.worst import worst_order

        return np.array(worst_order(self._frame, self.rubric), np.int64)

    @cached_property
    def overview(self) -> dict[str, Any]:
        """The run as its page shows it first."""
        from judge.report.overview import overview

        return overview(self.summary, self._frame, self.rubric)

    @cached_property
    def offsets(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The byte at which each study's line begins."""
        import numpy as np

        path = self.path / ANNOTATIONS
        starts = [np.zeros(1, np.int64)]
        at = 0
        try:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == _NEWLINE)
                    starts.append(ends + (at + 1))
                    at += len(chunk)
        except OSError as error:
            raise ProblemError(409, f"cannot read {path.name}: {error.strerror}") from error
        found = np.concatenate(starts)
        return found[:-1] if found[-1] == at else found  # the last line ends the file

    @cached_property
    def texts(self) -> pa.Array:
        """What a search looks through: each study's id, reports and annotation, lower case."""
        import pyarrow as pa

        with (self.path / ANNOTATIONS).open("rb") as file:
            found = [self._searched(n, line) for n, line in enumerate(file, 1)]
        return pa.array(found, pa.large_string())

    def _searched(self, n: int, line: bytes) -> str:
        from judge.report.view import search_text

        try:
            return encodable(search_text(json.loads(line)))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            with self._told():
                return encodable(search_text(self._run.parsed(n, line)))

    @cached_property
    def reviews(self) -> Kept:
        """What readers said of the run."""
        return Kept(self.path)

    @cached_property
    def _fingerprints(self) -> dict[str, frozenset[str]]:
        return {}

    def errors_in(self, study_id: str) -> frozenset[str]:
        """Return the fingerprints of a study's errors, none where the run has no such study."""
        if study_id not in self._fingerprints:
            row = self.row_of(study_id)
            found = frozenset(() if row is None else errors_of(self.record(row)))
            self._fingerprints[study_id] = found
        return self._fingerprints[study_id]

    def row_of(self, study_id: str) -> int | None:
        """Return the place of the study with that id, None where the run has none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        row = pc.index(self.table["study_id"], pa.scalar(encodable(study_id))).as_py()
        return row if row >= 0 else None

    def record(self, row: int) -> dict[str, Any]:
        """Return the record of the study at a place; raises IndexError outside the run."""
        if not 0 <= row < len(self.offsets):
            raise IndexError(row)
        with (self.path / ANNOTATIONS).open("rb") as file:
            file.seek(int(self.offsets[row]))
            line = file.readline()
        with self._told():
            return self._run.parsed(row + 1, line)


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
