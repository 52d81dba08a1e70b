"""Reviews over HTTP, by two readers, with a crash between; and the file that holds them."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from served import Served, is_problem

from judge.cli import main
from judge.service import reviews

RUN = "/v1/runs/mine"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, judged_examples: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("reviews")
    with Served(folder, shutil.copytree(judged_examples, folder / "mine")) as service:
        yield service


@pytest.fixture
def service(running: Served) -> Served:
    """A service of the run `mine`, without a review."""
    (running.folder / "mine" / reviews.FILE).unlink(missing_ok=True)
    return running


def study(service: Served) -> dict[str, Any]:
    answer = service.client.get(f"{RUN}/study", params={"id": "ex-015", "record": True})
    found: dict[str, Any] = answer.json()
    return found


def review(service: Served, reader: str, verdict: str, **more: object) -> httpx.Response:
    body = {"study_id": "ex-015", "reader": reader, "verdict": verdict} | more
    return service.client.post(f"{RUN}/reviews", json=body)


def test_an_error_is_reviewed_and_there_again_after_a_kill(service: Served) -> None:
    shown = study(service)
    fingerprint, error = shown["fingerprints"][0], shown["view"]["items"][0]
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
    assert [e["reader"] for e in study(service)["reviews"]] == ["anna", "bob"]


def test_two_readers_at_once_lose_nothing(service: Served) -> None:
    names = study(service)["fingerprints"]

    def all_errors(reader: str) -> list[str]:
        said = [review(service, reader, "wrong", error=name).json()["id"] for name in names]
        missed = {"categories": ["b"], "text": "A nodule.", "level": "significant"}
        added = review(service, reader, "missed", **missed).json()["id"]
        readers = service.client.get(f"{RUN}/reviews").json()["statistics"]["readers"]
        assert reader in readers
        return [*said, added, review(service, reader, "none", error=added).json()["id"]]

    with ThreadPoolExecutor(2) as pool:
        added = [one for part in pool.map(all_errors, ("anna", "bob")) for one in part]
    assert {event.id for event in reviews.read(service.folder / "mine")} == set(added)
    found = service.client.get(f"{RUN}/reviews").json()
    assert [event["verdict"] for event in found["events"]] == ["wrong"] * 2 * len(names)
    assert found["statistics"]["precision"][0]["value"] == 0.0


def test_a_review_that_cannot_be_is_refused_and_not_kept(service: Served) -> None:
    missed = {"verdict": "missed", "text": "x", "categories": ["a"]}
    for body, status in (
        (missed | {"level": "of another rubric"}, 422),
        (missed | {"error": study(service)["fingerprints"][0]}, 422),
        ({"verdict": "comment", "comment": "x", "error": "0" * 16}, 409),
        ({"verdict": "right", "error": "0" * 16}, 409),
        ({"verdict": "missed", "text": "x", "categories": ["z"]}, 422),
        ({"verdict": "comment", "study_id": "../ex-015"}, 404),
        ({"verdict": "comment", "reader": "a\nb"}, 422),
        ({"verdict": "comment", "comment": "x" * 20_001}, 422),
    ):
        whole = {"study_id": "ex-015", "reader": "anna"} | body
        is_problem(service.client.post(f"{RUN}/reviews", json=whole), status)
    assert not (service.folder / "mine" / reviews.FILE).exists()


def test_the_csv_and_the_command_line_say_the_same_also_after_a_rescore(service: Served) -> None:
    run = service.folder / "mine"
    for at, name in enumerate(study(service)["fingerprints"]):
        comment = ("=1+1", "\uff1d1+1")[at % 2]  # the second is a fullwidth sign
        review(service, "anna", ("right", "wrong")[at % 2], error=name, comment=comment)
    kept = (run / reviews.FILE).read_bytes()
    answer = service.client.get(f"{RUN}/reviews.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["comment"] for row in rows} == {"'=1+1", "'\uff1d1+1"}, "no formula"
    printed = CliRunner().invoke(main, ["reviews", str(run), "--format", "csv"])
    assert printed.stdout == answer.text
    before = service.client.get(f"{RUN}/reviews").json()["statistics"]
    assert before["n_reviewed_errors"] == len(rows)
    done = CliRunner().invoke(main, ["rescore", str(run)])
    assert done.exit_code == 0, done.stderr
    assert (run / reviews.FILE).read_bytes() == kept
    as_json = CliRunner().invoke(main, ["reviews", str(run), "--format", "json"])
    assert json.loads(as_json.stdout) == before
    assert service.client.get(f"{RUN}/reviews").json()["statistics"] == before


def said(reader: str, error: str | None, verdict: str, **more: object) -> reviews.Event:
    return reviews.new_event(reader, "s", error, verdict, **more)


def test_a_readers_last_word_counts_and_missed_errors_are_each_their_own() -> None:
    first, second = said("anna", None, "missed"), said("anna", None, "missed")
    old = [said("anna", "e1", "right"), said("anna", None, "comment"), first]
    last = [said("bob", "e1", "wrong"), said("anna", "e1", "wrong_severity"), second]
    last += [said("anna", None, "comment", comment="two")]
    assert reviews.latest([*old, *last, said("anna", first.id, "none")]) == last
