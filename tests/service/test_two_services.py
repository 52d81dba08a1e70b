"""Two services over one folder of runs: what one does the other shows, and may stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from served import Served, until

MODEL = "model-x"
N = 80


@pytest.fixture
def slow() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.2)) as running:
        yield running


@pytest.fixture
def two(tmp_path: Path, slow: FaultServer) -> Iterator[tuple[Served, Served]]:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    options = ("--runs", tmp_path / "runs", "--offer", f"{MODEL}={slow.url}")
    options += ("--cache", tmp_path / "cache")
    with Served(folders[0], *options) as first, Served(folders[1], *options) as second:
        yield first, second


def n_done(service: Served, name: str) -> int:
    return (service.run(name)["progress"] or {}).get("done", 0)


@pytest.mark.ci
def test_a_run_of_one_service_is_stopped_by_the_other(
    two: tuple[Served, Served], slow: FaultServer
) -> None:
    first, second = two
    name = first.start_run(N, judge=MODEL).json()["id"]
    assert until(lambda: n_done(second, name) >= 2)
    stopping = second.client.post(f"/v1/runs/{name}/stop").json()
    # Not before its process has ended.
    assert stopping["state"] == "running"
    assert stopping["state_text"].startswith("stopping")
    run = first.until_state(name, "stopped", "finished")
    assert run["state"] == "stopped", run
    asked = slow.stats().requests
    assert not until(lambda: slow.stats().requests > asked, patience=1.5)
    assert second.run(name)["state"] == "stopped"
    # The other one goes on with it, and pays for nothing twice.
    slow.set_faults(latency=0.0)
    assert second.client.post(f"/v1/runs/{name}/resume").status_code == 200
    assert first.until_state(name, "finished", "failed")["n_scored"] == N
    assert slow.stats().answered == N


@pytest.mark.ci
def test_a_run_that_waits_at_one_service_is_stopped_by_the_other(
    two: tuple[Served, Served], slow: FaultServer
) -> None:
    first, second = two
    names = [
        first.start_run(N, judge=MODEL, temperature=f"0.{at}").json()["id"]
        for at in range(1, 4)
    ]
    for name in names[:2]:
        first.until_state(name, "running")
    third = names[2]
    assert second.run(third)["state_text"] == "waiting for its turn"
    stopped = second.client.post(f"/v1/runs/{third}/stop").json()
    assert stopped["state"] == "stopped"
    slow.set_faults(latency=0.0)
    for name in names[:2]:
        first.until_state(name, "finished")
    assert not until(lambda: n_done(first, third) > 0, patience=2.0)
    assert first.run(third)["state"] == "stopped"
    first.client.post(f"/v1/runs/{third}/resume")
    assert second.until_state(third, "finished", "failed")["n_scored"] == N


@pytest.mark.ci
def test_a_service_that_ends_in_the_middle_has_no_trace_of_it(
    two: tuple[Served, Served],
) -> None:
    """With a run under way, one that waits at the other service, and a check."""
    first, second = two
    name = first.start_run(N, judge=MODEL).json()["id"]
    assert until(lambda: n_done(first, name) >= 1)
    second.client.post(f"/v1/runs/{name}/stop")
    first.until_state(name, "stopped")
    second.client.post(f"/v1/runs/{name}/resume")
    with ThreadPoolExecutor(1) as pool:
        form = {"to": "/v1/runs/check", "judge": MODEL}
        checked = pool.submit(first.start_run, 3000, **form)
        time.sleep(0.5)
        for service in two:
            service.process.send_signal(signal.SIGINT)
        for service in two:
            assert service.process.wait(40) is not None
            assert "Traceback" not in service.said, service.said
        assert checked.exception() is None or checked.done()
