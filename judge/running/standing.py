"""A judge that stays loaded from one call to the next, for whoever asks it again and again."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from judge.running.asking import Stop
from judge.running.cost import Progress
from judge.running.engine import INTERRUPTED, RunStoppedError, judge_all
from judge.running.questions import Answer
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

T = TypeVar("T")
_CLOSED = "this judge was closed: make a new one"


class StandingJudge:
    """Judges sets of studies as they come, any number at a time, in one event loop.

    All share the session's cache, limit of requests and budget, and a question that is
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
            self._asking = self.session.answerer(self._spent, stop), stop
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
        self._standing = StandingJudge(session)
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._end: weakref.finalize[..., JudgeThread] | None = None
        self._is_closed = False

    def submit(self, work: Callable[[StandingJudge], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a piece of work done in the thread, which gives it the standing judge.

        Cancelling the future stops asking for it. Raises `JudgeError` after `close`, in a process
        that was forked off since the thread started, which has none, and in the thread itself,
        which would wait for its own end; the future does where `close` came before the end.
        """
        if threading.current_thread() is self._thread:
            raise JudgeError("what this judge calls while it judges cannot ask this judge")
        if self._thread is not None and self._pid != os.getpid():
            raise JudgeError("a forked process cannot use the judge of the first: make a new one")
        with self._lock:
            if self._is_closed:
                raise JudgeError(_CLOSED)
            return (self._portal or self._started()).start_task_soon(self._done, work)

    async def _done(self, work: Callable[[StandingJudge], Coroutine[Any, Any, T]]) -> T:
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

    def _started(self) -> BlockingPortal:
        opened: Future[BlockingPortal] = Future()
        live = partial(_live, self._standing, opened)
        self._thread, self._pid = threading.Thread(target=live, daemon=True), os.getpid()
        self._thread.start()
        self._portal = opened.result()
        self._end = weakref.finalize(self, _stop, self._portal, self._thread, self._pid)
        # At the end of the process there is nothing to do: what a judge started goes with it.
        self._end.atexit = False
        return self._portal


def _live(standing: StandingJudge, opened: Future[BlockingPortal]) -> None:
    import anyio
    from anyio.from_thread import BlockingPortal

    async def until_stopped() -> None:
        async with BlockingPortal() as portal:
            opened.set_result(portal)
            await portal.sleep_until_stopped()
        await standing.aclose()

    anyio.run(until_stopped)


def _stop(portal: BlockingPortal, thread: threading.Thread, pid: int) -> None:
    if threading.current_thread() is thread:  # where the garbage collector may be at work
        stopping = portal.stop(cancel_remaining=True)
        asyncio.ensure_future(stopping)  # noqa: RUF006 - it ends the loop, nothing waits for it
    elif pid == os.getpid():
        portal.call(portal.stop, True)  # noqa: FBT003 - it takes it by its place
        thread.join()
