"""Blind readings over HTTP: what is shown, what is kept, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from served import RATING, Served, is_problem, readable

from judge import prompts
from judge.readers import annotation_store as store
from judge.readers.sample import kept_sample
from judge.running.folder import RunFolder

BASE = "/v1/runs/mine"
DELETED = {"kind": "delete", "line": 0, "corrected": ""}
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
    """A service of a run of which three studies are drawn."""
    folder = tmp_path_factory.mktemp("readings")
    with Served(folder, readable(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def order(service: Served) -> tuple[str, ...]:
    sample = kept_sample(RunFolder.open(service.folder / "mine"))
    assert sample
    return sample.order[:3]


def queue(service: Served, reader: str) -> list[str]:
    answer = service.client.get(f"{BASE}/reading", params={"reader": reader})
    assert answer.status_code == 200, answer.text
    return [one["state"] for one in answer.json()["queue"]]


def shown(service: Served, reader: str, study_id: str) -> dict[str, Any]:
    answer = service.client.get(
        f"{BASE}/reading/study", params={"reader": reader, "id": study_id}
    )
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
    again["replaces"] = first.json()["id"]
    assert service.client.post(f"{BASE}/readings", json=again).status_code == 201
    assert queue(service, "Anna") == ["done", "new", "new"]
    assert queue(service, "Bob") == ["new"] * 3
    mine = shown(service, "Anna", order[0])["reading"]
    assert (mine["reader"], mine["items"], mine["done"]) == ("Anna", [], True)
    assert shown(service, "Bob", order[0])["reading"] is None
    said = [(one.reader, one.done) for one in store.read(service.folder / "mine")]
    assert said == [("Anna", False), ("Anna", True)]


def test_a_reading_that_was_not_seen_is_never_replaced(
    service: Served, order: tuple[str, ...]
) -> None:
    """Two tabs of one reader: the second to save is told, and can then replace what it has seen."""
    body = {"study_id": order[1], "reader": "Ida", "done": False, "comment": "first"}
    first = service.client.post(f"{BASE}/readings", json=body).json()
    other = {**body, "comment": "second"}
    refused = service.client.post(f"{BASE}/readings", json=other)
    assert "changed elsewhere" in is_problem(refused, 409)
    assert shown(service, "Ida", order[1])["reading"]["comment"] == "first"
    # What was saved already is not said to be changed: its answer may have been lost on the way.
    repeated = service.client.post(f"{BASE}/readings", json={**body, "seconds": 3.0})
    assert (repeated.status_code, repeated.json()["id"]) == (201, first["id"])
    replacing = {**other, "replaces": first["id"]}
    second = service.client.post(f"{BASE}/readings", json=replacing)
    assert second.status_code == 201
    # The first tab, which does not know of it.
    late = {**body, "comment": "third", "replaces": first["id"]}
    is_problem(service.client.post(f"{BASE}/readings", json=late), 409)
    assert shown(service, "Ida", order[1])["reading"]["id"] == second.json()["id"]
    # Another reader's readings are nothing to these.
    bob = service.client.post(f"{BASE}/readings", json={**other, "reader": "Bob"})
    assert bob.status_code == 201


def test_a_reader_is_told_what_the_judge_is_told(service: Served) -> None:
    answer = service.client.get(f"{BASE}/reading", params={"reader": "Zoe"}).json()
    facets = {facet["name"]: facet for facet in answer["rubric"]["facets"]}
    prompt = " ".join(prompts.load("green").system.split())
    passages = [*answer["rubric"]["guidelines"]]
    for facet in facets.values():
        passages += facet["definition"]
        for label in facet["labels"]:
            passages += label["definition"]
    assert len(passages) == 9
    for passage in passages:
        assert passage in prompt
    (missing,) = (
        label for label in facets["category"]["labels"] if label["name"] == "b"
    )
    assert missing["key"] == "b"
    assert "leaves it out or denies it" in missing["definition"][0]
    assert "what a physician does" in facets["significance"]["definition"][0]
    # The expected errors of practice are not in it.
    assert len(answer["practice"]) == 2
    assert "side of the effusion" not in str(answer["practice"])


def test_practice_is_compared_and_never_kept(service: Served) -> None:
    before = len(store.read(service.folder / "mine"))
    candidate = service.client.get(f"{BASE}/reading", params={"reader": "Zoe"}).json()[
        "practice"
    ][0]["candidate"]["text"]
    start = candidate.index("left pleural")
    marked = ERROR | {"start": start, "end": start + 4, "text": "left"}
    wrong = marked | {"labels": {"category": ["a"], "significance": ["significant"]}}
    elsewhere = wrong | {"start": 0, "end": 3, "text": "The"}
    body = {"number": 0, "items": [wrong, elsewhere]}
    said = service.client.post(f"{BASE}/reading/practice", json=body).json()
    assert said["title"] == "1 of 2 expected errors found"
    verdicts = [remark["verdict"] for remark in said["remarks"]]
    assert verdicts == ["Found, with other labels", "Not marked", "Not expected"]
    expected = "Expected: (c) wrong location, clinically significant."
    assert expected in said["remarks"][0]["text"]
    right = marked | {"labels": {"category": ["c"], "significance": ["significant"]}}
    body = {"number": 0, "items": [right]}
    said = service.client.post(f"{BASE}/reading/practice", json=body).json()
    assert said["remarks"][0]["is_right"]
    body = {"number": 2, "items": []}
    is_problem(service.client.post(f"{BASE}/reading/practice", json=body), 404)
    assert len(store.read(service.folder / "mine")) == before


def test_a_corrected_line_is_compared_word_by_word(service: Served) -> None:
    body = {"line": "Small left effusion.", "corrected": "Small right effusion."}
    answer = service.client.post(f"{BASE}/reading/line", json=body)
    pieces = [(piece["change"], piece["text"]) for piece in answer.json()["pieces"]]
    assert pieces == [
        ("same", "Small "),
        ("out", "left"),
        ("in", "right"),
        ("same", " "),
        ("same", "effusion."),
    ]


def test_what_cannot_be_a_reading_is_refused_and_not_kept(
    service: Served, order: tuple[str, ...]
) -> None:
    before = len(store.read(service.folder / "mine"))
    for change, status, words in (
        ({"done": None}, 422, "done"),
        ({"seconds": -1}, 422, "seconds"),
        ({"surprise": 1}, 422, "surprise"),
        ({"reader": "a\nb"}, 422, "reader"),
        ({"items": [ERROR] * 501}, 422, "items"),
        ({"items": [ERROR | {"start": 5}]}, 422, "candidate"),
        ({"items": [ERROR | {"labels": {"category": ["a"]}}]}, 422, "significance"),
        (
            {
                "items": [
                    ERROR | {"edit": {"kind": "delete", "line": 0, "corrected": ""}}
                ]
            },
            422,
            "lines",
        ),
        ({"texts": "0" * 16}, 409, "page"),
        ({"study_id": "ex-999"}, 404, "ex-999"),
    ):
        body = {"study_id": order[1], "reader": "Anna", "done": True} | change
        assert words in is_problem(
            service.client.post(f"{BASE}/readings", json=body), status
        )
    undrawn = next(
        s.study_id
        for s, _ in RunFolder.open(service.folder / "mine").outcomes()
        if s.study_id not in order
    )
    body = {"study_id": undrawn, "reader": "Anna", "done": True}
    assert "not drawn" in is_problem(
        service.client.post(f"{BASE}/readings", json=body), 404
    )
    params = {"reader": "Anna", "id": undrawn}
    is_problem(service.client.get(f"{BASE}/reading/study", params=params), 404)
    assert len(store.read(service.folder / "mine")) == before


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
    for record in RunFolder.open(service.folder / "mine").records():
        annotation = record["annotation"]
        told = [
            annotation["explanation"],
            *(item["text"] for item in annotation["items"]),
        ]
        reports = record["reference"] + record["candidate"]
        for words in filter(None, told):
            if words not in reports:
                n += 1
                assert json.dumps(words)[1:-1] not in text
    assert n > 20
    for word in (
        RATING,
        "outcome",
        "measures",
        "class_inferred",
        "explanation",
        "study_class",
    ):
        assert word not in text
    assert "Cough for three days." in text


def test_a_readers_address_does_not_name_the_run(service: Served) -> None:
    """The folder of a run may be called after its judge."""
    answer = service.client.get("/read", params={"run": "mine"})
    assert answer.status_code == 303
    address = answer.headers["location"]
    page = service.client.get(address)
    assert page.status_code == 200
    assert "mine" not in address + page.text
    blind_id = address.partition("run=")[2]
    shown = service.client.get(f"/v1/runs/{blind_id}/reading", params={"reader": "Zed"})
    assert "mine" not in shown.text
    assert len(shown.json()["queue"]) == 3
