"""Asking the judge so that nothing is lost and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from judge.backends import Judge
from judge.backends.errors import (
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.cache import CompletionCache, canonical, key_of
from judge.running.budget import Budget
from judge.running.progress import Prices, Progress
from judge.running.waiting import Limiter, Outage, Stop, StoppedError
from judge.types import Completion, CompletionRequest, JudgeError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# A 429 says "later", not "no": it weighs less than a failure, but no question waits for ever.
_OVERLOAD = 0.25
# What is no completion is asked for so often, and so many studies in a row end the run.
_UNREADABLE_REQUESTS, _UNREADABLE_STUDIES = 2, 10
# How long to leave a question to another process that is asking it, in seconds: one that
# was suspended must not hold this one up for ever.
_CLAIM_PATIENCE, _CLAIM_PAUSE = 300.0, 0.05
# How long to leave it to the answers under way to cost less than they could, in seconds.
_BUDGET_PAUSE = 0.05
_NOTHING = 1e-9
# What each number of a policy is at least.
_NUMBERS: Mapping[str, tuple[type | UnionType, int]] = {
    "concurrency": (int, 1),
    "reask": (int, 0),
    "max_requests": (int, 1),
    "max_outage": (int | float, 0),
    "max_cost": (int | float, 0),
    "give_up_after": (int, 0),
    "workers": (int, 0),
}


@dataclass(frozen=True, slots=True)
class Answered:
    """A raw answer and the key of its entry in the cache; None for one that no cache keeps."""

    completion: Completion
    key: str | None


Answer = Callable[[int, CompletionRequest, int, int], Awaitable[Answered]]
"""Gets the answer for the study at a place, to a request, the n-th time of asking, the n-th of
several answers to the same."""


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` is the most requests in flight; `reask` how often an answer that cannot
    be read is asked for again; `max_requests` how many requests one question may take;
    `max_outage` for how many seconds a server may be gone; `max_cost` how many US dollars
    the run may spend, None for no limit. The run is given up where more than half of the
    first `give_up_after` answers cannot be read, 0 for never. `workers` is how many processes
    a judge runs in that answers by itself, such as the built-in one; 0 is one a core where there
    are studies enough. Raises `JudgeError` for a
    number that cannot be.
    """

    concurrency: int = 16
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None
    give_up_after: int = 50
    workers: int = 1

    def __post_init__(self) -> None:
        for name, (kind, least) in _NUMBERS.items():
            given = getattr(self, name)
            if given is None and name == "max_cost":
                continue
            is_number = isinstance(given, kind) and not isinstance(given, bool)
            if not is_number or not given >= least:  # NaN is not, either
                what = "whole number" if kind is int else "number"
                raise JudgeError(f"{name} is a {what} from {least} on, not {given!r:.80}")


@dataclass(slots=True)
class Asker:
    """Answers requests from the cache, or by asking the judge and writing the answer down.

    `kind` is what the cache notes of its questions beside the answers, to foretell others.
    `repeat` is which of several runs this is that ask the same, from 0: each has its own answers.
    Where it `is_standing`, studies may come one by one: a server that takes no connection is then
    waited for at the first. `unanswerable` are questions, by their keys, that were asked elsewhere
    and brought no answer.
    """

    judge: Judge
    cache: CompletionCache
    prices: Prices
    policy: RequestPolicy
    progress: Progress
    stop: Stop
    kind: str | None = None
    budget: Budget | None = None
    repeat: int = 0
    is_standing: bool = False
    unanswerable: Mapping[str, StudyError] = field(default_factory=dict)
    _limiter: Limiter = field(init=False)
    _outage: Outage = field(init=False)
    _flying: dict[str, asyncio.Future[Completion]] = field(default_factory=dict)
    _reserved: float = 0.0
    _unreadable: int = 0

    def __post_init__(self) -> None:
        self._limiter = Limiter(self.policy.concurrency)
        self._outage = Outage(self.policy.max_outage)

    async def answer(
        self, at: int, request: CompletionRequest, attempt: int, sample: int = 0
    ) -> Answered:
        """Return the answer to `request`, the `attempt`-th time of asking, for the study at `at`.

        An answer is on disk before it is returned. Raises an `AskError` when there is none
        to be had, `StoppedError` when the run was stopped, and `JudgeError` when it must stop.
        """
        record = canonical(request, attempt, self.repeat, sample)
        name = key_of(record)
        if (flight := self._flying.get(name)) is not None:
            found: Completion | None = await asyncio.shield(flight)
        else:
            found = self.cache.find(name)
        if found is not None:
            self.progress.from_cache += 1
            return Answered(found, name)
        if name in self.unanswerable:
            raise self.unanswerable[name]
        flight = self._flying[name] = asyncio.get_running_loop().create_future()
        try:
            completion = await self._claimed(name, record, at, request)
        except BaseException as error:
            flight.set_exception(
                StoppedError() if isinstance(error, asyncio.CancelledError) else error
            )
            flight.exception()  # seen: whoever waits for it gets it, and maybe nobody does
            raise
        else:
            flight.set_result(completion)
            return Answered(completion, name)
        finally:
            del self._flying[name]

    async def _claimed(
        self, name: str, record: Mapping[str, Any], at: int, request: CompletionRequest
    ) -> Completion:
        patience = _CLAIM_PATIENCE
        while not (claimed := self.cache.claim(name)) and patience > 0:
            await self.stop.sleep(_CLAIM_PAUSE)
            patience -= _CLAIM_PAUSE
        try:
            # Another process may have put it there since this one looked.
            if (found := self.cache.find(name)) is not None:
                self.progress.from_cache += 1
                return found
            completion, seconds = await self._ask(at, request)
            # What is asked after an unreadable answer is another question.
            took = (self.kind, seconds) if self.kind and not record["attempt"] else None
            keeping = self.cache.keep(name, record, completion, took)
            # Paid for: it is written down also where nobody waits for it any more.
            await asyncio.shield(asyncio.wrap_future(keeping))
            return completion
        finally:
            if claimed:
                self.cache.release(name)

    async def _ask(self, at: int, request: CompletionRequest) -> tuple[Completion, float]:
        charged_attempts, longest = 0.0, _FIRST_PAUSE
        while True:
            try:
                return await self._once(request)
            except TransientError as error:
                charged_attempts += self._weight(at, error)
                if charged_attempts >= self.policy.max_requests:
                    raise
                pause = error.retry_after
                if pause is None:
                    pause = random.uniform(0, longest)  # noqa: S311 - so that not all come at once
                if self._outage.is_on:
                    pause = 0.0
            longest = min(2 * longest, _LONGEST_PAUSE)
            await self.stop.sleep(pause)

    def _weight(self, at: int, error: TransientError) -> float:
        """Return how many of its requests an error costs the study at `at`; note what it tells."""
        if isinstance(error, UnavailableError):
            is_sure = self.is_standing and isinstance(error, UnreachableError)
            return 0 if self._outage.unanswered(at, is_sure=is_sure) else 1
        self._outage.answered()
        if isinstance(error, UnreadableReplyError):
            self._unreadable += 1
            if self._unreadable >= _UNREADABLE_REQUESTS * _UNREADABLE_STUDIES:
                raise JudgeError(
                    f"the server's answers to {_UNREADABLE_STUDIES} studies in a row are no "
                    f"completions ({error.detail}); look at --base-url and at the server"
                ) from error
            return self.policy.max_requests / _UNREADABLE_REQUESTS
        return _OVERLOAD if isinstance(error, OverloadError) else 1

    async def _once(self, request: CompletionRequest) -> tuple[Completion, float]:
        with self.stop.ends_waiting():
            await self.judge.ready()
            if self._outage.is_on:
                await self._outage.wait()
            began = await self._limiter.acquire()
        most: float | None = None
        spent: float | None = None  # whether an answer that is cut off is paid for is unknown
        try:
            self.stop.check()
            most = await self._reserve(request)
            sent = time.monotonic()
            completion = await self.judge.complete(request)
            seconds = time.monotonic() - sent
        except TransientError as error:
            spent = 0.0
            self.progress.retried(error)
            is_late = error.reason == "timeout" and not self._outage.is_on
            if is_late or isinstance(error, OverloadError):
                self._limiter.overloaded(began, error.retry_after)
            raise
        except (StudyError, JudgeError):
            spent = 0.0
            raise
        else:
            self._outage.answered()
            self._unreadable = 0
            self._limiter.answered()
            spent = self.prices.dollars(completion.usage)
            self.progress.paid(completion, spent)
            return completion, seconds
        finally:
            self._limiter.release()
            if most is not None:
                self._reserved -= most
                if self.budget is not None:
                    self.budget.settle(most, spent)

    async def _reserve(self, request: CompletionRequest) -> float | None:
        """Set aside what `request` can cost, and return it; None for no limit, or no price.

        Stops the run where that would be too much. A budget may have room again when the answers
        under way are there.
        """
        if self.policy.max_cost is None and self.budget is None:
            return None
        most = self.prices.at_most(request)
        while why := self._lacks(most):
            # Answers under way may cost less than their most, which gives the budget room again.
            if self._reserved < _NOTHING:
                self.stop.set(why)
            await self.stop.sleep(_BUDGET_PAUSE)
        self._reserved += most or 0.0
        return most

    def _lacks(self, most: float | None) -> str:
        """Set `most` dollars aside in the budget; returns why there is no money, or ""."""
        limit, spent = self.policy.max_cost, self.progress.dollars
        if limit is not None:
            if most is None or spent is None:
                self.stop.set("--max-cost is set and the price of an answer is unknown")
            elif spent + self._reserved + most > limit:
                self.stop.set(f"the next request could pass --max-cost ({limit:g} dollars)")
            self.stop.check()
        return self.budget.reserve(most) if self.budget is not None else ""
