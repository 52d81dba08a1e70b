"""Stopping a run in order: nothing new is asked, what is under way is collected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


class StoppedError(Exception):
    """The run was told to stop before this question was answered."""


class Stop:
    """Tells everyone to ask nothing new. `why` is None while the run goes on."""

    def __init__(self) -> None:
        self.why: str | None = None
        self._event = asyncio.Event()

    def set(self, why: str) -> None:
        """Stop the run; the first reason stands."""
        self.why = self.why or why
        self._event.set()

    def check(self) -> None:
        """Raise `StoppedError` if the run was stopped."""
        if self.why is not None:
            raise StoppedError

    async def unless(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do `work`; raises `StoppedError`, and ends it, as soon as the run is stopped."""
        self.check()
        working = asyncio.ensure_future(work())
        stopping = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise StoppedError
            working.result()
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def sleep(self, seconds: float) -> None:
        """Sleep; raises `StoppedError` as soon as the run is stopped."""
        self.check()
        if seconds <= 0:
            return
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return
        raise StoppedError
