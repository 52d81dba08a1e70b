"""Judging a set of studies: the engine, its limits, and the person who may interrupt it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from judge.backends import Judge
from judge.cache import CompletionCache
from judge.rubrics import Rubric
from judge.run.asking import Asker, Effort
from judge.run.engine import Answer, Judged, judge_all
from judge.run.prices import Prices
from judge.run.progress import Progress
from judge.run.stop import Stop
from judge.studies import StudySet
from judge.types import Completion, CompletionRequest

_INTERRUPTED = "interrupted"
_TICK = 0.25


class RunStoppedError(Exception):
    """A run that ended before all studies had; its answers are in the cache, its folder is not."""

    def __init__(self, why: str, progress: Progress, *, interrupted: bool) -> None:
        super().__init__(why)
        self.why = why
        self.progress = progress
        self.interrupted = interrupted


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how a run goes: `tick` a few times a second, `say` when there is news."""

    tick: Callable[[Progress], None] = field(default=lambda _progress: None)
    say: Callable[[str], None] = field(default=lambda _text: None)


def judge_set(
    studies: StudySet,
    rubric: Rubric,
    judge: Judge,
    sink: Callable[[Judged], None],
    *,
    cache: CompletionCache | None,
    effort: Effort,
    watch: Watch,
) -> Progress:
    """Judge every study of a set, giving each end to `sink`; returns what it took.

    Raises `RunStoppedError` when it was interrupted before all studies had their end.
    """
    progress = Progress(total=len(studies))

    async def work() -> str | None:
        stop = Stop()
        answer, workers, reask = _answering(judge, cache, effort, progress, stop)
        with _interruptible(stop, watch):
            ticking = asyncio.create_task(_tick(progress, watch))
            try:
                await judge_all(
                    studies,
                    judge,
                    rubric,
                    sink,
                    answer=answer,
                    stop=stop,
                    progress=progress,
                    workers=workers,
                    reask=reask,
                )
            finally:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                await judge.aclose()
        return stop.why

    try:
        why = asyncio.run(work())
    except asyncio.CancelledError:
        raise RunStoppedError(_INTERRUPTED, progress, interrupted=True) from None
    if why is not None and progress.done < progress.total:
        raise RunStoppedError(why, progress, interrupted=why == _INTERRUPTED)
    return progress


def _answering(
    judge: Judge, cache: CompletionCache | None, effort: Effort, progress: Progress, stop: Stop
) -> tuple[Answer, int, int]:
    """Return how answers are got, by how many workers, and how often one may be asked again."""
    if judge.is_free:

        async def at_once(_at: int, request: CompletionRequest, _attempt: int) -> Completion:
            return await judge.complete(request)

        return at_once, 1, 0
    if cache is None:
        raise ValueError("a judge that is not free needs a cache")
    prices = Prices(judge.version, judge.paid_at)
    asker = Asker(judge, cache, prices, effort, progress, stop)
    return asker.answer, effort.concurrency, effort.reask


async def _tick(progress: Progress, watch: Watch) -> None:
    try:
        while True:
            watch.tick(progress)
            await asyncio.sleep(_TICK)
    finally:
        watch.tick(progress)


@contextmanager
def _interruptible(stop: Stop, watch: Watch) -> Iterator[None]:
    """Let Ctrl-C stop the run in order, and a second one at once; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, main = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if stop.why is not None and main is not None:
            main.cancel()
            return
        stop.set(_INTERRUPTED)
        watch.say("Stopping: collecting the answers under way. Ctrl-C again stops at once.")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
