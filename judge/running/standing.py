"""A judge that stays loaded from one call to the next, for whoever asks it again and again."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from judge.running.asking import Answer
from judge.running.engine import INTERRUPTED, RunStoppedError, judge_all
from judge.running.progress import Progress
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.running.waiting import Stop
from judge.studies import StudySet
from judge.types import JudgeError

T = TypeVar("T")
_CLOSED = "this judge was closed: make a new one"


class StandingJudge:
    """Judges sets of studies as they come, any number at a time, in one event loop.

    All share the session's cache, limit of requests, budget and `max_cost`, and a question that is
    under way is not asked twice. A server that takes no connection is waited for at the first
    study. After an end for all, such as a server that is gone, the next call finds out anew whether
    the judge can be asked.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self._asking: tuple[Answer, Stop] | None = None
        self._spent = Progress(total=0)
        self._n = 0

    def ready(self) -> tuple[Answer, Stop]:
        """Return how answers are got; raises `JudgeError` where the cache cannot be used."""
        if self._asking is None:
            stop = Stop()
            self._asking = self.session.answerer(self._spent, stop, is_standing=True), stop
        return self._asking

    async def judge(self, studies: StudySet) -> list[Judged]:
        """Return the end of every study, in their order.

        Raises `JudgeError` where the judge cannot be asked, and `RunStoppedError` where asking was
        stopped before all studies had their end; what was answered is in the cache.
        """
        asking = answer, stop = self.ready()
        ends: list[Judged] = []
        progress = Progress(total=len(studies))
        start, self._n = self._n, self._n + len(studies)
        try:
            await judge_all(
                *(self.session, studies, ends.append),
                answer=answer,
                stop=stop,
                progress=progress,
                start=start,
            )
        finally:
            if stop.why is not None and self._asking == asking:
                self._asking = None
        if len(ends) < len(studies):
            raise RunStoppedError(stop.why or INTERRUPTED, progress)
        return sorted(ends, key=lambda end: end.at)

    async def aclose(self) -> None:
        """Let go of the judge and of the cache."""
        with self.session:
            await self.session.judge.aclose()


class JudgeThread:
    """The same for callers that have an event loop of their own, or none: it runs in a thread.

    The thread starts with the first question, and ends with `close`, or when nobody refers to this
    any more. Raises `JudgeError` for a policy with several workers, which are for a run.
    """

    def __init__(self, session: JudgeSession) -> None:
        if session.policy.workers > 1:
            raise JudgeError("a judge that stays loaded answers in one process: leave out workers")
        self.session = session
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._standing = StandingJudge(session)
        self._end: weakref.finalize[..., JudgeThread] | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[StandingJudge], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a piece of work done in the thread, which gives it the standing judge.

        Cancelling the future stops asking for it. Raises `JudgeError` after `close`, in a process
        that was forked off since the thread started, which has none, and in the thread itself,
        which would wait for its own end; the future does where `close` came before the end.
        """
        if threading.current_thread() is self._thread:
            raise JudgeError("what this judge calls while it judges cannot ask this judge")
        if self._pid not in (None, os.getpid()):
            raise JudgeError("a forked process cannot use the judge of the first: make a new one")
        with self._lock:
            if self._is_closed:
                raise JudgeError(_CLOSED)
            loop = self._loop = self._loop or self._started()
            # Here, so that what was submitted before `close` has begun when that ends it.
            return asyncio.run_coroutine_threadsafe(self._until_closed(work), loop)

    async def _until_closed(self, work: Callable[[StandingJudge], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work(self._standing)
        except asyncio.CancelledError:
            if self._is_closed:
                raise JudgeError(_CLOSED) from None
            raise

    def wait(self, work: Callable[[StandingJudge], Coroutine[Any, Any, T]]) -> T:
        """Have it done and return what it gives, or raise what it raises."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:  # Ctrl-C among them
            future.cancel()
            raise

    def close(self) -> None:
        """Stop asking, and let go of the judge; returns when nothing of it is left."""
        with self._lock:
            self._is_closed = True
        if self._end is not None:
            self._end()

    def _started(self) -> asyncio.AbstractEventLoop:
        opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        thread = threading.Thread(
            target=_live, args=(self._standing, opened), name="judge", daemon=True
        )
        self._thread, self._pid = thread, os.getpid()
        thread.start()
        loop, ended = opened.result()
        self._end = weakref.finalize(self, _stop, loop, ended, thread)
        # At the end of the process there is nothing to do: what a judge started goes with it.
        self._end.atexit = False
        return loop


def _live(
    standing: StandingJudge, opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]
) -> None:
    async def until_ended() -> None:
        ended = asyncio.Event()
        opened.set_result((asyncio.get_running_loop(), ended))
        await ended.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await standing.aclose()

    with asyncio.Runner() as runner:
        life = runner.get_loop().create_task(until_ended())
        while not life.done():
            # These two end a loop besides the task that raises them: whoever asked for that gets
            # them, and the others are not to wait for ever.
            with suppress(KeyboardInterrupt, SystemExit):
                runner.get_loop().run_until_complete(life)


def _stop(loop: asyncio.AbstractEventLoop, ended: asyncio.Event, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(ended.set)
    if threading.current_thread() is not thread:  # where the garbage collector may be at work
        thread.join()
