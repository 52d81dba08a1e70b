"""Judging a set of studies: what is asked about each, who waits for what, and who interrupts it.

One walk through the questions about a study asks them, foretells them and looks into the cache.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from judge.backends.base import AskError, StudyError
from judge.rubrics.questions import Step, Steps, check_end, combine_answers, is_complete
from judge.running.progress import (
    INTERRUPTED,
    TERMINATED,
    Progress,
    ProgressListener,
    RunStoppedError,
    StoppedError,
    StopSignal,
)
from judge.running.records import CachedAnswer, StudyResult, read
from judge.studies import StudySet
from judge.text import harmless
from judge.types import (
    Annotated,
    Annotation,
    Completion,
    CompletionRequest,
    Failed,
    Measures,
    Outcome,
    Study,
    Unparsed,
    UnparsedError,
)

if TYPE_CHECKING:
    from judge.running.session import JudgeSession

COMPOSED = "composed"
"""The key of a completion that was put together from several answers in the cache."""
# After SIGTERM the answers under way get so many seconds: who sends it soon kills. Ctrl-C in a
# notebook is to be over within a second.
_GRACE, _SHORT_GRACE = 5.0, 0.6
_TICK = 0.25
_SHOWN = 300


# What is asked about a study


@dataclass(frozen=True)
class Question:
    """A request, the time of asking from 0, and which of several runs asks it."""

    request: CompletionRequest
    attempt: int = 0
    repeat: int = 0
    study_id: str = ""
    """The study that it is about: of several questions about one, the first to be asked."""

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What its key is the hash of."""
        from judge.cache import canonical  # an inline judge's questions have no key

        return canonical(self.request, self.attempt, self.repeat)

    @cached_property
    def key(self) -> str:
        """The key of its answer in the cache."""
        from judge.cache import key_of

        return key_of(self.record)


class Exchange:
    """One question about a study, its answers, what the last says, and what to ask next, if any."""

    def __init__(
        self,
        session: JudgeSession,
        request: CompletionRequest,
        read: Callable[[Completion], tuple[Outcome, Measures | None]],
        step: str = "",
        study_id: str = "",
    ) -> None:
        self.step = step
        self.first = Question(request, 0, session.repeat, study_id)
        self.question: Question | None = self.first
        self.answers: list[CachedAnswer] = []
        self.outcome: Outcome | None = None
        self.measures: Measures | None = None
        self._session = session
        self._read = read

    def take(self, answered: CachedAnswer) -> None:
        """Read an answer; one that cannot be read is followed by the next time of asking."""
        assert self.question is not None
        question, self.question = self.question, None
        self.answers.append(answered)
        self.outcome, self.measures = self._read(answered.completion)
        if (
            isinstance(self.outcome, Unparsed)
            and question.attempt < self._session.policy.reask
        ):
            judge, completion = self._session.judge, answered.completion
            again = judge.repair_request(question.request, completion, self.outcome)
            if again is not None:
                self.question = replace(
                    question, request=again, attempt=question.attempt + 1
                )

    def lose(self, error: AskError) -> None:
        """Note that the question that was to be asked next has no answer."""
        self.question = None
        # Told what was wrong it would be too long: the answer stays as it was.
        if not self.answers or not isinstance(error, StudyError):
            self.outcome, self.measures = Failed(error.reason, error.detail), None


def _coming(
    session: JudgeSession, study: Study, before: list[Exchange]
) -> list[Exchange]:
    """Return what can be asked now, all of it at once; nothing where an answer is missing."""
    judge = session.judge
    steps = None if judge.runs_inline else session.rubric.steps
    if steps is None:
        reading = partial(read, session.rubric, study)
        if before:
            return []
        return [
            Exchange(session, judge.request(study), reading, study_id=study.study_id)
        ]
    if not all(isinstance(exchange.outcome, Annotated) for exchange in before):
        return []
    texts = {exchange.step: exchange.answers[-1].completion.text for exchange in before}
    return [
        Exchange(
            session,
            judge.request_step(step),
            partial(_read_step, steps, step),
            step.name,
            study.study_id,
        )
        for step in steps.coming(study, texts)
    ]


def _read_step(
    steps: Steps, step: Step, completion: Completion
) -> tuple[Outcome, None]:
    try:
        check_end(completion)
        check = steps.questions[step.asks].check
        check(completion.text, step.study, complete=is_complete(completion))
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return Annotated(Annotation()), None


def _end(
    session: JudgeSession, row: int, study: Study, exchanges: list[Exchange]
) -> StudyResult:
    if not exchanges:
        nothing = Failed(
            "nothing to ask", f"{session.rubric.name} asks nothing about this study"
        )
        return StudyResult(row, study, nothing, None, None)
    answers = [answered for exchange in exchanges for answered in exchange.answers]
    attempt = max(
        len(exchange.answers) - (not isinstance(exchange.outcome, Failed))
        for exchange in exchanges
    )
    for exchange in exchanges:
        if isinstance(failed := exchange.outcome, Failed):
            if exchange.step:
                failed = replace(failed, detail=f"{exchange.step}: {failed.detail}")
            return StudyResult(
                row, study, failed, None, None, attempt, earlier=(*answers,)
            )
    first = exchanges[0]
    outcome, measures = first.outcome, first.measures
    if session.rubric.steps is not None and not session.judge.runs_inline:
        unread = [
            exchange for exchange in exchanges if isinstance(exchange.outcome, Unparsed)
        ]
        kept = [exchange for exchange in exchanges if exchange not in unread] + unread[
            :1
        ]
        parts = {exchange.step: exchange.answers[-1].completion for exchange in kept}
        whole = combine_answers(parts)
        outcome, measures = read(session.rubric, study, whole)
        answers.append(CachedAnswer(whole, COMPOSED))
    assert outcome is not None
    *earlier, final = answers
    last = (outcome, measures, final.completion, attempt, final.key)
    return StudyResult(row, study, *last, earlier=(*earlier,))


async def judge_study(session: JudgeSession, row: int, study: Study) -> StudyResult:
    """Ask about one study until its answers are read or nothing is left to ask."""

    async def settle(exchange: Exchange) -> None:
        while exchange.question is not None:
            try:
                exchange.take(await session.answer(exchange.question))
            except AskError as error:
                exchange.lose(error)

    exchanges: list[Exchange] = []
    while now := _coming(session, study, exchanges):
        exchanges += now
        await _all(map(settle, now))
    return _end(session, row, study, exchanges)


async def _all(tasks: Iterable[Awaitable[None]]) -> None:
    """Wait for all, even where one raises an error: what is under way is paid for."""
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if error is not None:
            raise error


def recall(session: JudgeSession, study: Study) -> list[Exchange]:
    """Return how far the answers in the cache lead with the questions about `study`."""
    exchanges: list[Exchange] = []
    while now := _coming(session, study, exchanges):
        exchanges += now
        for exchange in now:
            while question := exchange.question:
                answered = session.find(question)
                if answered is None:
                    break
                exchange.take(answered)
    return exchanges


GO_ON = ("--give-up-after", "0")
"""The option that goes on in spite of unreadable answers."""


class EarlyAnswers:
    """The first `n` studies that were answered, from the cache or not; 0 looks at none."""

    def __init__(self, n: int) -> None:
        self._n = self._left = n
        self._unread = 0

    def add(self, study: Study, outcome: Outcome, completion: Completion | None) -> str:
        """Count one study's end; returns why to stop where over half of the `n` are unread."""
        if completion is None or not self._left:
            return ""
        self._left -= 1
        self._unread += isinstance(outcome, Unparsed)
        if self._left or 2 * self._unread <= self._n:
            return ""
        text = " ".join(harmless(completion.text[: 4 * _SHOWN]).split())[:_SHOWN]
        return (
            f"{self._unread} of the first {self._n} answers cannot be read; the last, to "
            f"{harmless(study.study_id)}, is {text!r}: try another --judge, --prompt, --reply or "
            "--max-tokens, or go on with --give-up-after 0"
        )


async def judge_all(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[StudyResult], None],
    stop: StopSignal,
) -> None:
    """Judge every study and give each end to `sink` as soon as it is known, in any order.

    `stop` ends this call; the session's own ends all calls that share it. An error ends this call
    alone: what it has sent is still answered and kept (`JudgeSession.landed` waits for that).
    """
    progress, shared = session.progress, session.stop
    numbered = enumerate(studies)
    first = EarlyAnswers(session.policy.give_up_after)
    at_once = max(1, min(session.concurrency, len(studies)))

    async def work() -> None:
        try:
            for row, study in numbered:
                end = await judge_study(session, row, study)
                progress.ended(end.outcome)
                sink(end)
                if why := first.add(study, end.outcome, end.completion):
                    stop.set(why, GO_ON)
                await asyncio.sleep(0)  # a signal or a progress bar gets its turn
                if stop.why is not None or shared.why is not None:
                    return
        except StoppedError:
            return

    workers = [asyncio.create_task(work()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if stop.why is None and shared.why is None:
        session.conclude()


def judge_set(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[StudyResult], None],
    listener: ProgressListener,
) -> Progress:
    """Judge every study of a set, giving each end to `sink`; raises if not all have one."""
    session.begin(len(studies))
    progress, stop = session.progress, session.stop
    if session.cache is not None and session.cache.is_upgraded:
        from judge.cache.store import UPGRADED

        session.cache.is_upgraded = False  # said once
        listener.say(UPGRADED.format(session.cache.path))

    async def tick() -> None:
        while True:
            listener.tick(progress)
            await asyncio.sleep(_TICK)

    async def work() -> None:
        with _interruptible(session, listener):
            ticking = asyncio.create_task(tick())
            try:
                session.count_earlier(studies)
                await judge_all(session, studies, sink, stop)
            except asyncio.CancelledError:
                raise  # at once: nothing is waited for
            except BaseException:
                await session.landed()
                raise
            finally:
                if session.cache is not None:
                    progress.damaged = session.cache.n_damaged
                ticking.cancel()
                listener.tick(progress)
                await session.judge.aclose()

    with suppress(asyncio.CancelledError):
        asyncio.run(work())
    if progress.done < progress.total:
        raise RunStoppedError(stop.why or INTERRUPTED, progress, stop.option)
    return progress


class Interruption:
    """How a run that is under way is ended from outside: by a signal, or by another thread."""

    def __init__(self, stop: StopSignal, listener: ProgressListener) -> None:
        self._stop, self._listener = stop, listener
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._run = task

    def from_thread(self) -> None:
        """Stop asking, and end within a second: what is answered by then is kept."""
        self._soon(partial(self.end, INTERRUPTED, _SHORT_GRACE))

    def by_signal(self, number: int, _frame: object) -> None:
        """Stop asking, as a handler of signals; a second Ctrl-C ends at once."""
        self._soon(self._by_ctrl_c if number == signal.SIGINT else self._by_system)

    def _soon(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the run has ended, and its loop is closed
            self._loop.call_soon_threadsafe(work)

    def _by_ctrl_c(self) -> None:
        if self._stop.why is not None:
            self._run.cancel()
            return
        self._stop.set(INTERRUPTED)
        self._listener.say(
            "Stopping: collecting the answers under way. Ctrl-C again stops at once."
        )

    def _by_system(self) -> None:
        self.end(TERMINATED, _GRACE)

    def end(self, why: str, grace: float) -> None:
        """Stop asking, and give the answers under way so many seconds."""
        self._stop.set(why)
        self._loop.call_later(grace, self._run.cancel)


@contextmanager
def _interruptible(session: JudgeSession, listener: ProgressListener) -> Iterator[None]:
    """Let signals stop the run in order, if this is the main thread, and other threads too.

    The handlers that were there before are there again afterwards.
    """
    interruption = Interruption(session.stop, listener)
    with session.interruptible(interruption):
        if threading.current_thread() is threading.main_thread():
            with handling(interruption.by_signal):
                yield
        else:
            yield


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have the signals that end a run call `handler`; the handlers before it come back.

    SIGTERM and SIGHUP are left alone in a program that lets them end it at once, or that ignores
    them, as below `nohup`.
    """
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        known = signal.getsignal(number)
        # None is a handler that is no Python function: it could not be put back.
        if callable(known) or (number == signal.SIGINT and known is not None):
            before[number] = known
    try:
        for number in before:
            # Not by the loop: that would take the place of the program's own wake-up descriptor.
            signal.signal(number, handler)
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)
