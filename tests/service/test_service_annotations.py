"""Questions about single studies: what is answered, what it costs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from faultserver import Behaviour, Fault, FaultServer, StudyPlan, always, first
from pydantic import TypeAdapter, ValidationError
from served import Served, is_problem
from test_service_budget import MODEL, PRICED, left

import judge
from judge.run_settings import RunSettings
from judge.running.settings import with_context
from judge.service.asked import studies_of
from judge.service.questions import (
    Question,
    SeveralStudies,
    StudyContext,
    StudyInput,
)
from judge.studies import from_python
from judge.studies.study_set import CONTEXT_FIELDS

PATH = "/v1/annotations"
PAIR = {"reference": "No effusion.", "candidate": "Large left effusion."}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Any]]:
    """A service that may ask a model, and the model."""
    folder = tmp_path_factory.mktemp("asked")
    with FaultServer() as model:
        arguments = ("--offer", f"{MODEL}={model.url}", "--budget", 50)
        environ = {"PYTHONPATH": PRICED}
        with Served(folder, *arguments, environ=environ) as service:
            yield service, model


def about(key: str) -> dict[str, str]:
    """Return two reports of which the model has a right answer."""
    return {
        "id": key,
        "reference": f"{key}. The lungs are clear.",
        "candidate": "The lungs are clear. Small left effusion.",
    }


def answer(service: Served, **question: object) -> dict[str, Any]:
    got = service.client.post(PATH, json=question)
    assert got.status_code == 200, got.text
    found: dict[str, Any] = got.json()
    return found


# Answers


def test_the_built_in_judge_answers_as_from_python(shared_service: Served) -> None:
    found = answer(shared_service, id="a", **PAIR)
    (one,) = found["annotations"]
    frame = judge.annotate([PAIR["reference"]], [PAIR["candidate"]], study_ids=["a"])
    (row,) = frame.to_dict("records")
    assert (one["id"], one["outcome"], one["answer"]) == ("a", "scored", row["answer"])
    for name, value in one["measures"].items():
        assert value == row[name], name
    (error,) = [item for item in one["annotation"]["items"] if item["kind"] == "error"]
    assert error["labels"]["category"] == ["a"]
    parts = found["signature"].split("|")
    assert [part for part in frame.attrs["signature"].split("|") if part in parts] == (
        parts
    )
    assert found["cost"] == {
        "asked": 0,
        "from_cache": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "dollars": 0.0,
        "unknown_requests": 0,
        "unknown_dollars": 0.0,
    }


@pytest.mark.parametrize(
    "rubric", ["attributes", "counts", "crimson", "facts", "fineradscore"]
)
def test_every_rubric_answers(shared_service: Served, rubric: str) -> None:
    (one,) = answer(shared_service, rubric=rubric, **PAIR)["annotations"]
    assert one["outcome"] == "scored", one
    assert one["measures"]


def test_an_answer_is_paid_once_and_by_whoever_asked(asked: Any) -> None:
    service, model = asked
    before = left(service)
    one = answer(service, judge=MODEL, **about("study-0001"))
    assert one["cost"]["asked"] == 1
    assert one["cost"]["dollars"] > 0
    assert one["cost"]["dollars"] == pytest.approx(before - left(service))
    again = answer(service, judge=MODEL, **about("study-0001"))
    assert again["annotations"] == one["annotations"]
    assert again["cost"]["asked"] == again["cost"]["dollars"] == 0
    assert again["cost"]["from_cache"] == 1
    assert model.stats().by_study["study-0001"] == 1
    right = model.annotation("study-0001")
    items = one["annotations"][0]["annotation"]["items"]
    assert [item["text"] for item in items] == [item.text for item in right.items]


def test_a_run_over_the_same_studies_pays_no_more(asked: Any) -> None:
    service, model = asked
    keys = [f"study-{at:04}" for at in range(4)]  # as `start_run` makes them
    answer(service, judge=MODEL, studies=[about(key) for key in keys])
    before = model.stats().requests
    run = service.start_run(4, judge=MODEL, section="report").json()["id"]
    found = service.until_state(run, "finished", "failed", "stopped")
    assert found["n_scored"] == 4
    assert model.stats().requests == before


# Outcomes


def test_a_study_without_a_score_says_why_and_spoils_no_other(asked: Any) -> None:
    service, model = asked
    plans: dict[str, StudyPlan] = {
        "study-0102": always(Fault.REFUSAL),
        "study-0103": always(Fault.MALFORMED),
        "study-0104": always(Fault.TOO_LONG),
        "study-0105": first(Fault.SERVER_ERROR),
    }
    model.set_faults(studies=plans)
    studies = [about(f"study-010{at}") for at in range(1, 6)]
    studies += [{"reference": " - ", "candidate": "Clear."}]
    studies += [{"reference": "Clear.", "candidate": ""}]
    found = answer(service, judge=MODEL, studies=studies)
    ends = {one["id"]: one for one in found["annotations"]}
    outcomes = {name: one["outcome"] for name, one in ends.items()}
    assert outcomes == {
        "study-0101": "scored",
        "study-0102": "unparsed",
        "study-0103": "unparsed",
        "study-0104": "failed",
        "study-0105": "scored",
        "6": "failed",
        "7": "scored",
    }
    for one in ends.values():
        is_scored = one["outcome"] == "scored"
        assert (one["measures"] is not None) == is_scored
        assert (one["annotation"] is not None) == is_scored
        assert (one["reason"] is None) == is_scored
    assert ends["6"]["reason"] == "no reference"
    model.set_faults(studies={})


def test_without_room_in_the_budget_an_answer_fails_and_the_cache_is_free(
    tmp_path: Path,
) -> None:
    with FaultServer() as model:
        # A model that nobody knows may answer at length: a request sets $0.08 aside.
        arguments = ("--offer", f"{MODEL}={model.url}", "--budget", 0.1)
        environ = {"PYTHONPATH": PRICED}
        with Served(tmp_path, *arguments, environ=environ) as service:
            studies = [about(f"study-{at:04}") for at in range(40)]
            found = answer(service, judge=MODEL, studies=studies)
            outcomes = [one["outcome"] for one in found["annotations"]]
            n_scored = outcomes.count("scored")
            assert 0 < n_scored < 40
            assert outcomes.count("failed") == 40 - n_scored
            details = {one["detail"] for one in found["annotations"]} - {None}
            assert all("of $0.10 left" in detail for detail in details)
            assert found["cost"]["dollars"] == pytest.approx(0.1 - left(service))
            again = answer(service, judge=MODEL, studies=studies)
            assert [one["outcome"] for one in again["annotations"]] == outcomes
            assert again["cost"]["asked"] == 0
            assert model.stats().requests == n_scored


@pytest.mark.ci
def test_a_server_that_is_away_or_refuses_fails_the_study_alone(
    tmp_path: Path,
) -> None:
    with FaultServer(Behaviour(api_keys=("right",))) as model:
        environ = {"OPENAI_API_KEY": "wrong"}
        arguments = ("--offer", f"{MODEL}={model.url}")
        with Served(tmp_path, *arguments, environ=environ) as service:
            (one,) = answer(service, judge=MODEL, **about("study-0001"))["annotations"]
            assert (one["outcome"], one["measures"]) == ("failed", None)
            assert one["detail"]
            model.set_faults(api_keys=None)
            (one,) = answer(service, judge=MODEL, **about("study-0001"))["annotations"]
            assert one["outcome"] == "scored"


# Questions


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "reference: Field required"),
        ({"reference": "a", "candidate": None}, "candidate: Input should be"),
        ({**PAIR, "prompt": "/etc/passwd"}, "prompt: Extra inputs"),
        ({**PAIR, "reference": "a" * 20_001}, "at most 20000 characters"),
        ({**PAIR, "section": "findigns"}, "there are: findings, impression, report"),
        ({**PAIR, "modality": "pet"}, "'mg'"),
        ({**PAIR, "rubric": "gren"}, "there are: attributes, counts"),
        ({**PAIR, "rubric": "direct"}, "no rules for Direct score"),
        ({**PAIR, "temperature": "hot"}, "temperature"),
        ({**PAIR, "age": True}, "age"),
        ({"studies": []}, "studies: List should have at least 1"),
        ({"studies": [PAIR] * 101}, "at most 100"),
        ({"studies": [PAIR], **PAIR}, "reference: Extra inputs"),
        ({"studies": [{**PAIR, "id": 2}, PAIR]}, "have the same id '2'"),
        ([PAIR], "object"),
        ("report", "object"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    shared_service: Served, body: object, words: str
) -> None:
    refused = shared_service.client.post(PATH, json=body)
    said = is_problem(refused, 422)
    assert words in said
    assert "body." not in said
    assert "Value error" not in said


def test_a_judge_that_is_not_allowed_is_not_asked(shared_service: Served) -> None:
    refused = shared_service.client.post(PATH, json={**PAIR, "judge": "gpt-4o"})
    assert "lexicon" in is_problem(refused, 403)


def test_settings_that_a_judge_does_not_take_are_the_clients_fault(
    tmp_path: Path,
) -> None:
    question = {**PAIR, "judge": "o3"}
    with Served(
        tmp_path, "--offer", "o3", environ={"OPENAI_API_KEY": "none"}
    ) as service:
        refused = service.client.post(PATH, json=question | HOT)
        assert "temperature" in is_problem(refused, 422)
    # A key that the service lacks is no fault of the client's.
    keyless = tmp_path / "keyless"
    keyless.mkdir()
    with Served(keyless, "--offer", "o3", environ={"OPENAI_API_KEY": ""}) as service:
        refused = service.client.post(PATH, json=question)
        assert "OPENAI_API_KEY" in is_problem(refused, 503)


HOT = {"temperature": 0.7}


def test_the_context_fields_are_those_of_files() -> None:
    assert list(StudyContext.model_fields) == list(CONTEXT_FIELDS)


REPORTS = (
    "The lungs are clear.",
    "FINDINGS: Small effusion.\r\nIMPRESSION: Effusion.",
    "Effusion, as before. IMPRESSION: Unchanged.",
    "Findings: ___ Impression: No change.",
    "n/a",
    "",
    "HISTORY: Cough.\nFINDINGS:\nClear.\nRECOMMENDATION: None.",
)


@pytest.mark.parametrize(
    ("context", "is_read"),
    [
        ("a" * 5_000, True),
        ("a" * 5_001, False),
        (0.0, True),
        (float("nan"), False),
        (True, False),
        ([], False),
        ({f"field {at}": at for at in range(50)}, True),
        ({f"field {at}": at for at in range(51)}, False),
    ],
)
def test_the_context_is_a_text_a_number_or_an_object(
    context: object, *, is_read: bool
) -> None:
    question = {"reference": "Clear.", "candidate": "Clear.", "context": context}
    try:
        made = TypeAdapter(Question).validate_python(question)
    except ValidationError:
        assert not is_read
    else:
        assert is_read
        assert made.context == context


@pytest.mark.parametrize("section", ["findings", "impression", "report"])
def test_reports_and_context_are_read_as_those_of_files(section: str) -> None:
    records: list[dict[str, Any]] = []
    for reference in REPORTS:
        for candidate in REPORTS:
            records.append({"reference": reference, "candidate": candidate})
    for at, record in enumerate(records):
        record |= {"id": f"s{at}", "age": at, "history": "Cough" * (at % 3)}
        record |= {"context": f"Sex:F.Indication: pain {at}", "prior": f"Clear {at}."}
    question = SeveralStudies(
        studies=records[:49], section=section, modality="ct", rubric="green"
    )
    made = studies_of(question, question.inputs)
    read = from_python(records, section=section, allow_missing=True)
    columns = {"prior": "prior", "context": ["context", "age", "history"]}
    settings = RunSettings(rubric="green", columns=columns, modality="ct")
    read = with_context(read, settings, judge.rubrics.load("green"))
    expected = {study.study_id: study for study in read}
    assert len(expected) + len(made.unjudged) == len(records)
    for row, study in enumerate(made.studies):
        if row not in made.unjudged:
            other = expected[study.study_id]
            for name in ("reference", "candidate", "context", "prior", "modality"):
                assert getattr(study, name) == getattr(other, name), (name, study)
    assert made.studies.judge_context == read.judge_context


def test_ids_are_texts_as_in_files() -> None:
    for given, text in ((17, "17"), (17.0, "17"), ("017", "017")):
        assert StudyInput(id=given, **PAIR).id == text


def test_the_guard_holds_here_too(shared_service: Served) -> None:
    api = shared_service.client
    evil = {"Origin": "https://evil.example"}
    is_problem(api.post(PATH, json=PAIR, headers=evil), 403)
    is_problem(api.post(PATH, json=PAIR, headers={"Host": "evil.example"}), 421)
    is_problem(api.get(PATH), 405)


def test_what_is_no_json_is_refused_in_a_sentence(shared_service: Served) -> None:
    api: httpx.Client = shared_service.client
    as_json = {"Content-Type": "application/json"}
    for content in (
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"reference": NaN, "candidate": "x"}',
        b'{"reference": "\\ud800", "candidate": "x"}',
        b"",
        b"1e999",
        b"null",
    ):
        said = is_problem(api.post(PATH, content=content, headers=as_json), 422)
        assert len(said) < 300
    for kind in ("text/plain", "application/x-www-form-urlencoded", "image/png"):
        body = json.dumps(PAIR).encode()
        refused = api.post(PATH, content=body, headers={"Content-Type": kind})
        assert "application/json" in is_problem(refused, 415)
    assert api.post(PATH, json=PAIR).status_code == 200
    assert "Traceback" not in shared_service.said


# Checks and the documentation


def test_a_check_says_what_would_be_asked_and_asks_nobody(asked: Any) -> None:
    service, model = asked
    answer(service, judge=MODEL, **about("study-0301"))
    before = model.stats().requests
    studies = [about("study-0301"), about("study-0302"), about("study-0302")]
    studies[2]["id"] = "again"
    studies += [{"reference": "Unchanged.", "candidate": ""}, {**PAIR, "reference": ""}]
    body = {"judge": MODEL, "studies": studies}
    got = service.client.post("/v1/check", json=body)
    assert got.status_code == 200, got.text
    found = got.json()
    counts = ("n_studies", "n_unjudged", "n_empty_candidates")
    assert [found[name] for name in counts] == [5, 1, 1]
    requests = found["requests"]
    assert (requests["to_send"], requests["from_cache"]) == (2, 1)
    assert requests["repeated"] == 1
    assert 0 < requests["typical_dollars"] < requests["most_dollars"]
    assert any("compares" in note for note in found["notes"])
    assert any("empty" in note for note in found["notes"])
    assert [study["unjudged"] is None for study in found["studies"]] == (
        [True] * 4 + [False]
    )
    assert model.stats().requests == before
    is_problem(service.client.post("/v1/check", json={**body, "out": "x"}), 422)
    is_problem(service.client.post("/v1/check", json={**PAIR, "judge": "o3"}), 403)


def without_nulls(value: Any) -> Any:
    """Return a JSON value as FastAPI documents it, without what is null."""
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_nulls(each) for name, each in value.items() if each is not None
    }


def test_the_documented_examples_are_questions_and_their_answers(
    shared_service: Served,
) -> None:
    paths = shared_service.client.get("/openapi.json").json()["paths"]
    for path in (PATH, "/v1/check"):
        described = paths[path]["post"]
        (content,) = described["requestBody"]["content"].values()
        examples = content["examples"]
        got: dict[str, Any] = {}
        for name, example in examples.items():
            answered = shared_service.client.post(path, json=example["value"])
            assert answered.status_code == 200, answered.text
            got[name] = without_nulls(answered.json())
        shown = described["responses"]["200"]["content"]["application/json"]["example"]
        found = got["several"]
        if path == "/v1/check":
            shown["judge"] = found["judge"]
            assert found == shown
            continue
        assert list(found) == list(shown)
        assert found["cost"] == shown["cost"]
        for one, other in zip(found["annotations"], shown["annotations"], strict=True):
            assert list(one) == list(other)
            for name in ("id", "outcome", "reason", "detail"):
                assert one.get(name) == other.get(name)
            for name, value in other.get("measures", {}).items():
                assert one["measures"][name] == value
