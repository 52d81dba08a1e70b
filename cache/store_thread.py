"""A thread that reads and writes a store of answers: no event loop waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from judge.cache.answers import AnswerStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A piece of work, and who waits for it; `waiting` is None where nobody does."""

    work: Callable[[], Any]
    waiting: asyncio.Future[Any] | None


class StoreThread(AbstractContextManager["StoreThread"]):
    """Does work with one store, a piece at a time, in the order in which it was given.

    What was given is done, also where the one who waits for it is cancelled: an answer that was
    paid for is kept. Leaving the block waits for the last piece.
    """

    def __init__(self, store: AnswerStore) -> None:
        self.store = store
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._failure: BaseException | None = None
        # A daemon, as it waits for a session that a program may never close.
        self._thread = Thread(target=self._work, name="judge-answers", daemon=True)
        self._thread.start()

    @property
    def has_failed(self) -> bool:
        """Whether work that nobody waited for has failed: all that comes later fails, too."""
        return self._failure is not None

    async def do(self, work: Callable[[], T]) -> T:
        """Return what `work` returns in the thread, or raise what it raises.

        Raises also what work that nobody waited for has raised before.
        """
        if self._failure is not None:
            raise self._failure
        waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(work, waiting))
        return await waiting

    def do_later(self, work: Callable[[], object]) -> None:
        """Have `work` done after what was given before, without waiting for it."""
        self._jobs.put(_Job(work, None))

    def __exit__(self, *_error: object) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                self._do(job)
        finally:
            self.store.leave_thread()

    def _do(self, job: _Job) -> None:
        result, error = None, None
        try:
            result = job.work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where the work was asked for
            error = raised
        if job.waiting is None:
            self._failure = self._failure or error
            return
        loop = job.waiting.get_loop()
        # Whoever broke the run off has closed its loop, and waits for nothing.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, job.waiting, result, error)


def _settle(
    waiting: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    if waiting.done():  # cancelled
        return
    if error is None:
        waiting.set_result(result)
    else:
        waiting.set_exception(error)
