"""`--judge ray:MODEL` on a real Ray cluster of two nodes, with a stand-in for the model."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections import Counter
from pathlib import Path

from children import descendants, gone, sessions, wait_for
from nodes import QUESTIONS, STANDIN, Nodes, Run, cached, records

IN_FLIGHT = 8
STRUCTURED = ("--reply", "structured", "--prompt", "green-structured")
TWO = ("--server", "replicas=2", "--server", "gpus-per-replica=0")


def judge(
    folder: Path,
    nodes: Nodes | None,
    *options: str,
    in_flight: int = IN_FLIGHT,
    **environ: str,
) -> Run:
    where = ["--server", f"address={nodes.address}"] if nodes else []
    line = [*STRUCTURED, "--concurrency", str(in_flight), *where, *options]
    environ = {
        "STANDIN_DELAY": "0.1",
        "STANDIN_TALLY": str(folder / "tally"),
        "STANDIN_WAITS": str(folder / "waits"),
        "STANDIN_LATE": str(folder / "late"),
        **environ,
    }
    return Run([str(STANDIN)], folder, *line, **environ)


def answered(folder: Path) -> list[tuple[int, str]]:
    """What the stand-ins say they have answered: the process, and what it was asked."""
    file = folder / "tally"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def tally(folder: Path) -> Counter[str]:
    """How often each question was answered."""
    return Counter(re.search(r"number (\d+)q", text)[1] for _, text in answered(folder))  # type: ignore[index]


def answerers(folder: Path) -> set[int]:
    """The replicas that have answered a question, by their processes."""
    return {pid for pid, _ in answered(folder)}


def check_each_has_one(folder: Path, losses: int = 1) -> None:
    """Every question has one answer, and none but those in flight at a loss was asked again."""
    assert set(records(folder).values()) == {"unparsed"}, (
        "an answer, if not one that can be read"
    )
    assert len(records(folder)) == cached(folder) == QUESTIONS
    asked = tally(folder)
    assert len(asked) == QUESTIONS
    assert asked.total() - QUESTIONS <= IN_FLIGHT * losses


def test_a_replica_that_is_killed_comes_back_and_costs_nothing(
    nodes: Nodes, folder: Path
) -> None:
    (folder / "waits").touch()
    with judge(folder, nodes, *TWO) as run:
        # Without the wait, the first could be through with all before the second is ready.
        run.wait_for(lambda: "ready: 2." in run.err())
        (folder / "waits").unlink()
        run.wait_for(lambda: len(answerers(folder)) == 2)
        (folder / "waits").touch()
        (folder / "late").touch()
        lost = min(nodes.replicas())
        os.kill(lost, signal.SIGKILL)
        run.wait_for(lambda: "A replica is lost; Ray starts another." in run.err())
        (folder / "late").unlink()
        run.wait_for(lambda: len(nodes.replicas() - {lost}) == 2)
        run.wait_for(lambda: run.err().count("ready: 2.") == 2)
        (folder / "waits").unlink()
        assert run.end() == 0, run.err()
    assert gone({lost})
    check_each_has_one(folder)
    assert "Traceback" not in run.err()


def test_lost_replicas_and_a_killed_driver_cost_nothing(
    nodes: Nodes, folder: Path
) -> None:
    with judge(folder, nodes, *TWO) as run:
        run.wait_for(lambda: cached(folder) >= 20)
        for replica in nodes.replicas():
            os.kill(replica, signal.SIGKILL)
        run.wait_for(lambda: cached(folder) >= 60)
        assert run.process is not None
        assert nodes.left()
        run.process.kill()
        run.process.wait()
        kept = cached(folder)
        wait_for(lambda: not nodes.left(), 60)
    with judge(folder, nodes, *TWO) as run:
        assert run.end() == 0, run.err()
    assert kept < QUESTIONS, "there was something left to ask"
    check_each_has_one(folder, losses=3)


def test_a_signal_ends_a_cluster_of_our_own(folder: Path) -> None:
    with judge(folder, None, "--server", "gpus-per-replica=0") as run:
        run.wait_for(lambda: cached(folder) >= 10)
        assert run.process is not None
        there = descendants(run.process.pid)
        assert [pid for pid in there if "raylet" in sessions()[pid][2]]
        os.killpg(
            run.process.pid, signal.SIGTERM
        )  # as a scheduler sends it, to all of the group
        assert run.end(90) == 143, run.err()
    assert gone(there, 10)
    assert "Traceback" not in run.err()
    assert "same command" in run.err()
    check = [
        line for line in run.err().splitlines() if "raylet" in line or "[20" in line
    ]
    assert check == [], "Ray says nothing of its own"


def test_a_model_that_cannot_start_is_one_error(nodes: Nodes, folder: Path) -> None:
    with judge(folder, nodes, *TWO, STANDIN_FAILS="the model has no weights") as run:
        assert run.end(120) == 2
    err = run.err()
    assert err.count("Error: ") - err.count("RuntimeError: ") == 1, err
    assert "the model has no weights" in err
    assert "Traceback" not in err


def get(address: str) -> dict[str, str]:
    with urllib.request.urlopen(f"http://{address}/-/routes", timeout=10) as answer:
        return json.load(answer)


def test_a_serve_that_runs_stays_and_its_application_is_found_by_name(
    nodes: Nodes, folder: Path
) -> None:
    # The first goes on while the second asks.
    one = ("--server", "gpus-per-replica=0")
    with judge(folder, nodes, *one, in_flight=1, STANDIN_DELAY="0.4") as first:
        first.wait_for(lambda: cached(folder) >= 1)
        address = listening(nodes)
        assert address.startswith("127.0.0.1:"), "loopback alone"
        (name,) = get(address).values()
        other = folder / "other"
        other.mkdir()
        for each in ("preds.json", "refs.json"):
            (other / each).write_bytes((folder / each).read_bytes())
        (other / "model").symlink_to(folder / "model")
        found = ["--server", f"application={name}", "--server", f"http={address}"]
        with Run(
            ["-m", "judge"], other, *STRUCTURED, *found, "--concurrency", "50"
        ) as second:
            assert second.end() == 0, second.err()
        assert len(records(other)) == QUESTIONS
        assert get(address) == {f"/{name}": name}, "it was found, and left"
        assert first.process is not None
        os.kill(first.process.pid, signal.SIGINT)
        assert first.end() == 130, first.err()


def listening(nodes: Nodes) -> str:
    """Where the cluster's proxies listen, as the system lists it: HOST:PORT."""
    found = set()
    for proxy in nodes.actors("ProxyActor"):
        inodes = set()
        for link in Path(f"/proc/{proxy}/fd").iterdir():
            try:
                inodes.add(link.readlink().name)
            except OSError:
                continue
        for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and f"socket:[{columns[9]}]" in inodes:
                number, port = columns[1].split(":")
                host = ".".join(str(byte) for byte in reversed(bytes.fromhex(number)))
                with_routes = f"{host}:{int(port, 16)}"
                try:
                    get(with_routes)
                except (OSError, ValueError):
                    continue
                found.add(with_routes)
    assert len(found) == 1, found
    return found.pop()
