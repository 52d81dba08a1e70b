"""Run folders from elsewhere, damaged ones, and files that unpack to more than anyone has."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import Served, is_problem

from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET
from judge.service import jobs
from judge.service.settings import JOBS
from judge.study.reviews import REVIEWS

STUDY = "/v1/runs/damaged/study?id=ex-001"


@pytest.fixture(scope="module")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    """A service over a run to damage."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(judged_examples, folder / "judge-runs" / "damaged")
    with Served(folder) as running:
        yield running


def test_what_is_damaged_is_said_and_not_where_it_is_kept(hostile: Served) -> None:
    for name, damage, path in (
        (MANIFEST, lambda content: content.replace(b'"rubric"', b'"r"'), ""),
        (SUMMARY, lambda _: b"{", ""),
        (TABLE_PARQUET, lambda _: b"PAR1", "/v1/runs/damaged/studies"),
        (ANNOTATIONS, lambda content: content[: len(content) // 2], STUDY),
        (
            ANNOTATIONS,
            lambda content: content.replace(
                b'"n_significant": ', b'"n_significant": 1'
            ),
            STUDY,
        ),
    ):
        file = hostile.folder / "judge-runs" / "damaged" / name
        whole = file.read_bytes()
        file.write_bytes(damage(whole))
        said = is_problem(hostile.client.get(path or "/v1/runs/damaged"), 409)
        assert name in said
        assert str(hostile.folder) not in said
        file.write_bytes(whole)
        assert hostile.client.get(STUDY).status_code == 200
    assert "Traceback" not in hostile.said


def test_jobs_from_elsewhere_name_no_files_elsewhere(tmp_path: Path) -> None:
    asked = {
        "rubric": "green",
        "judge": "lexicon",
        "created": "2026-01-01T00:00:00+00:00",
    }
    for name, file in (
        ("good", "p.json"),
        ("bad", "../../secret"),
        ("worse", "/etc/passwd"),
    ):
        job = tmp_path / JOBS / name
        job.mkdir(parents=True)
        (job / "job.json").write_text(json.dumps({**asked, "files": [file]}))
    (tmp_path / JOBS / "good" / "state.json").write_text("{")
    (found,) = jobs.list_jobs(tmp_path)
    assert found.id == "good"
    assert found.status().state == jobs.FAILED


@pytest.mark.ci
def test_an_upload_may_not_unpack_to_terabytes(
    shared_service: Served, tmp_path: Path
) -> None:
    report = pa.DictionaryArray.from_arrays(
        pa.array([0] * 200_000, pa.int32()), ["lung " * 10**5]
    )
    ids = pa.array(range(200_000), pa.int64())
    path = tmp_path / "p.parquet"  # the report stands in it once
    pq.write_table(
        pa.table({"id": ids, "reference": report, "candidate": report}), path
    )
    given = {
        "data": {"rubric": "green"},
        "files": {"preds": ("p.parquet", path.read_bytes())},
    }
    started = shared_service.client.post("/v1/runs", **given)
    run = shared_service.until_state(started.json()["id"], jobs.FAILED, jobs.FINISHED)
    assert run["state"] == jobs.FAILED
    assert "unpacks" in run["detail"]


def test_the_service_writes_for_its_owner_alone(shared_service: Served) -> None:
    name = shared_service.start_run().json()["id"]
    shared_service.until_state(name, jobs.FINISHED)
    review = {"study_id": "ex-001", "reader": "r", "verdict": "comment", "comment": "c"}
    assert (
        shared_service.client.post(f"/v1/runs/{name}/reviews", json=review).status_code
        == 201
    )
    runs = shared_service.folder / "judge-runs"
    found = {
        path: stat.S_IMODE(path.stat().st_mode) for path in (runs, *runs.rglob("*"))
    }
    open_to_others = {path for path, mode in found.items() if mode & 0o077}
    # What is in folders that are closed is closed too.
    assert not {
        p for p in open_to_others if not any(found.get(up) == 0o700 for up in p.parents)
    }
    assert found[runs / name / REVIEWS] == 0o600


# Folders of which one is odd, and links


@pytest.fixture(scope="module")
def several(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    """A service over many odd runs and a good one."""
    folder = tmp_path_factory.mktemp("several")
    runs = folder / "judge-runs"
    shutil.copytree(judged_examples, runs / "good")
    for name, file, changes in ODD:
        shutil.copytree(judged_examples, runs / name)
        path = runs / name / file
        path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), "utf-8")
    for kind in ("pipe", "link", "folder"):
        for file in (MANIFEST, SUMMARY):
            path = runs / f"{kind}-{file.partition('.')[0]}" / file
            shutil.copytree(judged_examples, path.parent)
            path.rename(folder / f"{path.parent.name}.json")
            if kind == "pipe":
                os.mkfifo(path)
            elif kind == "link":
                path.symlink_to(folder / f"{path.parent.name}.json")
            else:
                path.mkdir()
    shutil.copytree(judged_examples, runs / os.fsdecode(b"bytes-\xff"))
    with Served(folder) as running:
        yield running


ODD: list[tuple[str, str, dict[str, object]]] = [
    ("odd-scale", MANIFEST, {"scale": 5}),
    ("odd-judge", MANIFEST, {"judge": []}),
    ("odd-fields", MANIFEST, {"fields": {"model": 1}}),
    ("odd-started", MANIFEST, {"started": {"a": 1}}),
    ("odd-studies", MANIFEST, {"studies_digest": 7}),
    ("odd-rubric", MANIFEST, {"rubric": "../../etc"}),
    ("odd-statistics", SUMMARY, {"statistics": {"green": "high"}}),
    ("odd-counts", SUMMARY, {"n_scored": [15]}),
    ("odd-rates", SUMMARY, {"rates": [{}]}),
    ("odd-summary-judge", SUMMARY, {"judge": None}),
]


def test_one_odd_run_is_a_line_of_the_list(several: Served) -> None:
    listed = {run["id"]: run for run in several.client.get("/v1/runs").json()["runs"]}
    assert listed["good"]["n_studies"] == 15
    names = {name: file for name, file, _ in ODD}
    names |= {
        f"{kind}-{file.partition('.')[0]}": file
        for kind in ("pipe", "link", "folder")
        for file in (MANIFEST, SUMMARY)
    }
    for name, file in names.items():
        assert file in listed[name]["detail"], name
        assert str(several.folder) not in listed[name]["detail"]
        is_problem(several.client.get(f"/v1/runs/{name}"), 409)
        for path in ("/v1/runs/{}/overview", "/v1/runs/{}/study?id=ex-001"):
            assert several.client.get(path.format(name)).status_code in (200, 409)
    assert "bytes" in listed, "a name of bytes"
    assert "Traceback" not in several.said


@pytest.fixture(scope="module")
def linked(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    """A service over a run in which each file leads elsewhere, after it was read once."""
    folder = tmp_path_factory.mktemp("linked")
    shutil.copytree(judged_examples, folder / "judge-runs" / "mine")
    (folder / "secret").write_text("the owner's own\n")
    with Served(folder) as running:
        yield running


@pytest.mark.parametrize(
    ("form", "name"),
    [("csv", "studies.csv"), ("jsonl", ANNOTATIONS), ("parquet", TABLE_PARQUET)],
)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_that_leads_elsewhere_is_not_sent(
    linked: Served, form: str, name: str, kind: str
) -> None:
    path = linked.folder / "judge-runs" / "mine" / name
    whole = path.read_bytes()
    path.unlink()
    if kind == "link":
        path.symlink_to(linked.folder / "secret")
    else:
        os.mkfifo(path)
    answer = linked.client.get("/v1/runs/mine/results", params={"format": form})
    path.unlink()
    path.write_bytes(whole)
    assert name in is_problem(answer, 409)
    assert b"own" not in answer.content
    answer = linked.client.get("/v1/runs/mine/results", params={"format": form})
    assert answer.content == whole


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_appended_to_what_a_link_leads_to(
    linked: Served, *, is_there: bool
) -> None:
    target = linked.folder / ("secret" if is_there else "start.sh")
    path = linked.folder / "judge-runs" / "mine" / REVIEWS
    path.symlink_to(target)
    before = target.read_bytes() if is_there else None
    review = {
        "study_id": "ex-001",
        "reader": "r",
        "verdict": "comment",
        "comment": "rm -r /",
    }
    said = is_problem(linked.client.post("/v1/runs/mine/reviews", json=review), 409)
    path.unlink()
    assert REVIEWS in said
    assert (target.read_bytes() if target.exists() else None) == before
