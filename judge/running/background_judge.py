"""A judge that stays loaded, in a thread with an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from judge.running.engine import INTERRUPTED, RunStoppedError, judge_all
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError

T = TypeVar("T")
_CLOSED = "this judge was closed: make a new one"


class BackgroundJudge:
    """Judges sets of studies as they come, in a thread with an event loop.

    All share the session's cache, limits and budget. After a stop the next call begins anew.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._is_closed = False

    async def judge(self, studies: StudySet) -> list[StudyResult]:
        """Return the result of every study, in their order; to be awaited in the thread."""
        if self.session.stop.why is not None:
            self.session.begin()
        ends: list[StudyResult] = []
        stop, progress = self.session.stop, self.session.progress
        await judge_all(self.session, studies, ends.append)
        if len(ends) < len(studies):
            raise RunStoppedError(stop.why or INTERRUPTED, progress)
        return sorted(ends, key=lambda end: end.row)

    def submit(self, work: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Future[T]:  # noqa: ANN401
        """Start `work(*args)` in the thread; cancelling the future stops asking for it."""
        with self._lock:
            if self._is_closed:
                raise JudgeError(_CLOSED)
            if self._loop is None:
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                # At the end of the process there is nothing to do: its servers end with it.
                self._thread = threading.Thread(target=self._live, daemon=True)
                self._thread.start()
            if self._pid != os.getpid():
                raise JudgeError(
                    "a forked process cannot use the judge of the first: make a new one"
                )
            return asyncio.run_coroutine_threadsafe(self._done(work, args), self._loop)

    def _live(self) -> None:  # holds the judge until the process ends
        assert self._loop is not None
        self._loop.run_forever()
        self._loop.close()

    async def _done(self, work: Callable[..., Coroutine[Any, Any, T]], args: tuple[Any, ...]) -> T:
        try:
            return await work(*args)
        except asyncio.CancelledError:
            if self._is_closed:
                raise JudgeError(_CLOSED) from None
            raise

    def wait(self, work: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:  # noqa: ANN401
        """Do `work(*args)` in the thread; returns what it gives, or raises what it raises."""
        future = self.submit(work, *args)
        try:
            return future.result()
        except BaseException:  # Ctrl-C among them
            future.cancel()
            raise

    def close(self) -> None:
        """Stop asking, and let go of the judge; returns when nothing of it is left."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        loop = self._loop
        if loop is not None and not was_closed and self._pid == os.getpid():
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with self.session:
            await self.session.judge.aclose()
