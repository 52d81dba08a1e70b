"""Reviews over HTTP, by two readers, with a crash between."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from served import Served, is_problem

from judge.cli import main
from judge.service import reviews

RUN = "/v1/runs/mine"


@pytest.fixture
def run(tmp_path: Path, finished: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "mine"))


@pytest.fixture
def service(tmp_path: Path, run: Path) -> Iterator[Served]:
    with Served(tmp_path, run) as running:
        yield running


def study(service: Served, study_id: str = "ex-015") -> dict[str, object]:
    answer = service.client.get(f"{RUN}/study", params={"id": study_id, "record": True})
    found: dict[str, object] = answer.json()
    return found


def review(service: Served, reader: str, verdict: str, **more: object) -> httpx.Response:
    body = {"study_id": "ex-015", "reader": reader, "verdict": verdict} | more
    return service.client.post(f"{RUN}/reviews", json=body)


def test_an_error_is_reviewed_and_found_again_after_a_kill(service: Served) -> None:
    shown = study(service)
    fingerprint = shown["fingerprints"][0]  # type: ignore[index]
    error = shown["view"]["items"][0]  # type: ignore[index]
    added = review(service, "anna", "right", error=fingerprint, comment="yes")
    assert added.status_code == 201
    event = added.json()
    assert event["at"].endswith("+00:00")
    assert (event["level"], event["text"]) == (error["grade"], error["text"])
    service.kill()
    with (service.folder / "mine" / reviews.FILE).open("ab") as file:
        file.write(b'{"id": "torn", "reader"')
    service.start()
    assert study(service)["reviews"] == [event]
    assert review(service, "bob", "wrong", error=fingerprint).status_code == 201
    assert [e["reader"] for e in study(service)["reviews"]] == ["anna", "bob"]  # type: ignore[attr-defined]
    events = service.client.get(f"{RUN}/reviews").json()["events"]
    assert [one["study_id"] for one in events] == ["ex-015", "ex-015"]


def test_two_readers_at_once_lose_nothing(service: Served) -> None:
    names = study(service)["fingerprints"]

    def all_errors(reader: str) -> list[int]:
        return [
            review(service, reader, verdict, error=name).status_code
            for _ in range(3)
            for verdict in ("right", "wrong")
            for name in names  # type: ignore[attr-defined]
        ]

    with ThreadPoolExecutor(2) as pool:
        answers = [status for part in pool.map(all_errors, ("anna", "bob")) for status in part]
    assert set(answers) == {201}
    kept = reviews.read(service.folder / "mine")
    assert len(kept) == len(answers)
    assert len({event.id for event in kept}) == len(kept)
    found = service.client.get(f"{RUN}/reviews").json()
    assert len(found["events"]) == 2 * len(names)  # type: ignore[arg-type]
    assert {event["verdict"] for event in found["events"]} == {"wrong"}
    assert found["statistics"]["precision"][0]["value"] == 0.0
    (pair,) = found["statistics"]["kappa"]
    assert pair["kappa"] is None, "both said the same of every error"


def test_a_missed_error_is_added_changed_and_taken_back(service: Served) -> None:
    missed = {"categories": ["b"], "text": "A nodule.", "level": "significant"}
    added = review(service, "anna", "missed", **missed).json()
    changed = review(
        service, "anna", "missed", error=added["id"], categories=["b"], text="Two nodules."
    )
    assert changed.status_code == 201
    (event,) = study(service)["reviews"]  # type: ignore[misc]
    assert event["text"] == "Two nodules."
    is_problem(review(service, "bob", "none", error=added["id"]), 404)
    assert review(service, "anna", "none", error=added["id"]).status_code == 201
    assert study(service)["reviews"] == []


REFUSED = (
    ({"verdict": "right", "error": "0" * 16}, 409),
    ({"verdict": "right"}, 409),
    ({"verdict": "missed"}, 422),
    ({"verdict": "missed", "text": "x", "categories": ["z"]}, 422),
    ({"verdict": "missed", "text": "x", "categories": ["a"], "level": "vast"}, 422),
    ({"verdict": "maybe"}, 422),
    ({"verdict": "comment", "study_id": "../ex-015"}, 404),
    ({"verdict": "comment", "reader": " "}, 422),
    ({"verdict": "comment", "reader": "a\nb"}, 422),
    ({"verdict": "comment", "comment": "x" * 20_001}, 422),
    ({"verdict": "comment", "surprise": 1}, 422),
)


def test_a_review_that_cannot_be_is_refused_and_not_kept(service: Served) -> None:
    for body, status in REFUSED:
        whole = {"study_id": "ex-015", "reader": "anna"} | body
        is_problem(service.client.post(f"{RUN}/reviews", json=whole), status)
    assert not (service.folder / "mine" / reviews.FILE).exists()


def test_the_csv_and_the_command_line_say_the_same(service: Served, run: Path) -> None:
    for at, name in enumerate(study(service)["fingerprints"]):  # type: ignore[arg-type]
        review(service, "anna", ("right", "wrong")[at % 2], error=name, comment="=1+1")
    answer = service.client.get(f"{RUN}/reviews.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["verdict"] for row in rows[:2]] == ["right", "wrong"]
    printed = CliRunner().invoke(main, ["reviews", str(run), "--format", "csv"])
    assert printed.stdout == answer.text
    as_json = CliRunner().invoke(main, ["reviews", str(run), "--format", "json"])
    assert json.loads(as_json.stdout) == service.client.get(f"{RUN}/reviews").json()["statistics"]
    table = CliRunner().invoke(main, ["reviews", str(run)])
    assert "finding precision" in table.stdout


def test_reviews_outlive_a_rescore(service: Served, run: Path) -> None:
    name = study(service)["fingerprints"][0]  # type: ignore[index]
    review(service, "anna", "right", error=name)
    kept = (run / reviews.FILE).read_bytes()
    done = CliRunner().invoke(main, ["rescore", str(run)])
    assert done.exit_code == 0, done.stderr
    assert (run / reviews.FILE).read_bytes() == kept
    found = service.client.get(f"{RUN}/reviews").json()["statistics"]
    assert (found["n_reviewed_errors"], found["stale"]) == (1, 0)
