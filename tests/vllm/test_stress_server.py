"""`judge stress` with `vllm:MODEL`: one server for all runs, and none left."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from children import below, sessions
from support import EXAMPLES, Invoke

from judge.running.folder import Run

pytestmark = pytest.mark.usefixtures("standin")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """As much of a model as has to be known before it is served."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return folder


def test_all_runs_share_one_server(invoke: Invoke, model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    own = (Path(__file__).parents[2] / "prompts" / "green-structured.yaml").read_text("utf-8")
    mine.write_text(own.replace("name: green-structured", "name: mine") + "\n  Now.", "utf-8")
    few = ("-n", "3", "--changes", "identical,denied", "--give-up-after", "0", "--reask", "0")
    prompts = ("--prompt", "green-structured", "--prompt", mine, "--repeats", "2")
    done = invoke(
        *("stress", EXAMPLES / "refs.json", "--out", "made", *few, *prompts),
        *("--judge", f"vllm:{model}", "--cache", "cache"),
    )
    # The stand-in answers in no rubric's form: every run is whole, and nothing of it is scored.
    assert done.exit_code == 3, done.stderr
    assert len(re.findall(r"^Starting vLLM", done.stderr, re.MULTILINE)) == 1
    assert done.stderr.count("vLLM is ready") == 1
    runs = [Run(path) for path in (tmp_path / "made" / "runs").iterdir()]
    assert len(runs) == 4
    for run in runs:
        assert run.summary()["n_failed"] == 0
        assert run.summary()["n_unparsed"] == run.summary()["n_studies"] > 3
    assert not below(os.getpid()) & set(sessions())
    assert not below(os.getpid())
