"""Supervising runs: each unfinished one has a process, and one that was cut off gets another."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from judge.service import jobs
from judge.service.jobs import Job
from judge.service.problems import ProblemError
from judge.service.settings import ServiceSettings
from judge.service.worker import Worker
from judge.types import JudgeError

_LOG = logging.getLogger("uvicorn.error")
_LOOK_SECONDS = 1.0
# A process that waits for the answers under way takes at most so long to end.
_END_SECONDS = 45.0


class Supervisor:
    """Starts a process for each run that is not finished, a few at a time.

    Any number of services may supervise the same folder: a process that finds its run taken
    by another ends at once.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._working: dict[Path, asyncio.Task[None]] = {}
        self._broken: set[Path] = set()
        self._finished: set[Path] = set()
        self._news = asyncio.Event()

    async def supervise(self) -> None:
        """Look after the runs until cancelled; then tell the processes and wait for their end."""
        try:
            while True:
                self._news.clear()
                for job in await asyncio.to_thread(self._to_do):
                    free = len(self._working) < self._settings.parallel_runs
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
        """Return the runs that nobody works on and somebody should."""
        found = []
        try:
            for runs in self._settings.runs:
                for job in jobs.listed(runs, without=self._finished | self._broken):
                    state = job.state().state
                    if state == jobs.FINISHED:
                        self._finished.add(job.path)
                    elif state in jobs.UNFINISHED and self._is_ready(job):
                        found.append(job)
        except OSError as error:
            _LOG.warning("cannot look after the runs: %s", error)
        return found

    def _is_ready(self, job: Job) -> bool:
        """Whether an unfinished run is to go on; what keeps it from that is written down."""
        with job.locked() as is_free:
            if not is_free:
                return False
            if job.is_to_stop:
                job.put(jobs.STOPPED, "stopped by a reader")
                return False
            judge = job.request.judge
            if not self._settings.allows(judge):
                job.put(jobs.FAILED, f"the owner of this service does not allow {judge!r}")
                return False
            return True

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
                self._broken.add(job.path)  # it cannot be noted, so it is remembered
                _LOG.warning("cannot note the end of run %s: %s", job.id, failure)
        finally:
            await worker.close(_END_SECONDS)


def _failed(job: Job, why: str) -> None:
    """Write down that a run's process broke, so that it is not started again and again."""
    with job.locked() as is_free:
        if is_free and job.state().state in jobs.UNFINISHED:
            job.put(jobs.FAILED, why)


def check(settings: ServiceSettings) -> None:
    """Tidy the folder of new runs; raises `JudgeError` where they cannot be written."""
    jobs.sweep(settings.runs[0], time.time())
    try:
        settings.runs[0].mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(
            f"cannot write runs to {settings.runs[0]}: {error.strerror}; name a folder with --runs"
        ) from error
