"""How many requests may be in flight, and when a server counts as gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from judge.running.waiting import Limiter, Outage, Stop, StoppedError
from judge.types import JudgeError


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


def done(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_a_server_that_keeps_up_is_used_to_the_full() -> None:
    async def work() -> None:
        limiter = Limiter(16)
        assert (await serve(limiter, 300), limiter.limit) == (16, 16)

    done(work())


def test_answers_bring_a_cut_limit_back_in_small_steps() -> None:
    async def work() -> None:
        limiter = Limiter(30)
        limiter.overloaded(await limiter.acquire(), None)
        limiter.release()
        for limit in (21, 23, 25, 27, 29, 30):
            assert limiter.limit == limit
            assert await serve(limiter, limit) == limit

    done(work())


def test_a_429_cuts_the_limit_once_for_all_that_were_under_way_and_never_below_one() -> None:
    async def work() -> None:
        limiter = Limiter(10)
        begans = [await limiter.acquire() for _ in range(10)]
        waiting = asyncio.create_task(serve(limiter, 5))
        for began in begans:
            limiter.overloaded(began, None)
        assert limiter.limit == pytest.approx(7)
        for _ in begans[:3]:
            limiter.release()
        await asyncio.sleep(0.01)
        assert not waiting.done(), "seven are in flight"
        for _ in begans[3:]:
            limiter.release()
        assert await waiting <= 7
        for _ in range(30):
            began = await limiter.acquire()
            await asyncio.sleep(0)
            limiter.overloaded(began, None)
            limiter.release()
        assert limiter.limit == 1

    done(work())


def test_retry_after_holds_everyone_back_and_a_stop_ends_the_wait() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        limiter = Limiter(4)
        limiter.overloaded(await limiter.acquire(), 0.2)
        limiter.release()
        began = loop.time()
        await limiter.acquire()
        assert loop.time() - began >= 0.19
        stop, limiter = Stop(), Limiter(4)
        limiter.overloaded(await limiter.acquire(), 250.0)
        limiter.release()
        loop.call_later(0.05, stop.set, "enough")
        with pytest.raises(StoppedError), stop.ends_waiting():
            await limiter.acquire()
        with pytest.raises(StoppedError):
            await stop.sleep(250)

    done(work())


def test_one_unlucky_study_is_no_outage_and_several_in_a_row_are() -> None:
    async def work() -> None:
        outage = Outage(10)
        for _ in range(20):
            outage.unanswered(1)
        outage.unanswered(2)
        assert not outage.is_on
        outage.answered()
        assert [outage.unanswered(at) for at in (1, 2, 3)] == [False, False, True]
        outage.answered()
        assert not outage.is_on
        assert outage.unanswered(1, is_sure=True), "who is sure needs no others"

    done(work())


def test_while_it_lasts_one_at_a_time_tries_and_patience_ends() -> None:
    async def work() -> None:
        outage = Outage(20)
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
        assert 1 <= tries <= 3
        outage.answered()
        await asyncio.gather(*waiting)
        impatient = Outage(0.0)
        for at in (1, 2, 3):
            impatient.unanswered(at)
        with pytest.raises(JudgeError, match="--max-outage"):
            await impatient.wait()

    done(work())
