"""Signals end a run in order, in a terminal, in a notebook and when a connection closes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from running import Shell

import judge

N = 30
HOST = """
import asyncio, signal, sys, time
import judge
url, cache, host = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
references = [f"study-{at:04}. The lungs are clear." for at in range(30)]

def asks():
    try:
        judge.annotate(references, ["Clear."] * 30, judge="model-x", base_url=url, cache=cache,
                       policy=judge.RequestPolicy(concurrency=2))
    except (judge.RunStoppedError, KeyboardInterrupt) as error:
        print(type(error).__name__, time.time(), flush=True)
        time.sleep(1.5)  # the host lives on

async def main():
    asks()

if host == "notebook":  # a loop that runs, and Python's own handler of SIGINT, as in ipykernel
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
else:  # the handler of asyncio.run, which does not interrupt what blocks
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.4)) as running:
        yield running


@pytest.mark.ci
@pytest.mark.parametrize("host", ["notebook", "asyncio.run"])
def test_ctrl_c_under_a_running_loop_ends_within_a_second(
    server: FaultServer, tmp_path: Path, host: str
) -> None:
    words = [sys.executable, "-c", HOST, server.url, str(tmp_path / "cache"), host]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        server.wait_for(lambda stats: stats.answered >= 2, timeout=120)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        name, ended = process.stdout.readline().split()
        asked = server.stats().requests
        process.communicate()
    assert name == "RunStoppedError"
    assert float(ended) - sent < 5  # a second, and what a busy machine adds
    assert server.stats().requests == asked < N, "nothing is sent after it"
    answered = server.stats().answered
    server.set_faults(latency=0.0)
    frame = judge.annotate(
        [f"study-{at:04}. The lungs are clear." for at in range(N)],
        ["Clear."] * N,
        judge="model-x",
        base_url=server.url,
        cache=tmp_path / "cache",
    )
    assert len(frame) == N
    # What was answered by then is not paid for again, but for what a busy machine cut off.
    assert server.stats().requests <= asked + N - answered + 2


def test_the_handlers_of_the_host_come_back(
    server: FaultServer, tmp_path: Path
) -> None:
    def mine(_number: int, _frame: object) -> None:
        pass

    before = {
        number: signal.signal(number, mine)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    wakeup = signal.set_wakeup_fd(writer)
    try:

        def judged() -> None:
            judge.annotate(
                ["study-0001. Clear."],
                ["Clear."],
                judge="model-x",
                base_url=server.url,
                cache=tmp_path / "cache",
            )

        judged()

        async def inside() -> None:
            judged()

        asyncio.run(inside())
        assert (
            signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGTERM) is mine
        )
    finally:
        kept = signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)
    assert kept in (writer, -1)  # asyncio.run of the test itself may have taken it


@pytest.mark.ci
def test_a_closed_terminal_keeps_the_answers_under_way(
    server: FaultServer, tmp_path: Path
) -> None:
    ready = Shell(tmp_path, server.url, "green")
    ready.write(N)
    with ready.start("--concurrency", "2") as process:
        server.wait_for(lambda stats: stats.answered >= 2, timeout=120)
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert "Traceback" not in err
    answered, asked = server.stats().answered, server.stats().requests
    assert answered == asked < N
    assert not list(tmp_path.glob("judge-runs/**/*.json*"))
    server.set_faults(latency=0.0)
    assert ready.run()[0] == 0
    assert server.stats().requests == asked + N - answered
