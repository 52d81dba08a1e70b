"""How many requests may be in flight, and when a server counts as gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import pytest

from judge.backends.base import CHAT, Client, Mode, UnreachableError
from judge.backends.connection import NO_KEY, Connection, Pool
from judge.running.cached_client import Limiter
from judge.running.progress import StoppedError, StopSignal
from judge.types import Completion


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


def test_overload_halves_what_is_in_flight_and_answers_bring_it_back() -> None:
    async def work() -> None:
        limiter = Limiter(16)
        for _ in range(16):
            await limiter.acquire()
        for _ in range(16):  # all that were under way say so
            limiter.overloaded()
        assert 8 <= limiter.allowed <= 8.5
        for _ in range(16):
            limiter.release()
        for _ in range(8):
            limiter.answered()
        assert 8.9 <= limiter.allowed <= 9.5, "one more after a round"
        for _ in range(1000):
            limiter.answered()
        assert limiter.allowed == 16

    done(work())


# Several servers


class Far(Client):
    """Answers when it is told to, or is not there."""

    def __init__(self) -> None:
        self.is_lost = False
        self.asked = 0
        self.go = asyncio.Event()

    async def ask(
        self,
        body: Mapping[str, Any],  # noqa: ARG002
        path: str = CHAT,  # noqa: ARG002
        mode: Mode | None = None,  # noqa: ARG002
    ) -> Completion:
        self.asked += 1
        if self.is_lost:
            raise UnreachableError("connection")
        await self.go.wait()
        return Completion("", "stop", "m")

    async def aclose(self) -> None:
        pass


def test_the_least_busy_server_is_asked_and_a_lost_one_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        clients = {
            url: Far() for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")
        }
        said: list[str] = []
        places = [(Connection(url), NO_KEY) for url in clients]
        pool = Pool(
            places, "m", said.append, lambda connection, _: clients[connection.base_url]
        )
        slow, quick = clients.values()
        quick.go.set()
        tasks = [asyncio.create_task(pool.ask({}))]
        await asyncio.sleep(0)
        for _ in range(6):
            await pool.ask({})
        assert (slow.asked, quick.asked) == (1, 6), "the other one still has a request"
        slow.go.set()
        await asyncio.gather(*tasks)
        slow.is_lost = True
        for _ in range(4):
            await pool.ask({})
        assert slow.asked == 2
        assert [line.split()[0] for line in said] == ["http://127.0.0.1:1/v1"]
        slow.is_lost = False
        monkeypatch.setattr("judge.backends.connection.LEFT_OUT", 0.0)
        for _ in range(12):
            await pool.ask({})
        assert slow.asked > 2
        assert said[-1].endswith("answers again.")
        slow.is_lost = quick.is_lost = True
        with pytest.raises(UnreachableError):
            await pool.ask({})

    done(work())
