"""Asking the judge so that nothing is lost and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judge.backends import Judge
from judge.backends.errors import (
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.running.cost import Budget, Prices, Progress
from judge.running.questions import Question
from judge.running.records import Answered
from judge.types import Completion, CompletionRequest, JudgeError

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from judge.cache import CompletionCache

_FIRST_PAUSE, _LONGEST_PAUSE, _TRIES_A_SECOND = 0.5, 8.0, 4
# A 429 says "later", not "no": it weighs less than a failure, but no question waits for ever.
_OVERLOAD = 0.25
# What is no completion is asked for so often, and so many studies in a row end the run.
_UNREADABLE_REQUESTS, _UNREADABLE_STUDIES = 2, 10
# How long to leave a question to another process that is asking it, in seconds: one that
# was suspended must not hold this one up for ever.
_CLAIM_PATIENCE, _CLAIM_PAUSE = 300.0, 0.05
# How long to leave it to the answers under way to cost less than they could, in seconds.
_BUDGET_PAUSE = 0.05
# What an overload leaves of the requests in flight, and how much of them comes back at a time.
_CUT, _STEP = 0.7, 0.1
# So many studies in a row without an answer are no coincidence.
_UNLUCKY = 3
# What each number of a policy is at least: whole numbers, and others.
_LEAST: Mapping[str, float] = {
    "concurrency": 1,
    "reask": 0,
    "max_requests": 1,
    "give_up_after": 0,
    "workers": 0,
    "max_outage": 0.0,
    "max_cost": 0.0,
}


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` is the most requests in flight, None for what the server takes (16 for a model
    behind an API); `reask` how often an answer that cannot
    be read is asked for again; `max_requests` how many requests one question may take;
    `max_outage` for how many seconds a server may be gone; `max_cost` how many US dollars
    the run may spend, None for no limit. The run is given up where more than half of the
    first `give_up_after` answers cannot be read, 0 for never. `workers` is how many processes
    a judge runs in that answers by itself, such as the built-in one; 0 is one a core where there
    are studies enough. Raises `JudgeError` for a number that cannot be.
    """

    concurrency: int | None = None
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None
    give_up_after: int = 50
    workers: int = 1

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value, is_whole = getattr(self, name), isinstance(least, int)
            if value is None and name in ("concurrency", "max_cost"):
                continue
            is_number = isinstance(value, int if is_whole else int | float)
            if not is_number or isinstance(value, bool) or not value >= least:  # NaN is not
                what = "whole number" if is_whole else "number"
                raise JudgeError(f"{name} is a {what} from {least:g} on, not {value!r:.80}")


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


class Limiter:
    """The one limit on requests in flight, between 1 and `most`, where it begins.

    A server that falls behind, with a 429 or no answer in time, cuts it, once for all
    requests that were under way together; a limit's worth of answers raises it a tenth. New
    requests are also held back for as long as a server asks. While nobody answers at all, which is
    an outage, one request at a time tries, and any answer lets all go on at once.
    """

    def __init__(self, most: int, max_outage: float = 1800.0) -> None:
        self.most = self.limit = most
        self.in_flight = 0
        self.max_outage = max_outage
        self._answers = 0
        self._freed = asyncio.Event()
        self._back = asyncio.Event()
        self._unlucky: set[int] = set()
        self._lost_at: float | None = None
        self._cut_at = self._held_until = float("-inf")

    @property
    def is_lost(self) -> bool:
        """Whether the server is held to be gone."""
        return self._lost_at is not None

    async def acquire(self) -> float:
        """Wait for a place; returns the loop's time at which it was given."""
        loop = asyncio.get_running_loop()
        while True:
            if (pause := self._held_until - loop.time()) > 0:
                await asyncio.sleep(pause)
            elif self.in_flight >= (1 if self.is_lost else self.limit):
                self._freed.clear()
                await self._freed.wait()
            else:
                self.in_flight += 1
                return loop.time()

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._freed.set()

    def reached(self) -> None:
        """Note that somebody answered, whatever it was: an outage is over."""
        if self._unlucky:
            self._unlucky.clear()
            self._lost_at = None
            self._back.set()
            self._freed.set()

    def answered(self) -> None:
        """Note an answer."""
        self.reached()
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

    def unanswered(self, place: int, *, is_sure: bool = False) -> bool:
        """Note that the study at `place` found nobody; returns whether that is an outage.

        It is one when several studies in a row find nobody, or one where it `is_sure` that the
        study itself is not to blame, as nobody took the connection. Raises `JudgeError` when it has
        lasted for `max_outage`.
        """
        self._unlucky.add(place)
        now = asyncio.get_running_loop().time()
        if self._lost_at is None and (is_sure or len(self._unlucky) >= _UNLUCKY):
            self._lost_at = now
            self._back.clear()
        if self._lost_at is not None and now - self._lost_at >= self.max_outage:
            raise JudgeError(
                f"the server has not answered for {self.max_outage / 60:.3g} minutes "
                "(--max-outage); what was answered is in the cache"
            )
        return self.is_lost

    async def sleep(self, seconds: float) -> None:
        """Sleep; in an outage until it is over, or has lasted too long, at the most."""
        if self._lost_at is None:
            await asyncio.sleep(seconds)
            return
        left = self._lost_at + self.max_outage - asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._back.wait(), max(0.0, min(seconds, left)))


@dataclass(slots=True)
class Asker:
    """Answers questions from the cache, or by asking the judge and writing the answer down.

    `concurrency` is the most requests in flight. `kind` is what the cache notes of its questions
    beside the answers, to foretell others.
    `unanswerable` are questions, by their keys, that were asked elsewhere
    and brought no answer.
    """

    judge: Judge
    cache: CompletionCache
    prices: Prices
    policy: RequestPolicy
    concurrency: int
    progress: Progress
    stop: Stop
    kind: str | None = None
    budget: Budget | None = None
    unanswerable: Mapping[str, StudyError] = field(default_factory=dict)
    _limiter: Limiter = field(init=False)
    _flying: dict[str, asyncio.Future[Completion]] = field(default_factory=dict)
    _paying: int = 0
    _unreadable: int = 0

    def __post_init__(self) -> None:
        self._limiter = Limiter(self.concurrency, self.policy.max_outage)

    async def answer(self, place: int, question: Question) -> Answered:
        """Return the answer to a question about the study at a place.

        An answer is on disk before it is returned. Raises an `AskError` when there is none
        to be had, `StoppedError` when the run was stopped, and `JudgeError` when it must stop.
        """
        name = question.key
        if (flight := self._flying.get(name)) is not None:
            completion: Completion | None = await asyncio.shield(flight)
        else:
            completion = self.cache.find(name)
        if completion is not None:
            self.progress.from_cache += 1
            return Answered(completion, name)
        if name in self.unanswerable:
            raise self.unanswerable[name]
        flight = self._flying[name] = asyncio.get_running_loop().create_future()
        try:
            completion = await self._claimed(place, question)
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

    async def _claimed(self, place: int, question: Question) -> Completion:
        name, patience = question.key, _CLAIM_PATIENCE
        while not (is_claimed := self.cache.claim(name)) and patience > 0:
            await self._sleep(_CLAIM_PAUSE)
            patience -= _CLAIM_PAUSE
        try:
            # Another process may have put it there since this one looked.
            if (kept := self.cache.find(name)) is not None:
                self.progress.from_cache += 1
                return kept
            completion, seconds = await self._ask(place, question.request)
            # What is asked after an unreadable answer is another question.
            took = (self.kind, seconds) if self.kind and not question.attempt else None
            keeping = self.cache.keep(name, question.record, completion, took)
            # Paid for: it is written down also where nobody waits for it any more.
            await asyncio.shield(asyncio.wrap_future(keeping))
            return completion
        finally:
            if is_claimed:
                self.cache.release(name)

    async def _ask(self, place: int, request: CompletionRequest) -> tuple[Completion, float]:
        from tenacity import AsyncRetrying, retry_if_exception_type, wait_random
        from tenacity import wait_random_exponential as wait_longer

        charged = 0.0
        jitter = wait_longer(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
        # Of all that wait for a server that is gone a few try it each second.
        outage = wait_random(0, min(_LONGEST_PAUSE, self.concurrency / _TRIES_A_SECOND))

        def is_over(state: RetryCallState) -> bool:
            nonlocal charged
            charged += self._weight(place, _error(state))
            return charged >= self.policy.max_requests

        def wait(state: RetryCallState) -> float:
            if (pause := _error(state).retry_after) is not None:
                return pause
            return outage(state) if self._limiter.is_lost else jitter(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=is_over,
            wait=wait,
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(self._send, request)

    def _weight(self, place: int, error: TransientError) -> float:
        """Return how many of its requests an error costs the study; note what it tells."""
        if isinstance(error, UnavailableError):
            is_sure = isinstance(error, UnreachableError)
            return 0 if self._limiter.unanswered(place, is_sure=is_sure) else 1
        self._limiter.reached()
        if isinstance(error, UnreadableReplyError):
            self._unreadable += 1
            if self._unreadable >= _UNREADABLE_REQUESTS * _UNREADABLE_STUDIES:
                raise JudgeError(
                    f"the server's answers to {_UNREADABLE_STUDIES} studies in a row are no "
                    f"completions ({error.detail}); look at --base-url and at the server"
                ) from error
            return self.policy.max_requests / _UNREADABLE_REQUESTS
        return _OVERLOAD if isinstance(error, OverloadError) else 1

    async def _send(self, request: CompletionRequest) -> tuple[Completion, float]:
        with self.stop.ends_waiting():
            await self.judge.ready()
            began = await self._limiter.acquire()
        is_paying, most = False, None
        spent: float | None = None  # whether an answer that is cut off is paid for is unknown
        try:
            self.stop.check()
            if self.budget is not None:
                most = self.prices.at_most(request)
                await self._reserve(self.budget, most)
                self._paying += 1
                is_paying = True
            sent = time.monotonic()
            completion = await self.judge.complete(request)
            seconds = time.monotonic() - sent
        except TransientError as error:
            spent = 0.0
            self.progress.retried(error)
            is_late = error.reason == "timeout" and not self._limiter.is_lost
            if is_late or isinstance(error, OverloadError):
                self._limiter.overloaded(began, error.retry_after)
            raise
        except (StudyError, JudgeError):
            spent = 0.0
            self._limiter.reached()
            raise
        else:
            self._unreadable = 0
            self._limiter.answered()
            spent = self.prices.dollars(completion.usage)
            self.progress.paid(completion, spent)
            return completion, seconds
        finally:
            self._limiter.release()
            if is_paying and self.budget is not None:
                self._paying -= 1
                self.budget.settle(most, spent)

    async def _reserve(self, budget: Budget, most: float | None) -> None:
        """Set aside what a request can cost; stops the run where there is no money for it."""
        while why := budget.reserve(most):
            # Answers under way may cost less than their most, which gives the budget room again.
            if not self._paying:
                self.stop.set(why)
            await self._sleep(_BUDGET_PAUSE)

    async def _sleep(self, seconds: float) -> None:
        with self.stop.ends_waiting():
            await self._limiter.sleep(seconds)


def _error(state: RetryCallState) -> TransientError:
    error = state.outcome and state.outcome.exception()
    assert isinstance(error, TransientError)
    return error
