"""A run asked in batches that is killed: nothing is lost, nothing is asked twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from faultserver import Batching, BatchPlan, Fault, FaultServer, first
from running import Shell, keys

N = 120
KILLS = 20
BATCH = ("--batch", "--batch-poll", "0.1", "--out", "run", "--format", "json")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """What is killed is the run, whatever its rubric."""
    with FaultServer(rubric="green", batching=Batching(seconds=6)) as running:
        yield running


@pytest.fixture
def ready(server: FaultServer, tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, server.url, "green")
    shell.write(N)
    return shell


def asked_once(server: FaultServer, kills: int = 0) -> None:
    """No question was asked twice: each stood in one batch, or was asked directly.

    Each process that has something to send asks one directly. As in every run, that is asked
    again where the process is killed while the answer is on its way; it is rare.
    """
    stats, directly = server.batches.stats(), server.stats().by_study
    assert set(stats.created.values()) == {1}, "a question stood in two batches"
    assert set(stats.paid.values()) == {1}
    assert sum(directly.values()) - len(directly) <= kills / 5
    assert sorted([*stats.studies.values(), *directly]) == keys(N)


def test_twenty_kills_at_random_moments(server: FaultServer, ready: Shell) -> None:
    chance = random.Random(18)
    ends = []
    for _ in range(KILLS):
        with ready.start(*BATCH, "--batch-size", "40") as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.6, 2.6))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            ends.append(process.returncode)
    assert ends.count(-signal.SIGKILL) > KILLS / 2
    code, out, err = ready.run(*BATCH, "--batch-size", "40")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    asked_once(server, KILLS)


@pytest.mark.parametrize(
    ("name", "is_done"),
    [
        *(("upload_file", True), ("create_batch", False), ("create_batch", True)),
        *(("get_batch", False), ("get_content", False)),
    ],
)
def test_killed_while_a_call_is_under_way(
    server: FaultServer, ready: Shell, name: str, *, is_done: bool
) -> None:
    server.batches.set(seconds=None, polls=2)
    server.batches.meet(name, first(Fault.STALL), after=is_done)
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests.get(name):
            time.sleep(0.05)
        time.sleep(0.2)
        process.kill()
        process.communicate()
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    asked_once(server)
    assert server.batches.stats().creates == 1


def test_a_batch_whose_making_was_not_answered_is_found_late_in_the_list(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.set(seconds=None, polls=3)
    server.batches.next(BatchPlan(hidden_lists=2))
    server.batches.meet("create_batch", first(Fault.DROP), after=True)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    asked_once(server)
    assert server.batches.stats().creates == 1


def test_ctrl_c_leaves_the_batch_and_says_how_to_come_back(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.set(seconds=None)
    # As a shell does to what it starts with `&`.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = ready.start(*BATCH)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        while not server.batches.stats().requests.get("get_batch"):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Come back to them with the same command" in err
    assert "judge green preds.json refs.json --judge model-x" in err
    assert "Traceback" not in err
    (batch,) = server.batches.all()
    assert batch["status"] in ("validating", "in_progress")
    server.batches.set(polls=1)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    asked_once(server)


def test_two_processes_share_the_batches(server: FaultServer, ready: Shell) -> None:
    server.batches.set(seconds=2)
    with (
        ready.start(*BATCH[:-3], "one", "--format", "json") as one,
        ready.start(*BATCH[:-3], "two", "--format", "json") as two,
    ):
        results = [process.communicate() for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], results
    assert results[0][0] == results[1][0]
    asked_once(server)


def test_a_run_over_more_studies_waits_for_the_batch_of_another(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.set(seconds=4)
    with ready.start(*BATCH) as process:
        while not server.batches.stats().creates:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    ready.write(N + 30)
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N + 30
    assert "119 questions stand in batch" in err
    assert "of another run: waiting for that" in err
    assert set(server.batches.stats().created.values()) == {1}
    assert set(server.batches.stats().paid.values()) == {1}


def test_a_plain_run_says_that_it_asks_what_a_batch_holds(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.set(seconds=None)
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests.get("get_batch"):
            time.sleep(0.05)
        process.kill()
        process.communicate()
    code, _, err = ready.run("--out", "plain")
    assert code == 0, err
    assert "under way in batches" in err
    assert "with --batch the run waits for them" in err
