"""Runs that a service was asked for, on disk, so that they outlive it, and who looks after them.

Each has a folder below `.jobs` in the folder of runs:

    job.json         what was asked for, never changed
    preds.*, refs.*  the uploaded files, under names of our own, until the run is finished
    state.json       how far it came, replaced whole
    stop             there when the run is to stop
    lock             held by the process that works on it, and by no other

`.jobs/spent.sqlite` holds what the judges have cost (see `budget`).

The run itself is written beside `.jobs`, in a folder of the same name.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from judge import rubrics
from judge.backends import LEXICON
from judge.service import ProblemError
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import Worker
from judge.signature import safe_name
from judge.studies.names import SECTIONS, NamedFields
from judge.types import MODALITIES, JudgeError

QUEUED, RUNNING, STOPPED, FAILED, FINISHED = "queued", "running", "stopped", "failed", "finished"
UNFINISHED = (QUEUED, RUNNING)
_JOB, _STATE, _STOP, _LOCK = "job.json", "state.json", "stop", "lock"
_NEW, _DAY = ".new-", 86_400.0
_BY = ("study_class",)
_LOG = logging.getLogger("uvicorn.error")
_LOOK_SECONDS = 1.0
_MOST_AT_A_TIME = 2
# A process that waits for the answers under way takes at most so long to end.
_END_SECONDS = 45.0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")

Reply = Literal["auto", "text", "structured"]
"""What a model is asked for, as on the command line."""
Short = Annotated[str, Field(max_length=200)]
_FileName = Annotated[str, Field(pattern="^[^/]*$")]  # never of a file elsewhere


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()


class RunOptions(BaseModel):
    """What a client may choose of a run, as on the command line; "" and None are the default."""

    model_config = ConfigDict(frozen=True)

    rubric: Short = Field(description="A rubric's name.", examples=rubrics.built_in())
    judge: Short = Field(default=LEXICON, description="Who answers; see `GET /v1/judges`.")
    prompt: Short = Field(default="", description="A prompt's name, for judges that read one.")
    section: Short = Field(default="", description="What to judge: " + ", ".join(SECTIONS))
    id_field: Short = Field(default="", description="The field of the study ids.")
    candidate_field: Short = Field(default="", description="The field of the candidates.")
    reference_field: Short = Field(default="", description="The field of the references.")
    class_field: Short = Field(default="", description="The field of the study classes.")
    patient_field: Short = Field(default="", description="The field of the patients.")
    context_field: Short = Field(
        default="", description="The fields with the patient's context, with commas; none for none."
    )
    prior_field: Short = Field(default="", description="The field of the earlier reports.")
    modality: Short = Field(
        default="", description=f"{', '.join(MODALITIES)}, or the field that says it."
    )
    model: Short = Field(default="", description="Whose reports the candidates are.")
    allow_missing: bool = Field(default=False, description="Leave out studies of one side only.")
    by: str = Field(default="", max_length=1000, description="Group rates by: fields, with commas.")
    max_cost: float | None = Field(
        default=None, gt=0, description="Stop before the run costs more US dollars."
    )
    reply: Reply = Field(default="auto", description="What a model is asked for.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="0 by default.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="As on the command line.")
    seed: int | None = Field(
        default=None, ge=-(2**63) + 1, lt=2**63, description="What sampling starts from."
    )
    reasoning_effort: str = Field(
        default="", pattern="^[a-z]{0,20}$", description="Such as low, medium, high."
    )
    give_up_after: int = Field(
        default=50, ge=0, description="Stop where most of the first answers cannot be read."
    )
    name: Annotated[Short, AfterValidator(_printable)] = Field(
        default="", description="What the list of runs calls it."
    )

    @field_validator("section")
    @classmethod
    def _is_known(cls, section: str) -> str:
        if section and section not in SECTIONS:
            raise ValueError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")
        return section

    @property
    def named_fields(self) -> NamedFields:
        """The fields of the files that were named."""
        return NamedFields.of(vars(self))

    def context_fields(self, *, takes: bool) -> Sequence[str] | None:
        """The fields of the context; None for those known by name, where a rubric `takes` it."""
        if not self.context_field:
            return None if takes else ()
        return () if self.context_field == "none" else self.context_field.split(",")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of `by`."""
        return tuple(field.strip() for field in self.by.split(",") if field.strip()) or _BY

    @property
    def sampling(self) -> dict[str, object]:
        """The sampling parameters that were given."""
        names = {"temperature", "top_p", "seed", "reasoning_effort"}
        return self.model_dump(include=names, exclude_defaults=True)


class RunRequest(RunOptions):
    """What a client asked for.

    `preds` and `refs` are names of files in the job's folder, `preds_name` and `refs_name`
    what the client's files were called; `created` is a time in ISO 8601.
    """

    model_config = ConfigDict(extra="forbid")

    preds: _FileName
    refs: _FileName = ""
    preds_name: str = ""
    refs_name: str = ""
    created: str

    @classmethod
    def of(cls, options: RunOptions, files: Mapping[str, str]) -> RunRequest:
        """Return the request for a run of `files` that is made now."""
        chosen = options.model_dump(include=set(RunOptions.model_fields))
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls.model_validate({**chosen, **files, "created": created})


class JobState(BaseModel):
    """How far a run came. `detail` says why it failed or stopped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    detail: str = ""
    progress: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Job:
    """A run that was asked for: its folder, and what is in it."""

    path: Path
    request: RunRequest

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    @property
    def run(self) -> Path:
        """Where the run is written."""
        return self.path.parent.parent / self.path.name

    def state(self) -> JobState:
        """Return how far it came."""
        try:
            return JobState.model_validate_json((self.path / _STATE).read_bytes())
        except FileNotFoundError:
            return JobState(state=QUEUED)
        except (OSError, ValueError) as error:
            return JobState(state=FAILED, detail=f"its state cannot be read: {error}")

    def put(self, state: str, detail: str = "", progress: dict[str, Any] | None = None) -> None:
        """Write down how far it came, whole or not at all; by default with the known progress."""
        progress = self.state().progress if progress is None else progress
        detail = detail.encode("utf-8", "replace").decode()  # it may quote half a surrogate pair
        _replace(self.path / _STATE, JobState(state=state, detail=detail, progress=progress))

    def ask_to_stop(self) -> None:
        """Leave word that it is to stop."""
        (self.path / _STOP).touch()

    @property
    def is_to_stop(self) -> bool:
        """Whether somebody asked that it stop."""
        return (self.path / _STOP).exists()

    def resume(self) -> None:
        """Let a run that was stopped or failed go on."""
        (self.path / _STOP).unlink(missing_ok=True)
        self.put(QUEUED)

    def forget_uploads(self) -> None:
        """Remove the uploaded files: the run holds all that is in them."""
        for name in filter(None, (self.request.preds, self.request.refs)):
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


def creating(runs: Path) -> tempfile.TemporaryDirectory[str]:
    """Give a folder to put a new job's files in; it is gone unless `create` made it a job."""
    (runs / JOBS).mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=_NEW, dir=runs / JOBS, ignore_cleanup_errors=True)


def create(folder: Path, options: RunOptions, files: Mapping[str, str]) -> Job:
    """Make the folder of `creating` a job, under a name that says what it is."""
    request = RunRequest.of(options, files)
    _replace(folder / _JOB, request)
    judge = safe_name(request.judge, default="judge")
    at = datetime.fromisoformat(request.created)
    name = f"{request.rubric}-{judge}-{at:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
    return Job(folder.rename(folder.parent / name), request)


def find(runs: Path, name: str) -> Job | None:
    """Return the job called `name`, None where there is none."""
    if not NAME.fullmatch(name):
        return None
    path = runs / JOBS / name
    try:
        request = RunRequest.model_validate_json((path / _JOB).read_bytes())
    except (OSError, ValueError):
        return None  # nothing of ours, or of another version
    return Job(path, request)


def listed(runs: Path, without: Container[Path] = ()) -> list[Job]:
    """Return all jobs below a folder of runs but those in the folders `without`, oldest first."""
    with suppress(OSError):
        paths = [path for path in (runs / JOBS).iterdir() if path not in without]
        found = [job for path in paths if (job := find(runs, path.name)) is not None]
        return sorted(found, key=lambda job: (job.request.created, job.id))
    return []


def _replace(path: Path, data: BaseModel) -> None:
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    aside.write_text(data.model_dump_json(), "utf-8")
    aside.replace(path)


class Supervisor:
    """Starts a process for each run that is not finished, a few at a time.

    Any number of services may supervise the same folder: a process that finds its run taken
    by another ends at once.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._working: dict[Path, asyncio.Task[None]] = {}
        self._over: set[Path] = set()
        self._news = asyncio.Event()

    async def supervise(self) -> None:
        """Look after the runs until cancelled; then tell the processes and wait for their end."""
        try:
            while True:
                self._news.clear()
                for job in await asyncio.to_thread(self._to_do):
                    free = len(self._working) < _MOST_AT_A_TIME
                    if job.path not in self._working and free:
                        task = asyncio.create_task(self._work(job))
                        self._working[job.path] = task
                        task.add_done_callback(partial(self._ended, job.path))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _LOOK_SECONDS)
        finally:
            for task in self._working.values():
                task.cancel()
            await asyncio.gather(*self._working.values(), return_exceptions=True)

    def look(self) -> None:
        """Look for new runs at once."""
        self._news.set()

    def _ended(self, path: Path, _task: asyncio.Task[None]) -> None:
        del self._working[path]
        self._news.set()

    def _to_do(self) -> list[Job]:
        found = []
        try:
            for runs in self._settings.runs:
                for job in listed(runs, without=self._over):
                    state = job.state().state
                    if state == FINISHED:
                        self._over.add(job.path)
                    elif state in UNFINISHED and self._is_ready(job):
                        found.append(job)
        except OSError as error:
            _LOG.warning("cannot look after the runs: %s", error)
        return found

    def _is_ready(self, job: Job) -> bool:
        """Whether an unfinished run is to go on; what keeps it from that is written down."""
        judge = job.request.judge
        with job.locked() as is_free:
            if is_free and job.is_to_stop:
                job.put(STOPPED, "stopped by a reader")
            elif is_free and not self._settings.allows(judge):
                job.put(FAILED, f"the owner of this service does not allow {judge!r}")
            else:
                return is_free
        return False

    async def _work(self, job: Job) -> None:
        worker = Worker("run")
        try:
            await worker.ask(
                {"job": str(job.path.absolute()), **self._settings.for_worker(job.request.judge)}
            )
        except ProblemError as error:
            try:
                await asyncio.to_thread(_failed, job, error.detail)
            except OSError as failure:
                self._over.add(job.path)  # it cannot be noted, so it is remembered
                _LOG.warning("cannot note the end of run %s: %s", job.id, failure)
        finally:
            await worker.close(_END_SECONDS)


def _failed(job: Job, why: str) -> None:
    with job.locked() as is_free:
        if is_free and job.state().state in UNFINISHED:
            job.put(FAILED, why)


def check(runs: Path) -> None:
    """Make the folder of new runs, and remove what uploads cut off over a day ago left behind.

    Raises `JudgeError` where no runs can be written to it.
    """
    with suppress(OSError):
        for path in (runs / JOBS).glob(f"{_NEW}*"):
            if time.time() - path.stat().st_mtime > _DAY:
                shutil.rmtree(path, ignore_errors=True)
    try:
        runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(
            f"cannot write runs to {runs}: {error.strerror}; name a folder with --runs"
        ) from error
