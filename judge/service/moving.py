"""Renaming runs, and moving them to the trash and back, in the folders of a service.

The trash is `.trash` in the folder of runs, with a folder for each run that was deleted: in it the
run lies under its name, and its job below `.jobs`, as they lay in the folder of runs. So what is
moved back by hand is there again. Nothing is ever removed from the trash here.

A run keeps its former names in `names.jsonl`, so that addresses with one of them lead to it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from judge.files import (
    descriptor_of,
    is_being_written,
    is_there,
    open_regular,
    try_lock,
)
from judge.readers.annotation_store import append_entry
from judge.service import ProblemError, jobs
from judge.service.catalogue import (
    NAMES,
    TRASH,
    Catalogue,
    FormerName,
    RunEntry,
    TrashedRun,
    trashed_runs,
)
from judge.service.comparisons import Comparisons
from judge.service.jobs import Job
from judge.service.run_names import NAME
from judge.service.settings import JOBS, ServiceSettings
from judge.text import counted, harmless

READING_MINUTES = 10
"""A run is being read until so long after a reader has last opened or marked a study of it."""
_LOCK = "names.lock"
_PATIENCE, _PAUSE = (
    5.0,
    0.05,
)  # seconds for a job that has just ended, between two looks
_ALLOWED = (
    "a name has 1 to 120 letters (a to z), digits, dots, hyphens and underscores, and begins with "
    "a letter or a digit"
)
_GENERATED = re.compile(r"run-[0-9a-f]{8}|[0-9a-f]{16}")


class ReadersAtWork:
    """Who has lately read blind in which run, as this service has seen it."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: dict[Path, dict[str, float]] = defaultdict(dict)

    def see(self, run: Path, reader: str) -> None:
        """Note that a reader opens or marks a study of the run in this folder."""
        self._seen[run][reader] = self._now()

    def of(self, run: Path) -> list[str]:
        """Return the readers who were seen in the run during the last `READING_MINUTES`."""
        earliest = self._now() - 60 * READING_MINUTES
        seen = self._seen.get(run, {}).copy()
        return sorted(reader for reader, at in seen.items() if at >= earliest)


@dataclass(frozen=True, slots=True)
class RunMoves:
    """Renames and moves runs, one at a time for all services on the same folders."""

    settings: ServiceSettings
    catalogue: Catalogue
    comparisons: Comparisons
    readers: ReadersAtWork

    def rename(self, name: str, new: str) -> RunEntry:
        """Give a finished run another name; raises `ProblemError` where it must not have it."""
        if not NAME.fullmatch(new):
            raise ProblemError(
                422, f"{harmless(new)!r} cannot be a run's name: {_ALLOWED}"
            )
        if _GENERATED.fullmatch(new):
            why = "names of this form are made by the service; choose another"
            raise ProblemError(422, f"{new!r} cannot be a run's name: {why}")
        with self._locked(name, "renamed") as entry:
            if not entry.is_finished:
                raise ProblemError(
                    409, f"the run {name} has no results yet; a finished run is renamed"
                )
            target = entry.path.with_name(new)
            if new == entry.id:
                return entry
            self._check_free(new, entry, target)
            with _job_at_rest(entry.job, name):
                former = FormerName(name=entry.id, blind_id=entry.blind_id, at=_now())
                append_entry(entry.path / NAMES, former)
                with _said(f"the run {name} cannot be renamed"):
                    _rename(entry, target)
            return self.catalogue.at(target)

    def _check_free(self, new: str, entry: RunEntry, target: Path) -> None:
        """Raise `ProblemError` where another run has or had the name, or a file has it."""
        other = self.catalogue.holder(new)
        if other is not None and other.path != entry.path:
            if other.id == new:
                raise ProblemError(409, f"there is a run {new} already")
            raise ProblemError(
                409,
                f"the run {other.id} was called {new}, and addresses with that name lead to it; "
                "choose another name",
            )
        job = target.parent / JOBS / new
        if is_there(target) or is_there(job):
            raise ProblemError(409, f"the folder of runs has a {new} already")

    def delete(self, name: str) -> TrashedRun:
        """Move a run to the trash; raises `ProblemError` where it is judged, read or compared."""
        with self._locked(name, "deleted") as entry:
            home = entry.path.parent
            now = datetime.now(UTC)
            place = home / TRASH / f"{now:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
            with (
                _job_at_rest(entry.job, name),
                _said(f"the run {name} cannot be moved to the trash"),
            ):
                _make_folder(home / TRASH)
                _make_folder(place)
                # First the job: without its run it would be judged again.
                if entry.job is not None:
                    _make_folder(place / JOBS)
                    entry.job.path.rename(place / JOBS / entry.path.name)
                if is_there(entry.path):
                    entry.path.rename(place / entry.path.name)
            self.catalogue.refresh()
            return TrashedRun.read(place)

    def restore(self, trash_id: str) -> RunEntry:
        """Move a run back from the trash; raises `ProblemError` where its name is taken."""
        home = self._trashed(trash_id).path.parent.parent
        with _holding_names(home):
            self.catalogue.refresh()
            trashed = self._trashed(trash_id)
            name = trashed.name
            # First the run: a job that is there alone would be judged again.
            moves = [
                (trashed.path / name, home / name),
                (trashed.path / JOBS / name, home / JOBS / name),
            ]
            moves = [(old, new) for old, new in moves if is_there(old)]
            other = self.catalogue.holder(name)
            is_taken = other is not None and other.id == name
            if is_taken or any(is_there(new) for _, new in moves):
                raise ProblemError(
                    409, f"there is a run {name} already: rename that one first"
                )
            with _said(f"the run {name} cannot be moved out of the trash"):
                for old, new in moves:
                    old.rename(new)
            for folder in (trashed.path / JOBS, trashed.path):
                # It stays where somebody has put something else there.
                with suppress(OSError):
                    folder.rmdir()
            return self.catalogue.at(home / name)

    def _trashed(self, trash_id: str) -> TrashedRun:
        for run in trashed_runs(self.settings.runs):
            if run.id == trash_id:
                return run
        raise ProblemError(404, "the trash has no such run; GET /v1/trash lists them")

    @contextmanager
    def _locked(self, name: str, done: str) -> Iterator[RunEntry]:
        """Give the run of that name, which nobody else moves in the block.

        Raises `ProblemError` where it cannot be moved, or not now.
        """
        self._check_home(self.catalogue.find(name), done)
        with _holding_names(self.catalogue.find(name).path.parent):
            self.catalogue.refresh()
            entry = self.catalogue.find(name)
            if name not in (entry.id, entry.blind_id):
                raise ProblemError(
                    409,
                    f"the run {name} is called {entry.id} by now; load the list again",
                )
            self._check_home(entry, done)
            self._check_idle(entry)
            yield entry

    def _check_home(self, entry: RunEntry, done: str) -> None:
        """Raise `ProblemError` for a run that the service shows, and that is not its own."""
        if not self.catalogue.is_own(entry):
            raise ProblemError(
                409,
                f"the run {entry.id} cannot be {done} here, since the command judge serve names "
                "it; rename or move its folder yourself, and start the service again",
            )

    def _check_idle(self, entry: RunEntry) -> None:
        """Raise `ProblemError` where a run is being judged, written, compared or read."""
        shown = f"the run {entry.id}"
        if entry.job is not None and entry.job.status().state in jobs.UNFINISHED:
            raise ProblemError(
                409, f"{shown} is being judged: stop it first, or wait for its end"
            )
        if is_being_written(entry.path):
            raise ProblemError(
                409, f"{shown} is being written by another process; wait for its end"
            )
        if self.comparisons.is_reading(entry.path):
            raise ProblemError(
                409, f"{shown} is being compared; wait until the comparison is there"
            )
        n_readers = len(self.readers.of(entry.path))
        if n_readers:
            raise ProblemError(
                409,
                f"{shown} is being read, by {counted(n_readers, 'reader', 'readers')} during the "
                f"last {READING_MINUTES} minutes; wait until nobody reads in it",
            )


@contextmanager
def _holding_names(home: Path) -> Iterator[None]:
    """Hold the right to move the runs in a folder, in this process and against others."""
    below = home / JOBS
    with _said("the folder of runs cannot be changed"):
        _make_folder(below)
        number = descriptor_of(below / _LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)  # for a moment: a move takes no time
        yield
    finally:
        os.close(number)


def _rename(entry: RunEntry, target: Path) -> None:
    job = entry.job
    if job is None:
        entry.path.rename(target)
        return
    # If this ends between the two, the job that is left is not judged again.
    job.end(jobs.STOPPED, f"its run is called {target.name} now")
    entry.path.rename(target)
    renamed = job.path.with_name(target.name)
    job.path.rename(renamed)
    Job(renamed, job.request).reset()


@contextmanager
def _job_at_rest(job: Job | None, name: str) -> Iterator[None]:
    """Hold the lock of a run's job, so that no service begins with it."""
    if job is None:
        yield
        return
    end = time.monotonic() + _PATIENCE
    try:
        lock = open_regular(job.path / jobs.JOB)
    except OSError as error:
        raise ProblemError(
            409, f"the job of the run {name} cannot be read: {error.strerror}"
        ) from error
    with lock:
        # The service that did it tidies up for a moment after its end.
        while not try_lock(lock.fileno()):
            if time.monotonic() > end:
                raise ProblemError(
                    409,
                    f"the process that judged the run {name} goes on; try again later",
                )
            time.sleep(_PAUSE)
        yield


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    if path.is_symlink() or not path.is_dir():
        raise OSError(errno.ELOOP, f"{path.name} is a link, which is not followed here")


@contextmanager
def _said(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ProblemError(507, f"{what}: {error.strerror or error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def moved_to_trash(run: Path) -> Path:
    """Move the run in a folder to the trash beside it, as a service does; return where it lies.

    Raises `ProblemError` where it is being judged or written.
    """
    settings = ServiceSettings(runs=(run.absolute().parent,))
    catalogue = Catalogue(settings)
    moves = RunMoves(settings, catalogue, Comparisons(), ReadersAtWork())
    entry = catalogue.at(run.absolute())
    trashed = moves.delete(entry.id)
    return trashed.path / trashed.name
