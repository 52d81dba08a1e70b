"""The server that a run starts, with a stand-in for `vllm`: start, loss, restart, end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from children import below, gone, guard_of, sessions

from judge.backends.base import UnavailableError
from judge.backends.vllm import Launch, Server
from judge.types import Completion, JudgeError

ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


pytestmark = pytest.mark.usefixtures("standin")


class Made:
    """A server with the stand-in, and what it said."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.said: list[str] = []
        self.log = folder / "logs" / "server.log"
        flags = {"--dtype": "float32"}
        given = {"environ": dict(os.environ), "timeout": 10.0, **options}
        self.server = Server(Launch("some/model", flags, self.log, **given), self.said.append)

    def use(self, work: Callable[[Server], Awaitable[Any]]) -> Any:
        async def whole() -> Any:
            try:
                return await work(self.server)
            finally:
                await self.server.aclose()

        return asyncio.run(whole())


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


async def ask(server: Server) -> Completion:
    await server.ready()
    return await server.ask(ASK)


def test_it_is_started_asked_and_gone(made: Made) -> None:
    async def work(server: Server) -> set[int]:
        assert not below(os.getpid()), "nothing runs before there is something to ask"
        assert (await ask(server)).text == "answer to x"
        return below(os.getpid())

    there = made.use(work)
    assert len(there) >= 3, "guard, server and the child that left the group"
    assert not there & set(sessions()), "nothing is left when it is closed"
    assert made.said[0].startswith("Starting vLLM with some/model")
    assert "vLLM is ready" in made.said[-1]
    assert "--dtype=float32" in made.log.read_text("utf-8")


def test_judges_of_one_command_share_a_server_that_stays(made: Made) -> None:
    """Each asks in an event loop of its own; the server is started once, and then stopped."""
    made.server.stays = True
    there = [made.use(lambda server: ask(server)) and below(os.getpid()) for _ in range(3)]
    assert there[0] == there[1] == there[2] != set()
    assert sum(line.startswith("Starting vLLM") for line in made.said) == 1
    made.server.stop()
    assert not there[0] & set(sessions())


async def after_crash(server: Server) -> Completion:
    """Ask until the end of the server is known, as a run does after a pause."""
    while True:
        try:
            return await ask(server)
        except UnavailableError:
            await asyncio.sleep(0.1)


def test_a_crash_is_forgiven_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CRASHES", "2")
    made = Made(made.log.parent)

    async def work(server: Server) -> None:
        for _ in range(2):
            assert (await ask(server)).text == "answer to x"
        with pytest.raises(UnavailableError):
            await ask(server)
        for _ in range(2):
            assert (await after_crash(server)).text == "answer to x"
        with pytest.raises(JudgeError, match=r"server\.log.*in the cache"):
            await after_crash(server)
        with pytest.raises(JudgeError):
            await server.ready()

    made.use(work)
    assert not below(os.getpid())
    assert any("the stand-in fell over" in line for line in made.said)


def test_no_more_is_sent_than_the_server_has_room_for(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_ROOM", "1.00")
    monkeypatch.setenv("STANDIN_DELAY", "0.1")
    monkeypatch.setenv("STANDIN_TALLY", str(tmp_path / "tally"))
    made = Made(made.log.parent)

    async def work(server: Server) -> None:
        await server.ready()
        await asyncio.gather(*(server.ask(ASK) for _ in range(12)))

    made.use(work)
    lines = (tmp_path / "tally.under-way").read_text("utf-8").splitlines()
    assert len(lines) == 12
    assert max(json.loads(line)[1] for line in lines) <= 3


def test_a_server_that_is_never_ready_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_HANGS", "1")
    with pytest.raises(JudgeError, match=r"--vllm-timeout.*server\.log"):
        Made(tmp_path, start_timeout=1.5).use(ask)
    assert not below(os.getpid())


PARENT = textwrap.dedent("""
    import asyncio, os, sys
    from pathlib import Path
    from judge.backends.vllm import Launch, Server

    async def main():
        launch = Launch("some/model", {}, Path(sys.argv[1]), dict(os.environ))
        await Server(launch, print).ready()
        print("ready", flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
""")


@pytest.mark.parametrize("how", ["kill -9 of the owner", "and of the guard"])
def test_kill_9_of_the_owner_leaves_nothing(tmp_path: Path, how: str) -> None:
    line = [sys.executable, "-c", PARENT, str(tmp_path / "server.log")]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        while "ready" not in owner.stdout.readline():
            pass
        guard, there = guard_of(owner.pid), below(owner.pid)
        assert len(there) >= 3
        owner.kill()
        if how != "kill -9 of the owner":
            os.kill(guard, signal.SIGKILL)
            # Nobody is left to look for a process that has left the group.
            there = {pid for pid in there if sessions().get(pid, (0, 0, ""))[1] == guard}
    assert gone(there)
