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
import os
import re
import shutil
import signal
import tempfile
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from judge import rubrics
from judge.backends import LEXICON
from judge.running.folder import MANIFEST
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import exit_cause, worker
from judge.studies.sections import Section
from judge.types import MODALITIES, JudgeError

QUEUED, RUNNING, STOPPED, FAILED, FINISHED = "queued", "running", "stopped", "failed", "finished"
UNFINISHED = (QUEUED, RUNNING)
FILES, NEW = "files", ".new-"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_JOB, _STATE, _PROGRESS, _LOG = "job.json", "state.json", "progress.json", "log"
_MAX_RUNNING = 2
_POLL_SECONDS = 0.5
# When the service ends, the command saves the answers under way for five seconds.
_SHUTDOWN_SECONDS = 20.0
_STOP_CODES = (3, 130, 143, -signal.SIGINT, -signal.SIGTERM)
# The command's last line: an error to fix, or why it stopped.
_REASON = re.compile(r"^(?:Error: |(?=Stopped |Given up ))(.+)", re.M)
_BY_SIGNAL = re.compile(r" \((?:interrupted|terminated)\)")
_OPTION = re.compile(r"--column (\w+)|--([a-z][a-z-]*[a-z])")
# The names of options in the form of the page.
_LABELS = {
    "model": "Model",
    "id_field": "ID column",
    "candidate_field": "Report column",
    "reference_field": "Reference column",
}

_FORM_ONLY = ("rubric", "name", "files", "created")
_BODY = ("top_p", "seed", "reasoning_effort")
"""The parameters of `--body`."""

Short = Annotated[str, Field(max_length=200)]


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()


class JudgeChoice(BaseModel):
    """By which rubric reports are judged, who judges, and how the judge is asked."""

    rubric: Short = Field(description="A rubric's name.", examples=rubrics.built_in())
    judge: Short = Field(default=LEXICON, description="A judge of `GET /v1/judges`.")
    prompt: Short | None = Field(default=None, description="For judges that read one.")
    reply: Literal["auto", "text", "structured"] = "auto"


class RunOptions(JudgeChoice):
    """The options of a run, as on the command line; "" and None are the default."""

    section: Literal["", Section] = ""
    id_field: Short = ""
    candidate_field: Short = ""
    reference_field: Short = ""
    class_field: Short = ""
    patient_field: Short = ""
    context_field: Short = Field(default="", description="Fields, with commas; none for none.")
    prior_field: Short = Field(default="", description="The field of the earlier reports.")
    modality: Short = Field(default="", description=", ".join(MODALITIES))
    model: Short = Field(default="", description="The model that wrote the candidates.")
    allow_missing: bool = Field(default=False, description="Leave out studies of one side only.")
    by: str = Field(default="", max_length=1000, description="Group rates by: fields, with commas.")
    max_cost: float | None = Field(default=None, gt=0, description="US dollars.")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = Field(default=None, ge=-(2**63) + 1, lt=2**63)
    reasoning_effort: str = Field(default="", pattern="^[a-z]{0,20}$")
    give_up_after: int = Field(default=50, ge=0, description="0 for never.")
    name: Annotated[Short, AfterValidator(_printable)] = Field(
        default="", description="The name of the run in the list."
    )

    def arguments(self, settings: ServiceSettings) -> list[str]:
        """Return the arguments of the command `judge`, without the files."""
        of_owner = {
            "cache": settings.cache and settings.cache.absolute(),
            "base_url": settings.judges.get(self.judge),
            "max_input": settings.max_input / 1e9,
        }
        arguments = [self.rubric]
        for name, value in {**dict(self), **of_owner}.items():
            option = f"--{name.replace('_', '-')}"
            if name in _FORM_ONLY or value in ("", None) or value is False:
                continue
            if name == "context_field":
                columns = [f"--column=context={field}" for field in str(value).split(",") if field]
                arguments += ["--no-context"] if value == "none" else columns
            elif name.endswith("_field"):
                arguments.append(f"--column={name.removesuffix('_field')}={value}")
            elif name in _BODY:
                arguments.append(f"--body={name}={value}")
            else:
                arguments.append(option if value is True else f"{option}={value}")
        return arguments


class RunRequest(RunOptions):
    """A client's request: `files` are the candidates' and the references', `created` ISO."""

    model_config = ConfigDict(extra="forbid")

    files: list[Annotated[str, Field(pattern="^[^/]+$")]] = Field(min_length=1, max_length=2)
    created: str

    @classmethod
    def of(cls, options: RunOptions, files: list[str]) -> RunRequest:
        """Return the request for a run of `files`, made now."""
        values = options.model_dump(include=set(RunOptions.model_fields))
        return cls(**values, files=files, created=datetime.now(UTC).isoformat(timespec="seconds"))

    def task(self, settings: ServiceSettings, *options: str) -> dict[str, Any]:
        """Return the request to the process of a run or a check: its arguments and its ledger."""
        return {
            "arguments": [*self.arguments(settings), *options, "--", *self.files],
            "ledger": settings.ledger(self.judge),
        }


def with_form_names(text: str) -> str:
    """Return a message of the command line with options named as in the form and the API."""

    def name(option: re.Match[str]) -> str:
        field = f"{option[1]}_field" if option[1] else option[2].replace("-", "_")
        return f"{_LABELS[field]} ({field})" if field in _LABELS else field

    return _OPTION.sub(name, text)


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


def new_folder(runs: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a folder for the files of a job, which is removed unless `create` makes it the job's."""
    (runs / JOBS).mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=NEW, dir=runs / JOBS, ignore_cleanup_errors=True)


def create(folder: Path, request: RunRequest) -> Job:
    """Make a `new_folder` a job. Its name, which readers may see, names no judge."""
    (folder / _JOB).write_text(request.model_dump_json(), "utf-8")
    created = datetime.fromisoformat(request.created)
    name = f"{request.rubric}-{created:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
    return Job(folder.rename(folder.parent / name), request)


def list_jobs(runs: Path) -> list[Job]:
    """Return all jobs below a folder of runs, the oldest first."""
    jobs = []
    for path in (runs / JOBS).glob(f"[!.]*/{_JOB}"):
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
            with (job.path / _JOB).open("rb") as lock:
                while not _lock(lock.fileno()):  # another service has it, or its process
                    await asyncio.sleep(_POLL_SECONDS)
                async with self._turn:
                    if job.state()[0] in UNFINISHED:
                        await self._run(job, lock.fileno())
        except OSError as error:
            job.end(FAILED, f"the run cannot be done: {error.strerror}")

    async def _run(self, job: Job, lock: int) -> None:
        if not self._settings.allows(job.request.judge):
            job.end(FAILED, f"this service does not allow the judge {job.request.judge!r}")
            return
        self._stopped.discard(job.id)
        (job.path / _PROGRESS).write_text("{}")
        request = job.request.task(self._settings, f"--out={job.run.absolute()}")
        request["progress"] = str((job.path / _PROGRESS).absolute())
        with (job.path / _LOG).open("wb") as log:
            options = {"cwd": job.path / FILES, "stderr": log, "pass_fds": (lock,)}
            async with worker("run", request, _SHUTDOWN_SECONDS, **options) as process:
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
        reason = _BY_SIGNAL.sub("", reasons[-1]) if reasons else f"it ended by {exit_cause(code)}"
        detail = with_form_names(self._settings.hide_folders(reason))
        # Python itself may have been stopped before the command could handle it.
        was_stopped = code in _STOP_CODES or job.id in self._stopped
        job.end(STOPPED if was_stopped else FAILED, detail)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ensure_writable(runs: Path) -> None:
    """Make the folder of new runs; raises `JudgeError` where that is not possible."""
    try:
        runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(
            f"cannot write runs to {runs}: {error.strerror}; name a folder with --runs"
        ) from error
