"""Reviews over HTTP, by two readers, with a crash between; and the file that holds them."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from served import Served, is_problem

from judge import rubrics
from judge.cli import main
from judge.service import reviews
from judge.types import JudgeError

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

    def all_errors(reader: str) -> list[int]:
        return [
            review(service, reader, verdict, error=name).status_code
            for verdict in ("right", "wrong")
            for name in names
        ]

    with ThreadPoolExecutor(2) as pool:
        answers = [status for part in pool.map(all_errors, ("anna", "bob")) for status in part]
    assert set(answers) == {201}
    kept = reviews.read(service.folder / "mine")
    assert len(kept) == len({event.id for event in kept}) == len(answers)
    found = service.client.get(f"{RUN}/reviews").json()
    assert len(found["events"]) == 2 * len(names)
    assert {event["verdict"] for event in found["events"]} == {"wrong"}
    assert found["statistics"]["precision"][0]["value"] == 0.0
    assert found["statistics"]["kappa"][0]["kappa"] is None, "both said the same of every error"


def test_a_missed_error_is_added_changed_and_taken_back(service: Served) -> None:
    missed = {"categories": ["b"], "text": "A nodule.", "level": "significant"}
    added = review(service, "anna", "missed", **missed).json()
    changed = {"error": added["id"], "categories": ["b"], "text": "Two nodules."}
    assert review(service, "anna", "missed", **changed).status_code == 201
    (event,) = study(service)["reviews"]
    assert event["text"] == "Two nodules."
    is_problem(review(service, "bob", "none", error=added["id"]), 404)
    assert review(service, "anna", "none", error=added["id"]).status_code == 201
    assert study(service)["reviews"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"verdict": "right", "error": "0" * 16}, 409),
        ({"verdict": "missed"}, 422),
        ({"verdict": "missed", "text": "x", "categories": ["z"]}, 422),
        ({"verdict": "missed", "text": "x", "categories": ["a"], "level": "vast"}, 422),
        ({"verdict": "maybe"}, 422),
        ({"verdict": "comment", "study_id": "../ex-015"}, 404),
        ({"verdict": "comment", "reader": "a\nb"}, 422),
        ({"verdict": "comment", "comment": "x" * 20_001}, 422),
        ({"verdict": "comment", "surprise": 1}, 422),
    ],
)
def test_a_review_that_cannot_be_is_refused_and_not_kept(
    service: Served, body: dict[str, object], status: int
) -> None:
    whole = {"study_id": "ex-015", "reader": "anna"} | body
    is_problem(service.client.post(f"{RUN}/reviews", json=whole), status)
    assert not (service.folder / "mine" / reviews.FILE).exists()


def test_the_csv_and_the_command_line_say_the_same_also_after_a_rescore(service: Served) -> None:
    run = service.folder / "mine"
    for at, name in enumerate(study(service)["fingerprints"]):
        review(service, "anna", ("right", "wrong")[at % 2], error=name, comment="=1+1")
    kept = (run / reviews.FILE).read_bytes()
    answer = service.client.get(f"{RUN}/reviews.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["verdict"] for row in rows[:2]] == ["right", "wrong"]
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


@pytest.mark.parametrize("torn", [b"", b'{"id": "x", "read', b"\xff\x00", b"[]", b"null\n"])
def test_a_torn_line_costs_nothing_but_itself(tmp_path: Path, torn: bytes) -> None:
    assert reviews.read(tmp_path) == []
    first = said("anna", "e1", "right", comment="ja\nnein <b>\ud800")
    second = said("anna", None, "missed", categories=("b",), level="significant", text="nodule")
    reviews.append(tmp_path, first)
    with (tmp_path / reviews.FILE).open("ab") as file:
        file.write(torn)
    assert reviews.read(tmp_path) == [first]
    reviews.append(tmp_path, second)
    assert reviews.read(tmp_path) == [first, second]


@given(cut=st.integers(min_value=0))
def test_wherever_a_write_was_cut_the_rest_is_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    for at in range(3):
        reviews.append(folder, said("anna", f"e{at}", "right"))
    file = folder / reviews.FILE
    whole = file.read_bytes()
    file.write_bytes(whole[: cut % (len(whole) + 1)])
    before = reviews.read(folder)
    last = said("bob", "e9", "wrong")
    reviews.append(folder, last)
    # A line that lacked only its newline is whole after all.
    assert reviews.read(folder) == [*before, last]


def test_many_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from judge.service import reviews\n"
        "for at in range(100):\n"
        "    reviews.append(Path(sys.argv[1]), reviews.new_event(sys.argv[2], 's', f'e{at}', "
        "'right', comment='x' * 3000))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("anna", "bob")]
    assert [writer.wait() for writer in writers] == [0, 0]
    events = reviews.read(tmp_path)
    for name in ("anna", "bob"):
        assert [e.error for e in events if e.reader == name] == [f"e{at}" for at in range(100)]


def test_a_readers_last_word_counts_and_missed_errors_are_each_their_own() -> None:
    one = said("anna", None, "missed", categories=("b",), text="nodule")
    other = said("anna", None, "missed", categories=("b",), text="fracture")
    events = [
        said("anna", "e1", "right"),
        said("bob", "e1", "wrong"),
        said("anna", "e1", "wrong_severity"),
        said("anna", "e2", "right"),
        said("anna", "e2", "none"),
        said("anna", None, "comment", comment="one"),
        said("anna", None, "comment", comment="two"),
        one,
        other,
        said("anna", one.id, "none"),
    ]
    found = [(e.reader, e.error, e.verdict, e.comment) for e in reviews.latest(events)]
    assert found == [
        ("bob", "e1", "wrong", ""),
        ("anna", "e1", "wrong_severity", ""),
        ("anna", None, "comment", "two"),
        ("anna", None, "missed", ""),
    ]


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / reviews.FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JudgeError):
        reviews.append(tmp_path, said("anna", "e1", "right"))
    assert not (tmp_path / "elsewhere").exists()


def test_reviews_of_errors_that_are_gone_are_stale_and_count_nowhere() -> None:
    labels = {"category": ["a"], "significance": ["significant"]}
    item = {"kind": "error", "text": "x", "labels": labels, "side": None, "links": []}
    green = rubrics.load("green")
    (there,) = reviews.errors_of({"annotation": {"items": [item | {"edit": None}]}}, green)
    events = [said("anna", name, "right", categories=("a",)) for name in (there, "gone")]
    found = reviews.measured(events, lambda _: {there}, green)
    assert (found["n_reviewed_errors"], found["stale"]) == (1, 1)
    assert found["precision"][0]["value"] == 1.0


def test_no_review_is_a_formula_in_a_spreadsheet() -> None:
    words = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", 'so, "so"\n', "", "5 = five"]
    events = [
        reviews.new_event("=r", f"-s{at}", None, "comment", comment=word)
        for at, word in enumerate(words)
    ]
    rows = list(csv.DictReader(io.StringIO(reviews.as_csv(events))))
    for row in rows:
        assert not any(value.startswith(("=", "+", "-", "@", "\t")) for value in row.values())
    assert [row["comment"].removeprefix("'") for row in rows] == words
