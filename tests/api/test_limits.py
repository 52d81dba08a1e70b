"""How many requests may be in flight, and when a server counts as gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from judge.running.cached_client import Limiter
from judge.running.engine import StoppedError, StopSignal


def done(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_retry_after_holds_everyone_back_and_a_stop_ends_the_wait() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        limiter = Limiter(4)
        limiter.hold(0.2)
        began = loop.time()
        await limiter.acquire()
        assert loop.time() - began >= 0.19
        stop, limiter = StopSignal(), Limiter(4)
        limiter.hold(250.0)
        loop.call_soon(stop.set, "enough")
        with pytest.raises(StoppedError), stop.ends_waiting():
            await limiter.acquire()

    done(work())


def test_one_unlucky_study_is_no_outage_and_several_in_a_row_are() -> None:
    async def work() -> None:
        limiter = Limiter(4)
        assert not any(limiter.unanswered(at) for at in [1] * 20 + [2])
        limiter.reached()
        assert [limiter.unanswered(at) for at in (1, 2, 3)] == [False, False, True]
        limiter.reached()
        assert not limiter.is_lost
        assert limiter.unanswered(1, is_sure=True), "who is sure needs no others"

    done(work())
