"""Judging a set of studies: the engine, its limits, and the person who may interrupt it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module

from judge.running.engine import Judged, judge_all
from judge.running.progress import Progress
from judge.running.session import JudgeSession
from judge.running.waiting import Stop
from judge.studies import StudySet

INTERRUPTED, TERMINATED = "interrupted", "terminated"
# After SIGTERM the answers under way get so many seconds: who sends it soon kills.
_GRACE = 5.0
_TICK = 0.25


class RunStoppedError(Exception):
    """A run that ended before all studies had; its answers are in the cache, its folder is not."""

    def __init__(self, why: str, progress: Progress) -> None:
        super().__init__(why)
        self.why = why
        self.progress = progress

    @property
    def interrupted(self) -> bool:
        """Whether a person, or the system, ended it."""
        return self.why in (INTERRUPTED, TERMINATED)


@dataclass(frozen=True, slots=True)
class ProgressListener:
    """Who is told how a run goes: `tick` a few times a second, `say` when there is news."""

    tick: Callable[[Progress], None] = field(default=lambda _progress: None)
    say: Callable[[str], None] = field(default=lambda _text: None)


def judge_set(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[Judged], None],
    listener: ProgressListener,
) -> Progress:
    """Judge every study of a set, giving each end to `sink`; returns what it took.

    Raises `RunStoppedError` when it was interrupted before all studies had their end, and
    `UnreadableError` when it was given up because its answers could not be read.
    """
    progress = Progress(total=len(studies))
    stop = Stop()

    async def work() -> None:
        answer = session.answerer(progress, stop)
        with _interruptible(stop, listener):
            if not session.judge.runs_inline:  # the first requests go out first
                loading = threading.Thread(target=_load_tables, name="loading", daemon=True)
                asyncio.get_running_loop().call_later(_TICK, loading.start)
            ticking = asyncio.create_task(_tick(progress, listener))
            try:
                await judge_all(session, studies, sink, answer=answer, stop=stop, progress=progress)
            finally:
                if session.cache is not None:
                    progress.damaged = session.cache.n_damaged
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                await session.judge.aclose()

    with suppress(asyncio.CancelledError):
        asyncio.run(work())
    if progress.done < progress.total:
        raise RunStoppedError(stop.why or INTERRUPTED, progress)
    return progress


def _load_tables() -> None:
    """Import what the end of a run needs, which takes a second."""
    for name in ("pandas", "pyarrow.parquet"):
        import_module(name)


async def _tick(progress: Progress, listener: ProgressListener) -> None:
    try:
        while True:
            listener.tick(progress)
            await asyncio.sleep(_TICK)
    finally:
        listener.tick(progress)


@contextmanager
def _interruptible(stop: Stop, listener: ProgressListener) -> Iterator[None]:
    """Let Ctrl-C stop the run in order, and a second one at once; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, main = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if stop.why is not None and main is not None:
            main.cancel()
            return
        stop.set(INTERRUPTED)
        listener.say("Stopping: collecting the answers under way. Ctrl-C again stops at once.")

    def terminated() -> None:
        stop.set(TERMINATED)
        listener.say(f"Stopping: collecting the answers under way for {_GRACE:g} seconds at most.")
        if main is not None:
            loop.call_later(_GRACE, main.cancel)

    loop.add_signal_handler(signal.SIGINT, interrupted)
    ends = signal.getsignal(signal.SIGTERM)
    if callable(ends):  # a program that lets SIGTERM end it at once goes on to do so
        loop.add_signal_handler(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if callable(ends):
            loop.remove_signal_handler(signal.SIGTERM)
            signal.signal(signal.SIGTERM, ends)
