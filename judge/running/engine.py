"""Judging a set of studies: ask about each, read what is answered, heed who interrupts it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from judge.backends import LEXICON
from judge.report.words import harmless
from judge.running.asking import Stop, StoppedError
from judge.running.cost import Progress
from judge.running.questions import Answer, judge_study
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import Completion, JudgeError, Outcome, Study, Unparsed

INTERRUPTED, TERMINATED = "interrupted", "terminated"
# After SIGTERM the answers under way get so many seconds: who sends it soon kills.
_GRACE = 5.0
_WORTH_WORKERS = 2_000
_TICK = 0.25
# A single request that goes wrong between two answers is no news.
_TROUBLE_TICKS = 4
_SHOWN = 300


class UnreadableError(JudgeError):
    """A run that was given up: most of its first answers could not be read.

    They are in the cache, so that going on asks none of them again.
    """

    def __init__(self, text: str, progress: Progress) -> None:
        super().__init__(text)
        self.progress = progress


@dataclass(slots=True)
class FirstAnswers:
    """The first `n` studies that were answered, from the cache or not; 0 looks at none.

    A study that failed has no answer and says nothing about the others.
    """

    n: int
    _seen: int = 0
    _unread: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether all `n` are there."""
        return self._seen >= self.n

    @property
    def are_unreadable(self) -> bool:
        """Whether all `n` are there and more than half of them could not be read."""
        return self.n > 0 and self.is_full and 2 * len(self._unread) > self.n

    def add(self, study: Study, outcome: Outcome, completion: Completion | None) -> None:
        """Count one study's end, if it is among the first with an answer."""
        if self.is_full or completion is None:
            return
        self._seen += 1
        if isinstance(outcome, Unparsed):
            self._unread.append((outcome.reason, study.study_id, completion.text))

    def message(self) -> str:
        """Return what was seen, with one answer, and how to go on."""
        ((reason, most),) = Counter(reason for reason, _, _ in self._unread).most_common(1)
        study_id, text = next(rest for why, *rest in self._unread if why == reason)
        # Text from a server: what could steer a terminal is made visible.
        shown = " ".join(harmless(text[: 4 * _SHOWN]).split())[:_SHOWN] or "(nothing)"
        longer = ", --max-tokens" if reason == "truncated" else ""
        return (
            f"{len(self._unread)} of the first {self.n} answers cannot be read, {most} of them "
            f"for: {reason}. Study {harmless(study_id)} was answered: {shown}\n"
            f"Try another --judge, --prompt, --reply{longer}. To go on all the same, give "
            "--give-up-after 0, or from Python RequestPolicy(give_up_after=0); no answer is asked "
            "for twice."
        )


async def judge_all(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[Judged], None],
    *,
    answer: Answer,
    stop: Stop,
    progress: Progress,
    start: int = 0,
) -> None:
    """Judge every study and give each end to `sink` as soon as it is known, in any order.

    Their places count from `start`: studies that come in several calls, with the same `answer`,
    are told apart by them.

    By the session's policy: at most `concurrency` studies are in memory at once, drawn from
    one shared iterator. An answer that cannot be read is asked for again up to `reask`
    times, in the words that the judge has for it (`Judge.repair_request`), if it has any; the
    last answer counts. Returns early when `stop` is set; studies without an end are then not
    given to `sink`. Where more than half of the first `give_up_after` answers cannot be
    read, those under way are finished, so that the same run stops there again without a
    question, and `UnreadableError` is raised if studies are left; 0 never gives up.
    """
    numbered = enumerate(studies, start)
    first = FirstAnswers(session.policy.give_up_after)
    at_once = max(1, min(session.concurrency, len(studies)))

    async def work() -> None:
        try:
            for place, study in numbered:
                end = await judge_study(session, place, study, answer)
                progress.ended(end.outcome)
                first.add(study, end.outcome, end.completion)
                sink(end)
                await asyncio.sleep(0)  # a signal or a progress bar gets its turn
                if stop.why is not None or first.are_unreadable:
                    return
        except StoppedError:
            return
        except BaseException:
            stop.set("an error")
            raise

    ends = await asyncio.gather(*(work() for _ in range(at_once)), return_exceptions=True)
    for error in ends:
        if error is not None:
            raise error
    if first.are_unreadable and stop.why is None and progress.done < progress.total:
        raise UnreadableError(first.message(), progress)


class RunStoppedError(Exception):
    """A run that ended before all studies had; its answers are in the cache, its folder is not."""

    def __init__(self, why: str, progress: Progress) -> None:
        super().__init__(why)
        self.why = why
        self.progress = progress

    @property
    def interrupted(self) -> bool:
        """Whether a person, or the system, ended it."""
        return self.why in (INTERRUPTED, TERMINATED)


@dataclass(frozen=True, slots=True)
class ProgressListener:
    """Who is told how a run goes: `tick` a few times a second, `say` when there is news."""

    tick: Callable[[Progress], None] = field(default=lambda _progress: None)
    say: Callable[[str], None] = field(default=lambda _text: None)


def judge_set(
    session: JudgeSession,
    studies: StudySet,
    sink: Callable[[Judged], None],
    listener: ProgressListener,
) -> Progress:
    """Judge every study of a set, giving each end to `sink`; returns what it took.

    Raises `RunStoppedError` when it was interrupted before all studies had their end, and
    `UnreadableError` when it was given up because its answers could not be read.
    """
    progress = Progress(total=len(studies))
    stop = Stop()

    async def work() -> None:
        answer = session.answerer(progress, stop)
        with _interruptible(stop, listener):
            ticking = asyncio.create_task(_tick(progress, listener, session.policy.max_outage))
            try:
                if (n := _n_workers(session, len(studies))) > 1:
                    from judge.running.processes import judge_in_processes

                    await judge_in_processes(
                        *(session, studies, sink, n), stop=stop, progress=progress
                    )
                else:
                    await judge_all(
                        session, studies, sink, answer=answer, stop=stop, progress=progress
                    )
            finally:
                if session.cache is not None:
                    progress.damaged = session.cache.n_damaged
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                await session.judge.aclose()

    with suppress(asyncio.CancelledError):
        asyncio.run(work())
    if progress.done < progress.total:
        raise RunStoppedError(stop.why or INTERRUPTED, progress)
    return progress


def _n_workers(session: JudgeSession, n_studies: int) -> int:
    """Return in how many processes a judge works: the built-in one in more where it pays."""
    if session.policy.workers or n_studies < _WORTH_WORKERS:
        return session.policy.workers or 1
    is_built_in = session.judge.name.split(":")[0] == LEXICON and session.judge.runs_inline
    return (os.cpu_count() or 1) if is_built_in else 1


async def _tick(progress: Progress, listener: ProgressListener, patience: float) -> None:
    ticks_of_trouble = 0
    try:
        while True:
            listener.tick(progress)
            ticks_of_trouble = ticks_of_trouble + 1 if progress.trouble else 0
            if ticks_of_trouble == _TROUBLE_TICKS:
                listener.say(
                    f"No answer: {progress.trouble}. It is asked again, for at most "
                    f"{patience / 60:.3g} minutes where the server is gone (--max-outage)."
                )
            await asyncio.sleep(_TICK)
    finally:
        listener.tick(progress)


@contextmanager
def _interruptible(stop: Stop, listener: ProgressListener) -> Iterator[None]:
    """Let Ctrl-C stop the run in order, and a second one at once; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, main = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if stop.why is not None and main is not None:
            main.cancel()
            return
        stop.set(INTERRUPTED)
        listener.say("Stopping: collecting the answers under way. Ctrl-C again stops at once.")

    def terminated() -> None:
        stop.set(TERMINATED)
        listener.say(f"Stopping: collecting the answers under way for {_GRACE:g} seconds at most.")
        if main is not None:
            loop.call_later(_GRACE, main.cancel)

    loop.add_signal_handler(signal.SIGINT, interrupted)
    ends = signal.getsignal(signal.SIGTERM)
    if callable(ends):  # a program that lets SIGTERM end it at once goes on to do so
        loop.add_signal_handler(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if callable(ends):
            loop.remove_signal_handler(signal.SIGTERM)
            signal.signal(signal.SIGTERM, ends)
