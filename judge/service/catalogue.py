"""The runs that a service shows, by names that are never paths, each opened for many readers.

A run's columns stay in memory as they are sent, compressed; a study's record is one seek into
the run's file of annotations. Libraries are imported when they are first needed: the service is
ready before.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

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

_KNOWN = (
    *("rubric", "prompt", "signature", "section", "n_studies", "n_scored", "n_unparsed"),
    *("n_failed", "statistics"),
)
_MOST_OPEN, _MOST_LISTED = 8, 10_000
_T = TypeVar("_T")

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

    def _read(self, read: Callable[[Run], _T]) -> _T:
        """Return what `read` does; say what is wrong with the run, and not where it is kept."""
        try:
            return read(self._run)
        except JudgeError as error:
            text = str(error).replace(str(self.path), self.path.name)
            raise ProblemError(409, text) from error

    @property
    def manifest(self) -> dict[str, Any]:
        """What made the run."""
        return self._read(lambda run: run.manifest)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What was printed at its end."""
        return self._read(Run.summary)

    @property
    def rubric(self) -> Rubric:
        """The rubric it was judged by."""
        return self._read(lambda run: run.rubric)

    @cached_property
    def model(self) -> str | None:
        """The model that the run says it is about, None where it does not."""
        return self._read(known_model)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table of studies, None for what is no number; too large to keep."""
        rows = self._read(Run.columns).to_pylist()
        self._check_fits(len(rows))
        return [
            {name: None if value != value else value for name, value in row.items()} for row in rows
        ]

    def _check_fits(self, n_rows: int) -> None:
        if n_rows != len(self._offsets):
            raise ProblemError(
                409, f"{TABLE_PARQUET} and {ANNOTATIONS} differ: judge the studies again"
            )

    @cached_property
    def index(self) -> bytes:
        """What its page filters and sorts the studies by, as JSON, gzipped."""
        from judge.report.frontend import as_json
        from judge.report.overview import index

        frame = self._read(Run.table)
        self._check_fits(len(frame))
        return gzip.compress(as_json(index(frame, self.rubric)), 6)

    @cached_property
    def overview(self) -> dict[str, Any]:
        """The run as its page shows it first."""
        from judge.report.overview import overview

        return overview(self.summary, self._read(Run.table), self.rubric)

    @cached_property
    def _offsets(self) -> list[int]:
        """The byte at which each study's line begins."""
        offsets, at = [], 0
        try:
            with (self.path / ANNOTATIONS).open("rb") as file:
                for line in file:
                    offsets.append(at)
                    at += len(line)
        except OSError as error:
            raise ProblemError(409, f"cannot read {ANNOTATIONS}: {error.strerror}") from error
        return offsets

    def search(self, text: str) -> list[int]:
        """Return the rows of the studies that hold every word of `text`, in either case."""
        words = encodable(text).lower().split()
        return [row for row, text in enumerate(self._texts) if all(word in text for word in words)]

    @cached_property
    def _texts(self) -> list[str]:
        from judge.report.view import search_text

        return self._read(lambda run: [encodable(search_text(r)) for r in run.records()])

    def reviews(self) -> tuple[Event, ...]:
        """Return what readers said of the run, as far as it counts."""
        return reviews.current(self.path)

    def reviewed(self) -> dict[str, Any]:
        """Return the statistics of the run's reviews."""
        return reviews.measured(self.reviews(), self.errors_in, self.rubric)

    def readings(self) -> Mapping[tuple[str, str], KeptReading]:
        """Return the last reading of each study by each reader, by reader and study."""
        return self._read(lambda run: kept.current(run.path))

    def sample(self) -> Sample | None:
        """Return the studies that were drawn for reading, None where none were."""
        drawn = stamp(self.path / SAMPLE)
        return self._read(lambda run: _sample(run, self.stamp, drawn)) if drawn else None

    @cached_property
    def _fingerprints(self) -> dict[str, frozenset[str]]:
        return {}

    def errors_in(self, study_id: str) -> frozenset[str]:
        """Return the fingerprints of a study's errors, none where the run has no such study."""
        if study_id not in self._fingerprints:
            row = self.row_of(study_id)
            errors = () if row is None else reviews.errors_of(self.record(row), self.rubric)
            self._fingerprints[study_id] = frozenset(errors)
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
        ids = self._read(lambda run: run.columns(["study_id"])["study_id"]).to_pylist()
        self._check_fits(len(ids))
        return {study_id: row for row, study_id in enumerate(ids)}

    def record(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row of the run."""
        with (self.path / ANNOTATIONS).open("rb") as file:
            file.seek(self._offsets[row])
            line = file.readline()
        return self._read(lambda run: run.parsed(row + 1, line))


@lru_cache(_MOST_OPEN)
def _sample(run: Run, _run_stamp: Stamp, _stamp: tuple[int, int, int]) -> Sample | None:
    return kept_sample(run)


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

    @property
    def blind_id(self) -> str:
        """What readers know it by: its folder's name may say who judged it."""
        return hashlib.sha256(str(self.path.absolute()).encode()).hexdigest()[:16]


class Catalogue:
    """Finds runs by their ids and opens them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._opened = lru_cache(_MOST_OPEN)(OpenRun)
        self._figures = lru_cache(_MOST_LISTED)(self._figures_of)
        self._entries: dict[str, RunEntry] = {}

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first, then the newest first."""
        named = [path for path in self._settings.named if (path / MANIFEST).is_file()]
        known = {job.run: job for runs in self._settings.runs for job in jobs.listed(runs)}
        below = [
            path.parent for runs in self._settings.runs for path in runs.glob(f"[!.]*/{MANIFEST}")
        ]
        newest = sorted({*below, *known}, key=lambda path: _age(path, known), reverse=True)
        entries: dict[str, RunEntry] = {}
        for path in {path.absolute(): path for path in (*named, *newest)}.values():
            name = _name(path, entries)
            entries[name] = RunEntry(name, path, known.get(path))
        self._entries = entries | {entry.blind_id: entry for entry in entries.values()}
        return list(entries.values())

    def find(self, name: str) -> RunEntry:
        """Return the run of that id, or blind id; raises `ProblemError` 404 where there is none."""
        entry = self._entries.get(name)
        if entry is None or not (entry.job or entry.is_finished):
            self.entries()
            entry = self._entries.get(name)
        if entry is None:
            raise ProblemError(404, f"no run {name[:120]!r}; GET /v1/runs lists them")
        return entry

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
            request, (state, detail) = entry.job.request, entry.job.state()
            described |= {
                "name": request.name or entry.id,
                "state": state,
                "rubric": request.rubric,
                "judge": request.judge,
                "prompt": request.prompt or None,
                "started": request.created,
                "progress": entry.job.progress(),
                "detail": detail,
            }
        if entry.is_finished:
            described |= {**self._finished(entry), "state": jobs.FINISHED}
        return described

    def _open(self, path: Path) -> OpenRun:
        try:
            files = [(path / n).stat() for n in (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY)]
        except OSError as error:
            why = f"this run has no whole set of files: {error.strerror}"
            raise ProblemError(409, why) from error
        return self._opened(path, tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in files))

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
            "progress": manifest.get("spent"),
            "started": manifest.get("started"),
            "finished": manifest.get("finished"),
        }


def _age(path: Path, known: Mapping[Path, Job]) -> float:
    try:
        return (known[path].path if path in known else path / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0


def _name(path: Path, taken: Mapping[str, RunEntry]) -> str:
    name = path.absolute().name
    if not jobs.NAME.fullmatch(name):
        name = safe_name(name, 100, keeps="._-", default="run")
    if name in taken:
        name = f"{name}-{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    return name
