"""Runs that clients asked for: on disk, so that they outlive the service, and their processes.

Each is the command `judge` in a process of its own, with a folder below `.jobs` in the folder of
runs; the run is written beside `.jobs`, in a folder of the same name:

    job.json       the request, never changed; locked by the service that does it
    files/         the uploaded files under the client's names, until the run is finished
    progress.json  the latest counts
    begun.json, annotations.jsonl  what the run has written so far (judge.running.underway)
    log            what the command wrote
    stop           a byte for each time that somebody asked to stop it
    state.json     that it was stopped or has failed, and why

Several services may have the same folder of runs. The one that does a run holds the lock of its
`job.json`; any of them may be asked to stop it, and the run's own process looks for that.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from judge import backends, prompts, rubrics
from judge.backends import LEXICON
from judge.backends.hosted import EFFORT
from judge.cli.command_line import arguments_of
from judge.files import (
    descriptor_of,
    folders_with,
    is_regular,
    lock_when_free,
    open_regular,
    try_lock,
    write_regular,
)
from judge.run_files.entries import Moment
from judge.run_files.manifest import MANIFEST
from judge.run_settings import ColumnSettings, OpenSettings, RunSettings
from judge.running.progress import Progress
from judge.running.settings import judge_settings
from judge.running.underway import PROGRESS, forget_begun, read_progress
from judge.service.run_models import State
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import STOP, worker
from judge.types import JudgeError

QUEUED: State = "queued"
RUNNING: State = "running"
STOPPED: State = "stopped"
FAILED: State = "failed"
FINISHED: State = "finished"
UNFINISHED: tuple[State, ...] = (QUEUED, RUNNING)
FILES, JOB = "files", "job.json"
_STATE, _LOG = "state.json", "log"
_MAX_RUNNING = 2
# Exit codes of the command `judge`.
_WRONG_INPUT, _STOPPED_ITSELF = 2, 3
_BY_A_READER = "stopped by a reader"
# What the command line calls an option, the form and the API call by another name.
_OPTION = re.compile(r"--column (id|candidate|reference|class|patient|prior)\b")
_IN_FORM = {"id": "ID", "candidate": "report"}
# When the service ends, the command saves the answers under way for five seconds.
_POLL_SECONDS, _SHUTDOWN_SECONDS = 0.5, 20.0
# The command's last line: an error to fix, or why it stopped.
_REASON = re.compile(r"^(?:Error: |(?=Stopped |Given up ))(.+)", re.M)

_LONGEST = 200
"""The most characters of a text that a client chooses."""
Short = Annotated[str, Field(max_length=_LONGEST)]


class RunOptions(OpenSettings):
    """The settings that a client may choose; left out, or empty, is the default.

    The fields that a form cannot hold as one value have names of their own.
    """

    id_field: Short | None = Field(
        default=None, description="The field of the ids: --column id=NAME."
    )
    candidate_field: Short | None = None
    reference_field: Short | None = None
    class_field: Short | None = None
    patient_field: Short | None = None
    prior_field: Short | None = None
    context_fields: list[Short] = Field(default=[], max_length=50)
    no_context: bool = Field(
        default=False, description="Show the judge the two reports alone."
    )
    prompt: Short | None = Field(
        default=None,
        description="The name of a prompt of the rubric, as GET /v1/rubrics lists them; no file.",
    )
    reasoning_effort: Short | None = Field(
        default=None,
        description="How long the model may reason, as GET /v1/judges lists it.",
    )
    # Another tier could cost more than the budget counts.
    service_tier: Literal["flex"] | None = Field(
        default=None,
        description="flex: at the price of a batch, and later. Of some judges only.",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, values: Any) -> Any:  # noqa: ANN401 - what a client sent
        if not isinstance(values, dict):
            return values
        return {
            name: value for name, value in values.items() if value not in ("", None)
        }

    @field_validator("*")
    @classmethod
    def _is_short(cls, value: Any) -> Any:  # noqa: ANN401 - of any field
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and len(text) > _LONGEST for text in texts):
            raise ValueError(f"a text has at most {_LONGEST} characters")
        return value


class RunRequest(RunOptions):
    """A client's request: `files` are the candidates' and the references', `created` ISO."""

    files: list[Annotated[str, Field(pattern="^[^/]+$")]] = Field(
        min_length=1, max_length=2
    )
    created: Moment

    def settings(self, service: ServiceSettings) -> RunSettings:
        """Return what the run is asked to do; raises `JudgeError` for what cannot be."""
        context = self.context_fields or None
        if self.no_context:
            context = []
        columns = ColumnSettings(
            id=self.id_field,
            candidate=self.candidate_field,
            reference=self.reference_field,
            study_class=self.class_field,
            patient=self.patient_field,
            prior=self.prior_field,
            context=context,
        )
        chosen = {
            name: getattr(self, name)
            for name in OpenSettings.model_fields
            if name in self.model_fields_set
        }
        address = service.judges.get(self.judge)
        sampling = {}
        if self.reasoning_effort is not None:
            sampling[EFFORT] = self.reasoning_effort
        return RunSettings.of(
            **{**chosen, "rubric": self.rubric, "judge": self.judge},
            preds=self.files[0],
            refs=self.files[1] if len(self.files) > 1 else None,
            columns=columns,
            prompt=self.prompt,
            sampling=sampling,
            service_tier=self.service_tier,
            base_url=[address] if address else [],
        )

    def arguments(self, service: ServiceSettings, out: Path) -> list[str]:
        """Return the arguments of the command `judge` that does the run."""
        arguments = arguments_of(self.settings(service))
        arguments.append(f"--out={out.absolute()}")
        if service.cache is not None:
            arguments.append(f"--cache={service.cache.absolute()}")
        return [self.rubric, *arguments, "--", *self.files]

    def fault(self, settings: ServiceSettings) -> str | None:
        """Return what the command line would refuse in these options, None where it takes them."""
        import click

        from judge.cli.judging import command_for
        from judge.studies.sections import known_section

        if self.no_context and self.context_fields:
            return "no_context and context_fields exclude each other"
        try:
            name, *arguments = self.arguments(settings, Path())
            command_for(rubrics.load(name)).make_context(name, arguments)
            known_section(self.section)
            self._check_asking(settings)
        except click.ClickException as error:
            return error.format_message()
        except JudgeError as error:
            return str(error)
        return None

    def _check_asking(self, service: ServiceSettings) -> None:
        """Raise `JudgeError` where the judge does not take the prompt, effort or service tier."""
        given = (self.prompt, self.reasoning_effort, self.service_tier)
        if given == (None, None, None):
            return
        if self.judge == LEXICON:
            raise JudgeError(
                "the built-in judge takes no prompt, reasoning_effort or service_tier; leave them "
                "out, or choose another judge"
            )
        # A name of a prompt that is not known could be a file of the client's.
        known = prompts_of(self.rubric)
        if self.prompt is not None and self.prompt not in known:
            raise JudgeError(
                f"the rubric {self.rubric} has no prompt {self.prompt!r}; there are: "
                f"{', '.join(known)}"
            )
        asked = self.settings(service)
        judge = judge_settings(
            asked, environ=os.environ, say=lambda _text: None, sends=False
        )
        backends.load(self.judge, rubrics.load(self.rubric), judge)


def prompts_of(rubric: str) -> list[str]:
    """Return the names of the prompts of a rubric that can be used here."""
    known = []
    for name, loaded in prompts.every(os.environ):
        if not isinstance(loaded, JudgeError) and loaded.rubric == rubric:
            known.append(name)
    return known


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

    def status(self) -> JobStatus:
        """Return the state, and of a run that was stopped or has failed the reason."""
        if is_regular(self.run / MANIFEST):
            return JobStatus(FINISHED)
        if os.path.lexists(self.path / _STATE):
            try:
                end = _End.model_validate_json(_bytes_of(self.path / _STATE))
            except (OSError, ValueError):
                return JobStatus(FAILED, "its state cannot be read")
            return JobStatus(end.state, end.detail, is_final=end.is_final)
        if os.path.lexists(self.path / PROGRESS):
            return JobStatus(RUNNING, is_stopping=self.is_asked_to_stop)
        if self.is_asked_to_stop:
            return JobStatus(STOPPED, _BY_A_READER)
        return JobStatus(QUEUED)

    @property
    def is_asked_to_stop(self) -> bool:
        """Whether somebody asked to stop it since it was started or resumed."""
        return os.path.lexists(self.path / STOP)

    def ask_to_stop(self) -> None:
        """Ask whoever does it to stop it; a second time, at once."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(descriptor_of(self.path / STOP, flags), "wb") as file:
            file.write(b".")

    @property
    def is_free(self) -> bool:
        """Whether no service does it, and no process of one that has ended."""
        try:
            with open_regular(self.path / JOB) as lock:
                return try_lock(lock.fileno())
        except OSError:
            return False

    def progress(self) -> Progress | None:
        """Return the latest counts, None where there are none."""
        return read_progress(self.path)

    def end(self, state: str, detail: str, *, is_final: bool = False) -> None:
        """Record that it was stopped or has failed; `is_final` where it would fail again."""
        aside = self.path / f"{_STATE}.new"
        end = {"state": state, "detail": detail, "is_final": is_final}
        write_regular(aside, json.dumps(end).encode())
        aside.replace(self.path / _STATE)

    def reset(self) -> None:
        """Remove its progress and the record of its end."""
        # The wish to stop it goes last: what is seen in between is a run that was stopped.
        for name in (PROGRESS, _STATE, _LOG, STOP):
            (self.path / name).unlink(missing_ok=True)
        forget_begun(self.path)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The state of a job: `detail` says why it was stopped or has failed.

    `is_final` where the same files and options fail again, `is_stopping` where a run that goes on
    was asked to stop.
    """

    state: State
    detail: str | None = None
    is_final: bool = False
    is_stopping: bool = False


class _End(BaseModel):
    """That a run was stopped or has failed, and why: `state.json`."""

    state: Literal["stopped", "failed"]
    detail: str
    is_final: bool = False


def _bytes_of(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def list_jobs(runs: Path) -> list[Job]:
    """Return all jobs below a folder of runs, the oldest first."""
    jobs = []
    for path in folders_with(runs / JOBS, JOB):
        with suppress(OSError, ValueError):  # not ours, or of another version
            request = RunRequest.model_validate_json(_bytes_of(path / JOB))
            jobs.append(Job(path, request))
    return sorted(jobs, key=lambda job: (job.request.created, job.id))


class Jobs:
    """Does the runs that are not finished, a few at a time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = asyncio.Semaphore(_MAX_RUNNING)
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._processes: dict[Path, Process] = {}

    def start_all(self) -> None:
        """Start all that an earlier service left unfinished."""
        for runs in self._settings.runs:
            for job in list_jobs(runs):
                if job.status().state in UNFINISHED:
                    self.start(job)

    def start(self, job: Job) -> None:
        """Do a run as soon as it is its turn."""
        self._tasks[job.path] = asyncio.create_task(self._do(job))

    async def stop(self, job: Job) -> None:
        """Stop a run as Ctrl-C does: answers under way are saved; a second time at once.

        Its process may be another service's: it is never said to have stopped before it has.
        """
        job.ask_to_stop()
        if job.path in self._processes:
            return
        task = self._tasks.get(job.path)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if job.is_free and job.status().state == RUNNING:
            # An earlier service began it, and nobody goes on with it.
            job.end(STOPPED, _BY_A_READER)

    async def close(self) -> None:
        """Stop all runs, which go on when the service starts again."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _do(self, job: Job) -> None:
        try:
            with open_regular(job.path / JOB) as lock:
                # Another service may have it, or its process.
                await lock_when_free(lock.fileno(), pause=_POLL_SECONDS)
                async with self._turn:
                    # Meanwhile it may have been deleted, or renamed after its end.
                    if not is_regular(job.path / JOB):
                        return
                    if job.status().state not in UNFINISHED:
                        return
                    if job.is_asked_to_stop:
                        job.end(STOPPED, _BY_A_READER)
                        return
                    await self._run(job, lock.fileno())
        except OSError as error:
            with suppress(FileNotFoundError):  # deleted
                job.end(FAILED, f"the run cannot be done: {error.strerror}")

    async def _run(self, job: Job, lock: int) -> None:
        if job.request.judge not in self._settings.allowed:
            job.end(
                FAILED, f"this service does not allow the judge {job.request.judge!r}"
            )
            return
        fault = await asyncio.to_thread(job.request.fault, self._settings)
        if fault:
            job.end(FAILED, fault, is_final=True)
            return
        files = [job.path / FILES / name for name in job.request.files]
        if (job.path / FILES).is_symlink() or not all(map(is_regular, files)):
            job.end(FAILED, "one of its files is no plain file", is_final=True)
            return
        write_regular(job.path / PROGRESS, b"{}")
        ledger = json.dumps(
            self._settings.ledger(job.request.judge, job.request.max_cost)
        )
        arguments = job.request.arguments(self._settings, job.run)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(descriptor_of(job.path / _LOG, flags), "wb") as log:
            options: dict[str, Any] = {
                "cwd": job.path / FILES,
                "stdout": DEVNULL,
                "stderr": log,
            }
            options |= {"patience": _SHUTDOWN_SECONDS, "pass_fds": (lock,)}
            folders = (str(job.path.absolute()), str(job.run.absolute()))
            async with worker(
                "run", *folders, ledger, *arguments, **options
            ) as process:
                self._processes[job.path] = process
                try:
                    code = await process.wait()
                finally:
                    del self._processes[job.path]
        if is_regular(job.run / MANIFEST):
            # The run has what is in them.
            shutil.rmtree(job.path / FILES, ignore_errors=True)
            job.reset()
            return
        self._end(job, code)

    def _end(self, job: Job, code: int) -> None:
        """Record the end of a run whose process ended without finishing it."""
        reasons = _REASON.findall(_bytes_of(job.path / _LOG).decode("utf-8", "replace"))
        if reasons:
            detail = _OPTION.sub(_in_form, self._settings.hide_folders(reasons[-1]))
        elif job.is_asked_to_stop:
            detail = _BY_A_READER
        else:
            detail = f"its process ended with exit code {code}"
        if code == _STOPPED_ITSELF or job.is_asked_to_stop:
            job.end(STOPPED, detail)
            return
        # What cannot be read or asked before the first study fails the next time as well.
        is_final = code == _WRONG_INPUT and job.progress() is None
        job.end(FAILED, detail, is_final=is_final)


def _in_form(found: re.Match[str]) -> str:
    role = found[1]
    return f"the {_IN_FORM.get(role, role)} column ({role}_field)"
