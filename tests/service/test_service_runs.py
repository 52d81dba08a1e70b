"""Runs that a service was asked for: start, watch, stop, survive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer, always
from faultserver.faults import Fault
from served import Served, is_problem, until

MODEL = "model-x"


@pytest.fixture
def model() -> Iterator[FaultServer]:
    """A model that takes a while for each answer."""
    with FaultServer(Behaviour(latency=0.2)) as running:
        yield running


def asking(folder: Path, model: FaultServer, *arguments: object) -> Served:
    return Served(folder, "--allow-judge", f"{MODEL}={model.url}", *arguments)


def answered(model: FaultServer) -> int:
    return model.stats().by_status.get("200", 0)


def test_an_uploaded_run_is_judged_and_its_progress_told(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        started = service.start_run(name="a try", by="site")
        assert started.status_code == 201
        run = started.json()
        assert started.headers["location"] == f"/v1/runs/{run['id']}"
        assert run["name"] == "a try"
        events = list(service.events(run["id"]))
        assert [kind for kind, _ in events][-1] == "end"
        assert {kind for kind, _ in events[:-1]} <= {"progress"}
        assert events[-1][1]["state"] == "finished"
        assert events[-1][1]["done"] == events[-1][1]["total"] == 15
        shown = service.client.get(f"/v1/runs/{run['id']}").json()
        assert shown["summary"]["n_scored"] == 15
        assert shown["summary"]["by"] == ["site"]
        # The run is one of the command line's, and nothing else is left of the upload.
        assert (tmp_path / "judge-runs" / run["id"] / "manifest.json").is_file()
        kept = {path.name for path in (tmp_path / "judge-runs/.jobs" / run["id"]).iterdir()}
        assert kept == {"job.json", "state.json", "lock"}


def test_what_is_wrong_with_the_files_is_said_without_paths(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        files = {"preds": ("p.json", b'{"a": {"x": 1}}'), "refs": ("r.json", b'{"a": {"y": 1}}')}
        run = service.client.post("/v1/runs", data={"rubric": "green"}, files=files).json()
        failed = service.until_state(run["id"], "failed", "finished")
        assert failed["state"] == "failed"
        assert "preds.json" in failed["detail"]
        assert str(tmp_path) not in failed["detail"]
        is_problem(service.client.get(f"/v1/runs/{run['id']}/results"), 409)


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"rubric": "blue"}, 422),
        ({"section": "everything"}, 422),
        ({"judge": "gpt-4o"}, 403),
        ({"judge": "lexicon:/etc/passwd"}, 403),
        ({"prompt": "../secret.yaml"}, 422),
        ({"max_cost": "-1"}, 422),
    ],
)
def test_a_run_that_must_not_start_does_not(
    shared_service: Served, form: dict[str, str], status: int
) -> None:
    before = shared_service.client.get("/v1/runs").json()
    is_problem(shared_service.start_run(**form), status)
    assert shared_service.client.get("/v1/runs").json() == before


def test_what_the_command_line_paid_for_is_free_here(tmp_path: Path) -> None:
    with FaultServer(Behaviour()) as model, asking(tmp_path, model) as service:
        run = service.start_run(10, judge=MODEL).json()
        service.until_state(run["id"], "finished")
        assert answered(model) == 10
        again = service.start_run(10, judge=MODEL).json()
        service.until_state(again["id"], "finished")
        pair = {
            "reference": "study-0003. The lungs are clear.",
            "candidate": "The lungs are clear. Small left effusion.",
        }
        answer = service.annotate(**pair, judge=MODEL).json()
        assert answer["outcome"] == "annotated"
        assert answered(model) == 10
        new = service.annotate(**{**pair, "candidate": "Clear."}, judge=MODEL).json()
        assert new["outcome"] == "annotated"
        assert answered(model) == 11


def test_how_a_model_is_asked_is_the_clients_choice(tmp_path: Path) -> None:
    with FaultServer(Behaviour(record=True)) as model, asking(tmp_path, model) as service:
        run = service.start_run(2, judge=MODEL, reply="text", temperature=0.5, seed=3).json()
        service.until_state(run["id"], "finished")
        body = model.requests()[-1]["body"]
        assert (body["temperature"], body["seed"]) == (0.5, 3)
        assert "response_format" not in body
        shown = service.client.get(f"/v1/runs/{run['id']}").json()
        assert "seed=3,temperature=0.5|reply:text|" in shown["summary"]["signature"]
        for reply, is_formed in (("auto", True), ("text", False)):
            answer = service.annotate(reference="study-0007.", judge=MODEL, reply=reply).json()
            assert answer["outcome"] == "annotated"
            assert ("response_format" in model.requests()[-1]["body"]) is is_formed
        assert service.start_run(2, judge=MODEL, reply="json").status_code == 422
        assert service.start_run(2, judge=MODEL, temperature=3).status_code == 422


def test_a_run_whose_answers_cannot_be_read_ends_with_the_message(tmp_path: Path) -> None:
    behaviour = Behaviour(studies={f"study-{at:04}": always(Fault.MALFORMED) for at in range(60)})
    with FaultServer(behaviour) as model, asking(tmp_path, model) as service:
        run = service.start_run(60, judge=MODEL, give_up_after=10).json()
        ended = service.until_state(run["id"], "failed")
        assert "of the first 10 answers cannot be read" in ended["detail"]
        asked = model.stats().requests
        assert asked < 2 * 60
        assert service.client.post(f"/v1/runs/{run['id']}/resume").status_code == 200
        service.until_state(run["id"], "failed")
        assert model.stats().requests == asked
        run = service.start_run(60, judge=MODEL, give_up_after=0).json()
        service.until_state(run["id"], "finished")


def test_a_judge_that_fails_gives_an_outcome_and_never_a_score(tmp_path: Path) -> None:
    with FaultServer(Behaviour()) as model, asking(tmp_path, model) as service:
        model.set_faults(rates={Fault.MALFORMED: 1.0})
        answer = service.annotate(reference="study-0001. Clear.", judge=MODEL)
        assert answer.status_code == 200
        assert answer.json()["outcome"] == "unparsed"
        assert answer.json()["measures"] is None


def test_a_run_is_stopped_and_goes_on_where_it_was(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model) as service:
        name = service.start_run(200, judge=MODEL).json()["id"]
        assert until(lambda: (service.run(name)["progress"] or {}).get("done", 0) >= 10)
        assert service.client.post(f"/v1/runs/{name}/stop").status_code == 200
        stopped = service.until_state(name, "stopped")
        paid = answered(model)
        assert 10 <= stopped["progress"]["done"] < 200
        is_problem(service.client.post(f"/v1/runs/{name}/stop"), 409)
        model.set_faults(latency=0.0)
        assert service.client.post(f"/v1/runs/{name}/resume").status_code == 200
        done = service.until_state(name, "finished", "failed")
        assert done["state"] == "finished"
        assert done["n_scored"] == 200
        assert answered(model) == 200
        assert done["progress"]["from_cache"] == paid
        is_problem(service.client.post(f"/v1/runs/{name}/resume"), 409)


def test_a_run_survives_a_kill_of_the_service(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model) as service:
        name = service.start_run(200, judge=MODEL).json()["id"]
        assert until(lambda: (service.run(name)["progress"] or {}).get("done", 0) >= 10)
        service.kill()
        model.set_faults(latency=0.0)
        service.start()
        done = service.until_state(name, "finished", "failed", "stopped")
        assert (done["state"], done["n_scored"]) == ("finished", 200)
        assert answered(model) == 200, "no answer was paid for twice"


def test_two_services_on_one_folder_share_the_work_and_do_it_once(
    tmp_path: Path, model: FaultServer
) -> None:
    runs = tmp_path / "runs"
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    common = ("--runs", runs, "--cache", tmp_path / "answers")
    with asking(first, model, *common) as one, asking(second, model, *common) as other:
        name = one.start_run(120, judge=MODEL).json()["id"]
        assert until(lambda: (other.run(name)["progress"] or {}).get("done", 0) >= 10)
        one.kill()
        model.set_faults(latency=0.0)
        done = other.until_state(name, "finished", "failed", "stopped")
        assert (done["state"], done["n_scored"]) == ("finished", 120)
        assert answered(model) == 120


def test_a_run_whose_judge_is_no_longer_allowed_does_not_go_on(
    tmp_path: Path, model: FaultServer
) -> None:
    with asking(tmp_path, model) as service:
        name = service.start_run(200, judge=MODEL).json()["id"]
        assert until(lambda: (service.run(name)["progress"] or {}).get("done", 0) >= 5)
    with Served(tmp_path) as later:
        failed = later.until_state(name, "failed")
        assert "does not allow" in failed["detail"]


def test_a_run_whose_process_breaks_is_not_started_for_ever(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        deep = b"[" * 200_000
        files = {"preds": ("p.json", deep), "refs": ("r.json", deep)}
        name = service.client.post("/v1/runs", data={"rubric": "green"}, files=files).json()["id"]
        failed = service.until_state(name, "failed", "finished")
        assert failed["state"] == "failed"
        assert "Traceback" not in failed["detail"]


def test_the_clients_names_of_the_files_are_kept_as_names_only(tmp_path: Path) -> None:
    folder = tmp_path / "of" / "the" / "service"
    folder.mkdir(parents=True)
    with Served(folder) as service:
        files = {
            "preds": ("../../../preds<b>.json", json.dumps({"a": "Clear."}).encode()),
            "refs": ("..\\..\\C:\\refs.json", json.dumps({"a": "Clear."}).encode()),
        }
        name = service.client.post("/v1/runs", data={"rubric": "green"}, files=files).json()["id"]
        service.until_state(name, "finished")
        manifest = json.loads((folder / "judge-runs" / name / "manifest.json").read_text())
        assert [file["path"] for file in manifest["inputs"]] == ["preds<b>.json", "refs.json"]
    outside = {path for path in tmp_path.rglob("*") if folder not in (path, *path.parents)}
    assert outside == {tmp_path / "of", tmp_path / "of" / "the"}
    assert {path.name for path in folder.iterdir()} <= {"judge-runs", "service.log", "cache"}
