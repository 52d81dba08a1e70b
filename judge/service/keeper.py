"""Keeping runs going: each unfinished one has a process, and one that was cut off gets another."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from functools import partial
from pathlib import Path

from judge.service import jobs
from judge.service.jobs import Job, State
from judge.service.settings import Settings
from judge.types import JudgeError

_LOG = logging.getLogger("uvicorn.error")
_LOOK_SECONDS = 1.0
# A process that has the answers under way to wait for takes so long to end at most.
_END_SECONDS = 45.0


class Keeper:
    """Starts a process for each run that is not finished, a few at a time.

    Any number of services may keep the same folder: a process that finds its run taken by
    another ends at once.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._working: dict[Path, asyncio.Task[None]] = {}
        self._broken: set[Path] = set()
        self._finished: set[Path] = set()
        self._news = asyncio.Event()

    async def keep(self) -> None:
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
        try:
            return [job for job in self._unfinished() if job.path not in self._broken]
        except OSError as error:
            _LOG.warning("cannot look after the runs: %s", error)
            return []

    def _unfinished(self) -> list[Job]:
        """Return the runs that nobody works on and somebody should."""
        found = []
        for runs in self._settings.runs:
            for job in jobs.listed(runs, without=self._finished):
                state = job.state().state
                if state == jobs.FINISHED:
                    self._finished.add(job.path)
                if state not in jobs.UNFINISHED:
                    continue
                with job.locked() as is_free:
                    if is_free and job.is_to_stop:
                        job.put(State(jobs.STOPPED, "stopped by a reader", job.state().progress))
                    elif is_free and not self._settings.allows(job.asked.judge):
                        detail = f"the owner of this service does not allow {job.asked.judge!r}"
                        job.put(State(jobs.FAILED, detail, job.state().progress))
                    elif is_free:
                        found.append(job)
        return found

    async def _work(self, job: Job) -> None:
        cache = self._settings.cache
        owner = {
            "base_url": self._settings.judges.get(job.asked.judge),
            "cache": str(cache.absolute()) if cache else None,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "judge.service.work", str(job.path.absolute())),
            stdin=PIPE,
            stdout=DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal is for the service alone
        )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(owner).encode() + b"\n")
            with suppress(ConnectionError):
                await process.stdin.drain()
            status = await process.wait()
        except asyncio.CancelledError:
            process.stdin.close()
            await _end(process)
            raise
        if status != 0:
            try:
                await asyncio.to_thread(_failed, job, status)
            except OSError as error:
                self._broken.add(job.path)  # it cannot be noted, so it is remembered
                _LOG.warning("cannot note the end of run %s: %s", job.id, error)


async def _end(process: Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _END_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _failed(job: Job, status: int) -> None:
    """Write down that a run's process broke, so that it is not started again and again."""
    why = signal.Signals(-status).name if status < 0 else f"exit code {status}"
    with job.locked() as is_free:
        if is_free and (state := job.state()).state in jobs.UNFINISHED:
            detail = f"the process of this run broke off ({why}); the service's log says more"
            job.put(State(jobs.FAILED, detail, state.progress))


def check(settings: Settings) -> None:
    """Tidy the folder of new runs; raises `JudgeError` where they cannot be written."""
    jobs.sweep(settings.runs[0], time.time())
    try:
        settings.runs[0].mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(
            f"cannot write runs to {settings.runs[0]}: {error.strerror}; name a folder with --runs"
        ) from error
