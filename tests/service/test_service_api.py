"""What the API answers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from served import PAIR, Served, is_problem
from support import with_rules

from judge import annotate, rubrics


@pytest.fixture
def api(shared_service: Served) -> httpx.Client:
    return shared_service.client


def test_a_pair_is_annotated_as_the_engine_annotates_it(shared_service: Served) -> None:
    answer = shared_service.annotate(study_id="a/../b", context="Cough.").json()
    row = annotate([PAIR["reference"]], [PAIR["candidate"]]).iloc[0]
    assert answer["outcome"] == "annotated"
    assert answer["study_id"] == "a/../b"
    assert answer["fields"] == {"context": "Cough."}
    assert answer["measures"]["green"] == row["green"] == 0.5
    assert answer["measures"]["n_significant"] == row["n_significant"] == 1
    assert answer["answer"]["text"] == row["answer"]
    assert answer["signature"].startswith("green:2|judge:lexicon")
    assert "baseline" in answer["judge"]["note"]


def test_every_rubric_can_be_asked_for(shared_service: Served) -> None:
    for rubric in with_rules():
        answer = shared_service.annotate(rubric=rubric).json()
        assert set(answer["measures"]) == {one.name for one in rubrics.load(rubric).measures}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rubric": "blue"}, "unknown rubric 'blue'"),
        ({"reference": " "}, "reference"),
        ({"reference": 7}, "body.reference"),
        ({"surprise": "x"}, "body.surprise"),
        ({"prompt": "/etc/passwd"}, "unknown prompt"),
        ({"prompt": "fineradscore"}, "unknown prompt"),
        ({"study_id": ""}, "body.study_id"),
    ],
)
def test_what_is_wrong_with_a_pair_is_said(
    shared_service: Served, changes: dict[str, object], says: str
) -> None:
    assert says in is_problem(shared_service.annotate(**changes), 422)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, '{"reference": "\\ud800", "candidate": "", "rubric": "green"}', "NaN"],
)
def test_bodies_that_are_no_json_are_refused(api: httpx.Client, text: str) -> None:
    answer = api.post("/v1/annotations", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422)
    assert "surrogate" not in answer.text


def test_text_of_every_kind_comes_back_as_it_was(shared_service: Served) -> None:
    hostile = "<script>alert(1)</script> </textarea> \u202e ' \" \x00 \u2028 été 𝄞"
    answer = shared_service.annotate(candidate=hostile).json()
    assert answer["candidate"] == hostile.strip()


def test_unknown_addresses_and_methods_are_problems(api: httpx.Client) -> None:
    is_problem(api.get("/v1/nothing"), 404)
    is_problem(api.get("/v1/runs/nothing"), 404)
    is_problem(api.delete("/v1/annotations"), 405)
    is_problem(api.get("/v1/runs/..%2F..%2Fetc"), 404)


def test_what_there_is_is_listed(api: httpx.Client) -> None:
    assert [r["name"] for r in api.get("/v1/rubrics").json()["rubrics"]] == rubrics.names()
    assert {"green"} <= {p["name"] for p in api.get("/v1/prompts").json()["prompts"]}
    assert api.get("/v1/judges").json() == {
        "judges": [{"name": "lexicon", "built_in": True, "budget": None, "left": None}]
    }
    (run,) = [run for run in api.get("/v1/runs").json()["runs"] if run["id"] == "examples"]
    assert (run["state"], run["n_studies"], run["judge"]) == ("finished", 15, "lexicon")


def test_a_run_is_shown_with_its_figures(api: httpx.Client, finished: Path) -> None:
    shown = api.get("/v1/runs/examples").json()
    assert shown["summary"] == json.loads((finished / "summary.json").read_text("utf-8"))
    assert shown["reviews"]["n_reviewed_errors"] == 0


def test_results_come_in_every_format(api: httpx.Client, finished: Path) -> None:
    def results(form: str) -> bytes:
        answer = api.get("/v1/runs/examples/results", params={"format": form})
        assert answer.status_code == 200
        return answer.content

    assert results("csv") == (finished / "studies.csv").read_bytes()
    assert results("jsonl") == (finished / "annotations.jsonl").read_bytes()
    assert pq.read_table(io.BytesIO(results("parquet"))).num_rows == 15
    whole = json.loads(results("json"))
    rows = list(csv.DictReader(io.StringIO(results("csv").decode())))
    assert [row["study_id"] for row in whole["studies"]] == [row["study_id"] for row in rows]
    assert whole["summary"]["n_studies"] == 15
    is_problem(api.get("/v1/runs/examples/results", params={"format": "xlsx"}), 422)


def test_the_studies_come_in_columns(api: httpx.Client, finished: Path) -> None:
    with (finished / "studies.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    found = api.get("/v1/runs/examples/studies").json()
    for name in ("study_id", "study_class", "site", "green", "significant_b"):
        assert list(map(str, found["columns"][name])) == [
            str(float(row[name])).removesuffix(".0") if name == "green" else row[name]
            for row in table
        ]
    worst = max(table, key=lambda row: int(row["n_significant"]))
    assert found["columns"]["study_id"][found["order"][0]] == worst["study_id"]


def test_a_study_is_found_by_id_or_row(api: httpx.Client) -> None:
    studies = api.get("/v1/runs/examples/studies").json()
    row = studies["order"][1]
    study_id = studies["columns"]["study_id"][row]
    address = "/v1/runs/examples/study"
    one = api.get(address, params={"id": study_id}).json()
    assert one["row"] == row
    assert one["view"]["study_id"] == study_id
    by_row = api.get(address, params={"row": row, "record": True}).json()
    assert by_row["record"]["study_id"] == study_id
    assert len(by_row["fingerprints"]) == len(by_row["view"]["items"]) > 0
    is_problem(api.get(address, params={"id": "../../etc/passwd"}), 404)
    is_problem(api.get(address, params={"row": 15}), 404)
    is_problem(api.get(address), 422)
    is_problem(api.get("/v1/runs/examples/search"), 422)


def test_the_api_describes_itself(api: httpx.Client) -> None:
    schema = api.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.")
    assert schema["paths"]["/v1/annotations"]["post"]["requestBody"]["required"]
    pair = schema["components"]["schemas"]["Pair"]
    assert set(pair["required"]) == {"reference", "candidate", "rubric"}
    assert {"judge", "study_id", "context"} <= set(pair["properties"])
    assert "ProblemDetails" in schema["components"]["schemas"]
    assert "422" not in schema["paths"]["/v1/annotations"]["post"]["responses"]
