"""Blind readings over HTTP: what is shown, what is kept, what is refused, and images."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from readable import RATING, invoked, png, readable
from served import Served, is_problem

from judge.readers import kept
from judge.readers.sample import read_sample
from judge.running.folder import Run

BASE = "/v1/runs/mine"
ERROR = {
    "kind": "error",
    "labels": {"category": ["a"], "significance": ["significant"]},
    "text": "The",
    "side": "candidate",
    "start": 0,
    "end": 3,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("readings")
    with Served(folder, readable(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def order(service: Served) -> tuple[str, ...]:
    sample = read_sample(service.folder / "mine")
    assert sample
    return sample.order


def queue(service: Served, reader: str) -> list[str]:
    answer = service.client.get(f"{BASE}/reading", params={"reader": reader})
    assert answer.status_code == 200, answer.text
    return [one["state"] for one in answer.json()["queue"]]


def shown(service: Served, reader: str, study_id: str) -> dict[str, Any]:
    answer = service.client.get(f"{BASE}/reading/study", params={"reader": reader, "id": study_id})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_reading_is_kept_by_reader_and_the_last_one_counts(
    service: Served, order: tuple[str, ...]
) -> None:
    assert queue(service, "Anna") == ["new"] * 3
    body = {"study_id": order[0], "reader": " Anna ", "done": False, "items": [ERROR]}
    first = service.client.post(f"{BASE}/readings", json=body)
    assert first.status_code == 201
    assert first.json()["at"].endswith("+00:00")
    assert queue(service, "Anna") == ["begun", "new", "new"]
    again = {**body, "items": [], "done": True, "comment": "Nothing 😀."}
    assert service.client.post(f"{BASE}/readings", json=again).status_code == 201
    assert queue(service, "Anna") == ["done", "new", "new"]
    assert queue(service, "Bob") == ["new"] * 3
    mine = shown(service, "Anna", order[0])["reading"]
    assert (mine["reader"], mine["items"], mine["done"]) == ("Anna", [], True)
    assert shown(service, "Bob", order[0])["reading"] is None
    said = [(one.reader, one.done) for one in kept.read(service.folder / "mine")]
    assert said == [("Anna", False), ("Anna", True)]


REFUSED = (
    ({"done": None}, 422, "done"),
    ({"surprise": 1}, 422, "surprise"),
    ({"reader": "a\nb"}, 422, "reader"),
    ({"reader": "x" * 101}, 422, "reader"),
    ({"comment": "x" * 20_001}, 422, "comment"),
    ({"items": [ERROR] * 501}, 422, "items"),
    ({"items": [ERROR | {"start": 5}]}, 422, "outside the candidate"),
    ({"items": [ERROR | {"end": 10**9}]}, 422, "outside the candidate"),
    ({"items": [ERROR | {"kind": "guess"}]}, 422, "no 'guess'"),
    (
        {"items": [ERROR | {"labels": {"category": ["z"], "significance": ["significant"]}}]},
        422,
        "z",
    ),
    ({"items": [ERROR | {"labels": {"category": ["a"]}}]}, 422, "significance"),
    (
        {"items": [ERROR | {"edit": {"kind": "delete", "line": 0}}]},
        422,
        "GREEN corrects no lines",
    ),
    ({"texts": "0" * 16}, 409, "load the page anew"),
    ({"study_id": "ex-999"}, 404, "no study"),
)


def test_what_cannot_be_a_reading_is_refused_and_not_kept(
    service: Served, order: tuple[str, ...]
) -> None:
    before = len(kept.read(service.folder / "mine"))
    for change, status, words in REFUSED:
        body = {"study_id": order[1], "reader": "Anna", "done": True} | change
        assert words in is_problem(service.client.post(f"{BASE}/readings", json=body), status)
    undrawn = next(
        s.study_id for s, _ in Run(service.folder / "mine").outcomes() if s.study_id not in order
    )
    body = {"study_id": undrawn, "reader": "Anna", "done": True}
    assert "not drawn" in is_problem(service.client.post(f"{BASE}/readings", json=body), 404)
    params = {"reader": "Anna", "id": undrawn}
    is_problem(service.client.get(f"{BASE}/reading/study", params=params), 404)
    assert len(kept.read(service.folder / "mine")) == before


def test_no_answer_says_what_a_judge_made_of_a_study(
    service: Served, order: tuple[str, ...]
) -> None:
    """The judge's words, its labels, the class that it inferred, and the fields of others."""
    answers = [service.client.get(f"{BASE}/reading", params={"reader": "Eve"})]
    answers += [
        service.client.get(f"{BASE}/reading/study", params={"reader": "Eve", "id": one})
        for one in order
    ]
    text = b"".join(answer.content for answer in answers).decode()
    n = 0
    for record in Run(service.folder / "mine").records():
        annotation = record["annotation"]
        told = [annotation["explanation"], *(item["text"] for item in annotation["items"])]
        reports = record["reference"] + record["candidate"]
        for words in filter(None, told):
            if words not in reports:
                n += 1
                assert json.dumps(words)[1:-1] not in text
    assert n > 20
    for word in (RATING, "outcome", "measures", "class_inferred", "explanation", "study_class"):
        assert word not in text
    assert "Cough for three days." in text


def test_without_a_sample_nothing_is_read(tmp_path: Path, finished: Path) -> None:
    with Served(tmp_path, shutil.copytree(finished, tmp_path / "mine")) as service:
        answer = service.client.get(f"{BASE}/reading", params={"reader": "Anna"}).json()
        assert answer["queue"] is None
        body = {"study_id": "ex-001", "reader": "Anna", "done": True}
        detail = is_problem(service.client.post(f"{BASE}/readings", json=body), 409)
        assert "judge sample RUN" in detail
        # More are drawn while the service is up, and the queue grows at its end.
        for n in (4, 6):
            invoked("sample", tmp_path / "mine", "-n", n)
            assert queue(service, "Anna") == ["new"] * n


LINK, LOOP = "link.png", "loop.png"


def test_an_image_is_served_from_the_folder_and_nothing_else_is(tmp_path: Path) -> None:
    images = tmp_path / "images"
    (images / "below").mkdir(parents=True)
    (images / "below" / "a.png").write_bytes(png())
    (images / "b.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more")
    (images / "c.png").write_text("<svg onload=alert(1)>")
    (images / "large.png").touch()
    os.truncate(images / "large.png", 2**26 + 1)
    (tmp_path / "outside.png").write_bytes(png())
    (images / LINK).symlink_to(tmp_path / "outside.png")
    (images / LOOP).symlink_to(images / LOOP)
    (images / "inside.png").symlink_to(images / "below" / "a.png")
    (tmp_path / "images-of-others").mkdir()
    (tmp_path / "images-of-others" / "a.png").write_bytes(png())
    paths = {
        "below/a.png": 200,
        "below/../b.jpg": 200,
        str(images / "below" / "a.png"): 200,
        "inside.png": 200,
        json.dumps(["below/a.png", "b.jpg"]): 200,
        "c.png": 415,
        "large.png": 413,
        "../outside.png": 404,
        "below/../../outside.png": 404,
        "../images-of-others/a.png": 404,
        str(tmp_path / "outside.png"): 404,
        LINK: 404,
        LOOP: 404,
        "below": 404,
        "x" * 5000: 404,
    }
    run = readable(tmp_path, n=15, images=dict(enumerate(paths)))
    ids = [study.study_id for study, _ in Run(run).outcomes()]
    with Served(tmp_path, run, "--images", images) as service:
        for study_id, (path, status) in zip(ids, paths.items(), strict=True):
            answer = service.client.get(f"{BASE}/reading/image", params={"id": study_id})
            if status != 200:
                assert str(tmp_path) not in is_problem(answer, status), path
                continue
            assert answer.status_code == 200, path
            assert answer.headers["content-type"].startswith("image/")
            assert answer.headers["x-content-type-options"] == "nosniff"
        second = {"id": ids[4], "at": 1}
        answer = service.client.get(f"{BASE}/reading/image", params=second)
        assert answer.headers["content-type"] == "image/jpeg"
        is_problem(service.client.get(f"{BASE}/reading/image", params=second | {"at": 2}), 404)
        assert shown(service, "Anna", ids[4])["n_images"] == 2


def test_no_image_is_served_where_none_was_asked_for(
    service: Served, order: tuple[str, ...]
) -> None:
    assert shown(service, "Anna", order[0])["n_images"] == 0
    params = {"id": order[0]}
    is_problem(service.client.get(f"{BASE}/reading/image", params=params), 404)
