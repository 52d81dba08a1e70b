"""What the service gives of a run of every rubric."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support import ROOT

from judge import rubrics

pytest.importorskip("fastapi")
sys.path.append(str(ROOT / "tests" / "service"))
from served import Served


@pytest.fixture(scope="module")
def service(judged: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("service")
    with Served(folder, judged / "model", judged / "itself") as running:
        yield running.client


def test_routes_show_what_the_rubric_declares(service: httpx.Client, judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    (listed,) = (run for run in service.get("/v1/runs").json()["runs"] if run["id"] == "model")
    assert [one["label"] for one in listed["headline"]] == [
        one.label for one in rubric.shown("groups")
    ]
    view = service.get("/v1/runs/model").json()["view"]
    assert [kind["name"] for kind in view["rubric"]["kinds"]] == [k.name for k in rubric.kinds]
    columns = service.get("/v1/runs/model/studies").json()["columns"]
    assert {measure.name for measure in rubric.with_role("score", "count")} <= set(columns)
    study = service.get("/v1/runs/model/study", params={"id": "ex-015"}).json()
    assert len(study["fingerprints"]) == len(study["view"]["items"])
    assert service.get("/v1/runs/model/results", params={"format": "csv"}).status_code == 200
    (said,) = (r for r in service.get("/v1/rubrics").json()["rubrics"] if r["name"] == rubric.name)
    assert [one["name"] for one in said["statistics"]] == [one.name for one in rubric.statistics]
    compared = service.get("/v1/comparison", params={"run": ["model", "itself"]})
    assert compared.status_code == 200, compared.text
    assert len(compared.json()["metrics"]) == len(rubric.shown("compare"))


def test_an_item_can_be_reviewed_and_a_missed_one_added(
    service: httpx.Client, judged: Path
) -> None:
    rubric = rubrics.load(judged.name)
    study = service.get("/v1/runs/model/study", params={"id": "ex-015"}).json()
    review = {"study_id": "ex-015", "reader": "anna"}
    for error in study["fingerprints"][:1]:
        answer = service.post(
            "/v1/runs/model/reviews", json={**review, "error": error, "verdict": "right"}
        )
        assert answer.status_code == 201, answer.text
    codes = [label.name for label in rubric.codes.labels][:1] if rubric.codes else []
    missed = {**review, "verdict": "missed", "text": "a nodule", "categories": codes}
    answer = service.post("/v1/runs/model/reviews", json=missed)
    assert answer.status_code == 201, answer.text
    odd = {**missed, "categories": ["nothing of the kind"]}
    assert service.post("/v1/runs/model/reviews", json=odd).status_code == 422
    statistics = service.get("/v1/runs/model/reviews").json()["statistics"]
    assert statistics["n_reviewed_errors"] == len(study["fingerprints"][:1])
    assert statistics["missed"] == 1
    assert len(statistics["precision"]) == 1 + (len(rubric.codes.labels) if rubric.codes else 0)
