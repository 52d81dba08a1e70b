"""The server comes up ready, and never stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import openai
import pytest
from fault_asking import IMPATIENT, error, one, plain
from faultserver import Behaviour, Fault, FaultServer, always, first

TESTS = Path(__file__).parents[1]


def gone(pid: int, timeout: float = 10.0) -> bool:
    """Whether the process ends in time."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_ready_when_entered_and_gone_when_left(mode) -> None:
    behaviour = Behaviour(seed=5, studies={"study-1": first(Fault.SERVER_ERROR)})
    with FaultServer(behaviour, render=plain, mode=mode) as server:
        assert error(server.url).status_code == 500
        assert one(server.url).choices[0].message.content == server.answer("study-1")
        assert server.stats().answered == 1
    assert type(error(server.url, aio=False)) is openai.APIConnectionError
    server.stop()


def test_the_same_port_can_be_used_again() -> None:
    with FaultServer(render=plain) as server:
        one(server.url)
    with FaultServer(render=plain, port=server.port) as again:
        assert again.url == server.url
        assert one(again.url).choices


def test_a_long_plan_fits() -> None:
    studies = {f"study-{number:05d}": always(Fault.EMPTY) for number in range(20_000)}
    with FaultServer(Behaviour(studies=studies), render=plain) as server:
        assert one(server.url, "study-19999").choices[0].message.content == ""


def test_stalled_requests_do_not_keep_it() -> None:
    with FaultServer(Behaviour(rates={Fault.STALL: 1.0}), render=plain) as server:
        error(server.url, timeout=IMPATIENT)
        start = time.monotonic()
    assert time.monotonic() - start < 4


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_a_server_that_cannot_start_says_so(mode, capfd) -> None:
    with FaultServer(render=plain) as server:
        with pytest.raises(RuntimeError, match="did not start"):
            FaultServer(render=plain, mode=mode, port=server.port).__enter__()
        assert one(server.url).choices
    capfd.readouterr()


def test_what_another_process_cannot_import_is_refused() -> None:
    with pytest.raises(ValueError, match="thread"):
        FaultServer(render=lambda annotation: annotation.explanation).__enter__()


def test_a_killed_parent_leaves_no_process() -> None:
    program = (
        "import sys, time\n"
        f"sys.path[:0] = {[str(TESTS), str(Path(__file__).parent)]!r}\n"
        "from fault_asking import plain\n"
        "from faultserver import FaultServer\n"
        "import subprocess\n"
        "real = subprocess.Popen\n"
        "class Popen(real):\n"
        "    def __init__(self, *a, **k):\n"
        "        super().__init__(*a, **k)\n"
        "        print(self.pid, flush=True)\n"
        "subprocess.Popen = Popen\n"
        "server = FaultServer(render=plain).__enter__()\n"
        "print(server.url, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        url = parent.stdout.readline().strip()
        assert one(url).choices
        parent.kill()
    assert gone(pid)


@pytest.mark.parametrize(
    "command", [["-m", "faultserver"], [str(TESTS / "faultserver" / "__main__.py")]]
)
def test_it_runs_from_a_shell(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "behaviour.json"
    file.write_text(json.dumps({"studies": {"study-1": {"then": "server_error"}}}), "utf-8")
    process = subprocess.Popen(
        [
            sys.executable,
            *command,
            *f"--port 0 --render fault_asking:plain --behaviour @{file}".split(),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{Path(__file__).parent}"},
        text=True,
    )
    with process:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        assert error(url).status_code == 500
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
