"""A judge that answers by itself, in several processes.

Each is `python -m judge.running.worker`, which is told the judge first and then studies, a few at a
time, in lengths and pickles over its own pipes. It ends with its standard input, so also when the
program that started it was killed.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from judge.running.notes import Notes
from judge.running.progress import Progress
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.running.waiting import Stop
from judge.studies import StudySet
from judge.types import JudgeError, Study

# Studies that a worker is given at a time; it has one such chunk under way and one waiting.
_CHUNK = 32
SIZE = 8
"""Bytes of the length of what follows it."""

Given = list[tuple[int, Study]]


def packed(what: object) -> bytes:
    """Return an object as it goes through a pipe."""
    data = pickle.dumps(what)
    return len(data).to_bytes(SIZE) + data


async def judge_in_workers(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[Judged], None],
    n_workers: int,
    *,
    stop: Stop,
    progress: Progress,
) -> None:
    """Do what `judge_all` does, in so many processes.

    Raises `JudgeError` for a judge that cannot be handed to another process, and where a process
    ends before its time. None is left when this returns, or raises.
    """
    try:
        judge = packed((session.rubric, session.judge))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise JudgeError(
            f"the judge {session.judge.name} cannot be handed to other processes ({error}); "
            "leave out --workers (RequestPolicy.workers)"
        ) from error
    numbered = enumerate(studies)
    n = min(n_workers, -(-len(studies) // _CHUNK))
    workers = [_Worker(judge, numbered, sink, stop, progress) for _ in range(n)]
    tasks = [asyncio.create_task(worker.work()) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    session.notes_of_workers = sum((worker.notes for worker in workers), session.notes_of_workers)


class _Worker:
    def __init__(
        self,
        judge: bytes,
        numbered: Iterator[tuple[int, Study]],
        sink: Callable[[Judged], None],
        stop: Stop,
        progress: Progress,
    ) -> None:
        self._judge = judge
        self._numbered = numbered
        self._sink = sink
        self._stop = stop
        self._progress = progress
        self.notes = Notes()

    async def work(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "judge.running.worker"),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the run alone
        )
        assert process.stdin is not None
        try:
            process.stdin.write(self._judge)
            given = self._give(process)
            while given and self._stop.why is None:
                waiting = self._give(process)
                self._take(given, await self._reply(process))
                given = waiting
        except BaseException:
            self._stop.set("an error")
            raise
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.stdin.close()
            await process.communicate()

    def _give(self, process: Process) -> Given:
        given = list(islice(self._numbered, _CHUNK))
        if given:
            assert process.stdin is not None
            # Not waited for: what it has to read is bounded, and it may be writing to us.
            process.stdin.write(packed([study for _, study in given]))
        return given

    async def _reply(self, process: Process) -> tuple[Sequence[Judged], Notes]:
        assert process.stdout is not None
        try:
            size = int.from_bytes(await process.stdout.readexactly(SIZE))
            found: tuple[Sequence[Judged], Notes] = pickle.loads(  # noqa: S301 - of our own process
                await process.stdout.readexactly(size)
            )
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            status = await process.wait()
            why = signal.Signals(-status).name if status < 0 else f"exit code {status}"
            raise JudgeError(
                f"a worker process of the judge ended before its time ({why}), and no run was "
                "written; where memory is short, give fewer --workers (RequestPolicy.workers)"
            ) from error
        return found

    def _take(self, given: Given, reply: tuple[Sequence[Judged], Notes]) -> None:
        ends, self.notes = reply
        for (at, study), end in zip(given, ends, strict=True):
            self._progress.ended(end.outcome)
            self._sink(replace(end, at=at, study=study))
