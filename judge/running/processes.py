"""A judge that answers by itself, in several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType

from judge.backends import Judge
from judge.backends.base import Notes
from judge.rubrics import Rubric
from judge.running.engine import Progress, Stop, judge_study
from judge.running.records import Judged
from judge.running.session import JudgeSession, RequestPolicy
from judge.studies import StudySet
from judge.types import JudgeError, Study

# Studies that a process is given at a time; it has one such chunk under way and one waiting.
_CHUNK = 32
# What comes back says nothing that who asked has.
_NO_STUDY = Study("", "", "")
_session: JudgeSession | None = None
"""In a worker, what it judges by."""


async def judge_in_processes(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[Judged], None],
    n: int,
    *,
    stop: Stop,
    progress: Progress,
) -> None:
    """Do what `judge_all` does, in `n` processes.

    Raises `JudgeError` for a judge that cannot be handed to another process, and where a process
    ends before its time. None is left when this returns, or raises.
    """
    try:
        pickle.dumps((session.rubric, session.judge))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise JudgeError(
            f"the judge {session.judge.name} cannot be handed to other processes ({error}); "
            "leave out --workers (RequestPolicy.workers)"
        ) from error
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, type(session.judge).__module__])
    n = min(n, -(-len(studies) // _CHUNK))
    numbered, notes = enumerate(studies), dict[int, Notes]()
    pool = ProcessPoolExecutor(n, context, _begin, (session.rubric, session.judge))

    async def work() -> None:
        while stop.why is None and (chunk := list(islice(numbered, _CHUNK))):
            texts = [study for _, study in chunk]
            pid, ends, said = await asyncio.wrap_future(pool.submit(_judge, texts))
            notes[pid] = said
            for (at, study), end in zip(chunk, ends, strict=True):
                progress.ended(end.outcome)
                sink(replace(end, at=at, study=study))

    tasks = [asyncio.ensure_future(work()) for _ in range(2 * n)]
    try:
        with _without_main():
            await asyncio.gather(*tasks)
    except BrokenProcessPool as error:
        raise JudgeError(
            "a worker process of the judge ended before its time, and no run was written; "
            "where memory is short, give fewer --workers (RequestPolicy.workers)"
        ) from error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for process in (pool._processes or {}).values():  # noqa: SLF001 - none has any more to do
            process.kill()
        pool.shutdown(cancel_futures=True)
    session.notes_of_workers = sum(notes.values(), session.notes_of_workers)


@contextmanager
def _without_main() -> Iterator[None]:
    """Let processes start without running the user's script again, which may have no guard."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin(rubric: Rubric, judge: Judge) -> None:
    global _session
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it says when it is over
    os.dup2(2, 1)  # whatever a judge prints is none of the run's output
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _session = JudgeSession(rubric, judge, RequestPolicy(), Path())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _judge(chunk: list[Study]) -> tuple[int, list[Judged], Notes]:
    session = _session
    assert session is not None

    async def judged() -> list[Judged]:
        answer = session.answerer(Progress(total=len(chunk)), Stop())
        ends = [await judge_study(session, 0, study, answer) for study in chunk]
        return [replace(end, study=_NO_STUDY) for end in ends]

    return os.getpid(), asyncio.run(judged()), Notes.of(session.judge)
