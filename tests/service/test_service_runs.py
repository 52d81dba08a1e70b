"""Runs that a service was asked for: start, watch, stop, survive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from faultserver import Behaviour, FaultServer
from served import Served, is_problem, until

from judge.service.jobs import RunRequest
from judge.service.settings import ServiceSettings

MODEL = "model-x"


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, model: FaultServer
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("runs")
    with Served(folder, "--offer", f"{MODEL}={model.url}") as running:
        yield running


@pytest.fixture
def slow() -> Iterator[FaultServer]:
    """A model that takes a while for each answer."""
    with FaultServer(Behaviour(latency=0.1)) as running:
        yield running


def answered(model: FaultServer) -> int:
    return model.stats().answered


def n_done(service: Served, name: str) -> int:
    return (service.run(name)["progress"] or {}).get("done", 0)


def test_an_uploaded_run_is_judged_and_its_progress_told(service: Served) -> None:
    started = service.start_run(model="alder")
    assert started.status_code == 201
    run = started.json()
    assert started.headers["location"] == f"/v1/runs/{run['id']}"
    assert service.until_state(run["id"], "finished", "failed")["n_scored"] == 15
    shown = service.client.get(f"/v1/runs/{run['id']}").json()
    assert (shown["summary"]["n_scored"], shown["run"]["model"]) == (15, "alder")
    # The run is one of the command line's, and nothing else is left of the upload.
    runs = service.folder / "judge-runs"
    assert (runs / run["id"] / "manifest.json").is_file()
    job = runs / ".jobs" / run["id"]
    assert until(lambda: [path.name for path in job.iterdir()] == ["job.json"])


def test_what_is_wrong_with_the_files_is_said_by_their_own_names(
    service: Served,
) -> None:
    deep, plain = b"[" * 200_000, b'{"a": {"report": "Clear."}}'
    for preds, refs, form, named in (
        (b'{"a": {"x": 1}}', b'{"a": {"y": 1}}', {}, "my.json"),
        (deep, deep, {}, "my.json"),
        (plain, plain, {"candidate_field": "none"}, "none"),
        (plain, b'{"a": {"report": "Clear."}, "b": {"report": "No."}}', {}, "b"),
    ):
        files = {"preds": ("my.json", preds), "refs": ("../their.json", refs)}
        data = {"rubric": "green"} | form
        run = service.client.post("/v1/runs", data=data, files=files).json()
        failed = service.until_state(run["id"], "failed", "finished")
        assert failed["state"] == "failed"
        assert named in failed["detail"]
        assert str(service.folder) not in failed["detail"]
        assert "Traceback" not in failed["detail"]
        is_problem(service.client.get(f"/v1/runs/{run['id']}/results"), 409)


def test_a_run_that_must_not_start_does_not(service: Served) -> None:
    before = service.client.get("/v1/runs").json()
    for form, status, named in (
        ({"rubric": "../secret"}, 422, "secret"),
        ({"judge": "gpt-4o"}, 403, MODEL),
        ({"judge": "lexicon:/etc/passwd"}, 403, MODEL),
        ({"model": "x" * 300}, 422, "model"),
    ):
        assert named in is_problem(service.start_run(**form), status)
    assert service.client.get("/v1/runs").json() == before


def test_a_second_run_asks_nothing_again(service: Served, model: FaultServer) -> None:
    before = answered(model)
    for _ in range(2):
        run = service.start_run(10, judge=MODEL).json()
        service.until_state(run["id"], "finished")
        assert answered(model) == before + 10


@pytest.mark.ci
def test_a_run_survives_a_kill_and_a_stop_and_asks_nothing_twice(
    tmp_path: Path, slow: FaultServer
) -> None:
    with Served(tmp_path, "--offer", f"{MODEL}={slow.url}") as service:
        name = service.start_run(120, judge=MODEL).json()["id"]
        is_problem(service.client.get("/v1/comparison", params={"run": name}), 409)
        assert until(lambda: n_done(service, name) >= 5)
        service.kill()
        service.start()
        assert service.client.post(f"/v1/runs/{name}/stop").status_code == 200
        stopped = service.until_state(name, "stopped", "finished")
        paid = answered(slow)
        assert 5 <= paid < 120, stopped
        is_problem(service.client.post(f"/v1/runs/{name}/stop"), 409)
        slow.set_faults(latency=0.0)
        assert service.client.post(f"/v1/runs/{name}/resume").status_code == 200
        done = service.until_state(name, "finished", "failed")
        assert (done["state"], done["n_scored"]) == ("finished", 120)
        assert answered(slow) == 120
        is_problem(service.client.post(f"/v1/runs/{name}/resume"), 409)


def test_a_field_that_there_is_not_is_refused(service: Served) -> None:
    before = service.client.get("/v1/runs").json()
    unknown = (
        *(
            "base_url",
            "cache",
            "out",
            "server",
            "body",
            "batch",
            "shard",
            "timeout",
        ),
        *(
            "concurrency",
            "max_outage",
            "dry_run",
            "form",
            "Section",
            "max-cost",
            "columns",
            "x",
        ),
    )
    for name in unknown:
        assert name in is_problem(service.start_run(**{name: "1"}), 422)
    for form, named in (
        ({"section": "lungs"}, "section"),
        ({"limit": "0"}, "--limit"),
        ({"limit": "many"}, "limit"),
        ({"max_cost": "nan"}, "max_cost"),
        ({"max_cost": "-1"}, "--max-cost"),
        ({"references": "worst"}, "references"),
        ({"reply": "aloud"}, "reply"),
        ({"by": ["site", ""]}, "--by"),
        ({"judge": ["lexicon", MODEL]}, "judge"),
    ):
        assert named in is_problem(service.start_run(**form), 422), form
    files = {"preds": ("p.json", b"{}")}
    given = {"data": {"rubric": "green"}, "files": files}
    is_problem(service.client.post("/v1/runs?max_cost=1", **given), 422)
    assert service.client.get("/v1/runs").json() == before


def test_the_options_of_a_run_are_those_of_the_command_line(service: Served) -> None:
    form = {
        "section": "findings",
        "limit": "5",
        "by": ["site", "study_class"],
        "allow_missing": "true",
        "max_cost": "2.5",
        "reask": "0",
        "modality": "xr",
    }
    name = service.start_run(**form).json()["id"]
    assert service.until_state(name, "finished", "failed")["n_studies"] == 5
    summary = service.client.get(f"/v1/runs/{name}").json()["summary"]
    assert (summary["section"], summary["by"]) == ("findings", ["site", "study_class"])
    manifest = json.loads(
        (service.folder / "judge-runs" / name / "manifest.json").read_bytes()
    )
    asked = {
        key: manifest["settings"][key]
        for key in ("limit", "max_cost", "modality", "reask")
    }
    assert asked == {"limit": 5, "max_cost": 2.5, "modality": "xr", "reask": 0}


def names(service: Served) -> list[str]:
    return [run["id"] for run in service.client.get("/v1/runs").json()["runs"]]


def check(service: Served, n: int | None = None, **form: object) -> httpx.Response:
    return service.start_run(n, to="/v1/runs/check", **form)


def test_a_check_says_what_would_be_judged_and_starts_nothing(
    service: Served, model: FaultServer
) -> None:
    before = names(service), answered(model)
    said = check(service, class_field="site", section="findings").json()
    assert said["price"] is None
    assert said["studies"]["n_studies"] == 15
    assert said["studies"]["read_from"]["study_class"] == "site"
    facts = {fact["name"]: fact["value"] for fact in said["shown"]["facts"]}
    assert (facts["section"], facts["studies"]) == ("findings", "15")
    assert said["shown"]["warnings"] == []
    # At a temperature at which nothing was asked in the tests before.
    form = {"judge": MODEL, "limit": 7, "max_cost": "0.5", "temperature": "0.5"}
    said = check(service, 10, **form).json()
    assert said["studies"]["n_studies"] == 7
    assert (said["price"]["requests"], said["price"]["worst"]) == (7, None)
    (warning,) = said["shown"]["warnings"]
    assert "price of an answer is unknown" in warning
    assert before == (names(service), answered(model))
    # No upload stays.
    jobs = service.folder / "judge-runs" / ".jobs"
    assert [path for path in jobs.iterdir() if path.name.startswith(".new-")] == []


def test_a_check_refuses_what_the_run_would_fail_with(service: Served) -> None:
    for form, named in (
        ({"candidate_field": "nowhere"}, "nowhere"),
        ({"class_field": "ward"}, "ward"),
        ({"section": "lungs"}, "section"),
        ({"x": "1"}, "x"),
        ({"rubric": "../secret"}, "secret"),
    ):
        said = is_problem(check(service, **form), 422)
        assert named in said
        assert str(service.folder) not in said
    is_problem(check(service, judge="gpt-4o"), 403)
    deep = dict.fromkeys(("preds", "refs"), ("my.json", b"[" * 200000))
    answer = service.client.post("/v1/runs/check", data={"rubric": "green"}, files=deep)
    assert "my.json" in is_problem(answer, 422)


def test_a_prompt_is_one_of_the_rubric_and_never_a_file(
    service: Served, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text("name: own\n")
    for name in (str(tmp_path / "own.yaml"), "preds.json", "counts", "../green"):
        said = is_problem(service.start_run(judge=MODEL, prompt=name), 422)
        assert "has no prompt" in said
    for form in (
        {"prompt": "green"},
        {"reasoning_effort": "low"},
        {"service_tier": "flex"},
    ):
        assert "built-in judge takes no" in is_problem(service.start_run(**form), 422)
    # Dearer than the budget counts.
    is_problem(service.start_run(judge=MODEL, service_tier="priority"), 422)
    name = service.start_run(
        3, judge=MODEL, prompt="green-structured", reasoning_effort="low"
    ).json()["id"]
    service.until_state(name, "finished", "failed", "stopped")
    job = service.folder / "judge-runs" / ".jobs" / name / "job.json"
    request = RunRequest.model_validate_json(job.read_bytes())
    settings = request.settings(ServiceSettings(runs=()))
    assert settings.prompt == "green-structured"
    assert settings.sampling == {"reasoning_effort": "low"}


@pytest.mark.ci
def test_what_may_be_chosen_of_judges_and_rubrics_is_listed(tmp_path: Path) -> None:
    allowed = [
        "gpt-6-luna",
        "claude-haiku-5-5",
        "vllm:some/model",
        "mine=http://a.b/v1",
    ]
    options = [word for name in allowed for word in ("--offer", name)]
    with Served(tmp_path, *options, "--budget", "gpt-6-luna=12.5") as service:
        listed = service.client.get("/v1/judges").json()["judges"]
        judges = {judge["name"]: judge for judge in listed}
        assert judges["lexicon"]["label"] == "lexicon (built in)"
        assert judges["gpt-6-luna"]["label"] == "gpt-6-luna ($12.50 of $12.50 left)"
        assert judges["gpt-6-luna"]["efforts"][0] == "none"
        assert judges["gpt-6-luna"]["tiers"] == ["flex"]
        for name in ("lexicon", "vllm:some/model", "mine"):
            assert (judges[name]["efforts"], judges[name]["tiers"]) == ([], [])
        rubrics = service.client.get("/v1/rubrics").json()
        assert {"findings", "impression", "report"} <= {*rubrics["sections"]}
        prompts = {rubric["name"]: rubric["prompts"] for rubric in rubrics["rubrics"]}
        assert {"green", "green-structured"} <= {*prompts["green"]}
        assert prompts["counts"] == ["counts"]
        form = {"judge": "gpt-6-luna", "reasoning_effort": "endless"}
        assert "endless" in is_problem(service.start_run(**form), 422)
        said = check(service, judge="gpt-6-luna", service_tier="flex").json()
        assert 0 < said["price"]["typical"] < said["price"]["worst"] < 12.5
        judge = said["shown"]["facts"][0]["value"]
        assert "its key is missing: set OPENAI_API_KEY" in judge
        dear = check(service, judge="gpt-6-luna", max_cost="0.001").json()
        assert (
            "more than the limit of cost of this run ($0.001)"
            in (dear["shown"]["warnings"][0])
        )
