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

from judge.backends.base import UnavailableError
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
        launch = Launch("some/model", {"--dtype": "float32"}, dict(os.environ), timeout=10.0)
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


async def after_crash(server: Server) -> None:
    """Ask until the end of the server is known, as a run does after a pause."""
    while True:
        try:
            await ask(server)
        except UnavailableError:
            await asyncio.sleep(0.1)


def test_a_server_that_dies_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "1")

    async def work(server: Server) -> None:
        assert (await ask(server)).text == "answer to x"
        with pytest.raises(JudgeError, match=r"the stand-in fell over.*\.log.*in the cache"):
            await after_crash(server)

    Made().use(work)
    assert not below(os.getpid())


PARENT = textwrap.dedent("""
    import asyncio, os
    from judge.backends.vllm import Launch, Server

    async def main():
        await Server(Launch("some/model", {}, dict(os.environ)), print).ready()
        print("ready", flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
""")


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
