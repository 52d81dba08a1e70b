"""Run folders from elsewhere, and files that unpack to more than anyone has."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import Served, is_problem

from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_CSV, TABLE_PARQUET
from judge.service import jobs, reviews
from judge.service.settings import JOBS

SECRET = "not for anyone"


def link(path: Path) -> None:
    path.symlink_to(path.parents[1] / "secret")


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


STRANGE: dict[str, Callable[[Path], object]] = {"link": link, "pipe": os.mkfifo, "giant": giant}
FILES = (MANIFEST, SUMMARY, ANNOTATIONS, TABLE_PARQUET, TABLE_CSV, reviews.FILE)
PATHS = (
    "",
    "/studies",
    "/search?q=lung",
    "/study?row=0",
    "/reviews",
    "/reviews.csv",
    *(f"/results?format={form}" for form in ("json", "jsonl", "csv", "parquet")),
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Iterator[Served]:
    """A service over runs in each of which one file is something else."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "judge-runs").mkdir()
    (folder / "judge-runs" / "secret").write_text(f"{SECRET}\n" * 20)
    for name in FILES:
        for kind, make in STRANGE.items():
            run = folder / "judge-runs" / f"{kind}-{FILES.index(name)}"
            shutil.copytree(finished, run)
            (run / name).unlink(missing_ok=True)
            make(run / name)
    with Served(folder) as running:
        yield running


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_file_in_a_run_is_refused(hostile: Served, kind: str, name: str) -> None:
    run = f"{kind}-{FILES.index(name)}"
    for path in PATHS:
        answer = hostile.client.get(f"/v1/runs/{run}{path}")
        assert answer.status_code in (200, 404, 409, 422), answer.text
        assert SECRET not in answer.text
    if name != TABLE_CSV:
        review = {"study_id": "1", "reader": "r", "verdict": "comment", "comment": "c"}
        answer = hostile.client.post(f"/v1/runs/{run}/reviews", json=review)
        assert answer.status_code in (404, 409, 422)
    assert hostile.client.get("/v1/runs").status_code == 200


def test_many_reads_of_a_pipe_hang_nothing(hostile: Served) -> None:
    paths = [f"/v1/runs/pipe-{FILES.index(ANNOTATIONS)}/study?row=0"] * 50
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(hostile.client.get, paths))
    assert {answer.status_code for answer in answers} == {409}
    assert hostile.client.get("/v1/rubrics").status_code == 200


def test_a_link_is_told_of_without_where_it_leads(hostile: Served) -> None:
    answer = hostile.client.get(f"/v1/runs/link-{FILES.index(ANNOTATIONS)}/results?format=jsonl")
    assert "is a link, which is not followed" in is_problem(answer, 409)
    assert "secret" not in answer.text


def test_jobs_from_elsewhere_name_no_files_elsewhere(tmp_path: Path) -> None:
    asked = {"rubric": "green", "judge": "lexicon", "preds": "preds.json", "created": ""}
    for name, preds in (("good", "preds.json"), ("bad", "../../secret"), ("worse", "/etc/passwd")):
        job = tmp_path / JOBS / name
        job.mkdir(parents=True)
        (job / "job.json").write_text(json.dumps({**asked, "preds": preds}))
    os.mkfifo(tmp_path / JOBS / "good" / "state.json")
    piped = tmp_path / JOBS / "piped"
    piped.mkdir()
    os.mkfifo(piped / "job.json")
    (found,) = jobs.listed(tmp_path)
    assert found.id == "good"
    assert found.state().state == jobs.FAILED


def bomb(path: Path, n: int, size: int) -> Path:
    """Two columns of the same long report, which stands in the file once."""
    report = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["lung " * (size // 5)])
    ids = pa.array(range(n), pa.int64())
    table = pa.table({"id": ids, "reference": report, "candidate": report})
    pq.write_table(table, path, compression="zstd")
    return path


def test_a_parquet_file_that_decodes_to_terabytes_is_refused(
    shared_service: Served, tmp_path: Path
) -> None:
    data = bomb(tmp_path / "p.parquet", 200_000, 1_000_000).read_bytes()
    assert len(data) < 2**21
    files = {"preds": ("p.parquet", data)}
    started = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
    if started.status_code == 413:
        return
    run = shared_service.until_state(started.json()["id"], jobs.FAILED, jobs.FINISHED)
    assert run["state"] == jobs.FAILED
    assert "unpacks to more than" in run["detail"]


def test_a_parquet_file_of_more_rows_than_bytes_allowed_is_refused_at_once(
    shared_service: Served, tmp_path: Path
) -> None:
    table = pa.table({"id": pa.array([1] * 20_000_000, pa.int8())})
    pq.write_table(table, tmp_path / "p.parquet", compression="zstd")
    files = {"preds": ("p.parquet", (tmp_path / "p.parquet").read_bytes())}
    answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
    assert "unpacks to more than" in is_problem(answer, 413)


def test_an_ordinary_parquet_file_is_judged(shared_service: Served, tmp_path: Path) -> None:
    data = bomb(tmp_path / "p.parquet", 3, 50).read_bytes()
    files = {"preds": ("p.parquet", data)}
    started = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
    run = shared_service.until_state(started.json()["id"], jobs.FAILED, jobs.FINISHED)
    assert run["state"] == jobs.FINISHED, run


def test_a_worker_has_a_limit_and_says_so() -> None:
    program = (
        "import resource\n"
        "from judge.service.worker import memory_limit\n"
        "from judge.types import JudgeError\n"
        "before = resource.getrlimit(resource.RLIMIT_AS)\n"
        "try:\n"
        "    with memory_limit(2**31): bytearray(2**32)\n"
        "except JudgeError as error: print(error)\n"
        "assert resource.getrlimit(resource.RLIMIT_AS) == before\n"
        "with memory_limit(0): bytearray(2**31 + 2**30)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "more than the 2 GB of memory" in done.stdout
    assert "--max-memory" in done.stdout


def test_the_service_writes_for_its_owner_alone(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        name = service.start_run().json()["id"]
        service.until_state(name, jobs.FINISHED)
        review = {"study_id": "study-01", "reader": "r", "verdict": "comment", "comment": "c"}
        shown = service.client.get(f"/v1/runs/{name}/studies").json()["columns"]
        review["study_id"] = shown["study_id"][0]
        assert service.client.post(f"/v1/runs/{name}/reviews", json=review).status_code == 201
    runs = tmp_path / "judge-runs"
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (runs, *runs.rglob("*"))}
    open_to_others = {path for path, mode in found.items() if mode & 0o077}
    # What is in folders that are closed is closed too.
    assert not {p for p in open_to_others if not any(found.get(up) == 0o700 for up in p.parents)}
    assert found[runs / name / reviews.FILE] == 0o600


def test_no_review_is_a_formula_in_a_spreadsheet() -> None:
    words = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "an effusion", "", "5 = five"]
    events = [
        reviews.new_event("=r", f"-s{at}", None, "comment", comment=word)
        for at, word in enumerate(words)
    ]
    rows = list(csv.DictReader(io.StringIO(reviews.as_csv(events))))
    for row in rows:
        assert not any(value.startswith(("=", "+", "-", "@", "\t")) for value in row.values())
    assert [row["comment"].removeprefix("'") for row in rows] == words
    assert rows[5]["comment"] == words[5]
