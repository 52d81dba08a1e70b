"""Runs that clients asked for: on disk, so that they outlive the service, and who does them.

Each is the command `judge` in a process of its own, with a folder below `.jobs` in the folder of
runs; the run is written beside `.jobs`, in a folder of the same name:

    job.json       what was asked for, never changed; locked by the one that does it
    files/         the uploaded files, by the names that the client gave them, until the end
    progress.json  how far it came
    log            what the command said
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

from judge.backends import LEXICON
from judge.running.folder import MANIFEST
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import ended_by, process
from judge.studies.sections import Section
from judge.types import MODALITIES, JudgeError

QUEUED, RUNNING, STOPPED, FAILED, FINISHED = "queued", "running", "stopped", "failed", "finished"
UNFINISHED = (QUEUED, RUNNING)
FILES, NEW = "files", ".new-"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_JOB, _STATE, _PROGRESS, _LOG = "job.json", "state.json", "progress.json", "log"
_MOST_AT_A_TIME = 2
_LOOK_SECONDS = 0.5
# When the service ends, the command keeps the answers under way for five seconds.
_END_SECONDS = 20.0
_BY_READER = "stopped by a reader"
_STOPPING_CODES = (3, 130, 143, -signal.SIGINT, -signal.SIGTERM)
# What the command says at its end: an error to fix, or why it stopped.
_WHY = re.compile(r"^(?:Error: |(?=Stopped |Given up ))(.+)", re.M)
_BY_SIGNAL = re.compile(r" \((?:interrupted|terminated)\)")
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")
# What the form on the page calls the options that it has.
_LABELS = {
    "model": "Model",
    "id_field": "ID column",
    "candidate_field": "Report column",
    "reference_field": "Reference column",
}

Short = Annotated[str, Field(max_length=200)]
Reply = Literal["auto", "text", "structured"]
"""What a model is asked for, as on the command line."""


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()


class RunOptions(BaseModel):
    """What a client may choose of a run, as on the command line; "" and None are the default."""

    rubric: Short
    judge: Short = Field(default=LEXICON, description="Who answers; see `GET /v1/judges`.")
    prompt: Short = Field(default="", description="A prompt's name, for judges that read one.")
    section: Literal["", Section] = ""
    id_field: Short = ""
    candidate_field: Short = ""
    reference_field: Short = ""
    class_field: Short = ""
    patient_field: Short = ""
    context_field: Short = Field(default="", description="Fields, with commas; none for none.")
    prior_field: Short = Field(default="", description="The field of the earlier reports.")
    modality: Short = Field(default="", description=f"{', '.join(MODALITIES)}, or a field.")
    model: Short = Field(default="", description="Whose reports the candidates are.")
    allow_missing: bool = Field(default=False, description="Leave out studies of one side only.")
    by: str = Field(default="", max_length=1000, description="Group rates by: fields, with commas.")
    max_cost: float | None = Field(default=None, gt=0, description="US dollars.")
    reply: Reply = "auto"
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = Field(default=None, ge=-(2**63) + 1, lt=2**63)
    reasoning_effort: str = Field(default="", pattern="^[a-z]{0,20}$")
    give_up_after: int = Field(default=50, ge=0, description="0 for never.")
    name: Annotated[Short, AfterValidator(_printable)] = Field(
        default="", description="What the list of runs calls it."
    )

    def arguments(self, settings: ServiceSettings) -> list[str]:
        """Return the arguments of the command `judge`, without the files."""
        named = {"rubric", "allow_missing", "context_field", "name"}
        options = self.model_dump(include=set(RunOptions.model_fields) - named)
        cache = settings.cache and settings.cache.absolute()
        options |= {"base_url": settings.judges.get(self.judge), "cache": cache}
        options["max_input"] = settings.max_input / 1e9
        contexts = [name for name in self.context_field.split(",") if name]
        no_context = contexts == ["none"]
        return [
            self.rubric,
            *(
                f"--{name.replace('_', '-')}={value}"
                for name, value in options.items()
                if value not in ("", None)
            ),
            *(["--allow-missing"] if self.allow_missing else []),
            *(["--no-context"] if no_context else (f"--context-field={c}" for c in contexts)),
        ]


class RunRequest(RunOptions):
    """What a client asked for: `files` are the candidates' and the references', `created` ISO."""

    model_config = ConfigDict(extra="forbid")

    files: list[Annotated[str, Field(pattern="^[^/]+$")]] = Field(min_length=1, max_length=2)
    created: str

    @classmethod
    def of(cls, options: RunOptions, files: list[str]) -> RunRequest:
        """Return the request for a run of `files` that is made now."""
        chosen = options.model_dump(include=set(RunOptions.model_fields))
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls.model_validate({**chosen, "files": files, "created": created})


def process_request(asked: RunRequest, settings: ServiceSettings, *more: str) -> dict[str, Any]:
    """Return what the process of a run or a check is told: its arguments, and who pays."""
    arguments = [*asked.arguments(settings), *more, "--", *asked.files]
    is_paid = asked.judge in settings.judges
    return {
        "arguments": arguments,
        "ledger": settings.ledger(asked.judge).plain() if is_paid else None,
    }


def for_client(text: str) -> str:
    """Return a message of the command line with options called as in the form and in the API."""

    def name(option: re.Match[str]) -> str:
        field = option[1].replace("-", "_")
        return f"{_LABELS[field]} ({field})" if field in _LABELS else field

    return _OPTION.sub(name, text)


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

    def state(self) -> tuple[str, str | None]:
        """Return how far it came and, where it was stopped or has failed, why."""
        if (self.run / MANIFEST).is_file():
            return FINISHED, None
        with suppress(FileNotFoundError):
            try:
                ended = json.loads((self.path / _STATE).read_bytes())
                return ended["state"], ended["detail"]
            except (ValueError, TypeError, KeyError):
                return FAILED, "its state cannot be read"
        return (RUNNING if (self.path / _PROGRESS).exists() else QUEUED), None

    def progress(self) -> dict[str, Any] | None:
        """Return the latest counts, None for none."""
        with suppress(OSError, ValueError):
            counts: dict[str, Any] = json.loads((self.path / _PROGRESS).read_bytes())
            return counts or None
        return None

    def end(self, state: str, detail: str) -> None:
        """Write down that it was stopped or has failed."""
        aside = self.path / f"{_STATE}.new"
        aside.write_text(json.dumps({"state": state, "detail": detail}), "utf-8")
        aside.replace(self.path / _STATE)

    def begin_anew(self) -> None:
        """Forget how it ended."""
        for name in (_PROGRESS, _STATE):
            (self.path / name).unlink(missing_ok=True)

    def forget_files(self) -> None:
        """Remove all but the request: the run holds all that is in the files."""
        shutil.rmtree(self.path / FILES, ignore_errors=True)
        for name in (_PROGRESS, _STATE, _LOG):
            (self.path / name).unlink(missing_ok=True)


def creating(runs: Path) -> tempfile.TemporaryDirectory[str]:
    """Give a folder to put a new job's files in; it is gone unless `create` made it a job."""
    (runs / JOBS).mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=NEW, dir=runs / JOBS, ignore_cleanup_errors=True)


def create(folder: Path, request: RunRequest) -> Job:
    """Make the folder of `creating` a job; its name, which readers may see, names no judge."""
    (folder / _JOB).write_text(request.model_dump_json(), "utf-8")
    at = datetime.fromisoformat(request.created)
    name = f"{request.rubric}-{at:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
    return Job(folder.rename(folder.parent / name), request)


def listed(runs: Path) -> list[Job]:
    """Return all jobs below a folder of runs, the oldest first."""
    jobs = []
    for path in (runs / JOBS).glob(f"[!.]*/{_JOB}"):
        with suppress(OSError, ValueError):  # nothing of ours, or of another version
            jobs.append(Job(path.parent, RunRequest.model_validate_json(path.read_bytes())))
    return sorted(jobs, key=lambda job: (job.request.created, job.id))


class Jobs:
    """Does the runs that are not finished, a few at a time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = asyncio.Semaphore(_MOST_AT_A_TIME)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, Process] = {}
        self._stopped: set[str] = set()

    def begin_all(self) -> None:
        """Go on with all that were cut off."""
        for runs in self._settings.runs:
            for job in listed(runs):
                if job.state()[0] in UNFINISHED:
                    self.begin(job)

    def begin(self, job: Job) -> None:
        """Have a run done as soon as it is its turn."""
        self._tasks[job.id] = asyncio.create_task(self._do(job))

    async def stop(self, job: Job) -> None:
        """Stop a run as Ctrl-C does: what is under way is collected; a second time at once."""
        if started := self._processes.get(job.id):
            self._stopped.add(job.id)
            started.send_signal(signal.SIGINT)
        elif task := self._tasks.get(job.id):
            task.cancel()
            await asyncio.wait([task])
            job.end(STOPPED, _BY_READER)

    async def close(self) -> None:
        """Stop all; they go on when the service starts again."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _do(self, job: Job) -> None:
        try:
            with (job.path / _JOB).open("rb") as lock:
                while not _locked(lock.fileno()):  # by another service, or the last one's process
                    await asyncio.sleep(_LOOK_SECONDS)
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
        request = process_request(job.request, self._settings, f"--out={job.run.absolute()}")
        request["progress"] = str((job.path / _PROGRESS).absolute())
        with (job.path / _LOG).open("wb") as log:
            how = {"cwd": job.path / FILES, "stderr": log, "pass_fds": (lock,)}
            async with process("run", request, _END_SECONDS, **how) as started:
                self._processes[job.id] = started
                try:
                    code = await started.wait()
                finally:
                    del self._processes[job.id]
        if (job.run / MANIFEST).is_file():
            job.forget_files()
            return
        said = _WHY.findall((job.path / _LOG).read_text("utf-8", "replace"))
        if said:
            why = _BY_SIGNAL.sub("", said[-1])
        else:  # Python itself may have been stopped, before the command could say so
            is_stopped = job.id in self._stopped
            why = _BY_READER if is_stopped else f"it ended by {ended_by(code)}"
        has_stopped = why == _BY_READER or code in _STOPPING_CODES
        job.end(STOPPED if has_stopped else FAILED, for_client(self._settings.hidden(why)))


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check(runs: Path) -> None:
    """Make the folder of new runs; raises `JudgeError` where none can be written to it."""
    try:
        runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(
            f"cannot write runs to {runs}: {error.strerror}; name a folder with --runs"
        ) from error
