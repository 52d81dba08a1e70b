"""The runs that a service shows, by names that are never paths, each opened once for all clients.

The columns of a run stay in memory as they are sent, compressed; the record of a study is one seek
into the run's file of annotations.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge.comparing.alignment import known_model
from judge.pages import run as page
from judge.pages.bundle import PACKET, as_json
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
from judge.study.asked import AskedQuestions
from judge.study.view import search_text
from judge.tables.run import headline_figures
from judge.types import JudgeError

_LISTED = (
    *("rubric", "prompt", "signature", "section", "n_studies", "n_scored", "n_unparsed"),
    *("n_failed", "statistics"),
)
_MAX_OPEN, _MAX_LISTED = 8, 10_000
_AROUND, _MAX_SNIPPETS = 60, 1000

Stamps = tuple[Stamp | None, ...]
"""The stamps of a run's files, which change when it is written anew."""


class OpenRun(Run):
    """A run's files as they were at `stamps`. Raises `JudgeError` where they are damaged."""

    def __init__(self, path: Path, stamps: Stamps) -> None:
        super().__init__(path)
        self.stamps = stamps
        self._samples: dict[Stamp | None, Sample | None] = {None: None}

    def piece(self, name: str) -> bytes:
        """Return a piece of the run's page by its name in the page's file, as gzipped JSON.

        Raises `ProblemError` 404 for a packet beyond the last study.
        """
        if name in ("overview", "index"):
            return self._overview if name == "overview" else self._index
        first = PACKET * int(name.removeprefix("asked-"))
        records = [self.row(row) for row in range(first, min(first + PACKET, len(self._rows)))]
        if not records:
            raise ProblemError(404, f"this run has no {name}")
        return gzip.compress(page.questions(records, self._asked), 6)

    @cached_property
    def _asked(self) -> AskedQuestions:
        return AskedQuestions(self)

    @cached_property
    def _index(self) -> bytes:
        self._check_fits(len(self.table()))
        return gzip.compress(as_json(page.index(self.table(), self.rubric)), 6)

    @cached_property
    def _overview(self) -> bytes:
        pieces = page.overview(self.summary(), self.table(), self.rubric)
        return gzip.compress(as_json(pieces), 6)

    def search(self, text: str) -> tuple[list[int], list[str]]:
        """Return the rows of the studies that hold every word of `text`, in either case.

        With them, where they are not too many, the text around the first word in each.
        """
        words = text.lower().split()
        rows = [row for row, text in enumerate(self._lower) if all(word in text for word in words)]
        snippets = []
        for row in rows if words and len(rows) <= _MAX_SNIPPETS else ():
            start = max(0, min(self._lower[row].find(word) for word in words) - _AROUND)
            snippets.append(self._texts[row][start : start + 3 * _AROUND])
        return rows, snippets

    @cached_property
    def _lower(self) -> list[str]:
        return [text.lower() for text in self._texts]

    @cached_property
    def _texts(self) -> list[str]:
        return [search_text(record) for record in self.records()]

    def reviewed(self) -> dict[str, Any]:
        """Return the statistics of the run's reviews."""
        return reviews.measured(reviews.current(self.path), self._errors_in, self.rubric)

    def _errors_in(self, study_id: str) -> frozenset[str]:
        row = self.row_of(study_id)
        return frozenset(() if row is None else reviews.errors_of(self.row(row), self.rubric))

    def sample(self) -> Sample | None:
        """Return the studies that were drawn for reading, None where none were."""
        changed = stamp(self.path / SAMPLE)
        if changed not in self._samples:
            self._samples[changed] = kept_sample(self)
        return self._samples[changed]

    def row_of(self, study_id: str) -> int | None:
        """Return the row of the study with that id, None where the run has none."""
        return self._rows.get(study_id)

    @cached_property
    def _rows(self) -> dict[str, int]:
        ids = self.columns(["study_id"])["study_id"].to_pylist()
        self._check_fits(len(ids))
        return {study_id: row for row, study_id in enumerate(ids)}

    @cached_property
    def _offsets(self) -> list[int]:
        offsets = [0]
        for line in self.lines():
            offsets.append(offsets[-1] + len(line))
        return offsets[:-1]

    def _check_fits(self, n_rows: int) -> None:
        if n_rows != len(self._offsets):
            raise damaged(self.path / ANNOTATIONS, f"{TABLE_PARQUET} has other studies")

    def row(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row of the run; raises 404 beyond the last row."""
        if row >= len(self._rows):
            raise ProblemError(404, "no such study in this run")
        with (self.path / ANNOTATIONS).open("rb") as file:
            file.seek(self._offsets[row])
            return self.parsed(row + 1, file.readline())


@dataclass(frozen=True, slots=True)
class RunEntry:
    """The place of a run, finished or not, and its job where a service was asked for it."""

    id: str
    path: Path
    job: Job | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run can be read."""
        return (self.path / MANIFEST).is_file()

    @property
    def blind_id(self) -> str:
        """The run's name for readers: its folder's name may say who judged it."""
        return _digest(self.path)[:16]


class Catalogue:
    """Finds runs by their ids and opens them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._opened = lru_cache(_MAX_OPEN)(OpenRun)
        self._listed = lru_cache(_MAX_LISTED)(self._describe_finished)
        self._entries: dict[str, RunEntry] = {}

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first, then the newest first."""
        folders = self._settings.runs
        named = [path for path in self._settings.named if (path / MANIFEST).is_file()]
        jobs_by_run = {job.run.absolute(): job for runs in folders for job in jobs.list_jobs(runs)}
        below = {
            path.parent for runs in folders for path in runs.absolute().glob(f"[!.]*/{MANIFEST}")
        }

        def changed(path: Path) -> float:
            job = jobs_by_run.get(path)
            try:
                return (job.path if job else path / MANIFEST).stat().st_mtime
            except OSError:
                return 0.0

        newest = sorted({*below, *jobs_by_run}, key=changed, reverse=True)
        entries: dict[str, RunEntry] = {}
        for path in dict.fromkeys(path.absolute() for path in (*named, *newest)):
            name = path.name
            if not jobs.NAME.fullmatch(name):
                name = safe_name(name, 100, keeps="._-", default="run")
            if name in entries:
                name = f"{name}-{_digest(path)[:8]}"
            entries[name] = RunEntry(name, path, jobs_by_run.get(path))
        self._entries = entries | {entry.blind_id: entry for entry in entries.values()}
        return list(entries.values())

    def find(self, name: str) -> RunEntry:
        """Return the run of that id, or blind id; raises `ProblemError` 404 for an unknown one."""
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
        return entry, self._opened(entry.path, _stamps(entry.path))

    def describe(self, entry: RunEntry) -> dict[str, Any]:
        """Return a run as in the list of runs."""
        described: dict[str, Any] = dict.fromkeys(
            (*_LISTED, "judge", "model", "started", "finished", "progress", "detail")
        )
        described |= {"id": entry.id, "name": entry.id}
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
            described["state"] = jobs.FINISHED
            try:
                described |= self._listed(entry.path, _stamps(entry.path))
            except JudgeError as error:
                detail = self._settings.hide_folders(error)
                described["detail"] = f"this run cannot be read: {detail}"
        return described

    def _describe_finished(self, path: Path, stamps: Stamps) -> dict[str, Any]:
        run = self._opened(path, stamps)
        summary = run.summary()
        headline = headline_figures(summary, run.rubric)
        return {
            **{name: summary.get(name) for name in _LISTED},
            "headline": [{"label": label, "text": text} for label, text in headline],
            "judge": summary["judge"]["name"],
            "model": known_model(run),
            "progress": run.manifest.get("spent"),
            "started": run.manifest.get("started"),
            "finished": run.manifest.get("finished"),
        }


def _stamps(path: Path) -> Stamps:
    return tuple(stamp(path / name) for name in (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY))


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path.absolute()).encode()).hexdigest()
