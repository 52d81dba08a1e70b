"""When a request may go out: in a run that goes on, to a server that is there and keeps up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from judge.types import JudgeError

# What an overload leaves of the limit, and how much of it comes back at a time.
_CUT, _STEP = 0.7, 0.1
# So many studies in a row without an answer are no coincidence.
_STUDIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 1.0


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


class Limiter:
    """A limit on requests in flight, between 1 and `most`, where it begins.

    A server that falls behind, with a 429 or no answer in time, cuts it, once for all
    requests that were under way together; a limit's worth of answers raises it a tenth. New
    requests are also held back for as long as a server asks.
    """

    def __init__(self, most: int) -> None:
        self.most = self.limit = most
        self.in_flight = 0
        self._answers = 0
        self._freed = asyncio.Event()
        self._cut_at = self._held_until = float("-inf")

    async def acquire(self) -> float:
        """Wait for a place; returns the loop's time at which it was given."""
        loop = asyncio.get_running_loop()
        while (pause := self._held_until - loop.time()) > 0 or self.in_flight >= self.limit:
            if pause > 0:
                await asyncio.sleep(pause)
            else:
                self._freed.clear()
                await self._freed.wait()
        self.in_flight += 1
        return loop.time()

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._freed.set()

    def answered(self) -> None:
        """Note an answer."""
        self._answers += 1
        if self._answers >= self.limit:
            self.limit = min(self.most, self.limit + max(1, int(self.limit * _STEP)))
            self._answers = 0

    def overloaded(self, began: float, retry_after: float | None) -> None:
        """Note that the server fell behind with a request that began at `began`."""
        now = asyncio.get_running_loop().time()
        if began > self._cut_at:
            self._cut_at, self._answers = now, 0
            self.limit = max(1, int(self.limit * _CUT))
        if retry_after is not None:
            self._held_until = max(self._held_until, now + retry_after)


class Outage:
    """Knows whether the server is there, and lets one request at a time ask while it isn't.

    When several studies in a row find nobody, or one that is sure of it, the run holds still: one
    request after another tries, at least every second, until one gets any answer at all. That
    waiting is not held against a study. After `patience` seconds the run is given up.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._unlucky: set[int] = set()
        self._since: float | None = None
        self._pause = _FIRST_PAUSE
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()

    @property
    def is_on(self) -> bool:
        """Whether the server is held to be gone."""
        return self._since is not None

    def answered(self) -> None:
        """Note that somebody answered, whatever it was."""
        self._unlucky.clear()
        self._since = None
        self._pause = _FIRST_PAUSE
        self._over.set()

    def unanswered(self, at: int, *, is_sure: bool = False) -> bool:
        """Note that the study at place `at` found nobody; returns whether that is an outage.

        It is one at once where it `is_sure` that the study itself is not to blame.
        """
        self._unlucky.add(at)
        if self._since is None and (is_sure or len(self._unlucky) >= _STUDIES):
            self._since = asyncio.get_running_loop().time()
            self._over.clear()
        return self.is_on

    async def wait(self) -> None:
        """Return when it is this caller's turn to try, or when the outage is over.

        Raises `JudgeError` when it has lasted longer than the run is patient.
        """
        loop = asyncio.get_running_loop()
        async with self._turn:
            if self._since is None:
                return
            left = self._since + self._patience - loop.time()
            if left <= 0:
                raise JudgeError(
                    f"the server has not answered for {self._patience / 60:.3g} minutes "
                    "(--max-outage); what was answered is in the cache"
                )
            pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), min(pause, left))
