"""The runs that a service shows, by names that are never paths; those in its trash."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from judge.comparing.alignment import known_model
from judge.files import (
    WRITING,
    Stamp,
    folders_with,
    is_being_written,
    is_regular,
    is_there,
    stamp,
)
from judge.pages import run as page
from judge.pages.bundle import as_json
from judge.pages.live import Preliminary, preliminary
from judge.pages.study import RunStudy, run_study
from judge.readers.annotation_store import read_entries
from judge.run_files.manifest import MANIFEST
from judge.run_files.study_record import ANNOTATIONS
from judge.run_files.summary import SUMMARY
from judge.running import folder
from judge.running.folder import TABLE_PARQUET, RunFolder
from judge.running.underway import BEGUN, BegunRun, begun_in, read_progress, staging_of
from judge.service import ProblemError, jobs
from judge.service.jobs import Job, JobStatus
from judge.service.run_models import (
    Action,
    ActionName,
    RunProgress,
    ShownRun,
    TrashedRunShown,
    actions_for,
    headline_of,
    time_text,
)
from judge.service.run_names import digest_name, digest_of, names_of
from judge.service.settings import JOBS, ServiceSettings
from judge.study.reviews import (
    Errors,
    Event,
    RunReviews,
    StudyUnits,
    fingerprints,
    read_reviews,
)
from judge.study.view import search_text, search_words
from judge.tables.run import headline_figures
from judge.text import counted
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
        """The `overview` of the run's page and its list of `studies`, as JSON."""
        studies = page.study_list(self.table(), self.rubric)
        return {
            "overview": as_json(page.overview(self)),
            "studies": as_json(studies),
        }

    def search(self, text: str) -> list[int]:
        """Return the rows of the studies that hold every word of `text`, in either case."""
        words = search_words(text)
        found = []
        for row, study_text in enumerate(self._texts):
            if all(word in study_text for word in words):
                found.append(row)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        return [search_text(record) for record in self.records()]

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
    def status(self) -> JobStatus:
        """Its state, and why it has ended where it is not finished."""
        if self.is_finished:
            return JobStatus(jobs.FINISHED)
        if self.job is not None:
            return self.job.status()
        if is_being_written(self.path):
            return JobStatus(jobs.RUNNING)
        if not is_there(self.path):
            return JobStatus(jobs.STOPPED, "its folder is not there")
        return JobStatus(jobs.STOPPED, "the command that judged it ended too early")

    @property
    def begun(self) -> Path | None:
        """The folder with what an unfinished run has written so far, None where there is none."""
        kept = self.job.path if self.job is not None else None
        if kept is not None and is_regular(kept / BEGUN):
            return kept
        return staging_of(self.path)

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

    def shown(self) -> TrashedRunShown:
        """Return it as in the list of the trash."""
        return TrashedRunShown(
            id=self.id,
            name=self.name,
            deleted=self.deleted,
            deleted_text=self.deleted[:10],
            restore_title=f"Restore {self.name}",
        )


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
        self._ambiguous: dict[str, list[str]] = {}
        self._begun: dict[Path, BegunRun] = {}
        self._reading = threading.RLock()

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first."""
        named = [path.absolute() for path in self._settings.named]
        homes = [runs.absolute() for runs in self._settings.runs]
        jobs_by_run: dict[Path, Job] = {}
        below: list[Path] = []
        for home in homes:
            jobs_by_run |= {job.run: job for job in jobs.list_jobs(home)}
            below += folders_with(home, MANIFEST)
            # A command outside of the service is at it, or was.
            below += folders_with(home, WRITING)
        paths = list(dict.fromkeys((*named, *sorted(below), *jobs_by_run)))
        names = names_of(paths, homes[0])
        found = [RunEntry(names[path], path, jobs_by_run.get(path)) for path in paths]
        by_name = {digest_name(entry.path): entry for entry in found}
        by_name |= _former(found)
        by_name |= {entry.id: entry for entry in found}
        by_name |= {entry.blind_id: entry for entry in found}
        ambiguous: dict[str, list[str]] = {}
        for entry in found:
            ambiguous.setdefault(entry.path.name, []).append(entry.id)
        self._ambiguous = ambiguous
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
        called = self._ambiguous.get(name, [])
        if called:
            raise ProblemError(
                404,
                f"several runs are called {name}; choose one of {', '.join(called)}",
            )
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

    def begun(self, entry: RunEntry) -> BegunRun | None:
        """Return the studies of an unfinished run that have ended so far, None without any."""
        if entry.is_finished:
            return None
        folder = entry.begun
        if folder is None:
            return None
        with self._reading:
            known = self._begun.pop(folder, None)
            try:
                is_current = known is not None and known.read_on()
            except (OSError, JudgeError):
                is_current = False
            if not is_current:
                # It is judged anew, or was never looked at.
                known = begun_in(folder)
            if known is None:
                return None
            self._begun[folder] = known
            while len(self._begun) > _MAX_OPEN:
                del self._begun[next(iter(self._begun))]
            return known

    def live(self, entry: RunEntry) -> tuple[ShownRun, Preliminary | None]:
        """Return a run, and what is known of its studies before its end, None without any."""
        with self._reading:
            begun = self.begun(entry)
            shown = self._describe(entry, begun)
            if begun is None or shown.state == jobs.FINISHED:
                return shown, None
            total = None
            counts = read_progress(begun.folder)
            # Of several references to a study each pair is counted.
            if counts is not None and begun.manifest.combined is None:
                total = counts.total
            return shown, preliminary(begun, total)

    def study_so_far(self, entry: RunEntry, row: int) -> RunStudy:
        """Return one of the first studies of an unfinished run; raises 404 for none."""
        with self._reading:
            begun = self.begun(entry)
            shown = None
            if begun is not None and row < len(begun.first):
                shown = run_study(begun.first[row], begun.rubric)
        if shown is None:
            raise ProblemError(404, "no such study among the first of this run")
        return shown

    def describe(self, entry: RunEntry) -> ShownRun:
        """Return a run as in the list of runs."""
        return self._describe(entry, self.begun(entry))

    def _describe(self, entry: RunEntry, begun: BegunRun | None) -> ShownRun:
        status = entry.status
        known: dict[str, Any] = {}
        detail = status.detail
        progress = None
        is_damaged = False
        if status.state == jobs.FINISHED:
            try:
                known = self._listed(entry.path, _stamps(entry.path))
            except JudgeError as error:
                detail = self._settings.hide_folders(error)
                is_damaged = True
        else:
            known, progress = _describe_unfinished(entry, status, begun)
        if entry.job is not None:
            # When it was asked for: a run keeps its place in the list when it ends.
            asked = _of_request(entry.job)
            known = asked | known | {"started": asked["started"]}
        is_own = self.is_own(entry)
        is_resumable = entry.job is not None and not status.is_final
        return ShownRun(
            id=entry.id,
            address=f"/runs/{entry.id}",
            state=status.state,
            state_text=_state_text(status, is_damaged=is_damaged),
            detail=detail,
            advice=_advice(status, entry),
            progress=progress,
            model=known.get("model"),
            rubric=known.get("rubric"),
            judge=known.get("judge"),
            started=known.get("started"),
            started_text=time_text(known.get("started")),
            signature=known.get("signature"),
            n_studies=known.get("n_studies"),
            n_scored=known.get("n_scored"),
            counts_text=known.get("counts_text", ""),
            headline=known.get("headline", []),
            actions=_actions(
                entry,
                status,
                is_own=is_own,
                is_damaged=is_damaged,
                is_resumable=is_resumable,
            ),
        )

    def is_own(self, entry: RunEntry) -> bool:
        """Whether the run lies in a folder of runs, and is not named on the command line."""
        homes = [folder.absolute() for folder in self._settings.runs]
        named = [folder.absolute() for folder in self._settings.named]
        return entry.path.parent in homes and entry.path not in named

    def _describe_finished(self, path: Path, stamps: Stamps) -> dict[str, Any]:
        run = self._opened(path, stamps)
        summary = run.summary()
        headline = headline_figures(summary, run.rubric)
        n, n_scored = summary.n_studies, summary.n_scored
        return {
            "rubric": summary.rubric,
            "signature": summary.signature,
            "n_studies": n,
            "n_scored": n_scored,
            "counts_text": f"{n_scored:,} of {counted(n, 'study', 'studies')} scored",
            "headline": headline_of(headline),
            "judge": summary.judge.name,
            "model": known_model(run),
            "started": run.manifest.started,
        }


def _describe_unfinished(
    entry: RunEntry, status: JobStatus, begun: BegunRun | None
) -> tuple[dict[str, Any], RunProgress | None]:
    """Return what is known of a run before its end, and how far it is."""
    known: dict[str, Any] = {}
    what = "studies"
    seconds = None
    if begun is not None:
        manifest = begun.manifest
        known = {
            "model": manifest.model,
            "rubric": manifest.rubric,
            "judge": manifest.judge.name,
            "started": manifest.started,
        }
        if manifest.combined is not None:
            what = "pairs of a candidate and a reference"
        if manifest.started and status.state == jobs.RUNNING:
            since = datetime.now(UTC) - datetime.fromisoformat(manifest.started)
            seconds = since.total_seconds()
    if entry.job is not None:
        known = _of_request(entry.job) | {"model": known.get("model")}
        counts = entry.job.progress()
    else:
        counts = None
        if begun is not None:
            counts = read_progress(begun.folder)
    if counts is None:
        return known, None
    if begun is not None and begun.manifest.combined is None:
        # The counts are written now and then, the studies at once.
        counts = replace(counts, done=max(counts.done, begun.n_ended))
    return known, RunProgress.of(counts, what=what, seconds=seconds)


def _of_request(job: Job) -> dict[str, Any]:
    request = job.request
    return {
        "model": request.model,
        "rubric": request.rubric,
        "judge": request.judge,
        "started": request.created,
    }


def _state_text(status: JobStatus, *, is_damaged: bool) -> str:
    if is_damaged:
        return "damaged"
    if status.is_stopping:
        return "stopping: the answers under way are saved"
    texts = {jobs.QUEUED: "waiting for its turn", jobs.RUNNING: "being judged"}
    return texts.get(status.state, status.state)


def _advice(status: JobStatus, entry: RunEntry) -> str | None:
    """Return what can be done about a run that has ended too early, None for others."""
    if status.state not in (jobs.STOPPED, jobs.FAILED):
        return None
    if entry.job is None:
        return "The command that began it goes on with it: run it again with the same --out."
    if status.is_final:
        return (
            "Nothing was judged. Put right what is wrong and start a new run; this one can be "
            "deleted."
        )
    if status.state == jobs.STOPPED:
        return "Resume goes on where it stopped; no answer is paid for twice."
    return "Resume tries again; what was answered is kept, and paid for once."


def _actions(
    entry: RunEntry,
    status: JobStatus,
    *,
    is_own: bool,
    is_damaged: bool,
    is_resumable: bool,
) -> list[Action]:
    """Return what can be done with a run in its state."""
    can: list[ActionName] = []
    if status.state in jobs.UNFINISHED:
        if entry.job is not None:
            can.append("stop")
        return actions_for(entry.id, can)
    if status.state == jobs.FINISHED:
        if not is_damaged:
            can.append("compare")
        if is_own:
            can.append("rename")
    elif is_resumable:
        can.append("resume")
    if is_own:
        can.append("delete")
    return actions_for(entry.id, can)


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
    return digest_of(path)[:16]
