"""The runs that a service shows, by names that are never paths, each opened for many readers.

A run's columns stay in memory as they are sent, compressed; a study's record is one seek into
the run's file of annotations. Nothing is kept for a request after it was answered. Libraries
are imported when they are first needed: the service is ready before.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from judge.comparing.names import known_model
from judge.readers import kept
from judge.readers.kept import KeptReading
from judge.readers.sample import SAMPLE, Sample, kept_sample
from judge.report.tables import headline_figures
from judge.rubrics import Rubric
from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET, Run, stamp
from judge.service import ProblemError, jobs, reviews
from judge.service.jobs import Job
from judge.service.reviews import Event
from judge.service.settings import ServiceSettings
from judge.signature import safe_name
from judge.types import JudgeError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_KNOWN = (
    *("rubric", "prompt", "signature", "section", "n_studies", "n_scored", "n_unparsed"),
    *("n_failed", "statistics"),
)
_MOST_OPEN = 8
_T = TypeVar("_T")
_CHUNK = 2**20
_NEWLINE = 10

Stamp = tuple[tuple[int, int, int], ...]
"""What changes when a run is written anew."""


@dataclass(frozen=True)
class OpenRun:
    """A run's files as they were at `stamp`. Raises `ProblemError` where they are damaged."""

    path: Path
    stamp: Stamp

    @cached_property
    def _run(self) -> Run:
        return Run(self.path)

    def _told(self, read: Callable[[Run], _T]) -> _T:
        """Return what `read` finds; say what is wrong with the run, and not where it is kept."""
        try:
            return read(self._run)
        except JudgeError as error:
            text = str(error).replace(str(self.path), self.path.name)
            raise ProblemError(409, text) from error

    def open(self, name: str) -> IO[bytes]:
        """Open the annotations, or a table."""
        path = self.path / name
        try:
            return path.open("rb")
        except OSError as error:
            raise _unreadable(path, error) from error

    @property
    def manifest(self) -> dict[str, Any]:
        """What made the run."""
        return self._told(lambda run: run.manifest)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What was printed at its end."""
        return self._told(Run.summary)

    @property
    def rubric(self) -> Rubric:
        """The rubric it was judged by."""
        return self._told(lambda run: run.rubric)

    @cached_property
    def model(self) -> str | None:
        """The model that the run says it is about, None where it does not."""
        return self._told(known_model)

    def table(self) -> pa.Table:
        """Return the table of studies, None for what is no number; too large to keep."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self._told(Run.columns)
        self._check_fits(table.num_rows)
        for at, column in enumerate(table.column_names):
            if pa.types.is_floating(table.schema.field(at).type):  # JSON has no NaN
                values = table.column(at)
                values = pc.if_else(pc.is_nan(values), None, values)
                table = table.set_column(at, column, values)
        return table

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

        frame = self._told(Run.table)
        self._check_fits(len(frame))
        return gzip.compress(as_json(index(frame, self.rubric)), 6)

    @cached_property
    def overview(self) -> dict[str, Any]:
        """The run as its page shows it first."""
        from judge.report.overview import overview

        return overview(self.summary, self._told(Run.table), self.rubric)

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
        return np.flatnonzero(holds).tolist()

    @cached_property
    def _texts(self) -> pa.Array:
        import pyarrow as pa

        return pa.array(self._told(_searched), pa.large_string())

    def reviews(self) -> tuple[Event, ...]:
        """Return what readers said of the run, as far as it counts."""
        return reviews.current(self.path)

    def reviewed(self) -> dict[str, Any]:
        """Return the statistics of the run's reviews."""
        return reviews.measured(self.reviews(), self.errors_in, self.rubric)

    def readings(self) -> Mapping[tuple[str, str], KeptReading]:
        """Return the last reading of each study by each reader, by reader and study."""
        return self._told(lambda run: kept.current(run.path))

    def sample(self) -> Sample | None:
        """Return the studies that were drawn for reading, None where none were."""
        drawn = stamp(self.path / SAMPLE)
        return self._told(lambda run: _sample(run, self.stamp, drawn)) if drawn else None

    @cached_property
    def _fingerprints(self) -> dict[str, frozenset[str]]:
        return {}

    def errors_in(self, study_id: str) -> frozenset[str]:
        """Return the fingerprints of a study's errors, none where the run has no such study."""
        if study_id not in self._fingerprints:
            row = self.row_of(study_id)
            found = () if row is None else reviews.errors_of(self.record(row), self.rubric)
            self._fingerprints[study_id] = frozenset(found)
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
        ids = self._told(lambda run: run.columns(["study_id"])["study_id"])
        self._check_fits(len(ids))
        return {study_id: row for row, study_id in enumerate(ids.to_pylist())}

    def record(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row of the run."""
        with self.open(ANNOTATIONS) as file:
            file.seek(int(self.offsets[row]))
            line = file.readline()
        return self._told(lambda run: run.parsed(row + 1, line))


@lru_cache(_MOST_OPEN)
def _sample(run: Run, _run_stamp: Stamp, _stamp: tuple[int, int, int]) -> Sample | None:
    return kept_sample(run)


def _searched(run: Run) -> list[str]:
    from judge.report.view import search_text

    return [encodable(search_text(record)) for record in run.records()]


def _unreadable(path: Path, error: OSError) -> ProblemError:
    return ProblemError(409, f"cannot read {path.name}: {error.strerror}")


def encodable(text: str) -> str:
    """Return `text` without half surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class RunEntry:
    """Where a run is, finished or not; `job` is there for one that a service was asked for."""

    id: str
    path: Path
    job: Job | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run can be read."""
        return (self.path / MANIFEST).is_file()


class Catalogue:
    """Finds runs by their ids and opens them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._opened = lru_cache(_MOST_OPEN)(OpenRun)
        self._figures = cache(self._figures_of)
        self._found: dict[str, RunEntry] = {}

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first, then the newest first."""
        paths = [path for path in self._settings.named if (path / MANIFEST).is_file()]
        known: dict[Path, Job] = {}
        below: list[Path] = []
        for runs in self._settings.runs:
            known |= {job.run: job for job in jobs.listed(runs)}
            if runs.is_dir():
                below += [p for p in runs.iterdir() if p not in known and (p / MANIFEST).is_file()]
        found: dict[str, RunEntry] = {}
        seen: set[Path] = set()
        for path in (*paths, *sorted({*below, *known}, key=lambda p: _age(p, known), reverse=True)):
            if path.absolute() not in seen:
                seen.add(path.absolute())
                name = _name(path, found)
                found[name] = RunEntry(name, path, known.get(path))
        self._found = found
        return list(found.values())

    def find(self, name: str) -> RunEntry:
        """Return the run called `name`; raises `ProblemError` 404 where there is none."""
        found = self._found.get(name)
        if found is None or not (found.job or found.is_finished):
            self.entries()
            found = self._found.get(name)
        if found is None:
            raise ProblemError(404, f"no run {name[:120]!r}; GET /v1/runs lists them")
        return found

    def open(self, name: str) -> tuple[RunEntry, OpenRun]:
        """Return a finished run; raises `ProblemError` 404 for none, 409 for an unfinished one."""
        entry = self.find(name)
        if not entry.is_finished:
            raise ProblemError(409, f"the run {name} has no results yet")
        return entry, self._open(entry.path)

    def describe(self, entry: RunEntry) -> dict[str, Any]:
        """Return what a list of runs says of one."""
        described: dict[str, Any] = {"id": entry.id, "name": entry.id, "state": jobs.FINISHED}
        described |= dict.fromkeys(
            (*_KNOWN, "judge", "model", "started", "finished", "progress", "detail")
        )
        if entry.job is not None:
            request, state = entry.job.request, entry.job.state()
            described |= {
                "name": request.name or entry.id,
                "state": state.state,
                "rubric": request.rubric,
                "judge": request.judge,
                "prompt": request.prompt or None,
                "started": request.created,
                "progress": state.progress or None,
                "detail": state.detail or None,
            }
        if entry.is_finished:
            described |= {**self._finished(entry), "state": jobs.FINISHED}
        return described

    def _open(self, path: Path) -> OpenRun:
        try:
            found = [(path / n).stat() for n in (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY)]
        except OSError as error:
            why = f"this run has no whole set of files: {error.strerror}"
            raise ProblemError(409, why) from error
        return self._opened(path, tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in found))

    def _finished(self, entry: RunEntry) -> dict[str, Any]:
        try:
            return self._figures(entry.path, (entry.path / MANIFEST).stat().st_mtime_ns)
        except (ProblemError, OSError) as error:
            return {"detail": f"this run cannot be read: {error}"}

    def _figures_of(self, path: Path, _changed: int) -> dict[str, Any]:
        run = self._open(path)
        summary, manifest = run.summary, run.manifest
        headline = headline_figures(summary, run.rubric)
        return {
            **{name: summary.get(name) for name in _KNOWN},
            "headline": [{"label": label, "text": text} for label, text in headline],
            "judge": summary["judge"]["name"],
            "model": run.model,
            "started": manifest.get("started"),
            "finished": manifest.get("finished"),
        }


def _age(path: Path, known: dict[Path, Job]) -> float:
    try:
        return (known[path].path if path in known else path / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0


def _name(path: Path, taken: dict[str, RunEntry]) -> str:
    name = path.absolute().name
    if not jobs.NAME.fullmatch(name):
        name = safe_name(name, 100, keeps="._-", default="run")
    if name in taken:
        name = f"{name}-{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    return name
