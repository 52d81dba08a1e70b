"""How many requests may be in flight: as many as the server takes without falling behind."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

# A limit is judged by this many answers for each of its places.
_WINDOW = 2
# At a doubled limit, a server that keeps up takes about as long as before; one that only
# queues takes twice as long.
_QUEUEING = 1.5
# A halved limit is kept where at least this share of the answers still comes.
_KEPT = 0.9
# So many windows at rest before more is tried again.
_REST = 16
_CUT = 0.7


class _Trial(Enum):
    NONE = auto()
    MORE = auto()
    FEWER = auto()


@dataclass(frozen=True, slots=True)
class _Seen:
    """What came of one window: answers a second and mean seconds an answer, at a limit."""

    limit: int
    rate: float
    latency: float


class Limiter:
    """An adaptive limit on requests in flight, between 1 and `most`.

    It begins at `most`. Where answers take much longer than before, or the later half of
    the first requests much longer than the earlier half, the server is queueing, and fewer
    are tried for as long as that costs nothing; now and then more are tried again, twice as
    many each time. A 429 cuts the limit (once for all requests that were under way together)
    and holds new ones back as long as the server asks; from then on more is tried in small
    steps.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError("at least one request must be allowed")
        self.most = most
        self.limit = most
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._cut_at: float | None = None
        self._base: _Seen | None = None
        self._trial = _Trial.NONE
        self._rested = _REST
        self._began: float | None = None
        self._answers = 0
        self._seconds = 0.0
        self._first: list[tuple[float, float]] | None = []

    async def acquire(self) -> float:
        """Wait for a place; returns the loop's time at which it was given."""
        loop = asyncio.get_running_loop()
        while self.in_flight >= self.limit or loop.time() < self._held_until:
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append(place)
            self._wake_later(loop)
            await place
        self.in_flight += 1
        return loop.time()

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._wake()

    def answered(self, began: float) -> None:
        """Note an answer to a request that began at `began`."""
        now = asyncio.get_running_loop().time()
        self._began = began if self._began is None else self._began
        self._answers += 1
        self._seconds += now - began
        if self._first is not None:
            self._first.append((began, now - began))
        if self._answers >= self.limit * (1 if self._base is None else _WINDOW):
            seconds = max(now - self._began, 1e-9)
            seen = _Seen(self.limit, self._answers / seconds, self._seconds / self._answers)
            first, self._first = self._first, None
            if first is not None and self._cut_at is None and _fell_behind(first):
                self._try_fewer(seen)
            else:
                self._judge(seen)
            self._began, self._answers, self._seconds = now, 0, 0.0
            self._wake()

    def overloaded(self, began: float, retry_after: float | None) -> None:
        """Note a 429 to a request that began at `began`."""
        now = asyncio.get_running_loop().time()
        if self._cut_at is None or began > self._cut_at:
            self._cut_at = now
            self.limit = max(1, int(self.limit * _CUT))
            self._base, self._trial, self._rested = None, _Trial.NONE, 0
        if retry_after is not None:
            self._held_until = max(self._held_until, now + retry_after)

    def _judge(self, seen: _Seen) -> None:
        """Set the next limit by what came of this one."""
        base = self._base
        if self._trial is _Trial.MORE and base is not None and _queueing(seen, base):
            self._try_fewer(base)
        elif self._trial is _Trial.FEWER and base is not None and seen.rate < _KEPT * base.rate:
            self.limit, self._trial, self._rested = base.limit, _Trial.NONE, 0
        elif self._trial is _Trial.FEWER:
            self._try_fewer(seen)
        elif self._trial is _Trial.NONE and base is not None and _queueing(seen, base):
            # Fewer must do as well as all did before: one slow moment proves nothing.
            self._try_fewer(_Seen(seen.limit, max(base.rate, seen.rate), seen.latency))
        else:
            self._rested += 1
            self._base = seen
            if self.limit < self.most and (
                self._trial is _Trial.MORE or self._rested >= self._rest
            ):
                step = self.limit if self._cut_at is None else max(1, self.limit // 10)
                self.limit, self._trial = min(self.most, self.limit + step), _Trial.MORE
            else:
                self._trial = _Trial.NONE

    @property
    def _rest(self) -> int:
        """How long to rest before more is tried; after a 429, small steps come often."""
        return _REST if self._cut_at is None else 1

    def _try_fewer(self, base: _Seen) -> None:
        self._base, self._rested = base, 0
        self.limit = max(1, base.limit // 2)
        self._trial = _Trial.NONE if self.limit == base.limit else _Trial.FEWER

    def _wake(self) -> None:
        free = self.limit - self.in_flight
        while self._waiting and free > 0:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def _wake_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake who waits when the pause that the server asked for is over."""
        due = loop.time() < self._held_until
        if due and (self._timer is None or self._timer.when() < self._held_until):
            self._timer = loop.call_at(self._held_until, self._wake)


def _queueing(seen: _Seen, base: _Seen) -> bool:
    return seen.latency > _QUEUEING * base.latency and seen.rate < _QUEUEING * base.rate


def _fell_behind(answers: list[tuple[float, float]]) -> bool:
    """Return whether those that were asked later waited for the earlier: a line, not a spread."""
    seconds = [took for _, took in sorted(answers)]
    half = len(seconds) // 2
    return half > 0 and sum(seconds[-half:]) > _QUEUEING * sum(seconds[:half])
