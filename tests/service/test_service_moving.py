"""Runs that are renamed, deleted and restored over HTTP."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from faultserver import Behaviour, FaultServer
from served import COMMENT, Served, is_problem, readable, until
from support import EXAMPLES, ROOT

from judge.files import WRITING
from judge.service import jobs, moving
from judge.service.catalogue import TrashedRun

MODEL = "model-x"


@pytest.fixture(scope="module")
def slow() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.1)) as running:
        yield running


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path, slow: FaultServer
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("moving")
    runs = folder / "judge-runs"
    (folder / "named").mkdir()
    shutil.copytree(judged_examples, folder / "named" / "apart")
    for name in ("alder", "birch", "cedar"):
        shutil.copytree(judged_examples, runs / name)
    readable(runs)
    allowed = f"{MODEL}={slow.url}"
    with Served(folder, folder / "named" / "apart", "--offer", allowed) as running:
        yield running


def rename(service: Served, run: str, name: object) -> httpx.Response:
    return service.client.post(f"/v1/runs/{run}/rename", json={"name": name})


def listed(service: Served) -> set[str]:
    return {run["id"] for run in service.client.get("/v1/runs").json()["runs"]}


def trash(service: Served) -> list[dict[str, str]]:
    runs: list[dict[str, str]] = service.client.get("/v1/trash").json()["runs"]
    return runs


@pytest.mark.ci
def test_what_names_a_run_leads_to_it_after_it_was_renamed(service: Served) -> None:
    client, runs = service.client, service.folder / "judge-runs"
    blind = client.get("/read", params={"run": "mine"}).headers["location"]
    assert client.post("/v1/runs/mine/reviews", json=COMMENT).status_code == 201
    renamed = rename(service, "mine", "fir")
    assert (renamed.status_code, renamed.json()["id"]) == (200, "fir")
    assert (runs / "fir" / "reviews.jsonl").is_file()
    assert not (runs / "mine").exists()
    assert {"fir"} == listed(service) & {"fir", "mine"}
    # The old name, in the API, in a comparison and in the browser.
    assert client.get("/v1/runs/mine").json()["run"]["id"] == "fir"
    reviews = client.get("/v1/runs/mine/reviews").json()
    assert [event["comment"] for event in reviews["events"]] == [COMMENT["comment"]]
    assert client.get("/runs/mine").headers["location"] == "/runs/fir"
    compared = client.get("/v1/comparison", params={"run": "mine"})
    assert compared.status_code == 200
    # A reader's address of before, which names no judge.
    address = client.get(blind).headers["location"]
    assert address.startswith("/read?run=")
    assert address != blind
    old = blind.rpartition("=")[2]
    study = {"reader": "anna", "id": "ex-001"}
    queue = client.get(f"/v1/runs/{old}/reading", params={"reader": "anna"}).json()
    study["id"] = queue["queue"][0]["study_id"]
    shown = client.get(f"/v1/runs/{old}/reading/study", params=study)
    assert shown.status_code == 200
    # Who reads is not to lose the run.
    for answer in (rename(service, "fir", "oak"), client.delete("/v1/runs/fir")):
        assert "being read, by 1 reader" in is_problem(answer, 409)


def test_readers_are_at_work_for_a_while() -> None:
    now = 0.0
    readers = moving.ReadersAtWork(lambda: now)
    run = Path("run")
    assert readers.of(run) == []
    readers.see(run, "anna")
    now = 60 * moving.READING_MINUTES
    readers.see(run, "bob")
    assert readers.of(run) == ["anna", "bob"]
    now += 1
    assert readers.of(run) == ["bob"]
    assert readers.of(Path("other")) == []


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".trash", "../out", "a/b", "a\\b", "a b", "ä", "a\n", "x" * 121],
)
def test_a_name_that_is_no_name_is_refused(service: Served, name: str) -> None:
    before = listed(service)
    assert "name" in is_problem(rename(service, "alder", name), 422)
    assert listed(service) == before
    assert not (service.folder / "out").exists()


def test_a_name_is_that_of_one_run(service: Served) -> None:
    runs = service.folder / "judge-runs"
    assert "already" in is_problem(rename(service, "alder", "birch"), 409)
    (runs / "notes").mkdir(exist_ok=True)
    assert "already" in is_problem(rename(service, "alder", "notes"), 409)
    for name in ("run-0a1b2c3d", "0123456789abcdef"):
        assert "by the service" in is_problem(rename(service, "alder", name), 422)
    assert rename(service, "alder", "alder").json()["id"] == "alder"
    assert rename(service, "alder", "alder-2").status_code == 200
    # Its former name is no other's, or an old address would show another run's figures.
    assert "alder-2 was called" in is_problem(rename(service, "birch", "alder"), 409)
    assert "alder-2 by now" in is_problem(rename(service, "alder", "elm"), 409)
    assert rename(service, "alder-2", "alder").status_code == 200
    is_problem(rename(service, "nobody", "elm"), 404)
    assert "names it" in is_problem(rename(service, "apart", "elm"), 409)
    assert "names it" in is_problem(service.client.delete("/v1/runs/apart"), 409)
    for body in ({}, {"name": 1}, {"name": "elm", "path": "/tmp"}):
        is_problem(service.client.post("/v1/runs/alder/rename", json=body), 422)


def test_of_clients_who_rename_a_run_at_once_one_is_served(service: Served) -> None:
    names = [f"new-{at}" for at in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda name: rename(service, "cedar", name), names)]
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200] + 7 * [409]
    (won,) = [answer.json()["id"] for answer in answers if answer.status_code == 200]
    assert {won} == listed(service) & {*names, "cedar"}
    with ThreadPoolExecutor(8) as pool:
        path = f"/v1/runs/{won}"
        deleted = [*pool.map(lambda _: service.client.delete(path), names)]
    codes = sorted(answer.status_code for answer in deleted)
    assert codes == [200] + 7 * [404]
    (run,) = [answer.json() for answer in deleted if answer.status_code == 200]
    assert run["name"] == won
    answer = service.client.post(f"/v1/trash/{run['id']}/restore")
    assert answer.json()["id"] == won
    assert rename(service, won, "cedar").status_code == 200


def test_a_deleted_run_comes_back_whole(service: Served) -> None:
    client, runs = service.client, service.folder / "judge-runs"
    assert client.post("/v1/runs/birch/reviews", json=COMMENT).status_code == 201
    deleted = client.delete("/v1/runs/birch").json()
    assert deleted["name"] == "birch"
    assert deleted in trash(service)
    assert "birch" not in listed(service)
    said = is_problem(client.get("/v1/runs/birch"), 404)
    assert "restored from the trash" in said
    compared = client.get("/v1/comparison", params={"run": "birch"})
    assert "deleted" in is_problem(compared, 404)
    place = runs / ".trash" / deleted["id"]
    assert place.stat().st_mode & 0o077 == 0
    # Its name is taken meanwhile.
    shutil.copytree(place / "birch", runs / "birch")
    restore = f"/v1/trash/{deleted['id']}/restore"
    assert "already" in is_problem(client.post(restore), 409)
    shutil.rmtree(runs / "birch")
    assert client.post(restore).json()["id"] == "birch"
    assert not place.exists()
    is_problem(client.post(restore), 404)
    reviews = client.get("/v1/runs/birch/reviews").json()["events"]
    assert [event["comment"] for event in reviews] == [COMMENT["comment"]]
    # By hand: what lies in the trash lies as it did.
    deleted = client.delete("/v1/runs/birch").json()
    (runs / ".trash" / deleted["id"] / "birch").rename(runs / "birch")
    assert "birch" in listed(service)
    assert deleted not in trash(service)
    for odd in ("..%2f..%2fbirch", "x", "20261128-120000-0a1b2c"):
        answer = client.post(f"/v1/trash/{odd}/restore")
        assert answer.status_code in (404, 422)


@pytest.mark.ci
def test_a_run_that_is_judged_or_written_stays(
    service: Served, slow: FaultServer
) -> None:
    client, runs = service.client, service.folder / "judge-runs"
    name = service.start_run(60, judge=MODEL).json()["id"]
    service.until_state(name, "running")
    for answer in (rename(service, name, "elm"), client.delete(f"/v1/runs/{name}")):
        assert "being judged: stop it first" in is_problem(answer, 409)
    client.post(f"/v1/runs/{name}/stop")
    service.until_state(name, "stopped")
    assert "no results yet" in is_problem(rename(service, name, "elm"), 409)
    # Stopped, it is deleted and comes back as it was: nothing was paid for in vain.
    paid = slow.stats().answered
    deleted = client.delete(f"/v1/runs/{name}").json()
    assert name not in listed(service)
    assert not (runs / ".jobs" / name).exists()
    answer = client.post(f"/v1/trash/{deleted['id']}/restore").json()
    assert (answer["id"], answer["state"]) == (name, "stopped")
    slow.set_faults(latency=0.0)
    client.post(f"/v1/runs/{name}/resume")
    service.until_state(name, "finished")
    assert slow.stats().answered == 60 >= paid
    # A finished run takes its job along, which is never begun again.
    renamed = rename(service, name, "elm").json()
    assert renamed.get("state") == "finished", renamed
    assert [path.name for path in (runs / ".jobs" / "elm").iterdir()] == ["job.json"]
    # A command writes it anew.
    lock = runs / "elm" / WRITING / "lock"
    lock.parent.mkdir()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answer = client.delete("/v1/runs/elm")
        assert "written by another process" in is_problem(answer, 409)
    # The lock of a process that was killed keeps nobody.
    deleted = client.delete("/v1/runs/elm").json()
    assert deleted["name"] == "elm"
    answer = client.post(f"/v1/trash/{deleted['id']}/restore").json()
    assert answer["state"] == "finished"


def test_a_rename_that_was_cut_off_costs_nothing(
    service: Served, tmp_path: Path
) -> None:
    """As of a process that is killed between the two moves: the job is never done again."""
    run, job = tmp_path / "old", tmp_path / ".jobs" / "old"
    job.mkdir(parents=True)
    made = {"files": ["a.json"], "created": "2026-11-28T12:00:00+00:00"}
    request = jobs.RunRequest(rubric="green", **made)
    (job / jobs.JOB).write_text(request.model_dump_json(exclude_unset=True))
    shutil.copytree(service.folder / "named" / "apart", run)
    (found,) = jobs.list_jobs(tmp_path)
    assert found.status() == jobs.JobStatus(jobs.FINISHED)
    found.end(jobs.STOPPED, "its run is called new now")
    run.rename(tmp_path / "new")
    assert found.status() == jobs.JobStatus(jobs.STOPPED, "its run is called new now")


def test_a_comparison_under_way_keeps_its_runs(service: Served) -> None:
    """In threads: the comparison takes seconds, and is asked for first."""
    query = {"run": ["alder", "birch"], "allow": "judge"}
    busy = "/v1/comparison"
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.client.get, busy, params=query)
        refused = until(
            lambda: asked.done() or _refused(rename(service, "alder", "alder"))
        )
        asked.result()
    assert refused
    assert rename(service, "alder", "alder").status_code == 200


def _refused(answer: httpx.Response) -> bool:
    return answer.status_code == 409 and "being compared" in answer.text


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("curl") is None, reason="without curl")
def test_the_requests_of_the_page_of_docs(
    tmp_path: Path, judged_examples: Path
) -> None:
    page = (ROOT / "docs" / "auditing.md").read_text("utf-8")
    commands = re.findall(r"^curl (?:.*\\\n)*.*", page, re.M)
    assert len(commands) == 3
    shutil.copytree(judged_examples, tmp_path / "judge-runs" / "RUN")
    token = {"JUDGE_TOKEN": "a-token"}
    allowed = ["--offer", "gpt-6-luna", "--budget", 50]
    with Served(tmp_path, *allowed, environ=token) as service:
        said = []
        for command in commands:
            asked = command.replace("http://127.0.0.1:8321", service.url)
            asked = asked.replace("curl ", "curl -sS --fail-with-body ", 1)
            done = subprocess.run(
                ["bash", "-c", asked],
                cwd=EXAMPLES,
                env=os.environ | token,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, done
            said.append(json.loads(done.stdout))
    checked, renamed, deleted = said
    assert 0 < checked["price"]["worst"] < 5
    assert (renamed["id"], deleted["name"]) == ("maira2-green", "maira2-green")


def test_the_trash_shows_only_what_was_deleted(tmp_path: Path) -> None:
    place = tmp_path / "20261128-120000-0a1b2c"
    (place / "a run").mkdir(parents=True)
    run = TrashedRun.read(place)
    assert run.shown().model_dump() == {
        "id": place.name,
        "name": "a run",
        "deleted": "2026-11-28T12:00:00+00:00",
        "deleted_text": "2026-11-28",
        "restore_title": "Restore a run",
    }
    (place / "another").mkdir()
    with pytest.raises(ValueError, match="one run"):
        TrashedRun.read(place)


def test_a_trash_that_is_a_link_is_refused(
    tmp_path: Path, judged_examples: Path
) -> None:
    shutil.copytree(judged_examples, tmp_path / "judge-runs" / "mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "judge-runs" / ".trash").symlink_to(tmp_path / "elsewhere")
    with Served(tmp_path) as service:
        answer = service.client.delete("/v1/runs/mine")
        assert "link" in is_problem(answer, 507)
        assert listed(service) == {"mine"}
        assert [*(tmp_path / "elsewhere").iterdir()] == []
        assert json.loads(service.client.get("/v1/trash").text) == {"runs": []}
