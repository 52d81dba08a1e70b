"""`vllm run-batch` answers a file of questions that `judge batch write` wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import KEY, serving_model
from serving import ENVIRON, FLAGS, Taught, environ, records

from judge.backends.vllm.server import executable

pytestmark = pytest.mark.vllm


def judged(*words: str, folder: Path) -> str:
    """What `judge` prints; the key is for the server that is asked directly."""
    done = subprocess.run(
        [sys.executable, "-m", "judge", *words],
        cwd=folder,
        env={**environ(folder), "OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def texts(run: Path) -> dict[str, str]:
    return {one["study_id"]: one["answer"]["text"] for one in records(run)}


def test_a_file_that_vllm_answers_and_a_server_that_is_asked_say_the_same(
    model: Taught, folder: Path, tmp_path: Path
) -> None:
    name, n = str(model.folder.resolve()), len(model.studies)
    asked = ["--judge", name, "--reply", "text", "--prompt", str(model.prompt)]
    asked += ["--max-tokens", "64"]
    files = ["preds.json", "refs.json"]
    url = ["--base-url", "http://127.0.0.1:9/v1"]
    asking = ["--rubric", "green", *asked, *url, "--cache", "one"]
    judged("batch", "write", "q.jsonl", *files, *asking, folder=folder)
    done = subprocess.run(
        [
            *(executable(os.environ), "run-batch", "-i", "q.jsonl", "-o", "a.jsonl"),
            *("--model", name, "--max-model-len=2048", *FLAGS),
        ],
        cwd=folder,
        env={**os.environ, **ENVIRON},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len((folder / "a.jsonl").read_text("utf-8").splitlines()) == n
    assert judged("batch", "read", "a.jsonl", "--cache", "one", folder=folder) == (
        f"{n} answers taken\n"
    )
    run = ["green", *files, *asked, "--reask", "0", "--min-coverage", "0", "--give-up-after", "0"]
    # Nobody listens there: what is not in the cache would fail the run.
    said = judged(*run, *url, "--cache", "one", "--out", "one-run", folder=folder)
    assert f"asked 0, from cache {n}" in said
    with serving_model(model.folder, tmp_path) as served:
        url = ["--base-url", served.url]
        judged(*run, *url, "--cache", "two", "--out", "two-run", folder=folder)
    one, two = texts(folder / "one-run"), texts(folder / "two-run")
    assert one == two
    assert all(one.values())
    used = [json.dumps(record["answer"]["usage"]) for record in records(folder / "one-run")]
    assert used == [json.dumps(r["answer"]["usage"]) for r in records(folder / "two-run")]
