"""Asking the judge so that nothing is lost and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
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
from judge.cache.store_thread import StoreThread
from judge.running.asking import AskingPlan, StudyQuestion, find_answer
from judge.running.cost import Prices, SpendingLimit, unbounded
from judge.running.progress import Progress, StoppedError, StopSignal
from judge.running.records import CachedAnswer
from judge.running.spending import UnansweredRequests
from judge.types import Completion, CompletionRequest, JudgeError

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


class UnaffordableError(AskError):
    """There is no money for this question; others may be cheaper, or asked when there is."""

    is_free = True


class _Payment:
    """What one request may cost: set aside before it is sent, and settled when its cost is known.

    It is written down on disk too where later commands have to know of it.
    """

    def __init__(
        self,
        most: float | None,
        budget: SpendingLimit,
        spending: UnansweredRequests | None,
        answers: StoreThread,
    ) -> None:
        """Note a request for which `budget` has set `most` US dollars aside, None for unknown."""
        self._most = most
        self._budget = budget
        self._spending = spending
        self._answers = answers
        self._number: int | None = None

    async def write_down(self, key: str) -> None:
        """Write down that a question with this key is sent."""
        if self._spending is not None and self._most is not None:
            send = partial(self._spending.send, key, self._most)
            self._number = await self._answers.do(send)

    def settle(self, spent: float | None, *, is_kept: bool) -> None:
        """Replace what was set aside by the cost, if that is known (0 for nothing)."""
        self._budget.settle(self._most, spent)
        if self._spending is None or self._number is None:
            return
        if is_kept:
            spent = 0.0  # the answer in the cache says what it cost
        if spent is not None:
            settle = partial(self._spending.settle, self._number, spent)
            self._answers.do_later(settle)


class CachedClient:
    """Answers questions from the cache, or by asking the judge and writing the answer down."""

    def __init__(
        self,
        *,
        plan: AskingPlan,
        kind: str,
        answers: StoreThread,
        progress: Progress,
        stop: StopSignal,
        budget: SpendingLimit | None = None,
        spending: UnansweredRequests | None = None,
        unanswerable: Mapping[str, StudyError] = MappingProxyType({}),
        is_shared: bool = False,
    ) -> None:
        """Make a client for one run, whose counts are `progress` and whose end is `stop`.

        `kind` is that of all its questions; `spending` has what a `budget` sets aside on disk;
        `unanswerable` are keys of questions that can have no answer. Where the budget has no room
        for a question the run stops; for one that `is_shared` that question alone has no answer.
        """
        self._judge = plan.judge
        self._policy = plan.policy
        self._kind = kind
        self._answers = answers
        self._store = answers.store
        self._progress = progress
        self._stop = stop
        self._budget = budget
        self._spending = spending
        self._unanswerable = unanswerable
        self._is_shared = is_shared
        self._prices = Prices.of(plan.judge)
        self._limiter = Limiter(plan.concurrency, plan.policy.max_outage)
        if isinstance(plan.judge, HostedJudge):
            self.refusals = plan.judge.refusals
        else:
            self.refusals = Refusals(model=plan.judge.version)
        self._jitter = wait_random_exponential(_FIRST_PAUSE, max=_LONGEST_PAUSE)
        # Of all that wait for a server that is gone a few try it each second.
        between = self._limiter.most / _TRIES_A_SECOND
        self._outage = wait_random(0, min(_LONGEST_PAUSE, between))
        self._flights: dict[str, _Flight] = {}
        self._paying = 0
        self._reserving = asyncio.Lock()

    async def answer(self, question: StudyQuestion) -> CachedAnswer:
        """Return the answer to a question, on disk by then; raises an `AskError` without one."""
        name = question.key
        while True:
            if name not in self._flights:
                answered = await self._known(question)
                if answered is not None:
                    return answered
            # Another study may have asked the same while this one looked.
            flight = self._flights.get(name)
            is_shared = flight is not None
            if flight is None:
                flight = self._start(question)
            try:
                completion = await flight.answer()
            except StoppedError:
                # Either the run was stopped, or only those who had asked first no longer wait.
                self._stop.check()
                # The flight that ended is taken away in the loop's next turn. Whoever asks in
                # between would else find it again and again, and hold up the loop for ever.
                await asyncio.sleep(0)
                continue
            if is_shared:
                self._progress.from_cache += 1
            return CachedAnswer(completion, name)

    async def _known(self, question: StudyQuestion) -> CachedAnswer | None:
        """Return the answer in the cache, None without one; raises where there can be none."""
        look = partial(find_answer, self._store, self._judge, question)
        answered = await self._answers.do(look)
        if answered is not None:
            self._progress.from_cache += 1
            mode = answered.completion.mode
            if mode in _MODES:
                self.refusals.note_cached(_MODES[mode])
            return answered
        if question.key in self._unanswerable:
            raise self._unanswerable[question.key]
        return None

    def _start(self, question: StudyQuestion) -> _Flight:
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

    async def _claimed(self, question: StudyQuestion, stop: StopSignal) -> Completion:
        name = question.key
        patience = max(_CLAIM_PATIENCE, self._policy.max_outage)
        is_claimed = await self._answers.do(partial(self._store.claim, name))
        while not is_claimed and patience > 0:
            await self._sleep(_CLAIM_PAUSE, stop)
            patience -= _CLAIM_PAUSE
            is_claimed = await self._answers.do(partial(self._store.claim, name))
        try:
            # Another process or thread may have put it there since this one looked.
            completion = await self._answers.do(partial(self._store.get, name))
            if completion is not None:
                self._progress.from_cache += 1
                return completion
            return await self._ask(question, stop)
        finally:
            if is_claimed:
                self._answers.do_later(partial(self._store.release, name))

    async def _ask(self, question: StudyQuestion, stop: StopSignal) -> Completion:
        """Send a request until it has its answer, or has failed as often as it may.

        tenacity says whether an error may pass and how long to wait. What an error costs the
        question, and what it tells of the server, stands here.
        """
        charged = 0.0

        def may_pass(error: BaseException) -> bool:
            is_left = charged < self._policy.max_requests
            return isinstance(error, TransientError) and is_left

        retrying = AsyncRetrying(
            retry=retry_if_exception(may_pass),
            wait=self._pause,
            sleep=partial(self._sleep, stop=stop),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                try:
                    return await self._sent(question, stop)
                except TransientError as error:
                    self._learn(question.key, error)
                    charged += self._charge(error)
                    raise
        raise AssertionError("tenacity returns nothing: it raises the last error")

    def _pause(self, state: RetryCallState) -> float:
        """Return how many seconds to wait before the next request."""
        error = _error(state)
        if error.retry_after is not None:
            return error.retry_after
        if self._limiter.is_lost:
            return self._outage(state)
        return self._jitter(state)

    async def _sent(self, question: StudyQuestion, stop: StopSignal) -> Completion:
        """Send a request; what is refused is asked in another form, once more, or not at all."""
        while True:
            try:
                completion = await self._send(question, stop)
            except RefusedError as error:
                meant = await self._meaning(error, question, stop)
                if isinstance(meant, AdaptedError):
                    continue
                if isinstance(meant, OnceMoreError):
                    self._progress.retried(meant)
                raise meant from error
            except UnreadableReplyError as error:
                over = self.refusals.no_completion(error)
                if over is not None:
                    raise over from error
                raise
            self.refusals.answered(question.study_id)
            return completion

    async def _meaning(
        self, error: RefusedError, question: StudyQuestion, stop: StopSignal
    ) -> Exception:
        """Return what a refusal means, as soon as the requests under way have shown it."""
        form = self.refusals.form
        if isinstance(error.form, RequestForm):
            form = error.form
        meant = self.refusals.refuse(error, form, question.study_id)
        while meant is None:
            await self._sleep(_EVIDENCE_PAUSE, stop)
            meant = self.refusals.refuse(error, form, question.study_id)
        return meant

    def _learn(self, key: str, error: TransientError) -> None:
        """Note what an error tells of the server; raises `JudgeError` after a long outage."""
        if isinstance(error, UnavailableError):
            is_sure = isinstance(error, UnreachableError)
            self._limiter.unanswered(key, str(error), is_sure=is_sure)
            self._progress.lost_since = self._limiter.lost_since
        else:
            self._reached()

    def _charge(self, error: TransientError) -> float:
        """Return how many of its requests an error costs the question."""
        if isinstance(error, UnavailableError):
            return 0 if self._limiter.is_lost else 1
        if isinstance(error, OnceMoreError):
            return 0  # the table of refusals counts these
        if isinstance(error, UnreadableReplyError):
            return self._policy.max_requests / _UNREADABLE_REQUESTS
        if isinstance(error, OverloadError):
            return _OVERLOAD
        return 1

    async def _send(self, question: StudyQuestion, stop: StopSignal) -> Completion:
        request = question.request
        with self._stop.ends_waiting(), stop.ends_waiting():
            await self._judge.ready()
            await self._limiter.acquire()
        payment: _Payment | None = None
        spent: float | None = None  # what a request costs that is cut off is unknown
        is_kept = False
        try:
            self._stop.check()
            stop.check()
            self._check_bounded()
            if self._budget is not None:
                payment = await self._reserve(self._budget, question, stop)
                await payment.write_down(question.key)
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
                kind=self._kind,
                is_batched=self._prices.in_batches,
            )
            await self._answers.do(partial(self._store.put, answer))
            is_kept = True
            spent = self._prices.dollars(completion.usage)
            self._progress.paid(completion, spent)
            return completion
        finally:
            self._limiter.release()
            if payment is not None:
                self._paying -= 1
                payment.settle(spent, is_kept=is_kept)

    def _reached(self) -> None:
        self._limiter.reached()
        self._progress.lost_since = None

    def _check_bounded(self) -> None:
        """Raise `JudgeError` where an answer may be of any length, and so of any price."""
        is_limited = self._budget is not None and self._budget.limit is not None
        if is_limited and not self._judge.is_bounded:
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
        self, budget: SpendingLimit, question: StudyQuestion, stop: StopSignal
    ) -> _Payment:
        """Set aside what a request can cost; ends the run where there is no money for it.

        Raises `UnaffordableError` instead where many share the judge.
        """
        most = self._prices.at_most(question.request)
        with self._stop.ends_waiting(), stop.ends_waiting():
            # One at a time: to look is a transaction where the budget is kept on disk.
            await self._reserving.acquire()
        try:
            while why := budget.reserve(most):
                # Answers under way may cost less than their most: the budget has room again.
                if not self._paying and self._is_shared:
                    raise UnaffordableError("over budget", why)
                if not self._paying:
                    self._stop.set(why)
                await self._sleep(_BUDGET_PAUSE, stop)
            self._paying += 1
        finally:
            self._reserving.release()
        return _Payment(most, budget, self._spending, self._answers)

    async def _sleep(self, seconds: float, stop: StopSignal) -> None:
        with self._stop.ends_waiting(), stop.ends_waiting():
            await asyncio.sleep(seconds)


def _error(state: RetryCallState) -> TransientError:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, TransientError)
    return error
