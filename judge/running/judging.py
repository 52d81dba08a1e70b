"""Judging a set of studies by one session, from the first question to the last answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from judge.running.engine import judge_all
from judge.running.interrupting import Interruption, handling
from judge.running.progress import (
    INTERRUPTED,
    Progress,
    ProgressListener,
    RunStoppedError,
)
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import StudySet

_TICK = 0.25


def judge_set(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[StudyResult], None],
    listener: ProgressListener,
) -> Progress:
    """Judge every study of a set, giving each end to `sink`; raises if not all have one."""
    session.begin(len(studies))
    progress, stop = session.progress, session.stop
    cache = session.cache
    if cache is not None and cache.notice:
        listener.say(cache.notice)
        cache.notice = ""  # said once

    async def tick() -> None:
        while True:
            listener.tick(progress)
            await asyncio.sleep(_TICK)

    async def work() -> None:
        with _interruptible(session, listener):
            ticking = asyncio.create_task(tick())
            try:
                await session.count_earlier(studies)
                await judge_all(session, studies, sink, stop)
            except asyncio.CancelledError:
                raise  # at once: nothing is waited for
            except BaseException:
                await session.landed()
                raise
            finally:
                if cache is not None:
                    progress.damaged = cache.n_damaged
                ticking.cancel()
                listener.tick(progress)
                if session.runner is None:
                    await session.judge.aclose()

    with suppress(asyncio.CancelledError):
        if session.runner is None:
            asyncio.run(work())
        else:
            session.runner.run(work())
    if progress.done < progress.total:
        raise RunStoppedError(stop.why or INTERRUPTED, progress, stop.option)
    return progress


@contextmanager
def _interruptible(session: JudgeSession, listener: ProgressListener) -> Iterator[None]:
    """Let signals stop the run in order, if this is the main thread, and other threads too.

    The handlers that were there before are there again afterwards.
    """
    interruption = Interruption(session.stop, listener)
    with session.interruptible(interruption):
        if threading.current_thread() is threading.main_thread():
            with handling(interruption.by_signal):
                yield
        else:
            yield
