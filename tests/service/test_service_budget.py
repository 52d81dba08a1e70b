"""What a judge may cost the owner: over real sockets, with a model that has GPT-4o's price."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from faultserver.faults import Fault
from served import Served, is_problem, until

from judge.backends.connection import OPENAI_URL
from judge.running.progress import Prices
from judge.service.budget import Ledger, limits
from judge.types import JudgeError, Usage

MODEL = "model-x"
PRICED = os.pathsep.join(
    filter(None, (str(Path(__file__).parent / "priced"), os.environ.get("PYTHONPATH")))
)


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.05)) as running:
        yield running


def asking(folder: Path, model: FaultServer, dollars: float) -> Served:
    arguments = ("--allow-judge", f"{MODEL}={model.url}", "--budget", dollars)
    return Served(folder, *arguments, environ={"PYTHONPATH": PRICED})


def left(service: Served) -> float:
    (_, judge) = service.client.get("/v1/judges").json()["judges"]
    assert judge["name"] == MODEL
    return float(judge["left"])


def billed(model: FaultServer) -> float:
    """What a provider would ask for the answers that the model gave."""
    stats = model.stats()
    usage = Usage(stats.prompt_tokens, stats.completion_tokens, stats.cached_tokens)
    dollars = Prices("gpt-4o", OPENAI_URL).dollars(usage)
    assert dollars is not None
    return dollars


def write_spent(folder: Path, dollars: float) -> None:
    path = folder / "judge-runs" / ".jobs" / "spent.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({MODEL: dollars}), "utf-8")


def test_two_runs_at_once_and_a_restart_never_pass_it(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model, 0.5) as service:
        assert left(service) == 0.5
        names = [service.start_run(n, judge=MODEL).json()["id"] for n in (200, 201)]
        stopped = [service.until_state(name, "stopped", "finished", "failed") for name in names]
        assert [run["state"] for run in stopped] == ["stopped", "stopped"]
        for run in stopped:
            assert f"the budget of {MODEL} has no room for another answer: $0." in run["detail"]
        assert 0.4 < billed(model) <= 0.5
        assert left(service) == pytest.approx(0.5 - billed(model))
        assert "no room" in is_problem(service.annotate(judge=MODEL), 402)
        free = {
            "reference": "study-0000. The lungs are clear.",
            "candidate": "The lungs are clear. Small left effusion.",
        }
        assert service.annotate(**free, judge=MODEL).json()["outcome"] == "annotated"
        assert service.annotate().status_code == 200, "the built-in judge costs nothing"
        before = billed(model)
    with asking(tmp_path, model, 0.5) as service:
        assert left(service) == pytest.approx(0.5 - before)
        assert "no room" in is_problem(service.annotate(judge=MODEL), 402)
        assert billed(model) == before
    with asking(tmp_path, model, 5) as service:
        assert service.client.post(f"/v1/runs/{names[0]}/resume").status_code == 200
        assert service.until_state(names[0], "finished", "failed")["n_scored"] == 200
        assert left(service) == pytest.approx(5 - billed(model))


def test_a_runs_own_limit_holds_within_it(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model, 0.35) as service:
        name = service.start_run(200, judge=MODEL, max_cost=0.3).json()["id"]
        assert service.until_state(name, "stopped", "finished")["state"] == "stopped"
        assert 0 < billed(model) <= 0.3
        # Where the budget has room for three answers at a time, and the run for no more than ten.
        write_spent(tmp_path, 0.27)
        name = service.start_run(201, judge=MODEL, max_cost=0.25).json()["id"]
        stopped = service.until_state(name, "stopped", "finished")
        assert stopped["progress"]["dollars"] <= 0.08
        assert left(service) == pytest.approx(0.08 - stopped["progress"]["dollars"])


def test_where_nothing_is_left_nothing_begins(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model, 50) as service:
        name = service.start_run(5, judge=MODEL, max_cost=0.001).json()["id"]
        assert "--max-cost" in service.until_state(name, "stopped")["detail"]
        write_spent(tmp_path, 49.99)
        says = is_problem(service.start_run(5, judge=MODEL), 402)
        assert "$0.01 of $50.00 left" in says
        assert "--budget" in says
        assert says == is_problem(service.client.post(f"/v1/runs/{name}/resume"), 402)
        assert [run["id"] for run in service.client.get("/v1/runs").json()["runs"]] == [name]
        assert model.stats().requests == 0
        write_spent(tmp_path, 49.0)
        assert service.client.post(f"/v1/runs/{name}/resume").status_code == 200
        service.until_state(name, "stopped")


def test_unreadable_answers_count_and_refused_requests_do_not(
    tmp_path: Path, model: FaultServer
) -> None:
    with asking(tmp_path, model, 50) as service:
        model.set_faults(rates={Fault.MALFORMED: 1.0})
        assert service.annotate(judge=MODEL).json()["outcome"] == "unparsed"
        assert model.stats().answered == 2, "it was asked again"
        spent = billed(model)
        assert left(service) == pytest.approx(50 - spent)
        model.set_faults(rates={Fault.TOO_LONG: 1.0})
        assert service.annotate(reference="Other.", judge=MODEL).json()["outcome"] == "failed"
        assert left(service) == pytest.approx(50 - spent)


def test_what_was_under_way_when_a_process_was_killed_counts_at_its_most(
    tmp_path: Path, model: FaultServer
) -> None:
    model.set_faults(latency=30)
    with asking(tmp_path, model, 50) as service:
        service.start_run(16, judge=MODEL)
        assert until(lambda: left(service) < 50 - 16 * 0.02)
        service.kill()
        at_most = 50 - Ledger(tmp_path / "judge-runs/.jobs/spent.json", MODEL).spent()
        service.start()
        assert left(service) <= at_most < 50 - 16 * 0.02


def test_what_was_spent_is_never_taken_for_nothing(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model, 50) as service:
        for damage in ("", "{", '{"model-x": -1}', '{"model-x": NaN}', "[]", '{"model-x": "1"}'):
            write_spent(tmp_path, 0)
            (tmp_path / "judge-runs/.jobs/spent.json").write_text(damage or " ", "utf-8")
            assert "spent.json" in is_problem(service.start_run(2, judge=MODEL), 422)
            assert "spent.json" in is_problem(service.annotate(judge=MODEL), 502)
            assert service.client.get("/v1/judges").json()["judges"][1]["left"] is None
        assert model.stats().requests == 0


def test_it_is_one_sum_for_all_who_hold_the_file(tmp_path: Path) -> None:
    path = tmp_path / "spent.json"
    one, other = (Ledger(path, "a", 1.0) for _ in range(2))
    assert one.reserve(0.6) == ""
    assert "$0.40 of $1.00 left" in other.reserve(0.6)
    one.settle(0.6, 0.1)
    assert other.reserve(0.6) == ""
    other.settle(0.6, None)
    assert one.spent() == pytest.approx(0.7)
    assert Ledger(path, "b").reserve(70.0) == ""
    assert (one.spent(), Ledger(path, "b").spent()) == (pytest.approx(0.7), 70.0)
    assert one.reserve(None), "an unknown price has no place in a budget"
    assert Ledger(path, "b").reserve(None) == ""


GPT, O3, LOCAL = {"gpt-4o": None}, {"o3": None}, {"mine": "http://127.0.0.1:9/v1"}
FAR = {"far": "http://10.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("options", "judges", "expected"),
    [
        (("50",), GPT, {"gpt-4o": 50.0}),
        (("50",), GPT | LOCAL, {"gpt-4o": 50.0}),
        (("gpt-4o=50", "o3=7.5"), GPT | O3, {"gpt-4o": 50.0, "o3": 7.5}),
    ],
)
def test_a_budget_is_for_its_judge(
    options: tuple[str, ...], judges: dict[str, str | None], expected: dict[str, float]
) -> None:
    found = limits(options, judges, {})
    assert {name: limit.dollars for name, limit in found.items()} == expected
    # 2,048 tokens at 10 dollars a million; a model that reasons is given 25,000.
    assert found["gpt-4o"].least == pytest.approx(0.02048)


@pytest.mark.parametrize(
    ("options", "judges", "says"),
    [
        (("50",), {}, "add --allow-judge"),
        (("50",), GPT | O3, "write --budget gpt-4o=50 --budget o3=50"),
        (("o3=50",), GPT, "no --allow-judge names 'o3'"),
        (("5", "gpt-4o=6"), GPT, "has a budget already"),
        (("0",), GPT, "no sum of dollars"),
        (("gpt-4o=nan",), GPT, "no sum of dollars"),
        (("gpt-4o=-5",), GPT, "no sum of dollars"),
        (("5",), LOCAL, "costs nothing here"),
        (("5",), FAR, "no price is known for it at http://10.0.0.1:9/v1"),
        (("far=5",), FAR | GPT, "genai-prices"),
    ],
)
def test_what_is_no_budget_is_said(
    options: tuple[str, ...], judges: dict[str, str | None], says: str
) -> None:
    with pytest.raises(JudgeError) as error:
        limits(options, judges, {})
    assert says in str(error.value)
