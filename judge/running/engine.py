"""Judging a set of studies: many at a time, each until its answers are read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from judge.backends.base import AskError
from judge.running.asking import (
    AskingPlan,
    Exchange,
    StudyQuestion,
    coming,
    study_result,
)
from judge.running.progress import Progress, StoppedError, StopSignal
from judge.running.records import CachedAnswer, StudyResult
from judge.studies import StudySet
from judge.text import harmless
from judge.types import Completion, Outcome, Study, Unparsed

_SHOWN = 300


class Asker(Protocol):
    """What the engine needs of those who ask: `JudgeSession` is one."""

    @property
    def plan(self) -> AskingPlan:
        """What is asked about each study, by whom, and how often again."""

    @property
    def progress(self) -> Progress:
        """The counts of the run."""

    @property
    def stop(self) -> StopSignal:
        """Ends all that is judged by this asker."""

    async def answer(self, question: StudyQuestion) -> CachedAnswer:
        """Return the answer to a question; raises `AskError` without one."""

    def conclude(self) -> None:
        """Raise `JudgeError` where the server has refused all that it was asked."""


async def judge_study(asker: Asker, row: int, study: Study) -> StudyResult:
    """Ask about one study until its answers are read or nothing is left to ask."""

    async def settle(exchange: Exchange) -> None:
        while exchange.question is not None:
            try:
                exchange.take(await asker.answer(exchange.question))
            except AskError as error:
                exchange.lose(error)

    exchanges: list[Exchange] = []
    while now := coming(asker.plan, study, exchanges):
        exchanges += now
        await _all(map(settle, now))
    return study_result(asker.plan, row, study, exchanges)


async def _all(tasks: Iterable[Awaitable[None]]) -> None:
    """Wait for all, even where one raises an error: what is under way is paid for."""
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if error is not None:
            raise error


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
    asker: Asker,
    studies: StudySet,
    sink: Callable[[StudyResult], None],
    stop: StopSignal,
) -> None:
    """Judge every study and give each end to `sink` as soon as it is known, in any order.

    `stop` ends this call; the asker's own ends all calls that share it. An error ends this call
    alone: what it has sent is still answered and kept (`JudgeSession.landed` waits for that).
    """
    progress, shared = asker.progress, asker.stop
    numbered = enumerate(studies)
    first = EarlyAnswers(asker.plan.policy.give_up_after)
    at_once = max(1, min(asker.plan.concurrency, len(studies)))

    async def work() -> None:
        try:
            for row, study in numbered:
                end = await judge_study(asker, row, study)
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
        asker.conclude()
