"""Runs that a service was asked for, on disk, so that they outlive it.

Each has a folder below `.jobs` in the folder of runs:

    job.json         what was asked for, never changed
    preds.*, refs.*  the uploaded files, under names of our own, until the run is finished
    state.json       how far it came, replaced whole
    stop             there when the run is to stop
    lock             held by the process that works on it, and by no other

The run itself is written beside `.jobs`, in a folder of the same name.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = ".jobs"
QUEUED, RUNNING, STOPPED, FAILED, FINISHED = "queued", "running", "stopped", "failed", "finished"
UNFINISHED = (QUEUED, RUNNING)
_JOB, _STATE, _STOP, _LOCK = "job.json", "state.json", "stop", "lock"
_NEW, _DAY = ".new-", 86_400.0
BY = ("study_class",)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asked for, and the owner's part in it.

    `preds` and `refs` are names of files in the job's folder; `title` is what the client
    calls the run, `preds_name` and `refs_name` what the client's files were called.
    """

    rubric: str
    judge: str
    preds: str
    refs: str | None = None
    title: str = ""
    preds_name: str = ""
    refs_name: str = ""
    prompt: str | None = None
    section: str | None = None
    class_field: str | None = None
    id_field: str | None = None
    allow_missing: bool = False
    by: tuple[str, ...] = BY
    max_cost: float | None = None
    created: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """How far a run came. `detail` says why it failed or stopped."""

    state: str
    detail: str = ""
    progress: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A run that was asked for: its folder, and what is in it."""

    path: Path
    asked: Asked

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    @property
    def run(self) -> Path:
        """Where the run is written."""
        return self.path.parent.parent / self.path.name

    def state(self) -> State:
        """Return how far it came."""
        try:
            return State(**json.loads((self.path / _STATE).read_text("utf-8")))
        except FileNotFoundError:
            return State(QUEUED)
        except (OSError, ValueError, TypeError) as error:
            return State(FAILED, f"its state cannot be read: {error}")

    def put(self, state: State) -> None:
        """Write down how far it came, whole or not at all."""
        _replace(self.path / _STATE, asdict(state))

    def ask_to_stop(self) -> None:
        """Leave word that it is to stop."""
        (self.path / _STOP).touch()

    @property
    def is_to_stop(self) -> bool:
        """Whether somebody asked that it stop."""
        return (self.path / _STOP).exists()

    def take_up(self) -> None:
        """Let a run that was stopped or failed go on."""
        (self.path / _STOP).unlink(missing_ok=True)
        self.put(State(QUEUED, progress=self.state().progress))

    def forget_uploads(self) -> None:
        """Remove the uploaded files: the run holds all that is in them."""
        for name in (self.asked.preds, self.asked.refs):
            if name:
                (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Try to be the only one to work on it; gives whether that is so."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(self.path / _LOCK, flags, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(lock)


def new_id(rubric: str, judge: str, now: datetime) -> str:
    """Return a name for a new run that says what it is and that no other has."""
    who = re.sub(r"[^A-Za-z0-9.]+", "-", judge).strip("-.")[:40] or "judge"
    return f"{rubric}-{who}-{now:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


@contextmanager
def creating(runs: Path) -> Iterator[Path]:
    """Give a folder to put a new job's files in; it is gone unless `create` made it a job."""
    (runs / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix=_NEW, dir=runs / FOLDER))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(runs: Path, now: float) -> None:
    """Remove what uploads that were cut off more than a day ago have left behind."""
    with suppress(OSError):
        for path in (runs / FOLDER).glob(f"{_NEW}*"):
            if now - path.stat().st_mtime > _DAY:
                shutil.rmtree(path, ignore_errors=True)


def create(folder: Path, asked: Asked) -> Job:
    """Make the folder of `creating` a job."""
    now = datetime.now(UTC)
    asked = Asked(**{**asdict(asked), "created": now.isoformat(timespec="seconds")})
    _replace(folder / _JOB, asdict(asked))
    path = folder.parent / new_id(asked.rubric, asked.judge, now)
    folder.rename(path)
    return Job(path, asked)


def find(runs: Path, name: str) -> Job | None:
    """Return the job called `name`, None where there is none."""
    if not NAME.fullmatch(name):
        return None
    try:
        data = json.loads((runs / FOLDER / name / _JOB).read_text("utf-8"))
        asked = Asked(**{**data, "by": tuple(data["by"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None  # nothing of ours, or of another version
    return Job(runs / FOLDER / name, asked)


def listed(runs: Path, without: Container[Path] = ()) -> list[Job]:
    """Return all jobs below a folder of runs but those in the folders `without`, oldest first."""
    with suppress(OSError):
        paths = [path for path in (runs / FOLDER).iterdir() if path not in without]
        found = [job for path in paths if (job := find(runs, path.name)) is not None]
        return sorted(found, key=lambda job: (job.asked.created, job.id))
    return []


def _replace(path: Path, data: dict[str, Any]) -> None:
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    aside.write_text(json.dumps(data), "utf-8")
    aside.replace(path)
