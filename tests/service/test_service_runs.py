"""Runs that a service was asked for: check, start, watch, stop, survive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from faultserver import Behaviour, FaultServer
from served import Served, is_problem, until
from support import EXAMPLES

from judge.cli import main

MODEL = "model-x"
FILES = {"preds": EXAMPLES / "preds_alder.json", "refs": EXAMPLES / "refs.json"}


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, model: FaultServer) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("runs")
    with Served(folder, "--allow-judge", f"{MODEL}={model.url}") as running:
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


def check(service: Served, files: dict[str, Any] | None = None, **form: object) -> httpx.Response:
    named = {side: (path.name, path.read_bytes()) for side, path in FILES.items()}
    data = {"rubric": "green"} | form
    return service.client.post("/v1/runs/check", data=data, files=files or named)


def test_an_uploaded_run_is_judged_and_its_progress_told(service: Served) -> None:
    started = service.start_run(name="a try", by="site")
    assert started.status_code == 201
    run = started.json()
    assert started.headers["location"] == f"/v1/runs/{run['id']}"
    assert run["name"] == "a try"
    progress = service.until_state(run["id"], "finished", "failed")["progress"]
    assert (progress["done"], progress["total"]) == (15, 15)
    shown = service.client.get(f"/v1/runs/{run['id']}").json()
    assert (shown["summary"]["n_scored"], shown["summary"]["by"]) == (15, ["site"])
    # The run is one of the command line's, and nothing else is left of the upload.
    runs = service.folder / "judge-runs"
    assert (runs / run["id"] / "manifest.json").is_file()
    job = runs / ".jobs" / run["id"]
    assert until(lambda: [path.name for path in job.iterdir()] == ["job.json"])


def test_what_is_wrong_with_the_files_is_said_in_the_words_of_the_page(service: Served) -> None:
    """By the files' own names, without paths, and without an option of the command line."""
    deep, plain = b"[" * 200_000, b'{"a": {"report": "Clear."}}'
    for preds, refs, form, named in (
        (b'{"a": {"x": 1}}', b'{"a": {"y": 1}}', {}, "my.json"),
        (deep, deep, {}, "my.json"),
        (plain, plain, {"candidate_field": "none"}, "Report column"),
        (plain, b'{"a": {"report": "Clear."}, "b": {"report": "No."}}', {}, "allow_missing"),
    ):
        files = {"preds": ("my.json", preds), "refs": ("../their.json", refs)}
        data = {"rubric": "green"} | form
        run = service.client.post("/v1/runs", data=data, files=files).json()
        failed = service.until_state(run["id"], "failed", "finished")
        assert failed["state"] == "failed"
        for said in (failed["detail"], is_problem(check(service, files, **form), 422)):
            assert named in said
            assert not [word for word in ("--", str(service.folder), "Traceback") if word in said]
        is_problem(service.client.get(f"/v1/runs/{run['id']}/results"), 409)


def test_a_run_that_must_not_start_does_not(service: Served) -> None:
    before = service.client.get("/v1/runs").json()
    for form, status, named in (
        ({"section": "everything"}, 422, "section"),
        ({"judge": "gpt-4o"}, 403, "gpt-4o"),
        ({"prompt": "../secret.yaml"}, 422, "prompt"),
        ({"judge": MODEL, "temperature": "3"}, 422, "temperature"),
    ):
        assert named in is_problem(service.start_run(**form), status)
        assert named in is_problem(check(service, **form), status)
    assert service.client.get("/v1/runs").json() == before


def test_a_run_and_a_pair_share_what_was_answered(service: Served, model: FaultServer) -> None:
    before = answered(model)
    for _ in range(2):
        run = service.start_run(10, judge=MODEL).json()
        service.until_state(run["id"], "finished")
        assert answered(model) == before + 10
    reference, candidate = "study-0003. The lungs are clear.", "The lungs are clear. Small left "
    pair = {"reference": reference, "candidate": f"{candidate}effusion."}
    assert service.annotate(**pair, judge=MODEL).json()["outcome"] == "annotated"
    assert answered(model) == before + 10
    assert service.annotate(reference="A", candidate="B", judge=MODEL).status_code == 200
    assert answered(model) == before + 11


def test_a_run_survives_a_kill_and_a_stop_and_asks_nothing_twice(
    tmp_path: Path, slow: FaultServer
) -> None:
    with Served(tmp_path, "--allow-judge", f"{MODEL}={slow.url}") as service:
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
        assert done["progress"]["from_cache"] == paid
        is_problem(service.client.post(f"/v1/runs/{name}/resume"), 409)


def test_a_check_says_what_the_command_line_says_and_keeps_nothing(service: Served) -> None:
    before = service.client.get("/v1/runs").json()
    found = check(service).json()
    done = CliRunner().invoke(main, ["check", *map(str, FILES.values()), "--format", "json"])
    printed = json.loads(done.stdout)
    assert {name: found[name] for name in printed} == printed
    assert (found["model"], len(found["first"])) == ("alder", 3)
    shown = {fact["name"]: fact["text"] for fact in found["facts"]}
    assert shown["study class"] == "abnormal 10, normal 5"
    assert list((service.folder / "judge-runs" / ".jobs").glob(".new-*")) == []
    assert service.client.get("/v1/runs").json() == before
