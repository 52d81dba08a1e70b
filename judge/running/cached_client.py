"""Asking the judge so that nothing is lost and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_random,
    wait_random_exponential,
)

from judge.backends.base import (
    AskError,
    Mode,
    OverloadError,
    RefusedError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.backends.hosted import HostedJudge
from judge.backends.refusals import AdaptedError, OnceMoreError, Refusals, RequestForm
from judge.cache.answers import answer_to
from judge.running.cost import Prices, unbounded
from judge.running.engine import Question
from judge.running.progress import StoppedError, StopSignal
from judge.running.records import CachedAnswer
from judge.types import Completion, CompletionRequest, JudgeError

if TYPE_CHECKING:
    from judge.cache.store import CompletionCache
    from judge.running.session import JudgeSession

_FIRST_PAUSE, _LONGEST_PAUSE, _TRIES_A_SECOND = 0.5, 8.0, 4
# The requests that were under way when a server was first overloaded say so within these seconds.
_ROUND = 1.0
# A 429 says "later", not "no": it weighs less than a failure, but no question waits for ever.
_OVERLOAD = 0.25
# How often to look whether requests that are under way show what a refusal is about, in seconds.
_EVIDENCE_PAUSE = 0.02
# What is no completion is asked for so often.
_UNREADABLE_REQUESTS = 2
# How long to leave a question to another process that is asking it, in seconds, or as long as a
# server may be gone: the other may be waiting for it. One that was suspended must not hold this
# one up for ever; one that has ended holds up nobody.
_CLAIM_PATIENCE, _CLAIM_PAUSE = 300.0, 0.05
# How long to leave it to the answers under way to cost less than they could, in seconds.
_BUDGET_PAUSE = 0.05
_UNLUCKY = 3
_MODES: dict[str | None, Mode | None] = {None: None}
_MODES.update((mode.value, mode) for mode in Mode)


class Limiter:
    """The one limit on requests in flight, at most `most`; in an outage one at a time tries.

    A server that is overloaded gets half as many, and one more after each full round of answers
    (additive increase, multiplicative decrease).
    """

    def __init__(self, most: int, max_outage: float = 1800.0) -> None:
        self.most = most
        self.allowed = float(most)
        self._halved_at = float("-inf")
        self.in_flight = 0
        self.max_outage = max_outage
        self._freed = asyncio.Event()
        self._unlucky: set[str] = set()
        self._lost_at: float | None = None
        self._held_until = float("-inf")

    @property
    def is_lost(self) -> bool:
        """Whether the server is held to be gone."""
        return self._lost_at is not None

    @property
    def lost_since(self) -> float | None:
        """When the server was lost, by the monotonic clock; None while it is there."""
        return self._lost_at

    async def acquire(self) -> None:
        """Wait for a place."""
        while True:
            if (pause := self._held_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            elif self.in_flight >= (1 if self.is_lost else int(self.allowed)):
                self._freed.clear()
                await self._freed.wait()
            else:
                self.in_flight += 1
                return

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._freed.set()

    def hold(self, seconds: float) -> None:
        """Give no places for so many seconds, as the server asks."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def overloaded(self) -> None:
        """Note that the server asks for fewer requests, once for all that are under way."""
        now = time.monotonic()
        if now - self._halved_at >= _ROUND:
            self._halved_at = now
            self.allowed = max(1.0, min(self.allowed, self.in_flight + 1) / 2)

    def answered(self) -> None:
        """Note an answer: after a full round of them there is room for one more."""
        self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)

    def reached(self) -> None:
        """Note that somebody answered, whatever it was: an outage is over."""
        self._unlucky.clear()
        self._lost_at = None
        self._freed.set()

    def unanswered(self, key: str, why: str = "", *, is_sure: bool = False) -> bool:
        """Note that a question found no server; returns whether that is an outage.

        Raises `JudgeError` when an outage has lasted for `max_outage` seconds.
        """
        self._unlucky.add(key)
        now = time.monotonic()
        if self._lost_at is None and (is_sure or len(self._unlucky) >= _UNLUCKY):
            self._lost_at = now
        if self._lost_at is not None and now - self._lost_at >= self.max_outage:
            raise JudgeError(
                f"the server has not answered for {self.max_outage / 60:.3g} minutes, "
                f"--max-outage ({why}); what was answered is in the cache"
            )
        return self.is_lost


class _Flight:
    """A question that is being asked, and how many studies wait for its answer.

    Who stops waiting, because it was cancelled or met an error, does not take the answer from the
    others. Where nobody waits any more the question is not sent, or not again; a request that has
    been sent is waited for and its answer kept, since it is paid for.
    """

    def __init__(self) -> None:
        self.stop = StopSignal()
        self.task: asyncio.Task[Completion] | None = None
        self._n_waiting = 0

    async def answer(self) -> Completion:
        """Wait for the answer; raises what asking raised."""
        assert self.task is not None
        self._n_waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self._n_waiting -= 1
            if self._n_waiting == 0:
                self.stop.set("nobody waits for the answer")


class _Payment:
    """What one request may cost: set aside before it is sent, and settled when its cost is known.

    It is written down on disk too where later commands have to know of it.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.budget = session.budget
        self.is_reserved = False
        self._spending = session.spending
        self._most: float | None = None
        self._number: int | None = None

    def reserve(self, most: float | None, key: str) -> str:
        """Set the most that an answer can cost aside; returns why that cannot be, or ""."""
        assert self.budget is not None
        why = self.budget.reserve(most)
        if why:
            return why
        self.is_reserved, self._most = True, most
        if self._spending is not None and most is not None:
            self._number = self._spending.send(key, most)
        return ""

    def settle(self, spent: float | None, *, is_kept: bool) -> None:
        """Replace what was set aside by the cost, if that is known (0 for nothing)."""
        assert self.budget is not None
        self.budget.settle(self._most, spent)
        if self._spending is None or self._number is None:
            return
        if is_kept:
            self._spending.settle(
                self._number, 0.0
            )  # the answer in the cache says what it cost
        elif spent is not None:
            self._spending.settle(self._number, spent)


class CachedClient:
    """Answers questions from the cache, or by asking the judge and writing the answer down."""

    def __init__(self, session: JudgeSession, cache: CompletionCache) -> None:
        self._session = session
        self._judge = session.judge
        self._cache = cache
        self._progress = session.progress
        self._stop = session.stop
        self._prices = Prices.of(session.judge)
        self._limiter = Limiter(session.concurrency, session.policy.max_outage)
        judge = session.judge
        if isinstance(judge, HostedJudge):
            self.refusals = judge.refusals
        else:
            self.refusals = Refusals(model=judge.version)
        self._flights: dict[str, _Flight] = {}
        self._paying = 0

    async def answer(self, question: Question) -> CachedAnswer:
        """Return the answer to a question, on disk by then; raises an `AskError` without one."""
        name = question.key
        while True:
            flight = self._flights.get(name)
            is_shared = flight is not None
            if flight is None:
                answered = self._session.find(question)
                if answered is not None:
                    self._progress.from_cache += 1
                    if answered.completion.mode in _MODES:
                        self.refusals.note_cached(_MODES[answered.completion.mode])
                    return answered
                if name in self._session.unanswerable:
                    raise self._session.unanswerable[name]
                flight = self._start(question)
            try:
                completion = await flight.answer()
            except StoppedError:
                # Either the run was stopped, or only those who had asked first no longer wait.
                self._stop.check()
                continue
            if is_shared:
                self._progress.from_cache += 1
            return CachedAnswer(completion, name)

    def _start(self, question: Question) -> _Flight:
        flight = self._flights[question.key] = _Flight()
        flight.task = asyncio.create_task(self._claimed(question, flight.stop))

        def end(task: asyncio.Task[Completion]) -> None:
            del self._flights[question.key]
            if not task.cancelled():
                task.exception()  # marked as seen: there may be nobody left who waits for it

        flight.task.add_done_callback(end)
        return flight

    async def landed(self) -> None:
        """Return when no request is under way any more: each is paid for, and its answer kept."""
        while tasks := [
            flight.task for flight in self._flights.values() if flight.task
        ]:
            await asyncio.wait(tasks)

    async def _claimed(self, question: Question, stop: StopSignal) -> Completion:
        name = question.key
        patience = max(_CLAIM_PATIENCE, self._session.policy.max_outage)
        while not (is_claimed := self._cache.claim(name)) and patience > 0:
            await self._sleep(_CLAIM_PAUSE, stop)
            patience -= _CLAIM_PAUSE
        try:
            # Another process or thread may have put it there since this one looked.
            completion = self._cache.get(name)
            if completion is not None:
                self._progress.from_cache += 1
                return completion
            return await self._ask(question, stop)
        finally:
            if is_claimed:
                self._cache.release(name)

    async def _ask(self, question: Question, stop: StopSignal) -> Completion:
        charged = 0.0
        jitter = wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
        # Of all that wait for a server that is gone a few try it each second.
        outage = wait_random(
            0, min(_LONGEST_PAUSE, self._limiter.most / _TRIES_A_SECOND)
        )

        def is_over(state: RetryCallState) -> bool:
            nonlocal charged
            charged += self._weight(question.key, _error(state))
            return charged >= self._session.policy.max_requests

        def wait(state: RetryCallState) -> float:
            if (pause := _error(state).retry_after) is not None:
                return pause
            return outage(state) if self._limiter.is_lost else jitter(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=is_over,
            wait=wait,
            sleep=partial(self._sleep, stop=stop),
            reraise=True,
        )
        return await retrying(self._sent, question, stop)

    async def _sent(self, question: Question, stop: StopSignal) -> Completion:
        """Send a request; what is refused is asked in another form, once more, or not at all."""
        while True:
            try:
                completion = await self._send(question, stop)
            except RefusedError as error:
                form = (
                    error.form
                    if isinstance(error.form, RequestForm)
                    else self.refusals.form
                )
                while (
                    meant := self.refusals.refuse(error, form, question.study_id)
                ) is None:
                    await self._sleep(_EVIDENCE_PAUSE, stop)
                if isinstance(meant, AdaptedError):
                    continue
                if isinstance(meant, OnceMoreError):
                    self._progress.retried(meant)
                raise meant from error
            except UnreadableReplyError as error:
                if over := self.refusals.no_completion(error):
                    raise over from error
                raise
            self.refusals.answered(question.study_id)
            return completion

    def _weight(self, key: str, error: TransientError) -> float:
        """Return how many of its requests an error costs the question; note what it tells."""
        if isinstance(error, UnavailableError):
            is_sure = isinstance(error, UnreachableError)
            is_lost = self._limiter.unanswered(key, str(error), is_sure=is_sure)
            self._progress.lost_since = self._limiter.lost_since
            return 0 if is_lost else 1
        self._reached()
        if isinstance(error, OnceMoreError):
            return 0  # the table of refusals counts these
        if isinstance(error, UnreadableReplyError):
            return self._session.policy.max_requests / _UNREADABLE_REQUESTS
        return _OVERLOAD if isinstance(error, OverloadError) else 1

    async def _send(self, question: Question, stop: StopSignal) -> Completion:
        request = question.request
        with self._stop.ends_waiting(), stop.ends_waiting():
            await self._judge.ready()
            await self._limiter.acquire()
        payment = _Payment(self._session)
        spent: float | None = None  # what a request costs that is cut off is unknown
        is_kept = False
        try:
            self._stop.check()
            stop.check()
            self._check_bounded()
            if payment.budget is not None:
                await self._reserve(payment, question, stop)
            completion = await self._judge.complete(request)
        except TransientError as error:
            spent = self._price_of(error, request)
            self._progress.retried(error)
            if isinstance(error, OverloadError):
                self._limiter.overloaded()
                if error.retry_after is not None:
                    self._limiter.hold(error.retry_after)
            raise
        except StudyError as error:
            spent = self._price_of(error, request)
            self._reached()
            raise
        except RefusedError as error:
            if 400 <= error.status < 500:
                spent = 0.0
            self._reached()
            raise
        except JudgeError:
            spent = 0.0  # the server refuses all requests, or cannot be reached
            self._reached()
            raise
        else:
            self._limiter.answered()
            self._reached()
            # Kept before it is priced: whatever is odd about its usage, it is paid for.
            answer = answer_to(
                question.key,
                question.record,
                completion,
                kind=self._session.kind,
                is_batched=self._prices.in_batches,
            )
            self._cache.put(answer)
            is_kept = True
            spent = self._prices.dollars(completion.usage)
            self._progress.paid(completion, spent)
            return completion
        finally:
            self._limiter.release()
            if payment.is_reserved:
                self._paying -= 1
                payment.settle(spent, is_kept=is_kept)

    def _reached(self) -> None:
        self._limiter.reached()
        self._progress.lost_since = None

    def _check_bounded(self) -> None:
        """Raise `JudgeError` where an answer may be of any length, and so of any price."""
        budget = self._session.budget
        if (
            budget is not None
            and budget.limit is not None
            and not self._judge.is_bounded
        ):
            raise unbounded(self._judge.version)

    def _price_of(self, error: AskError, request: CompletionRequest) -> float | None:
        """Return what a request without an answer has cost; None where nobody knows."""
        if error.usage is not None:
            spent = self._prices.dollars(error.usage)
            self._progress.paid_for_nothing(error.usage, spent)
            return spent
        if error.is_free:
            return 0.0
        self._progress.unknown_cost(self._prices.at_most(request))
        return None

    async def _reserve(
        self, payment: _Payment, question: Question, stop: StopSignal
    ) -> None:
        """Set aside what a request can cost; stops the run where there is no money for it."""
        most = self._prices.at_most(question.request)
        while why := payment.reserve(most, question.key):
            # Answers under way may cost less than their most, which gives the budget room again.
            if not self._paying:
                self._stop.set(why)
            await self._sleep(_BUDGET_PAUSE, stop)
        self._paying += 1

    async def _sleep(self, seconds: float, stop: StopSignal) -> None:
        with self._stop.ends_waiting(), stop.ends_waiting():
            await asyncio.sleep(seconds)


def _error(state: RetryCallState) -> TransientError:
    error = state.outcome and state.outcome.exception()
    assert isinstance(error, TransientError)
    return error
