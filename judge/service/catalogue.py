"""The runs that a service shows, by names that are never paths, each opened for many readers.

A run's columns stay in memory as they are sent, compressed; a study's record is one seek into
the run's file of annotations. Libraries are imported when they are first needed: the service is
ready before.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge.comparing.names import known_model
from judge.readers.sample import SAMPLE, Sample, kept_sample
from judge.running.folder import (
    ANNOTATIONS,
    MANIFEST,
    SUMMARY,
    TABLE_PARQUET,
    Run,
    Stamp,
    damaged,
    stamp,
)
from judge.service import ProblemError, jobs, reviews
from judge.service.jobs import Job
from judge.service.settings import ServiceSettings
from judge.signature import safe_name
from judge.tables.run import headline_figures
from judge.types import JudgeError

_KNOWN = (
    *("rubric", "prompt", "signature", "section", "n_studies", "n_scored", "n_unparsed"),
    *("n_failed", "statistics"),
)
_MOST_OPEN, _MOST_LISTED = 8, 10_000

Stamps = tuple[Stamp | None, ...]
"""What changes when a run is written anew."""


class OpenRun(Run):
    """A run's files as they were at `stamps`. Raises `JudgeError` where they are damaged."""

    def __init__(self, path: Path, stamps: Stamps) -> None:
        super().__init__(path)
        self.stamps = stamps
        self._samples: dict[Stamp | None, Sample | None] = {None: None}

    def _check_fits(self, n_rows: int) -> None:
        if n_rows != len(self._offsets):
            raise damaged(self.path / ANNOTATIONS, f"{TABLE_PARQUET} has other studies")

    @cached_property
    def index(self) -> bytes:
        """What its page filters and sorts the studies by, as JSON, gzipped."""
        from judge.pages.frontend import as_json
        from judge.pages.run import index
        from judge.pages.run_file import PACKET

        frame = self.table()
        self._check_fits(len(frame))
        return gzip.compress(as_json({"packet": PACKET, **index(frame, self.rubric)}), 6)

    def piece(self, name: str) -> bytes:
        """Return a piece of the run's page by its name in the page's file, as gzipped JSON."""
        from judge.pages.frontend import as_json
        from judge.pages.run_file import PACKET

        if name == "index":
            return self.index
        if name == "overview":
            return gzip.compress(as_json(self.overview), 6)
        first = PACKET * int(name.partition("-")[2])
        rows = range(first, min(first + PACKET, len(self._rows)))
        if not rows:
            raise ProblemError(404, f"this run has no {name}")
        return gzip.compress(as_json([self.view(self.row(row)) for row in rows]), 1)

    def view(self, study: Mapping[str, Any]) -> dict[str, Any]:
        """Return the view of a study's record, with the fingerprints of its errors."""
        from judge.study.view import study_view

        fingerprints = list(reviews.errors_of(study, self.rubric))
        return {**study_view(study, self.rubric), "fingerprints": fingerprints}

    @cached_property
    def overview(self) -> dict[str, Any]:
        """The run as its page shows it first."""
        from judge.pages.run import overview

        return overview(self.summary(), self.table(), self.rubric)

    @cached_property
    def _offsets(self) -> list[int]:
        offsets = [0]
        for line in self.lines():
            offsets.append(offsets[-1] + len(line))
        return offsets[:-1]

    def search(self, text: str) -> list[int]:
        """Return the rows of the studies that hold every word of `text`, in either case."""
        words = encodable(text).lower().split()
        return [row for row, text in enumerate(self._texts) if all(word in text for word in words)]

    @cached_property
    def _texts(self) -> list[str]:
        from judge.study.view import search_text

        return [encodable(search_text(record)) for record in self.records()]

    def reviewed(self) -> dict[str, Any]:
        """Return the statistics of the run's reviews."""
        return reviews.measured(reviews.current(self.path), self._errors_in, self.rubric)

    def _errors_in(self, study_id: str) -> frozenset[str]:
        row = self.row_of(study_id)
        return frozenset(() if row is None else reviews.errors_of(self.row(row), self.rubric))

    def sample(self) -> Sample | None:
        """Return the studies that were drawn for reading, None where none were."""
        drawn = stamp(self.path / SAMPLE)
        if drawn not in self._samples:
            self._samples[drawn] = kept_sample(self)
        return self._samples[drawn]

    def row_of(self, study_id: str) -> int | None:
        """Return the row of the study with that id, None where the run has none."""
        return self._rows.get(encodable(study_id))

    @cached_property
    def _rows(self) -> dict[str, int]:
        ids = self.columns(["study_id"])["study_id"].to_pylist()
        self._check_fits(len(ids))
        return {study_id: row for row, study_id in enumerate(ids)}

    def row(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row of the run; raises 404 where there is none."""
        if row >= len(self._rows):
            raise ProblemError(404, "no such study in this run")
        with (self.path / ANNOTATIONS).open("rb") as file:
            file.seek(self._offsets[row])
            return self.parsed(row + 1, file.readline())


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
        known = {
            job.run.absolute(): job for runs in self._settings.runs for job in jobs.listed(runs)
        }
        below = [
            path.parent
            for runs in self._settings.runs
            for path in runs.absolute().glob(f"[!.]*/{MANIFEST}")
        ]
        newest = sorted({*below, *known}, key=lambda path: _age(path, known), reverse=True)
        entries: dict[str, RunEntry] = {}
        for path in dict.fromkeys(path.absolute() for path in (*named, *newest)):
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
            try:
                described |= {**self._figures(entry.path, _stamps(entry.path)), "state": "finished"}
            except JudgeError as error:
                described["detail"] = f"this run cannot be read: {self._settings.hidden(error)}"
        return described

    def _open(self, path: Path) -> OpenRun:
        return self._opened(path, _stamps(path))

    def _figures_of(self, path: Path, stamps: Stamps) -> dict[str, Any]:
        run = self._opened(path, stamps)
        summary = run.summary()
        headline = headline_figures(summary, run.rubric)
        return {
            **{name: summary.get(name) for name in _KNOWN},
            "headline": [{"label": label, "text": text} for label, text in headline],
            "judge": summary["judge"]["name"],
            "model": known_model(run),
            "progress": run.manifest.get("spent"),
            "started": run.manifest.get("started"),
            "finished": run.manifest.get("finished"),
        }


def _stamps(path: Path) -> Stamps:
    return tuple(stamp(path / name) for name in (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY))


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
