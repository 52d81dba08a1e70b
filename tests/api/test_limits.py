"""How many requests may be in flight, and when a server counts as gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from judge.running.cached_client import Limiter
from judge.running.engine import StoppedError, StopSignal


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


def test_a_429_cuts_the_limit_once_for_all_that_were_under_way_and_never_below_one() -> None:
    async def work() -> None:
        limiter = Limiter(10)
        begans = [await limiter.acquire() for _ in range(10)]
        waiting = asyncio.create_task(serve(limiter, 5))
        for began in begans:
            limiter.overloaded(began, None)
        assert limiter.limit == 7
        for _ in begans:
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
        stop, limiter = StopSignal(), Limiter(4)
        limiter.overloaded(await limiter.acquire(), 250.0)
        limiter.release()
        loop.call_soon(stop.set, "enough")
        with pytest.raises(StoppedError), stop.ends_waiting():
            await limiter.acquire()

    done(work())
