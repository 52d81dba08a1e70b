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
import json
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from judge import backends, jsonio, prompts, rubrics
from judge.backends import LEXICON
from judge.backends.hosted import EFFORT
from judge.cli.command_line import arguments_of
from judge.files import (
    descriptor_of,
    folders_with,
    is_regular,
    lock_when_free,
    open_regular,
    write_regular,
)
from judge.run_files.entries import Moment
from judge.run_files.manifest import MANIFEST
from judge.run_settings import ColumnSettings, OpenSettings, RunSettings
from judge.running.settings import judge_settings
from judge.service.settings import JOBS, ServiceSettings
from judge.service.worker import worker
from judge.types import JudgeError

QUEUED, RUNNING, STOPPED, FAILED, FINISHED = (
    "queued",
    "running",
    "stopped",
    "failed",
    "finished",
)
UNFINISHED = (QUEUED, RUNNING)
FILES, JOB = "files", "job.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_STATE, _PROGRESS, _LOG = "state.json", "progress.json", "log"
_MAX_RUNNING, _STOPPED_ITSELF = 2, 3
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

    def state(self) -> tuple[str, str | None]:
        """Return the state and, of a run that was stopped or has failed, the reason."""
        if is_regular(self.run / MANIFEST):
            return FINISHED, None
        if not os.path.lexists(self.path / _STATE):
            return (RUNNING if os.path.lexists(self.path / _PROGRESS) else QUEUED), None
        try:
            end = _End.model_validate_json(_bytes_of(self.path / _STATE))
        except (OSError, ValueError):
            return FAILED, "its state cannot be read"
        return end.state, end.detail

    def progress(self) -> dict[str, Any] | None:
        """Return the latest counts, None where there are none."""
        try:
            progress = jsonio.read(_bytes_of(self.path / _PROGRESS))
        except (OSError, ValueError):
            return None
        return progress if progress and isinstance(progress, dict) else None

    def end(self, state: str, detail: str) -> None:
        """Record that it was stopped or has failed."""
        aside = self.path / f"{_STATE}.new"
        write_regular(aside, json.dumps({"state": state, "detail": detail}).encode())
        aside.replace(self.path / _STATE)

    def reset(self) -> None:
        """Remove its progress and the record of its end."""
        for name in (_PROGRESS, _STATE, _LOG):
            (self.path / name).unlink(missing_ok=True)


class _End(BaseModel):
    """That a run was stopped or has failed, and why: `state.json`."""

    state: Literal["stopped", "failed"]
    detail: str


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
        process = self._processes.get(job.id)
        task = self._tasks.get(job.id)
        if process:
            self._stopped.add(job.id)
            process.send_signal(signal.SIGINT)
        elif task:
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
            with open_regular(job.path / JOB) as lock:
                # Another service may have it, or its process.
                await lock_when_free(lock.fileno(), pause=_POLL_SECONDS)
                async with self._turn:
                    # Meanwhile it may have been deleted, or renamed after its end.
                    is_there = is_regular(job.path / JOB)
                    if is_there and job.state()[0] in UNFINISHED:
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
            job.end(FAILED, fault)
            return
        files = [job.path / FILES / name for name in job.request.files]
        if (job.path / FILES).is_symlink() or not all(map(is_regular, files)):
            job.end(FAILED, "one of its files is no plain file")
            return
        self._stopped.discard(job.id)
        write_regular(job.path / _PROGRESS, b"{}")
        progress = str((job.path / _PROGRESS).absolute())
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
            async with worker(
                "run", progress, ledger, *arguments, **options
            ) as process:
                self._processes[job.id] = process
                try:
                    code = await process.wait()
                finally:
                    del self._processes[job.id]
        if is_regular(job.run / MANIFEST):
            # The run has what is in them.
            shutil.rmtree(job.path / FILES, ignore_errors=True)
            job.reset()
            return
        reasons = _REASON.findall(_bytes_of(job.path / _LOG).decode("utf-8", "replace"))
        detail = reasons[-1] if reasons else f"its process ended with exit code {code}"
        was_stopped = code == _STOPPED_ITSELF or job.id in self._stopped
        job.end(STOPPED if was_stopped else FAILED, self._settings.hide_folders(detail))
