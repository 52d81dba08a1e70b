"""The server that a run starts, with a stand-in for `vllm`: start, loss, restart, end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from children import below, gone, guard_of, sessions, wait_for

from judge.backends.errors import UnavailableError
from judge.backends.vllm.server import Launch, Server, executable
from judge.types import Completion, JudgeError

ASK = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


pytestmark = pytest.mark.usefixtures("standin")


class Made:
    """A server with the stand-in, and what it said."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.said: list[str] = []
        self.log = folder / "logs" / "server.log"
        launch = Launch("some/model", ("--dtype", "float32"), self.log, dict(os.environ), **options)
        self.server = Server(launch, self.said.append, timeout=10.0)

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
    assert "--dtype', 'float32'" in made.log.read_text("utf-8")


def test_its_key_is_on_no_command_line(made: Made) -> None:
    async def work(server: Server) -> None:
        await server.ready()
        key = (await server.address()).key
        assert len(key) > 20
        lines = [line for _, _, line in sessions().values()]
        assert any("some/model" in line for line in lines)
        assert not any(key in line for line in lines)

    made.use(work)


def test_it_reports_its_use_to_nobody(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user's environment says [vLLM's documentation of its usage statistics]."""
    monkeypatch.setenv("VLLM_NO_USAGE_STATS", "0")

    async def work(server: Server) -> None:
        await server.ready()
        started = [pid for pid in below(os.getpid()) if "some/model" in sessions()[pid][2]]
        assert started
        for pid in started:
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            assert b"VLLM_NO_USAGE_STATS=1" in environ
            assert b"DO_NOT_TRACK=1" in environ

    made.use(work)


@pytest.mark.parametrize("deaf", [False, True])
def test_a_crash_is_forgiven_once(made: Made, monkeypatch: pytest.MonkeyPatch, deaf: bool) -> None:
    """`deaf`: the server lives on without its engine, answering errors."""
    monkeypatch.setenv("STANDIN_CRASHES", "2")
    if deaf:
        monkeypatch.setenv("STANDIN_DEAF", "1")
    made = Made(made.log.parent)

    async def work(server: Server) -> None:
        for _ in range(2):
            assert (await ask(server)).text == "answer to x"
        with pytest.raises(UnavailableError):
            await ask(server)
        for _ in range(2):
            assert (await ask(server)).text == "answer to x"
        with pytest.raises(JudgeError, match=r"second time.*in the cache.*server\.log"):
            await ask(server)
        with pytest.raises(JudgeError, match="second time"):
            await server.ready()

    made.use(work)
    assert not below(os.getpid())
    if not deaf:
        assert any("the stand-in fell over" in line for line in made.said)


def test_a_taken_port_is_exchanged_for_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("1", "utf-8")
    monkeypatch.setenv("STANDIN_TAKEN", str(tmp_path / "taken"))
    Made(tmp_path).use(ask)
    assert (tmp_path / "taken").read_text("utf-8") == "-1"


def test_a_server_that_is_never_ready_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_HANGS", "1")
    with pytest.raises(JudgeError, match=r"not ready.*--vllm-timeout.*server\.log"):
        Made(tmp_path, timeout=1.5).use(ask)
    assert not below(os.getpid())


def test_cancelled_while_it_loads_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_HANGS", "1")

    async def work(server: Server) -> None:
        asking = asyncio.ensure_future(ask(server))
        await asyncio.sleep(1)
        assert below(os.getpid())
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    Made(tmp_path).use(work)
    assert not below(os.getpid())


PARENT = textwrap.dedent("""
    import asyncio, os, sys
    from pathlib import Path
    from judge.backends.vllm.server import Launch, Server

    async def main():
        launch = Launch("some/model", (), Path(sys.argv[1]), dict(os.environ))
        await Server(launch, print, 10.0).address()
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


def test_a_guard_that_is_killed_takes_the_server_along_and_it_is_restarted(made: Made) -> None:
    async def work(server: Server) -> None:
        await ask(server)
        there = below(os.getpid())
        os.kill(guard_of(os.getpid()), signal.SIGKILL)
        await asyncio.to_thread(time.sleep, 0.5)
        assert (await ask(server)).text == "answer to x"
        left = {pid for pid in there if pid in sessions() and "sleep" not in sessions()[pid][2]}
        assert not left
        for pid in there & set(sessions()):
            os.kill(pid, signal.SIGKILL)

    made.use(work)


def test_a_child_that_ignores_the_polite_way_is_killed(tmp_path: Path) -> None:
    from judge.backends.vllm.server import Process

    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    process = Process([sys.executable, "-c", stubborn], dict(os.environ), tmp_path / "log")
    there = wait_for(lambda: len(below(os.getpid())) == 2 and below(os.getpid()), 10)
    assert process.exit_status is None
    time.sleep(0.5)
    process.stop()
    assert not there & set(sessions())


def test_a_vllm_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "empty" / "python"))
    with pytest.raises(JudgeError, match=r"not installed.*pip install 'vllm>=.*hf:MODEL"):
        executable({"PATH": str(tmp_path / "empty")})
    with pytest.raises(JudgeError, match=r"JUDGE_VLLM.*nothere"):
        executable({"PATH": str(tmp_path), "JUDGE_VLLM": str(tmp_path / "nothere")})
