"""What the API answers, one test or two for each group of routes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
from served import Served, is_problem

from judge import rubrics
from judge.pages.models import StudyList
from judge.pages.review import RunReviewsShown, StudyReview
from judge.pages.run import RunOverview
from judge.service.runs import StudyAnswer

RUN = "/v1/runs/example-run"
STUDIES = f"{RUN}/studies"


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


def cells(studies: dict[str, Any]) -> dict[str, list[str]]:
    """The texts of each column of a list of studies, a row a study."""
    found = {}
    for column in studies["columns"]:
        texts = [*column["texts"], column["missing"]]  # the code -1 is of the last
        found[column["name"]] = [texts[code] for code in column["codes"]]
    return found


def test_the_studies_come_in_columns_gzipped_or_not(
    api: httpx.Client, table: list[dict[str, str]]
) -> None:
    packed = api.get(STUDIES)
    plain = api.get(STUDIES, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    found = plain.json()
    assert packed.json() == found
    assert sorted(found["order"]) == list(range(15))
    columns = cells(found)
    for name, field in (
        ("study_id", "study_id"),
        ("study_class", "study_class"),
        ("field.site", "site"),
        ("measure.significant_b", "significant_b"),
    ):
        assert columns[name] == [row[field] for row in table]
    worst = max(table, key=lambda row: int(row["n_significant"]))
    assert columns["study_id"][found["order"][0]] == worst["study_id"]
    assert api.get("/data/run/example-run/index").status_code == 404


def test_an_overview_has_a_text_for_each_number(
    api: httpx.Client, judged_examples: Path
) -> None:
    shown = api.get(f"{RUN}/overview").json()
    summary = json.loads((judged_examples / "summary.json").read_text("utf-8"))
    rate = summary["statistics"]["no_significant_error"]
    (tile,) = [tile for tile in shown["tiles"] if tile["label"].startswith("no sig")]
    assert tile["text"] == f"{100 * rate['value']:.1f}%"
    assert (shown["n_studies"], shown["signature"]) == (15, summary["signature"])
    assert RunOverview.model_validate(shown).is_readable


def test_every_answer_is_as_openapi_describes_it(api: httpx.Client) -> None:
    for model, path, params in (
        (RunOverview, "overview", {}),
        (StudyList, "studies", {}),
        (StudyAnswer, "study", {"row": 3}),
        (StudyReview, "study/review", {"id": "ex-015", "reader": "Anna"}),
        (RunReviewsShown, "reviews", {}),
    ):
        answer = api.get(f"{RUN}/{path}", params=params)
        assert answer.status_code == 200
        model.model_validate_json(answer.content)
    described = api.get("/openapi.json").json()["paths"]
    for path in ("overview", "studies", "study", "study/review", "reviews", "search"):
        answers = described[f"/v1/runs/{{run}}/{path}"]["get"]["responses"]
        assert "$ref" in answers["200"]["content"]["application/json"]["schema"], path


def test_a_study_is_found_by_id_or_row_or_words(api: httpx.Client) -> None:
    studies = api.get(STUDIES).json()
    row = studies["order"][1]
    study_id = cells(studies)["study_id"][row]
    one = api.get(f"{RUN}/study", params={"id": study_id}).json()
    assert (one["row"], one["study"]["study_id"]) == (row, study_id)
    by_row = api.get(f"{RUN}/study", params={"row": row}).json()
    assert by_row["study"] == one["study"]
    review = api.get(f"{RUN}/study/review", params={"id": study_id}).json()
    assert len(review["items"]) == len(one["study"]["findings"]["items"]) > 0
    assert (
        row in api.get(f"{RUN}/search", params={"q": study_id.upper()}).json()["rows"]
    )
    is_problem(api.get(f"{RUN}/study", params={"id": "../../etc/passwd"}), 404)
    is_problem(api.get(f"{RUN}/search"), 422)
