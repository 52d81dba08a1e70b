"""A judge that stays loaded, in a thread with an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from judge.running.engine import INTERRUPTED, RunStoppedError, judge_all
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

T = TypeVar("T")
_CLOSED = "this judge was closed: make a new one"


class BackgroundJudge:
    """Judges sets of studies as they come, in a thread with an event loop.

    All share the session's cache, limits and budget. After a stop the next call begins anew.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._is_closed = False

    def ready(self) -> None:
        """Raise `JudgeError` where the cache cannot be used; after a stop begin anew."""
        if self.session.stop.why is not None:
            self.session.begin()
        _ = self.session.cache

    async def judge(self, studies: StudySet) -> list[StudyResult]:
        """Return the end of every study, in their order; to be awaited in the thread."""
        self.ready()
        ends: list[StudyResult] = []
        stop, progress = self.session.stop, self.session.progress
        await judge_all(self.session, studies, ends.append)
        if len(ends) < len(studies):
            raise RunStoppedError(stop.why or INTERRUPTED, progress)
        return sorted(ends, key=lambda end: end.row)

    def submit(self, work: Callable[[BackgroundJudge], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a piece of work done in the thread, which gives it this judge.

        Cancelling the future stops asking for it. Raises `JudgeError` after `close`, and in a
        process that was forked off since the thread started, which has none.
        """
        if self._portal is not None and self._pid != os.getpid():
            raise JudgeError("a forked process cannot use the judge of the first: make a new one")
        with self._lock:
            if self._is_closed:
                raise JudgeError(_CLOSED)
            return (self._portal or self._started()).start_task_soon(self._done, work)

    async def _done(self, work: Callable[[BackgroundJudge], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work(self)
        except asyncio.CancelledError:
            if self._is_closed:
                raise JudgeError(_CLOSED) from None
            raise

    def wait(self, work: Callable[[BackgroundJudge], Coroutine[Any, Any, T]]) -> T:
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
            was_closed, self._is_closed = self._is_closed, True
        if self._portal is not None and not was_closed and self._pid == os.getpid():
            assert self._thread is not None
            self._portal.call(self._portal.stop, True)  # noqa: FBT003 - it takes it by its place
            self._thread.join()

    def _started(self) -> BlockingPortal:
        opened: Future[BlockingPortal] = Future()
        # At the end of the process there is nothing to do: what a judge started goes with it.
        self._thread = threading.Thread(target=self._live, args=(opened,), daemon=True)
        self._thread.start()
        self._portal, self._pid = opened.result(), os.getpid()
        return self._portal

    def _live(self, opened: Future[BlockingPortal]) -> None:
        import anyio
        from anyio.from_thread import BlockingPortal

        async def until_stopped() -> None:
            async with BlockingPortal() as portal:
                opened.set_result(portal)
                await portal.sleep_until_stopped()
            with self.session:
                await self.session.judge.aclose()

        anyio.run(until_stopped)
