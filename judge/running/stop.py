"""Stopping a run in order: nothing new is asked, what is under way is collected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class StoppedError(Exception):
    """The run was told to stop before this question was answered."""


class Stop:
    """Tells everyone to ask nothing new. `why` is None while the run goes on."""

    def __init__(self) -> None:
        self.why: str | None = None
        self._waiting: set[asyncio.Task[object]] = set()

    def set(self, why: str) -> None:
        """Stop the run; the first reason stands."""
        if self.why is None:
            self.why = why
            for task in self._waiting:
                task.cancel()

    def check(self) -> None:
        """Raise `StoppedError` if the run was stopped."""
        if self.why is not None:
            raise StoppedError

    @contextmanager
    def ends_waiting(self) -> Iterator[None]:
        """End what is awaited inside as soon as the run is stopped; raises `StoppedError` then."""
        self.check()
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # Somebody else may have cancelled it too.
            if self.why is None or task.uncancel() > 0:
                raise
            raise StoppedError from None
        finally:
            self._waiting.discard(task)

    async def sleep(self, seconds: float) -> None:
        """Sleep; raises `StoppedError` as soon as the run is stopped."""
        with self.ends_waiting():
            await asyncio.sleep(seconds)
