"""Numbers and files from outside that would hang or end the process: one message each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judge import prompts
from judge.backends.lexicon.data import load
from judge.studies import read_pair
from judge.types import JudgeError

PAIR = {"study_id": ["a", "b"], "reference": ["Clear lungs."] * 2, "candidate": ["Clear."] * 2}


def judge(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "judge", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


BOMBS = {
    "depth": "[" * 100_000,
    "depth of mappings": "{a: " * 100_000,
    "depth of blocks": "".join(" " * at + "-\n" for at in range(1000)),
    "billion laughs": "a: &a [x, x]\n"
    + "\n".join(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "itself": "&a [*a]",
    "size": "a: " + "x" * 5_000_000,
    "a date that there is not": "a: 2026-13-45",
    "a merge of itself": "a: &a {<<: *a}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_yaml_bomb_is_one_message(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMBS[name], "utf-8")
    for read in (load, lambda path: prompts.load(str(path))):
        with pytest.raises(JudgeError) as caught:
            read(path)  # type: ignore[operator]
        assert len(str(caught.value)) < 2000


def test_a_deep_lexicon_does_not_end_the_process(tmp_path: Path) -> None:
    (tmp_path / "bomb.yaml").write_text("[" * 100_000, "utf-8")
    (tmp_path / "both.csv").write_text("study_id,reference,candidate\na,b,c\n", "utf-8")
    done = judge(tmp_path, "green", "both.csv", "--judge", "lexicon:bomb.yaml")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1


def test_a_named_pipe_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("pipe.json", "pipe.yaml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "both.csv").write_text("study_id,reference,candidate\na,b,c\n", "utf-8")
    for arguments in (
        ("green", "pipe.json"),
        ("green", "both.csv", "--judge", "lexicon:pipe.yaml"),
        (
            "green",
            "both.csv",
            "--judge",
            "m",
            "--prompt",
            "pipe.yaml",
            "--base-url",
            "http://127.0.0.1:1/v1",
        ),
    ):
        done = judge(tmp_path, *arguments)
        assert done.returncode == 2, done.stderr
        assert "pipe" in done.stderr


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    text = '{"a": {"reference": "Clear lungs.", "model_prediction": "Clear lungs."}}'
    command = f"{sys.executable} -m judge green <(echo '{text}') --out run"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_fifty_thousand_columns_are_one_message(tmp_path: Path, form: str) -> None:
    names = [f"c{at}" for at in range(50_000)]
    path = tmp_path / f"wide.{form}"
    if form == "csv":
        head = ",".join(["study_id", "reference", "candidate", *names])
        path.write_text(f"{head}\na,Clear lungs.,Clear.{',x' * len(names)}\n", "utf-8")
    elif form == "json":
        each = ", ".join(f'"{name}": 1' for name in names)
        path.write_text(f'[{{"study_id": "a", "reference": "b", {each}}}]', "utf-8")
    else:
        pq.write_table(pa.table({**PAIR, **{name: [1, 1] for name in names[:1001]}}), path)
    with pytest.raises(JudgeError, match="fields"):
        read_pair(str(path), None)


@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.timestamp("us"), pa.duration("s")])
def test_a_time_out_of_range_is_one_message(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "times.parquet"
    when = pa.array([2**62, -(2**62)], kind)
    pq.write_table(pa.table({**PAIR, "when": when}), path)
    with pytest.raises(JudgeError, match=r"Parquet|out of range"):
        read_pair(str(path), None)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (option, value)
        for option in (
            *("--max-outage", "--min-coverage", "--max-cost", "--timeout", "--vllm-timeout"),
        )
        for value in ("inf", "nan", "-inf", "1e999", "-1")
    ],
)
def test_a_number_that_is_none_is_refused(option: str, value: str) -> None:
    from click.testing import CliRunner

    from judge.cli import main

    done = CliRunner().invoke(main, ["green", "none.csv", f"{option}={value}"])
    assert done.exit_code == 2
    assert option in done.output
    assert "none.csv" not in done.output.replace("green none.csv", "")
