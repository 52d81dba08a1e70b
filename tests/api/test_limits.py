"""How many requests may be in flight, and when a server counts as gone."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from judge.backends import Judge
from judge.backends.errors import UnavailableError
from judge.cache import CompletionCache
from judge.running.asking import Asker, RequestPolicy
from judge.running.progress import Prices, Progress
from judge.running.waiting import Limiter, Outage, Stop, StoppedError
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study


async def serve(limiter: Limiter, requests: int) -> int:
    """Send requests through the limiter; returns the most in flight."""
    most = 0

    async def one() -> None:
        nonlocal most
        await limiter.acquire()
        most = max(most, limiter.in_flight)
        await asyncio.sleep(0)
        limiter.answered()
        limiter.release()

    await asyncio.gather(*(one() for _ in range(requests)))
    return most


def test_a_server_that_keeps_up_is_used_to_the_full() -> None:
    async def work() -> tuple[int, int]:
        limiter = Limiter(16)
        return await serve(limiter, 300), limiter.limit

    assert asyncio.run(work()) == (16, 16)


def test_it_begins_at_the_full_limit() -> None:
    async def work() -> int:
        limiter = Limiter(16)
        for _ in range(16):
            await asyncio.wait_for(limiter.acquire(), 1)
        return limiter.in_flight

    assert asyncio.run(work()) == 16


def test_answers_bring_a_cut_limit_back_in_small_steps() -> None:
    async def work() -> list[int]:
        limiter, limits = Limiter(30), []
        limiter.overloaded(await limiter.acquire(), None)
        limiter.release()
        for _ in range(6):
            limits.append(limiter.limit)
            assert await serve(limiter, limiter.limit) == limits[-1]
        return limits

    assert asyncio.run(work()) == [21, 23, 25, 27, 29, 30]


def test_no_more_are_in_flight_than_a_cut_limit_allows() -> None:
    async def work() -> int:
        limiter = Limiter(10)
        begans = [await limiter.acquire() for _ in range(10)]
        waiting = asyncio.create_task(serve(limiter, 5))
        limiter.overloaded(begans[0], None)
        for _ in begans[:3]:
            limiter.release()
        await asyncio.sleep(0.01)
        assert not waiting.done()
        for _ in begans[3:]:
            limiter.release()
        return await waiting

    assert asyncio.run(work()) <= 7


def test_a_429_cuts_the_limit_once_for_all_that_were_under_way() -> None:
    async def work() -> tuple[float, float]:
        limiter = Limiter(20)
        begans = [await limiter.acquire() for _ in range(10)]
        before = limiter.limit
        for began in begans:
            limiter.overloaded(began, None)
            limiter.release()
        return before, limiter.limit

    before, after = asyncio.run(work())
    assert after == pytest.approx(before * 0.7)


def test_the_limit_never_falls_below_one() -> None:
    async def work() -> float:
        limiter = Limiter(2)
        for _ in range(30):
            began = await limiter.acquire()
            await asyncio.sleep(0)
            limiter.overloaded(began, None)
            limiter.release()
        return limiter.limit

    assert asyncio.run(work()) == 1.0


class LateJudge(Judge):
    """A stand-in whose server answers no more than two questions at a time in time."""

    name = version = "late"
    in_flight = 0

    def request(self, study: Study) -> CompletionRequest:
        return CompletionRequest("chat", "late", (Message("user", study.reference),))

    async def complete(self, _request: CompletionRequest) -> Completion:
        self.in_flight += 1
        is_late = self.in_flight > 2
        await asyncio.sleep(0)
        self.in_flight -= 1
        if is_late:
            raise UnavailableError("timeout")
        return Completion("", "stop", "late")


def test_answers_that_come_too_late_cut_the_limit(tmp_path: Path) -> None:
    study = Study("1", "The lungs are clear.", "")

    async def work(cache: CompletionCache) -> int:
        judge, policy = LateJudge(), RequestPolicy(concurrency=8)
        asker = Asker(judge, cache, Prices("late", None), policy, Progress(8), Stop())
        request = judge.request(study)
        # All of one study: that it finds nobody is no outage.
        asked = (asker.answer(1, request, attempt) for attempt in range(8))
        assert len(await asyncio.gather(*asked)) == 8
        return asker._limiter.limit

    with CompletionCache(tmp_path) as cache:
        assert asyncio.run(work(cache)) < 8


def test_a_stop_ends_the_wait_for_a_place() -> None:
    async def work() -> float:
        stop, limiter = Stop(), Limiter(4)
        limiter.overloaded(await limiter.acquire(), 250.0)
        limiter.release()
        asyncio.get_running_loop().call_later(0.05, stop.set, "enough")
        start = time.monotonic()
        with pytest.raises(StoppedError), stop.ends_waiting():
            await limiter.acquire()
        return time.monotonic() - start

    assert asyncio.run(work()) < 5


def test_retry_after_holds_everyone_back() -> None:
    async def work() -> float:
        limiter = Limiter(4)
        began = await limiter.acquire()
        limiter.overloaded(began, 0.2)
        limiter.release()
        start = time.monotonic()
        await limiter.acquire()
        return time.monotonic() - start

    assert asyncio.run(work()) >= 0.19


def test_one_unlucky_study_is_no_outage() -> None:
    async def work() -> bool:
        outage = Outage(10)
        for _ in range(20):
            outage.unanswered(1)
        outage.unanswered(2)
        return outage.is_on

    assert asyncio.run(work()) is False


def test_several_in_a_row_are_an_outage_until_anyone_answers() -> None:
    async def work() -> list[bool]:
        outage = Outage(10)
        outage.unanswered(1)
        outage.answered()
        seen = [outage.unanswered(at) for at in (1, 2, 3)]
        outage.answered()
        return [*seen, outage.is_on]

    assert asyncio.run(work()) == [False, False, True, False]


def test_who_is_sure_that_nobody_is_there_needs_no_others() -> None:
    async def work() -> list[bool]:
        outage = Outage(10)
        seen = [outage.unanswered(1, is_sure=True)]
        outage.answered()
        return [*seen, outage.is_on]

    assert asyncio.run(work()) == [True, False]


def test_while_it_lasts_one_at_a_time_tries_and_then_all_go() -> None:
    async def work() -> tuple[int, int]:
        outage = Outage(10)
        for at in (1, 2, 3):
            outage.unanswered(at)
        tries = 0

        async def waiter(at: int) -> None:
            nonlocal tries
            while outage.is_on:
                await outage.wait()
                if outage.is_on:
                    tries += 1
                    outage.unanswered(at)

        waiting = [asyncio.create_task(waiter(at)) for at in range(20)]
        await asyncio.sleep(1.0)
        during = tries
        outage.answered()
        await asyncio.wait_for(asyncio.gather(*waiting), 0.2)
        return during, tries

    during, after = asyncio.run(work())
    assert 1 <= during <= 3
    assert after == during


def test_patience_ends() -> None:
    async def work() -> None:
        outage = Outage(0.0)
        for at in (1, 2, 3):
            outage.unanswered(at)
        await outage.wait()

    with pytest.raises(JudgeError, match="--max-outage"):
        asyncio.run(work())


def test_a_stop_wakes_who_sleeps() -> None:
    async def work() -> float:
        stop = Stop()
        asyncio.get_running_loop().call_later(0.05, stop.set, "enough")
        start = time.monotonic()
        with pytest.raises(StoppedError):
            await stop.sleep(30)
        return time.monotonic() - start

    assert asyncio.run(work()) < 5
