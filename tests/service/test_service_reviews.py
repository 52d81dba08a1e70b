"""Reviews over HTTP, by two readers, with a crash between; and the file that holds them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from served import Served, all_events, is_problem

from judge.cli import main
from judge.readers.annotation_store import append_entry
from judge.study.reviews import REVIEWS, Event, latest

RUN = "/v1/runs/mine"


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("reviews")
    with Served(folder, shutil.copytree(judged_examples, folder / "mine")) as service:
        yield service


@pytest.fixture
def service(running: Served) -> Served:
    """A service of the run `mine`, without a review."""
    (running.folder / "mine" / REVIEWS).unlink(missing_ok=True)
    return running


def seen(service: Served, reader: str = "") -> dict[str, Any]:
    """The reviews of the study as a reader sees them."""
    query = {"id": "ex-015", "reader": reader}
    found: dict[str, Any] = service.client.get(
        f"{RUN}/study/review", params=query
    ).json()
    return found


def fingerprints(service: Served) -> list[str]:
    return [item["error"] for item in seen(service)["items"]]


def events(service: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.client.get(f"{RUN}/reviews").json()["events"]
    return found


def review(
    service: Served, reader: str, verdict: str, **more: object
) -> httpx.Response:
    body = {"study_id": "ex-015", "reader": reader, "verdict": verdict} | more
    return service.client.post(f"{RUN}/reviews", json=body)


def test_an_error_is_reviewed_and_there_again_after_a_kill(service: Served) -> None:
    fingerprint = fingerprints(service)[0]
    shown = service.client.get(f"{RUN}/study", params={"id": "ex-015"}).json()
    error = shown["study"]["findings"]["items"][0]
    added = review(service, "anna", "right", error=fingerprint, comment="yes")
    assert added.status_code == 201
    event = added.json()
    assert event["at"].endswith("+00:00")
    assert (event["level"], event["text"]) == (error["grade"], error["text"])
    service.kill()
    with (service.folder / "mine" / REVIEWS).open("ab") as file:
        file.write(b'{"id": "torn", "reader"')
    service.start()
    assert events(service) == [{**event, "stale": False}]
    assert review(service, "bob", "wrong", error=fingerprint).status_code == 201
    assert [e["reader"] for e in events(service)] == ["anna", "bob"]
    assert seen(service, "anna")["items"][0]["verdict"] == "right"


def test_two_readers_at_once_lose_nothing(service: Served) -> None:
    names = fingerprints(service)

    def all_errors(reader: str) -> list[str]:
        said = [
            review(service, reader, "wrong", error=name).json()["id"] for name in names
        ]
        missed = {"categories": ["b"], "text": "A nodule.", "level": "significant"}
        added = review(service, reader, "missed", **missed).json()["id"]
        readers = service.client.get(f"{RUN}/reviews").json()["statistics"]["readers"]
        assert reader in readers
        return [*said, added, review(service, reader, "none", error=added).json()["id"]]

    with ThreadPoolExecutor(2) as pool:
        added = [one for part in pool.map(all_errors, ("anna", "bob")) for one in part]
    assert {event.id for event in all_events(service.folder / "mine")} == set(added)
    found = service.client.get(f"{RUN}/reviews").json()
    assert [event["verdict"] for event in found["events"]] == ["wrong"] * 2 * len(names)
    assert found["statistics"]["precision"][0]["value"] == 0.0


def test_a_review_that_cannot_be_is_refused_and_not_kept(service: Served) -> None:
    missed = {"verdict": "missed", "text": "x", "categories": ["a"]}
    for body, status in (
        (missed | {"level": "of another rubric"}, 422),
        (missed | {"error": fingerprints(service)[0]}, 422),
        ({"verdict": "comment", "comment": "x", "error": "0" * 16}, 409),
        ({"verdict": "right", "error": "0" * 16}, 409),
        ({"verdict": "missed", "text": "x", "categories": ["z"]}, 422),
        ({"verdict": "comment", "study_id": "../ex-015"}, 404),
        ({"verdict": "comment", "reader": "a\nb"}, 422),
        ({"verdict": "comment", "comment": "x" * 20_001}, 422),
    ):
        whole = {"study_id": "ex-015", "reader": "anna"} | body
        is_problem(service.client.post(f"{RUN}/reviews", json=whole), status)
    assert not (service.folder / "mine" / REVIEWS).exists()


def test_reviews_stay_after_a_rescore(service: Served) -> None:
    run = service.folder / "mine"
    for name in fingerprints(service):
        review(service, "anna", "right", error=name)
    kept = (run / REVIEWS).read_bytes()
    before = service.client.get(f"{RUN}/reviews").json()["statistics"]
    assert before["n_reviewed_errors"] == kept.count(b"\n")
    done = CliRunner().invoke(main, ["runs", "rescore", str(run)])
    assert done.exit_code == 0, done.stderr
    assert (run / REVIEWS).read_bytes() == kept
    assert service.client.get(f"{RUN}/reviews").json()["statistics"] == before


def test_a_stale_review_is_said_and_not_counted(service: Served) -> None:
    run = service.folder / "mine"
    first = fingerprints(service)[0]
    review(service, "anna", "wrong_severity", error=first)
    gone = Event(
        *("id", "2026-11-28T12:00:00+00:00", "anna", "ex-015", "0" * 16, "right"),
        text="Left effusion.",
    )
    append_entry(run / REVIEWS, gone)
    found = service.client.get(f"{RUN}/reviews").json()
    assert [event["stale"] for event in found["events"]] == [False, True]
    statistics = found["statistics"]
    assert (statistics["n_reviewed_errors"], statistics["n_stale"]) == (1, 1)
    counts = [statistics[name][0]["k"] for name in ("precision", "finding_precision")]
    assert counts == [0, 1]
    assert (
        found["shown"]["sentence"] == "1 error reviewed by anna; 0 missed errors added"
    )
    assert any("1 review is stale (anna 1)" in note for note in found["shown"]["notes"])
    (table,) = found["shown"]["tables"]
    assert table["rows"][0][:2] == ["all", "1"]
    (stale,) = seen(service, "anna")["stale"]
    assert "“Left effusion.”, an error that this study no longer has" in stale
    assert seen(service, "bob")["stale"] == []


def test_others_are_seen_once_a_reader_has_decided(service: Served) -> None:
    names = fingerprints(service)
    for name in names:
        review(service, "moss", "wrong", error=name)
    missed = {"categories": ["b"], "text": "A nodule.", "level": "significant"}
    review(service, "moss", "missed", **missed)
    hidden = "1 other review, hidden until you decide"
    at_first = seen(service, "anna")
    assert [item["others"] for item in at_first["items"]] == [[hidden]] * len(names)
    assert (at_first["written"], at_first["hidden"]) == ([], hidden)
    review(service, "anna", "right", error=names[0])
    items = seen(service, "anna")["items"]
    assert (items[0]["verdict"], items[0]["others"]) == ("right", ["moss: wrong"])
    assert items[1]["others"] == [hidden]
    for name in names[1:]:
        review(service, "anna", "wrong_severity", error=name)
    (written,) = seen(service, "anna")["written"]
    assert written["text"] == (
        "Missed: (b) missing finding [clinically significant] A nodule."
    )
    assert (written["id"], written["reader"]) == (None, "moss")
    (own,) = seen(service, "moss")["written"]
    assert own["id"] is not None
    review(service, "anna", "none", error=names[0])
    assert seen(service, "anna")["items"][0]["others"] == [hidden]
    is_problem(service.client.get(f"{RUN}/study/review", params={"id": "no"}), 404)


def said(reader: str, error: str | None, verdict: Any, comment: str = "") -> Event:
    return Event(uuid.uuid4().hex, "", reader, "s", error, verdict, comment)


def test_a_readers_last_word_counts_and_missed_errors_are_each_their_own() -> None:
    first, second = said("anna", None, "missed"), said("anna", None, "missed")
    old = [said("anna", "e1", "right"), said("anna", None, "comment"), first]
    last = [said("bob", "e1", "wrong"), said("anna", "e1", "wrong_severity"), second]
    last += [said("anna", None, "comment", comment="two")]
    assert latest([*old, *last, said("anna", first.id, "none")]) == last
