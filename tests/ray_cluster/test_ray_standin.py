"""`--judge ray:MODEL` on a real Ray cluster of two nodes, with a stand-in for `vllm`."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest
from children import descendants, gone, sessions, wait_for
from nodes import QUESTIONS, Nodes, Run, cached, records, write_standin

IN_FLIGHT = 8
STRUCTURED = ("--reply", "structured", "--prompt", "green-structured")


def judge(folder: Path, nodes: Nodes | None, *options: str) -> Run:
    where = ["--server", f"address={nodes.address}"] if nodes else []
    line = [*STRUCTURED, "--concurrency", str(IN_FLIGHT), *where, *options]
    return Run(folder, folder / "model", *line, JUDGE_VLLM=str(folder / "vllm"))


def answered(folder: Path) -> list[tuple[int, str]]:
    """What the stand-ins say they have answered: the process, and what it was asked."""
    file = folder / "tally"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def tally(folder: Path) -> Counter[str]:
    """How often each question was answered."""
    return Counter(re.search(r"number (\d+)q", text)[1] for _, text in answered(folder))  # type: ignore[index]


def answerers(folder: Path) -> set[int]:
    """The stand-ins that have answered a question, by their processes."""
    return {pid for pid, _ in answered(folder)}


def let_both_answer(run: Run, folder: Path) -> None:
    """Let answers come once both replicas are there; returns when each has given one.

    Without the wait, the first could be through with all questions before the second is ready.
    """
    wait_for(lambda: "2 of 2 replicas ready" in run.err(), 400)
    (folder / "waits").unlink()
    run.wait_for(2, lambda: len(answerers(folder)))


def check_each_has_one(folder: Path) -> None:
    """Every question has one answer, and none but those in flight at a loss was asked again."""
    assert set(records(folder).values()) == {"unparsed"}, "an answer, if not one that can be read"
    assert len(records(folder)) == cached(folder) == QUESTIONS
    asked = tally(folder)
    assert len(asked) == QUESTIONS
    assert asked.total() - QUESTIONS <= IN_FLIGHT


def kill_actor(nodes: Nodes) -> set[int]:
    actor, below = next(iter(nodes.replicas().items()))
    os.kill(actor, signal.SIGKILL)
    return below


def kill_server(nodes: Nodes) -> set[int]:
    lost = nodes.servers()[0]
    for pid in lost:
        os.kill(pid, signal.SIGKILL)
    return lost


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize("kill", [kill_actor, kill_server])
def test_a_replica_that_is_lost_costs_nothing(nodes: Nodes, folder: Path, kill: object) -> None:
    (folder / "waits").touch()
    with judge(folder, nodes, "--server", "replicas=2") as run:
        let_both_answer(run, folder)
        lost = kill(nodes)  # type: ignore[operator]
        assert run.end() == 0, run.err()
    assert gone(lost)
    assert run.err().count("is lost") == 1
    assert len(answerers(folder)) == 2
    check_each_has_one(folder)


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_cluster_of_our_own(
    folder: Path, number: signal.Signals, status: int
) -> None:
    with judge(folder, None) as run:
        run.wait_for(10, lambda: cached(folder))
        assert run.process is not None
        there = descendants(run.process.pid)
        assert [pid for pid in there if "raylet" in sessions()[pid][2]]
        os.killpg(run.process.pid, number)  # as a terminal sends it, to all of the group
        assert run.end(60) == status, run.err()
    assert gone(there, 5)
    assert "Traceback" not in run.err()
    assert "same command" in run.err()
    check = [line for line in run.err().splitlines() if "raylet" in line or "[20" in line]
    assert check == [], "Ray says nothing of its own"


@pytest.mark.usefixtures("standin")
def test_a_killed_driver_leaves_no_vllm(nodes: Nodes, folder: Path) -> None:
    (folder / "waits").touch()
    with judge(folder, nodes, "--server", "replicas=2") as run:
        wait_for(lambda: "2 of 2 replicas ready" in run.err(), 400)
        there = set().union(*nodes.servers())
        assert there
        assert run.process is not None
        run.process.kill()
        assert gone(there)
        assert wait_for(lambda: not nodes.replicas(), 20)


def test_a_model_that_cannot_start_is_one_error(nodes: Nodes, folder: Path) -> None:
    (folder / "log").write_text("vllm: error: unrecognized arguments: --nosuch\n", "utf-8")
    write_standin(folder, STANDIN_LOG=str(folder / "log"))
    with judge(folder, nodes, "--server", "replicas=2", "--server=nosuch") as run:
        assert run.end(60) == 2
    err = run.err()
    assert err.count("Error: ") == 1, err
    assert "unrecognized arguments: --nosuch" in err.partition("Error: ")[2]
    assert "Traceback" not in err
