"""Asking the judge so that nothing is lost and nothing is paid for twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import tenacity

from judge.backends import Judge
from judge.backends.errors import OverloadError, TransientError, UnavailableError
from judge.cache import CompletionCache, key
from judge.run.limiter import Limiter
from judge.run.outage import Outage
from judge.run.prices import Prices
from judge.run.progress import Progress
from judge.run.stop import Stop, StoppedError
from judge.types import Completion, CompletionRequest

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# A 429 says "later", not "no": it weighs less than a failure, but no question waits for ever.
_OVERLOAD = 0.25
# How long to leave a question to another process that is asking it, in seconds: one that
# was suspended must not hold this one up for ever.
_CLAIM_PATIENCE, _CLAIM_PAUSE = 300.0, 0.05


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try.

    `concurrency` is the most requests in flight; `reask` how often an answer that cannot
    be read is asked for again; `max_requests` how many requests one question may take;
    `max_outage` for how many seconds a server may be gone; `max_cost` how many US dollars
    the run may spend, None for no limit.
    """

    concurrency: int = 16
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None


class Asker:
    """Answers requests from the cache, or by asking the judge and writing the answer down."""

    def __init__(
        self,
        judge: Judge,
        cache: CompletionCache,
        prices: Prices,
        effort: Effort,
        progress: Progress,
        stop: Stop,
    ) -> None:
        self._judge = judge
        self._cache = cache
        self._prices = prices
        self._effort = effort
        self._progress = progress
        self._stop = stop
        self._limiter = Limiter(effort.concurrency)
        self._outage = Outage(effort.max_outage, stop)
        self._flying: dict[str, asyncio.Future[Completion]] = {}
        self._reserved = 0.0

    async def answer(self, at: int, request: CompletionRequest, attempt: int) -> Completion:
        """Return the answer to `request`, the `attempt`-th time of asking, for the study at `at`.

        An answer is on disk before it is returned. Raises an `AskError` when there is none
        to be had, `StoppedError` when the run was stopped, and `JudgeError` when it must stop.
        """
        name = key(request, attempt)
        if (flight := self._flying.get(name)) is not None:
            completion = await asyncio.shield(flight)
            self._progress.from_cache += 1
            return completion
        if (found := self._cache.get(request, attempt)) is not None:
            self._progress.from_cache += 1
            return found
        flight = self._flying[name] = asyncio.get_running_loop().create_future()
        try:
            completion = await self._claimed(name, at, request, attempt)
        except BaseException as error:
            flight.set_exception(
                StoppedError() if isinstance(error, asyncio.CancelledError) else error
            )
            flight.exception()  # seen: whoever waits for it gets it, and maybe nobody does
            raise
        else:
            flight.set_result(completion)
            return completion
        finally:
            del self._flying[name]

    async def _claimed(
        self, name: str, at: int, request: CompletionRequest, attempt: int
    ) -> Completion:
        """Ask and keep the answer, or take it from a process that is asking the same."""
        patience = _CLAIM_PATIENCE
        while not (claimed := self._cache.claim(name)) and patience > 0:
            await self._stop.sleep(_CLAIM_PAUSE)
            patience -= _CLAIM_PAUSE
        try:
            # Another process may have put it there since this one looked.
            if (found := self._cache.get(request, attempt)) is not None:
                self._progress.from_cache += 1
                return found
            completion = await self._ask(at, request)
            self._cache.put(request, completion, attempt)
            return completion
        finally:
            if claimed:
                self._cache.release(name)

    async def _ask(self, at: int, request: CompletionRequest) -> Completion:
        """Ask until there is an answer, or no hope of one."""
        held_against = 0.0

        def enough(_state: tenacity.RetryCallState) -> bool:
            return held_against >= self._effort.max_requests

        def pause(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            if self._outage.is_on:
                return 0.0
            if isinstance(error, TransientError) and error.retry_after is not None:
                return error.retry_after
            return float(_BACKOFF(state))

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=enough,
            wait=pause,
            sleep=self._stop.sleep,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                try:
                    return await self._once(request)
                except UnavailableError:
                    held_against += not self._outage.unanswered(at)
                    raise
                except TransientError as error:
                    self._outage.answered()
                    held_against += _OVERLOAD if isinstance(error, OverloadError) else 1
                    raise
        raise AssertionError("tenacity returns or raises")

    async def _once(self, request: CompletionRequest) -> Completion:
        """Send one request when there is a place for it, money for it and a server."""
        await self._stop.unless(self._judge.ready)
        if self._outage.is_on:
            await self._outage.wait()
        began = await self._limiter.acquire()
        reserved = 0.0
        try:
            self._stop.check()
            reserved = self._reserve(request)
            completion = await self._judge.complete(request)
            self._outage.answered()
            self._limiter.answered(began)
            self._progress.paid(completion, self._prices.dollars(completion.usage))
        except TransientError as error:
            self._progress.retried(error.reason)
            if isinstance(error, OverloadError):
                self._limiter.overloaded(began, error.retry_after)
            raise
        else:
            return completion
        finally:
            self._reserved -= reserved
            self._limiter.release()

    def _reserve(self, request: CompletionRequest) -> float:
        """Set aside what `request` can cost; stops the run where that would be too much."""
        limit = self._effort.max_cost
        if limit is None:
            return 0.0
        most, spent = self._prices.at_most(request), self._progress.dollars
        if most is None or spent is None:
            self._stop.set("--max-cost is set and the price of an answer is unknown")
        elif spent + self._reserved + most > limit:
            self._stop.set(f"the next request could pass --max-cost ({limit:g} dollars)")
        self._stop.check()
        assert most is not None
        self._reserved += most
        return most


_BACKOFF = tenacity.wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
