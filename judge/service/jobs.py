"""Runs that clients asked for: on disk, so that they outlive the service, and their processes.

Each is the command `judge` in a process of its own, with a folder below `.jobs` in the folder of
runs; the run is written beside `.jobs`, in a folder of the same name:

    job.json       the request, never changed; locked by the service that does it
    files/         the uploaded files under the client's names, until the run is finished
    progress.json  the latest counts
    log            what the command wrote
    state.json     that it was stopped or has failed, and why
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from judge import rubrics
from judge.backends import LEXICON
from judge.running.folder import MANIFEST
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import worker

QUEUED, RUNNING, STOPPED, FAILED, FINISHED = "queued", "running", "stopped", "failed", "finished"
UNFINISHED = (QUEUED, RUNNING)
FILES, JOB = "files", "job.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_STATE, _PROGRESS, _LOG = "state.json", "progress.json", "log"
_ROLES = ("id", "candidate", "reference")
_MAX_RUNNING, _STOPPED_ITSELF = 2, 3
# When the service ends, the command saves the answers under way for five seconds.
_POLL_SECONDS, _SHUTDOWN_SECONDS = 0.5, 20.0
# The command's last line: an error to fix, or why it stopped.
_REASON = re.compile(r"^(?:Error: |(?=Stopped |Given up ))(.+)", re.M)

Short = Annotated[str, Field(max_length=200)]


class RunOptions(BaseModel):
    """The options of a run in the browser, as on the command line; "" is the default."""

    rubric: Short = Field(description="A rubric's name.", examples=rubrics.built_in())
    judge: Short = Field(default=LEXICON, description="A judge of `GET /v1/judges`.")
    model: Short = Field(default="", description="The model that wrote the candidates.")
    id_field: Short = ""
    candidate_field: Short = ""
    reference_field: Short = ""


class RunRequest(RunOptions):
    """A client's request: `files` are the candidates' and the references', `created` ISO."""

    model_config = ConfigDict(extra="forbid")

    files: list[Annotated[str, Field(pattern="^[^/]+$")]] = Field(min_length=1, max_length=2)
    created: str

    def arguments(self, settings: ServiceSettings, out: Path) -> list[str]:
        """Return the arguments of the command `judge`."""
        options = {
            "judge": self.judge,
            "base-url": settings.judges.get(self.judge),
            "cache": settings.cache and settings.cache.absolute(),
            "model": self.model,
            "out": out.absolute(),
        }
        arguments = [f"--{name}={value}" for name, value in options.items() if value]
        columns = ((role, getattr(self, f"{role}_field")) for role in _ROLES)
        arguments += [f"--column={role}={name}" for role, name in columns if name]
        return [self.rubric, *arguments, "--", *self.files]


@dataclass(frozen=True, slots=True)
class Job:
    """A run that was asked for: its folder and its request."""

    path: Path
    request: RunRequest

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.path.parent.parent / self.path.name

    def state(self) -> tuple[str, str | None]:
        """Return the state and, of a run that was stopped or has failed, the reason."""
        if (self.run / MANIFEST).is_file():
            return FINISHED, None
        if not (self.path / _STATE).exists():
            return (RUNNING if (self.path / _PROGRESS).exists() else QUEUED), None
        try:
            end = json.loads((self.path / _STATE).read_bytes())
            return end["state"], end["detail"]
        except (OSError, ValueError, TypeError, KeyError):
            return FAILED, "its state cannot be read"

    def progress(self) -> dict[str, Any] | None:
        """Return the latest counts, None where there are none."""
        try:
            return json.loads((self.path / _PROGRESS).read_bytes()) or None
        except (OSError, ValueError):
            return None

    def end(self, state: str, detail: str) -> None:
        """Record that it was stopped or has failed."""
        aside = self.path / f"{_STATE}.new"
        aside.write_text(json.dumps({"state": state, "detail": detail}), "utf-8")
        aside.replace(self.path / _STATE)

    def reset(self) -> None:
        """Remove its progress and the record of its end."""
        for name in (_PROGRESS, _STATE, _LOG):
            (self.path / name).unlink(missing_ok=True)


def list_jobs(runs: Path) -> list[Job]:
    """Return all jobs below a folder of runs, the oldest first."""
    jobs = []
    for path in (runs / JOBS).glob(f"[!.]*/{JOB}"):
        with suppress(OSError, ValueError):  # not ours, or of another version
            jobs.append(Job(path.parent, RunRequest.model_validate_json(path.read_bytes())))
    return sorted(jobs, key=lambda job: (job.request.created, job.id))


class Jobs:
    """Does the runs that are not finished, a few at a time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = asyncio.Semaphore(_MAX_RUNNING)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, Process] = {}
        self._stopped: set[str] = set()

    def start_all(self) -> None:
        """Start all that an earlier service left unfinished."""
        for runs in self._settings.runs:
            for job in list_jobs(runs):
                if job.state()[0] in UNFINISHED:
                    self.start(job)

    def start(self, job: Job) -> None:
        """Do a run as soon as it is its turn."""
        self._tasks[job.id] = asyncio.create_task(self._do(job))

    async def stop(self, job: Job) -> None:
        """Stop a run as Ctrl-C does: answers under way are saved; a second time at once."""
        if process := self._processes.get(job.id):
            self._stopped.add(job.id)
            process.send_signal(signal.SIGINT)
        elif task := self._tasks.get(job.id):
            task.cancel()
            await asyncio.wait([task])
            job.end(STOPPED, "stopped by a reader")

    async def close(self) -> None:
        """Stop all runs, which go on when the service starts again."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _do(self, job: Job) -> None:
        try:
            with (job.path / JOB).open("rb") as lock:
                while True:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:  # another service has it, or its process
                        await asyncio.sleep(_POLL_SECONDS)
                async with self._turn:
                    if job.state()[0] in UNFINISHED:
                        await self._run(job, lock.fileno())
        except OSError as error:
            job.end(FAILED, f"the run cannot be done: {error.strerror}")

    async def _run(self, job: Job, lock: int) -> None:
        if job.request.judge not in self._settings.allowed:
            job.end(FAILED, f"this service does not allow the judge {job.request.judge!r}")
            return
        self._stopped.discard(job.id)
        (job.path / _PROGRESS).write_text("{}")
        progress = str((job.path / _PROGRESS).absolute())
        ledger = json.dumps(self._settings.ledger(job.request.judge))
        arguments = job.request.arguments(self._settings, job.run)
        with (job.path / _LOG).open("wb") as log:
            options: dict[str, Any] = {"cwd": job.path / FILES, "stdout": DEVNULL, "stderr": log}
            options |= {"patience": _SHUTDOWN_SECONDS, "pass_fds": (lock,)}
            async with worker("run", progress, ledger, *arguments, **options) as process:
                self._processes[job.id] = process
                try:
                    code = await process.wait()
                finally:
                    del self._processes[job.id]
        if (job.run / MANIFEST).is_file():
            shutil.rmtree(job.path / FILES, ignore_errors=True)  # the run has what is in them
            job.reset()
            return
        reasons = _REASON.findall((job.path / _LOG).read_text("utf-8", "replace"))
        detail = reasons[-1] if reasons else f"its process ended with exit code {code}"
        was_stopped = code == _STOPPED_ITSELF or job.id in self._stopped
        job.end(STOPPED if was_stopped else FAILED, self._settings.hide_folders(detail))
