"""What the API answers, one test or two for each group of routes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from served import Served, is_problem

from judge import rubrics

RUN, INDEX = "/v1/runs/example-run", "/data/run/example-run/index"


@pytest.fixture
def api(shared_service: Served) -> httpx.Client:
    return shared_service.client


@pytest.fixture(scope="module")
def table(judged_examples: Path) -> list[dict[str, str]]:
    with (judged_examples / "studies.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_what_is_no_route_is_a_problem(api: httpx.Client) -> None:
    for path in ("/v1/nothing", "/v1/runs/nothing", "/v1/runs/..%2F..%2Fetc", "/docs"):
        is_problem(api.get(path), 404)
    is_problem(api.delete("/v1/runs"), 405)


def test_what_there_is_is_listed(api: httpx.Client) -> None:
    assert [
        r["name"] for r in api.get("/v1/rubrics").json()["rubrics"]
    ] == rubrics.names()
    assert api.get("/v1/judges").json() == {
        "judges": [
            {
                "name": "lexicon",
                "label": "lexicon (built in)",
                "built_in": True,
                "budget": None,
                "left": None,
                "efforts": [],
                "tiers": [],
            }
        ]
    }
    (run,) = [
        run for run in api.get("/v1/runs").json()["runs"] if run["id"] == "example-run"
    ]
    assert (run["state"], run["n_studies"], run["judge"]) == ("finished", 15, "lexicon")


def test_a_run_is_shown_with_its_figures_and_its_files(
    api: httpx.Client, judged_examples: Path
) -> None:
    shown = api.get(RUN).json()
    assert shown["summary"] == json.loads(
        (judged_examples / "summary.json").read_text("utf-8")
    )

    def results(form: str) -> bytes:
        answer = api.get(f"{RUN}/results", params={"format": form})
        assert answer.status_code == 200
        return answer.content

    assert results("csv") == (judged_examples / "studies.csv").read_bytes()
    assert results("jsonl") == (judged_examples / "annotations.jsonl").read_bytes()
    assert pq.read_table(io.BytesIO(results("parquet"))).num_rows == 15
    is_problem(api.get(f"{RUN}/results", params={"format": "xlsx"}), 422)


def test_the_studies_come_in_columns_gzipped_or_not(
    api: httpx.Client, table: list[dict[str, str]]
) -> None:
    packed = api.get(INDEX)
    plain = api.get(INDEX, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    found = plain.json()
    assert packed.json() == found
    assert sorted(found["order"]) == list(range(15))
    for name in ("study_id", "study_class", "site", "significant_b"):
        assert list(map(str, found["columns"][name])) == [row[name] for row in table]
    worst = max(table, key=lambda row: int(row["n_significant"]))
    assert found["columns"]["study_id"][found["order"][0]] == worst["study_id"]


def test_a_study_is_found_by_id_or_row_or_words(api: httpx.Client) -> None:
    studies = api.get(INDEX).json()
    row = studies["order"][1]
    study_id = studies["columns"]["study_id"][row]
    one = api.get(f"{RUN}/study", params={"id": study_id}).json()
    assert (one["row"], one["view"]["study_id"]) == (row, study_id)
    by_row = api.get(f"{RUN}/study", params={"row": row}).json()
    assert by_row["view"]["study_id"] == study_id
    assert len(by_row["fingerprints"]) == len(by_row["view"]["items"]) > 0
    assert (
        row in api.get(f"{RUN}/search", params={"q": study_id.upper()}).json()["rows"]
    )
    is_problem(api.get(f"{RUN}/study", params={"id": "../../etc/passwd"}), 404)
    is_problem(api.get(f"{RUN}/search"), 422)
