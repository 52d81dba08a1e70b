"""A judge that answers by itself, in several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from judge.backends import Judge
from judge.backends.base import Notes
from judge.rubrics import Rubric
from judge.running.asking import RequestPolicy, Stop
from judge.running.cost import Progress
from judge.running.questions import judge_study
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError, Study

# Studies that a process is given at a time; it has one such chunk under way and one waiting.
_CHUNK = 32
# What comes back says nothing that who asked has.
_NO_STUDY = Study("", "", "")


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
    # A pool of `concurrent.futures` waits for ever for a worker that is killed as it writes.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, type(session.judge).__module__])
    numbered = enumerate(studies)

    def chunk() -> list[tuple[int, Study]]:
        return list(islice(numbered, _CHUNK)) if stop.why is None else []

    async def work() -> Notes:
        notes, (ours, theirs) = Notes(), context.Pipe()
        process = context.Process(
            target=_work, args=(theirs, session.rubric, session.judge), daemon=True
        )
        try:
            with _without_main():
                process.start()
            theirs.close()
            under_way = chunk()
            ours.send([study for _, study in under_way])
            while under_way:
                waiting = chunk()
                sent = asyncio.to_thread(ours.send, [study for _, study in waiting])
                reply, _ = await asyncio.gather(asyncio.to_thread(ours.recv), sent)
                if isinstance(reply, JudgeError):
                    raise reply  # noqa: TRY301 - one way out for all that goes wrong
                ends, notes = reply
                for (place, study), end in zip(under_way, ends, strict=True):
                    progress.ended(end.outcome)
                    sink(replace(end, at=place, study=study))
                under_way = waiting
        except (EOFError, ConnectionError) as error:
            raise JudgeError(
                "a worker process of the judge ended before its time, and no run was written; "
                "where memory is short, give fewer --workers (RequestPolicy.workers)"
            ) from error
        except BaseException:
            stop.set("an error")
            raise
        finally:
            if process.pid is not None:
                process.kill()
                process.join()
            ours.close()
        return notes

    try:
        pickle.dumps((session.rubric, session.judge))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise JudgeError(
            f"the judge {session.judge.name} cannot be handed to other processes ({error}); "
            "leave out --workers (RequestPolicy.workers)"
        ) from error
    tasks = [asyncio.ensure_future(work()) for _ in range(min(n, -(-len(studies) // _CHUNK)))]
    try:
        notes = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    session.notes_of_workers = sum(notes, session.notes_of_workers)


@contextmanager
def _without_main() -> Iterator[None]:
    """Let a process start without running the user's script again, which may have no guard."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _work(studies: Connection, rubric: Rubric, judge: Judge) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it says when it is over
    os.dup2(2, 1)  # whatever a judge prints is none of the run's output
    session = JudgeSession(rubric, judge, RequestPolicy(), Path())

    async def judged(chunk: list[Study]) -> list[Judged]:
        answer = session.answerer(Progress(total=len(chunk)), Stop())
        ends = [await judge_study(session, 0, study, answer) for study in chunk]
        return [replace(end, study=_NO_STUDY) for end in ends]

    with suppress(EOFError, ConnectionError):  # the run is over, or was killed
        while True:
            chunk = studies.recv()
            try:
                reply: object = asyncio.run(judged(chunk)), Notes.of(judge)
            except JudgeError as error:
                reply = error
            studies.send(reply)
