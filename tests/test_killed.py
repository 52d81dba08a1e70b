"""A run that is killed again and again goes on, pays for no answer twice, and ends the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer

from judge.running.folder import ANNOTATIONS, SUMMARY, TABLE_CSV, TABLE_PARQUET

N, IN_FLIGHT = 200, 4
WHILE_ASKING, WHILE_WRITING = 15, 5
# The command line, in a process that kills itself as the n-th file is moved to its place.
KILLED_AT_FILE = """
import os, signal, sys
from judge.cli import main
from judge.running import folder
n, move = int(sys.argv.pop(1)), folder.replace_file
def replace_file(*args):
    global n
    n -= 1
    if not n:
        os.kill(os.getpid(), signal.SIGKILL)
    move(*args)
folder.replace_file = replace_file
main()
"""


@pytest.mark.ci
def test_killed_at_twenty_moments_it_goes_on_where_it_was(tmp_path: Path) -> None:
    reports = {
        f"study-{at:04}": f"study-{at:04}. The lungs are clear." for at in range(N)
    }
    for name in ("preds.json", "refs.json"):
        (tmp_path / name).write_text(json.dumps(reports), "utf-8")
    with FaultServer(Behaviour(latency=0.05)) as server:
        command = [
            "green",
            "preds.json",
            "refs.json",
            "--judge",
            "model-x",
            "--cache",
            "cache",
        ]
        command += [
            "--base-url",
            server.url,
            "--concurrency",
            str(IN_FLIGHT),
            "--out",
            "run",
        ]

        def start(*program: str, out: str = "run") -> subprocess.Popen[bytes]:
            words = [sys.executable, *program, *command[:-1], out]
            environ = {
                k: v for k, v in os.environ.items() if not k.startswith("OPENAI")
            }
            quiet = subprocess.DEVNULL
            return subprocess.Popen(
                words, cwd=tmp_path, env=environ, stdout=quiet, stderr=quiet
            )

        n_killed = 0
        for _ in range(WHILE_ASKING):
            before = server.stats().requests
            with start("-m", "judge") as process:
                until(process, lambda n=before: server.stats().requests > n + 2)
                process.kill()
            n_killed += process.returncode == -signal.SIGKILL
        assert n_killed > WHILE_ASKING // 2
        with start("-m", "judge", out="first") as process:
            assert process.wait() == 0
        assert N <= server.stats().requests <= N + n_killed * IN_FLIGHT
        asked = server.stats().requests
        for n in range(1, WHILE_WRITING + 1):
            with start("-c", KILLED_AT_FILE, str(n)) as process:
                assert process.wait() == -signal.SIGKILL
        with start("-m", "judge") as process:
            assert process.wait() == 0
        assert server.stats().requests == asked
    for name in (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY):
        assert (tmp_path / "run" / name).read_bytes() == (
            tmp_path / "first" / name
        ).read_bytes()
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {path.name for path in (tmp_path / "first").iterdir()}


def until(process: subprocess.Popen[bytes], is_reached: Callable[[], bool]) -> None:
    """Wait until something is so, or the process has ended."""
    while process.poll() is None and not is_reached():
        time.sleep(0.005)
