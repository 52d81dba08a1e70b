"""What the API answers."""

from __future__ import annotations

import csv
import io
import json
from itertools import chain
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from served import PAIR, Served, is_problem

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
    assert answer["scores"]["green"] == row["green"] == 0.5
    assert answer["counts"]["n_significant"] == row["n_significant"] == 1
    assert answer["answer"]["text"] == row["answer"]
    assert answer["signature"].startswith("green:1|judge:lexicon")
    assert "baseline" in answer["judge"]["note"]


def test_every_rubric_can_be_asked_for(shared_service: Served) -> None:
    for rubric in rubrics.names():
        answer = shared_service.annotate(rubric=rubric).json()
        assert set(answer["scores"]) >= {score.name for score in rubrics.load(rubric).scores}


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
    assert api.get("/v1/judges").json() == {"judges": [{"name": "lexicon", "built_in": True}]}
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


class TestStudies:
    def ids(self, api: httpx.Client, **params: object) -> list[str]:
        answer = api.get("/v1/runs/examples/studies", params=params)
        assert answer.status_code == 200, answer.text
        return [row["study_id"] for row in answer.json()["rows"]]

    def table(self, finished: Path) -> list[dict[str, str]]:
        with (finished / "studies.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_pages_cover_all_studies_once(self, api: httpx.Client, finished: Path) -> None:
        pages = [self.ids(api, offset=offset, limit=4) for offset in range(0, 16, 4)]
        assert [len(page) for page in pages] == [4, 4, 4, 3]
        assert sorted(chain.from_iterable(pages)) == [
            row["study_id"] for row in self.table(finished)
        ]
        assert self.ids(api, offset=100) == []

    def test_worst_comes_first_unless_asked_otherwise(
        self, api: httpx.Client, finished: Path
    ) -> None:
        table = self.table(finished)
        worst = max(table, key=lambda row: int(row["n_significant"]))
        assert self.ids(api)[0] == worst["study_id"]
        by_score = sorted(table, key=lambda row: float(row["green"]))
        assert self.ids(api, sort="green") == [row["study_id"] for row in by_score]
        assert self.ids(api, sort="study_id", descending=True)[0] == "ex-015"

    def test_filters_hold_for_every_row_and_leave_none_out(
        self, api: httpx.Client, finished: Path
    ) -> None:
        table = self.table(finished)

        def those(holds: object) -> list[str]:
            return sorted(row["study_id"] for row in table if holds(row))  # type: ignore[operator]

        def asked(**params: object) -> list[str]:
            return sorted(self.ids(api, **params))

        assert asked(**{"class": "abnormal"}) == those(lambda r: r["study_class"] == "abnormal")
        assert asked(**{"class": ""}) == []
        assert asked(outcome="failed") == []
        assert asked(category="b", level="significant") == those(
            lambda r: int(r["significant_b"]) > 0
        )
        assert asked(category="b") == those(
            lambda r: int(r["significant_b"]) + int(r["insignificant_b"]) > 0
        )
        assert asked(level="insignificant") == those(lambda r: int(r["n_insignificant"]) > 0)
        assert asked(**{"field.site": "harbour"}) == those(lambda r: r["site"] == "harbour")
        assert asked(**{"has.context": "COUGH"}) == those(lambda r: "cough" in r["context"].lower())
        assert asked(**{"min.green": 0.5, "max.green": 0.9}) == those(
            lambda r: 0.5 <= float(r["green"]) <= 0.9
        )
        assert asked(**{"field.n_significant": "1", "class": "normal"}) == those(
            lambda r: r["n_significant"] == "1" and r["study_class"] == "normal"
        )

    def test_search_looks_through_reports_and_errors(
        self, api: httpx.Client, finished: Path
    ) -> None:
        with (finished / "annotations.jsonl").open(encoding="utf-8") as file:
            records = list(map(json.loads, file))
        expected = [
            r["study_id"]
            for r in records
            if "pneumothorax" in json.dumps(r).lower() and "effusion" in json.dumps(r).lower()
        ]
        found = self.ids(api, q="Pneumothorax EFFUSION")
        assert found
        assert set(found) <= set(expected)
        assert self.ids(api, q="nosuchword") == []

    @pytest.mark.parametrize(
        "params",
        [
            {"sort": "nothing"},
            {"category": "z"},
            {"level": "worse"},
            {"outcome": "lost"},
            {"field.nothing": "1"},
            {"min.green": "high"},
            {"min.study_id": "1"},
            {"limit": "501"},
            {"offset": "-1"},
        ],
    )
    def test_a_condition_that_cannot_be_met_is_said(
        self, api: httpx.Client, params: dict[str, str]
    ) -> None:
        is_problem(api.get("/v1/runs/examples/studies", params=params), 422)


def test_a_study_is_found_by_id_or_row_with_its_neighbours(api: httpx.Client) -> None:
    order = api.get("/v1/runs/examples/studies", params={"class": "abnormal"}).json()["rows"]
    address = "/v1/runs/examples/study"
    one = api.get(address, params={"id": order[1]["study_id"], "class": "abnormal"}).json()
    assert one["row"] == order[1]["row"]
    assert (one["previous"], one["next"]) == (order[0]["row"], order[2]["row"])
    assert one["view"]["study_id"] == order[1]["study_id"]
    by_row = api.get(address, params={"row": one["row"], "record": True}).json()
    assert by_row["record"]["study_id"] == order[1]["study_id"]
    assert len(by_row["fingerprints"]) == len(by_row["record"]["annotation"]["errors"])
    is_problem(api.get(address, params={"id": "../../etc/passwd"}), 404)
    is_problem(api.get(address, params={"row": 15}), 404)
    is_problem(api.get(address), 422)


def test_the_api_describes_itself(api: httpx.Client) -> None:
    schema = api.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.")
    assert schema["paths"]["/v1/annotations"]["post"]["requestBody"]["required"]
    pair = schema["components"]["schemas"]["Pair"]
    assert set(pair["required"]) == {"reference", "candidate", "rubric"}
    assert {"judge", "study_id", "context"} <= set(pair["properties"])
    assert "Problem" in schema["components"]["schemas"]
    assert "422" not in schema["paths"]["/v1/annotations"]["post"]["responses"]
