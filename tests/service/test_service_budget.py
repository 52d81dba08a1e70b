"""What the judges may cost the service's owner: never passed, never forgotten."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from served import Served, until

from judge.backends.openai import OPENAI_URL
from judge.running.cost import Prices
from judge.service.settings import FILE, Ledger, limits
from judge.types import JudgeError

MODEL = "model-x"
PRICED = os.pathsep.join(
    filter(None, (str(Path(__file__).parent / "priced"), os.environ.get("PYTHONPATH")))
)


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.05)) as running:
        yield running


def asking(folder: Path, model: FaultServer, dollars: float) -> Served:
    arguments = ("--offer", f"{MODEL}={model.url}", "--budget", dollars)
    return Served(folder, *arguments, environ={"PYTHONPATH": PRICED})


def left(service: Served) -> float:
    (_, judge) = service.client.get("/v1/judges").json()["judges"]
    assert judge["name"] == MODEL
    return float(judge["left"])


def billed(model: FaultServer) -> float:
    """What a provider would ask for the answers that the model gave."""
    dollars = Prices("gpt-4o", OPENAI_URL).dollars(model.stats().usage)
    assert dollars is not None
    return dollars


def put_spent(folder: Path, dollars: float) -> None:
    with closing(sqlite3.connect(folder / "judge-runs" / ".jobs" / FILE)) as table:
        table.execute("REPLACE INTO spent VALUES (?, ?)", (MODEL, dollars))
        table.commit()


@pytest.mark.ci
def test_concurrent_runs_and_a_restart_never_pass_it(
    tmp_path: Path, model: FaultServer
) -> None:
    # A model that nobody knows may answer at length, so that each request sets $0.08 aside.
    with asking(tmp_path, model, 0.3) as service:
        assert left(service) == 0.3
        names = [service.start_run(n, judge=MODEL).json()["id"] for n in (80, 81)]
        stopped = [
            service.until_state(name, "stopped", "finished", "failed") for name in names
        ]
        assert [run["state"] for run in stopped] == ["stopped", "stopped"]
        assert all(MODEL in run["detail"] for run in stopped)
        before = billed(model)
        assert 0.15 < before <= 0.3
        assert left(service) == pytest.approx(0.3 - before)
    with asking(tmp_path, model, 0.3) as service:
        assert left(service) == pytest.approx(0.3 - before)
        # More studies than were asked about before: what is in the cache costs nothing.
        again = service.start_run(200, judge=MODEL).json()["id"]
        assert (
            "of $0.30 left" in service.until_state(again, "stopped", "failed")["detail"]
        )
    with asking(tmp_path, model, 5) as service:
        assert service.client.post(f"/v1/runs/{names[0]}/resume").status_code == 200
        assert service.until_state(names[0], "finished", "failed")["n_scored"] == 80
        assert left(service) == pytest.approx(5 - billed(model))


@pytest.mark.ci
def test_what_was_under_way_when_a_process_was_killed_counts_at_its_most(
    tmp_path: Path, model: FaultServer
) -> None:
    model.set_faults(latency=10)
    with asking(tmp_path, model, 50) as service:
        service.start_run(16, judge=MODEL)
        assert until(lambda: left(service) < 50 - 16 * 0.02)
        service.kill()
        at_most = 50 - Ledger(tmp_path / "judge-runs/.jobs" / FILE, MODEL).spent
        service.start()
        assert left(service) <= at_most < 50 - 16 * 0.02


@pytest.mark.ci
def test_what_was_spent_is_never_taken_for_nothing(
    tmp_path: Path, model: FaultServer
) -> None:
    with asking(tmp_path, model, 50) as service:
        assert left(service) == 50
        path = tmp_path / "judge-runs/.jobs" / FILE
        put_spent(tmp_path, 1)
        for damage in (b"{}" * 600, path.read_bytes()[:5000]):
            path.write_bytes(damage)
            run = service.start_run(2, judge=MODEL).json()["id"]
            assert (
                FILE
                in service.until_state(run, "failed", "stopped", "finished")["detail"]
            )
            assert service.client.get("/v1/judges").json()["judges"][1]["left"] is None
        assert model.stats().requests == 0


GPT, O3, LOCAL = {"gpt-4o": None}, {"o3": None}, {"mine": "http://127.0.0.1:9/v1"}


def test_a_budget_is_for_its_judge_alone() -> None:
    assert limits({"50": None}, GPT, {}) == {"gpt-4o": 50.0}
    both = {"gpt-4o": 50.0, "o3": 7.5}
    assert limits({"gpt-4o": "50", "o3": "7.5"}, GPT | O3, {}) == both
    for options, judges, named in (
        ({"50": None}, GPT | O3, "gpt-4o, o3"),
        ({"o3": "50"}, GPT, "o3"),
        ({"5": None, "gpt-4o": "6"}, GPT, "gpt-4o"),
        ({"gpt-4o": "nan"}, GPT, "nan"),
        ({"5": None}, LOCAL, "mine"),
        ({"5": None}, {"far": "http://10.0.0.1:9/v1"}, "far"),
    ):
        with pytest.raises(JudgeError, match=named):
            limits(options, judges, {})
