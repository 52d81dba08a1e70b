"""Run folders from elsewhere, damaged ones, and files that unpack to more than anyone has."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import Served, is_problem

from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET
from judge.service import jobs, reviews
from judge.service.settings import JOBS

SECRET = "not for anyone"
STRANGE: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(path.parents[1] / "secret"),
    "pipe": os.mkfifo,
    "giant": lambda path: (path.touch(), os.truncate(path, 2**40)),
}
FILES = (MANIFEST, ANNOTATIONS, TABLE_PARQUET, reviews.FILE)
PATHS = ("", "/studies", "/search?q=lung", "/study?row=0", "/reviews", "/results?format=jsonl")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, judged_examples: Path) -> Iterator[Served]:
    """A service over runs in each of which one file is something else, and one to damage."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = folder / "judge-runs"
    runs.mkdir()
    (runs / "secret").write_text(f"{SECRET}\n" * 20)
    for name in FILES:
        for kind, make in STRANGE.items():
            run = shutil.copytree(judged_examples, runs / f"{kind}-{FILES.index(name)}")
            (run / name).unlink(missing_ok=True)
            make(run / name)
    shutil.copytree(judged_examples, runs / "damaged")
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
    review = {"study_id": "1", "reader": "r", "verdict": "comment", "comment": "c"}
    answer = hostile.client.post(f"/v1/runs/{run}/reviews", json=review)
    assert answer.status_code in (404, 409, 422)
    assert hostile.client.get("/v1/runs").status_code == 200


def of_json(change: dict[str, Any]) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps({**json.loads(content), **change}).encode()


@pytest.mark.parametrize(
    ("name", "damage", "path"),
    [
        (MANIFEST, of_json({"rubric": "none"}), "/studies"),
        (MANIFEST, of_json({"format": 9}), ""),
        (SUMMARY, lambda _: b"{", "/results"),
        (TABLE_PARQUET, lambda _: b"PAR1", "/studies"),
        (ANNOTATIONS, lambda content: content[: len(content) // 2], "/studies"),
        (
            ANNOTATIONS,
            lambda content: b"null" + content[content.index(b"\n") :],
            "/study?id=ex-001",
        ),
    ],
)
def test_what_is_damaged_is_said_and_not_where_it_is_kept(
    hostile: Served, name: str, damage: Callable[[bytes], bytes], path: str
) -> None:
    file = hostile.folder / "judge-runs" / "damaged" / name
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    said = is_problem(hostile.client.get(f"/v1/runs/damaged{path}"), 409)
    assert name in said or "format 9" in said
    assert str(hostile.folder) not in said
    assert hostile.client.get("/v1/runs").status_code == 200
    file.write_bytes(whole)
    assert hostile.client.get("/v1/runs/damaged/study?id=ex-001").status_code == 200
    assert "Traceback" not in hostile.said


def test_a_table_that_does_not_fit_is_not_shown(hostile: Served) -> None:
    file = hostile.folder / "judge-runs" / "damaged" / TABLE_PARQUET
    whole, table = file.read_bytes(), pd.read_parquet(file)
    for odd in (table.drop(columns="green"), table.assign(green="high"), table[:3]):
        odd.to_parquet(file, index=False)
        said = is_problem(hostile.client.get("/v1/runs/damaged/studies"), 409)
        assert TABLE_PARQUET in said
    file.write_bytes(whole)


def test_jobs_from_elsewhere_name_no_files_elsewhere(tmp_path: Path) -> None:
    asked = {"rubric": "green", "judge": "lexicon", "preds": "preds.json", "created": ""}
    for name, preds in (("good", "preds.json"), ("bad", "../../secret"), ("worse", "/etc/passwd")):
        job = tmp_path / JOBS / name
        job.mkdir(parents=True)
        (job / "job.json").write_text(json.dumps({**asked, "preds": preds}))
    os.mkfifo(tmp_path / JOBS / "good" / "state.json")
    (tmp_path / JOBS / "piped").mkdir()
    os.mkfifo(tmp_path / JOBS / "piped" / "job.json")
    (found,) = jobs.listed(tmp_path)
    assert found.id == "good"
    assert found.state().state == jobs.FAILED


def repeated(path: Path, n: int, size: int) -> bytes:
    """A Parquet file of two columns of the same report, which stands in it once."""
    report = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["lung " * (size // 5)])
    ids = pa.array(range(n), pa.int64())
    pq.write_table(pa.table({"id": ids, "reference": report, "candidate": report}), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("n", "size", "state"), [(3, 50, jobs.FINISHED), (200_000, 1_000_000, jobs.FAILED)]
)
def test_a_parquet_file_may_not_decode_to_terabytes(
    shared_service: Served, tmp_path: Path, n: int, size: int, state: str
) -> None:
    data = repeated(tmp_path / "p.parquet", n, size)
    assert len(data) < 2**21
    files = {"preds": ("p.parquet", data)}
    started = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
    run = shared_service.until_state(started.json()["id"], jobs.FAILED, jobs.FINISHED)
    assert run["state"] == state
    assert state == jobs.FINISHED or "unpacks" in run["detail"]


def test_a_parquet_file_of_more_rows_than_bytes_allowed_is_refused_at_once(
    shared_service: Served, tmp_path: Path
) -> None:
    table = pa.table({"id": pa.array([1] * 20_000_000, pa.int8())})
    pq.write_table(table, tmp_path / "p.parquet", compression="zstd")
    files = {"preds": ("p.parquet", (tmp_path / "p.parquet").read_bytes())}
    answer = shared_service.client.post("/v1/runs", data={"rubric": "green"}, files=files)
    assert "unpacks" in is_problem(answer, 413)


def test_a_process_that_reads_files_has_a_limit_of_memory_and_names_its_option() -> None:
    program = (
        "import resource\n"
        "from judge.service.worker import memory_limit\n"
        "from judge.types import JudgeError\n"
        "before = resource.getrlimit(resource.RLIMIT_AS)\n"
        "try:\n"
        "    with memory_limit(2**31): bytearray(2**32)\n"
        "except JudgeError as error: print(error.status, error)\n"
        "assert resource.getrlimit(resource.RLIMIT_AS) == before\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("413")
    assert "--max-memory" in done.stdout


def test_the_service_writes_for_its_owner_alone(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        name = service.start_run().json()["id"]
        service.until_state(name, jobs.FINISHED)
        review = {"study_id": "ex-001", "reader": "r", "verdict": "comment", "comment": "c"}
        assert service.client.post(f"/v1/runs/{name}/reviews", json=review).status_code == 201
    runs = tmp_path / "judge-runs"
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (runs, *runs.rglob("*"))}
    open_to_others = {path for path, mode in found.items() if mode & 0o077}
    # What is in folders that are closed is closed too.
    assert not {p for p in open_to_others if not any(found.get(up) == 0o700 for up in p.parents)}
    assert found[runs / name / reviews.FILE] == 0o600
