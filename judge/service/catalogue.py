"""The runs that a service shows, by names that are never paths; those in its trash."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge.comparing.alignment import known_model
from judge.files import Stamp, folders_with, is_regular, is_there, stamp
from judge.pages import run as page
from judge.pages.bundle import as_json
from judge.readers.annotation_store import read_entries
from judge.run_files.manifest import MANIFEST
from judge.run_files.study_record import ANNOTATIONS
from judge.run_files.summary import SUMMARY
from judge.running import folder
from judge.running.folder import TABLE_PARQUET, RunFolder
from judge.service import ProblemError, jobs
from judge.service.jobs import Job
from judge.service.settings import JOBS, ServiceSettings
from judge.study.reviews import (
    Errors,
    Event,
    RunReviews,
    StudyUnits,
    fingerprints,
    read_reviews,
)
from judge.study.view import search_text
from judge.tables.run import headline_figures
from judge.types import JudgeError

_MAX_OPEN, _MAX_LISTED = 8, 10_000
_FILES = (MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY)

TRASH = ".trash"
"""The folder of deleted runs in a folder of runs."""
NAMES = "names.jsonl"
"""The file of a run with the names that it had."""
TRASH_ID = r"\d{8}-\d{6}-[0-9a-f]{6}"
Stamps = tuple[Stamp | None, ...]


class OpenRun(RunFolder):
    """A run's files as they were at `stamps`. Raises `JudgeError` where they are damaged."""

    def __init__(self, path: Path, stamps: Stamps) -> None:
        run = RunFolder.open(path)
        super().__init__(run.path, run.manifest)
        self.stamps = stamps

    @cached_property
    def asked(self) -> page.AskedQuestions:
        """The questions that the run's judge was asked."""
        return page.AskedQuestions(self)

    @cached_property
    def pieces(self) -> dict[str, bytes]:
        """The `overview` and the `index` of the run's page, as JSON."""
        table = self.table()
        overview = page.overview(self, table)
        return {
            "overview": as_json(overview),
            "index": as_json(page.index(table, self.rubric)),
        }

    def search(self, text: str) -> list[int]:
        """Return the rows of the studies that hold every word of `text`, in either case."""
        words = text.lower().split()
        found = []
        for row, study_text in enumerate(self._texts):
            if all(word in study_text for word in words):
                found.append(row)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        return [search_text(record).lower() for record in self.records()]

    def reviews(self) -> list[Event]:
        """Return the reviews that count, read again when the file has changed."""
        return read_reviews(self.path)

    def reviewed(self) -> RunReviews:
        """Return the reviews that count, which are stale, and what they say of the judge."""
        events = self.reviews()
        study_ids = {event.study_id for event in events}
        errors = {study_id: self.errors_of(study_id) for study_id in study_ids}
        return RunReviews.of(events, errors, units=self.units, rubric=self.rubric)

    @cached_property
    def units(self) -> StudyUnits:
        """The number of each study's patient, or its own where studies are independent."""
        return StudyUnits.of(self)

    def errors_of(self, study_id: str) -> Errors:
        """Return a study's graded items by their fingerprints, none for an unknown study."""
        row = self.row_of(study_id)
        if row is None:
            return {}
        return fingerprints(self.row(row)["annotation"], self.rubric)

    def row_of(self, study_id: str) -> int | None:
        """Return the row of the study with that id, None where the run has none."""
        return self._rows.get(study_id)

    @cached_property
    def _rows(self) -> dict[str, int]:
        ids = self.columns(["study_id"])["study_id"].to_pylist()
        return {study_id: row for row, study_id in enumerate(ids)}

    @cached_property
    def _lines(self) -> list[bytes]:
        lines = list(self.lines())
        if len(lines) != len(self._rows):
            raise folder.damaged(
                self.path / ANNOTATIONS, f"{TABLE_PARQUET} has other studies"
            )
        return lines

    def row(self, row: int) -> dict[str, Any]:
        """Return the record of the study in a row of the run; raises 404 beyond the last row."""
        if row >= len(self._lines):
            raise ProblemError(404, "no such study in this run")
        return self.parsed(row + 1, self._lines[row])


@dataclass(frozen=True, slots=True)
class RunEntry:
    """The place of a run, finished or not, and its job where a service was asked for it."""

    id: str
    path: Path
    job: Job | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run can be read."""
        return os.path.lexists(self.path / MANIFEST)

    @property
    def blind_id(self) -> str:
        """The run's name for readers: its folder's name may say who judged it."""
        return _blind_id(self.path)

    @property
    def is_there(self) -> bool:
        """Whether it was neither renamed nor moved since it was found."""
        return is_there(self.path) or (self.job is not None and is_there(self.job.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerName:
    """A name that a run had until it was renamed, and its name for readers then."""

    name: str
    blind_id: str
    at: str


@dataclass(frozen=True, slots=True)
class TrashedRun:
    """A run in the trash: the folder that was made for it there, and the run's name."""

    path: Path
    name: str

    @classmethod
    def read(cls, path: Path) -> TrashedRun:
        """Return the run in a folder of the trash; raises ValueError where it holds no one run."""
        names = {entry.name for entry in _folders_in(path) if entry.name != JOBS}
        names |= {entry.name for entry in _folders_in(path / JOBS)}
        if len(names) != 1:
            raise ValueError(f"{path} does not hold one run")
        return cls(path, names.pop())

    @property
    def id(self) -> str:
        """The name of its folder in the trash, which begins with the time, in UTC."""
        return self.path.name

    @property
    def deleted(self) -> str:
        """When it was deleted, in ISO format."""
        stamp_of_id = f"{self.id[:15]}+0000"
        return datetime.strptime(stamp_of_id, "%Y%m%d-%H%M%S%z").isoformat()

    def plain(self) -> dict[str, str]:
        """Return it as in the list of the trash."""
        return {"id": self.id, "name": self.name, "deleted": self.deleted}


def _folders_in(path: Path) -> list[Path]:
    """Return the folders in a folder, with links, which may have been runs too."""
    try:
        inside = list(path.iterdir())
        return [entry for entry in inside if entry.is_dir() or entry.is_symlink()]
    except OSError:
        return []


def trashed_runs(folders: Iterable[Path]) -> list[TrashedRun]:
    """Return the runs in the trash of folders of runs, those deleted last first."""
    found = []
    for runs in folders:
        trash = runs.absolute() / TRASH
        if trash.is_symlink():
            continue
        for path in _folders_in(trash):
            if re.fullmatch(TRASH_ID, path.name) and not path.is_symlink():
                with suppress(ValueError):  # somebody has put something else there
                    found.append(TrashedRun.read(path))
    return sorted(found, key=lambda run: run.id, reverse=True)


class Catalogue:
    """Finds runs by their ids and opens them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._opened = lru_cache(_MAX_OPEN)(OpenRun)
        self._listed = lru_cache(_MAX_LISTED)(self._describe_finished)
        self._entries: dict[str, RunEntry] = {}

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first."""
        named = [path.absolute() for path in self._settings.named]
        jobs_by_run: dict[Path, Job] = {}
        below: list[Path] = []
        for runs in self._settings.runs:
            absolute = runs.absolute()
            jobs_by_run |= {job.run: job for job in jobs.list_jobs(absolute)}
            below += folders_with(absolute, MANIFEST)
        entries: dict[str, RunEntry] = {}
        for path in dict.fromkeys((*named, *sorted(below), *jobs_by_run)):
            name = path.name
            if name in entries or not jobs.NAME.fullmatch(name):
                name = f"run-{_digest(path)[:8]}"
            entries[name] = RunEntry(name, path, jobs_by_run.get(path))
        found = list(entries.values())
        by_name = _former(found)
        by_name |= entries
        by_name |= {entry.blind_id: entry for entry in found}
        self._entries = by_name
        return found

    def refresh(self) -> None:
        """Look at the folders of runs again, as after a run was renamed or moved."""
        self.entries()

    def at(self, path: Path) -> RunEntry:
        """Return the run in that folder; raises `ProblemError` 404 where there is none."""
        for entry in self.entries():
            if entry.path == path:
                return entry
        raise ProblemError(404, f"{path.name} is no run; GET /v1/runs lists them")

    def holder(self, name: str) -> RunEntry | None:
        """Return the run that has or had a name, None for no run."""
        return self._entries.get(name)

    def find(self, name: str) -> RunEntry:
        """Return the run of that id, blind id or former name.

        Raises `ProblemError` 404 for an unknown one, which says where it is in the trash.
        """
        entry = self._entries.get(name)
        if entry is None or not entry.is_there:
            self.refresh()
            entry = self._entries.get(name)
        if entry is not None:
            return entry
        for run in trashed_runs(self._settings.runs):
            # The name of a run may say who judged it, which a reader must not know.
            if name == run.name:
                raise ProblemError(
                    404,
                    f"the run {name} was deleted; it can be restored from the trash",
                )
            if name == _blind_id(run.path.parent.parent / run.name):
                raise ProblemError(
                    404, "this run was deleted; it can be restored from the trash"
                )
        raise ProblemError(404, f"no run {name[:120]!r}; GET /v1/runs lists them")

    def open(self, name: str) -> tuple[RunEntry, OpenRun]:
        """Return a finished run; raises `ProblemError` 404 for none, 409 for an unfinished one."""
        entry = self.find(name)
        if not entry.is_finished:
            raise ProblemError(409, f"the run {name} has no results yet")
        return entry, self._opened(entry.path, _stamps(entry.path))

    def describe(self, entry: RunEntry) -> dict[str, Any]:
        """Return a run as in the list of runs."""
        described: dict[str, Any] = {
            "id": entry.id,
            "state": jobs.FINISHED,
            "detail": None,
        }
        if entry.job is not None:
            request, (state, detail) = entry.job.request, entry.job.state()
            described |= {
                "state": state,
                "rubric": request.rubric,
                "judge": request.judge,
                "started": request.created,
                "progress": entry.job.progress(),
                "detail": detail,
            }
        if entry.is_finished:
            try:
                described |= self._listed(entry.path, _stamps(entry.path))
            except JudgeError as error:
                described["detail"] = self._settings.hide_folders(error)
        return described

    def _describe_finished(self, path: Path, stamps: Stamps) -> dict[str, Any]:
        run = self._opened(path, stamps)
        summary = run.summary()
        headline = headline_figures(summary, run.rubric)
        return {
            "rubric": summary.rubric,
            "signature": summary.signature,
            "n_studies": summary.n_studies,
            "n_scored": summary.n_scored,
            "headline": [{"label": label, "text": text} for label, text in headline],
            "judge": summary.judge.name,
            "model": known_model(run),
            "started": run.manifest.started,
        }


def _stamps(path: Path) -> Stamps:
    return tuple(stamp(path / name) for name in _FILES)


def _former(entries: Sequence[RunEntry]) -> dict[str, RunEntry]:
    """Return the runs by the names that they had; of several the one that had it last."""
    had: list[tuple[str, str, RunEntry]] = []
    for entry in entries:
        if not is_regular(entry.path / NAMES):
            continue
        with suppress(JudgeError):  # the run has its name of today
            for former in read_entries(entry.path / NAMES, FormerName):
                had.append((former.at, former.name, entry))
                had.append((former.at, former.blind_id, entry))
    had.sort(key=lambda name: name[0])
    return {name: entry for _, name, entry in had}


def _blind_id(path: Path) -> str:
    return _digest(path)[:16]


def _digest(path: Path) -> str:
    # A name may hold bytes that are no text.
    return hashlib.sha256(os.fsencode(path.absolute())).hexdigest()
