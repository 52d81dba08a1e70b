"""The server that a run starts, with a stand-in for `vllm`: start, loss, end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from children import below, gone, sessions

from judge.backends.vllm import Launch, Server
from judge.types import Completion, JudgeError

ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


pytestmark = pytest.mark.usefixtures("standin")


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the stand-in's logs are."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


class Made:
    """A server with the stand-in, and what it said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        launch = Launch(
            "some/model", {"--dtype": "float32"}, dict(os.environ), timeout=10.0
        )
        self.server = Server(launch, self.said.append)

    def use(self, work: Callable[[Server], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            try:
                return await work(self.server)
            finally:
                await self.server.aclose()

        return asyncio.run(whole())


async def ask(server: Server) -> Completion:
    await server.ready()
    return await server.ask(ASK)


def test_it_is_started_asked_and_gone() -> None:
    made = Made()

    async def work(server: Server) -> set[int]:
        assert not below(os.getpid()), "nothing runs before there is something to ask"
        assert (await ask(server)).text == "answer to x"
        return below(os.getpid())

    there = made.use(work)
    assert len(there) >= 3, "guard, server and its child"
    assert not there & set(sessions()), "nothing is left when it is closed"
    assert made.said[0].startswith("Starting vLLM with some/model")
    assert "vLLM is ready" in made.said[-1]
    assert made.server.log is not None
    assert made.server.log.stat().st_mode & 0o777 == 0o600
    assert "--dtype=float32" in made.server.log.read_text("utf-8")


def starts(server: Server) -> int:
    """How many times the stand-in says that it was started."""
    assert server.log is not None
    return server.log.read_text("utf-8").count("started with")


def test_a_server_that_dies_is_started_again_and_all_is_answered_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "8")
    monkeypatch.setenv("STANDIN_DELAY", "0.05")
    tally = tmp_path / "tally"
    monkeypatch.setenv("STANDIN_TALLY", str(tally))
    # Each start answers 6 or 7 and then falls over with at most 2 in flight: the third has
    # at most 6 left, and stays up.
    questions = [f"question {number}" for number in range(18)]

    async def one(server: Server, question: str) -> str:
        asked = {"model": "m", "messages": [{"role": "user", "content": question}]}
        return (await server.ask(asked)).text

    async def work(server: Server) -> list[str]:
        places = asyncio.Semaphore(2)

        async def limited(question: str) -> str:
            async with places:
                return await one(server, question)

        return await asyncio.gather(*map(limited, questions))

    made = Made()
    assert made.use(work) == [f"answer to {question}" for question in questions]
    again = [text for text in made.said if "Starting it again" in text]
    assert len(again) == 2
    assert "(1 of 2)" in again[0]
    assert "the stand-in fell over" in again[0]
    assert starts(made.server) == 3
    # Only what was in flight at a loss can have been answered to nobody.
    assert len(tally.read_text("utf-8").splitlines()) <= len(questions) + 2 * 2
    assert not below(os.getpid())


def test_a_server_that_dies_a_third_time_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "1")

    async def work(server: Server) -> None:
        for _ in range(3):
            assert (await ask(server)).text == "answer to x"
        with pytest.raises(JudgeError, match="ended 3 times in this run") as raised:
            await ask(server)
        message = str(raised.value)
        assert "the stand-in fell over" in message
        assert "in the cache" in message
        assert message.splitlines()[-1] == "  RuntimeError: the stand-in fell over"
        with pytest.raises(JudgeError, match="3 times"):
            await ask(server)  # nobody starts it a fourth time

    made = Made()
    made.use(work)
    assert starts(made.server) == 3
    assert not below(os.getpid())


def test_a_run_that_follows_has_its_own_restarts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "1")
    made = Made()

    async def twice(server: Server) -> None:
        await ask(server)
        await ask(server)

    made.use(twice)
    made.use(twice)
    assert len([text for text in made.said if "(1 of 2)" in text]) == 2


def test_an_engine_that_dies_behind_its_server_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """vLLM answers with status 500 while it ends: that is no answer about the question."""
    monkeypatch.setenv("STANDIN_CRASHES", "1")
    monkeypatch.setenv("STANDIN_LAST_WORDS", "1")
    made = Made()

    async def work(server: Server) -> list[str]:
        return [(await ask(server)).text, (await ask(server)).text]

    assert made.use(work) == ["answer to x", "answer to x"]
    assert starts(made.server) == 2


def test_a_restart_that_fails_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "1")
    monkeypatch.setenv("STANDIN_STARTS", "1")
    monkeypatch.setenv("STANDIN_TALLY", str(tmp_path / "tally"))
    made = Made()

    async def work(server: Server) -> None:
        assert (await ask(server)).text == "answer to x"
        for _ in range(2):
            with pytest.raises(JudgeError, match=r"did not start.*no memory left"):
                await ask(server)

    made.use(work)
    assert starts(made.server) == 2


PARENT = textwrap.dedent("""
    import asyncio, os
    from judge.backends.vllm import Launch, Server

    async def main():
        await Server(Launch("some/model", {}, dict(os.environ)), print).ready()
        print("ready", flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
""")


@pytest.mark.ci
def test_kill_9_of_the_owner_leaves_nothing() -> None:
    line = [sys.executable, "-c", PARENT]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        while "ready" not in owner.stdout.readline():
            pass
        there = below(owner.pid)
        assert len(there) >= 3
        owner.kill()
    assert gone(there)
