"""Several candidates in one command, and the folder of an experiment in other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

from judge.run_files.manifest import MANIFEST

ALDER, BIRCH = EXAMPLES / "preds_alder.json", EXAMPLES / "preds_birch.json"
REFS = EXAMPLES / "refs.json"


@pytest.fixture
def two_sets(invoke: Invoke, tmp_path: Path) -> Path:
    """A folder with the runs of two models on two data sets."""
    one = f"{{references: {REFS}, candidates: ['{EXAMPLES}/preds_*.json']}}"
    file = tmp_path / "challenge.yaml"
    file.write_text(f"data:\n  north: {one}\n  south: {one}\nout: runs\n", "utf-8")
    done = invoke("run", file, "--no-tests")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "runs"


def test_several_candidates_are_judged_and_compared(
    invoke: Invoke, tmp_path: Path
) -> None:
    words = ("green", ALDER, BIRCH, REFS, "--by", "site")
    done = invoke(*words, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "No --judge given: using lexicon." in done.stderr
    (board,) = json.loads(done.stdout)
    assert (board["models"], board["by"]) == (["alder", "birch"], ["site"])
    (out,) = (tmp_path / "judge-runs").iterdir()
    again = invoke(*words, "--format", "json", "--max-cost", 3, "--concurrency", 2)
    assert again.stdout == done.stdout
    assert [*(tmp_path / "judge-runs").iterdir()] == [out]
    assert "2 runs, 2 finished" in again.stderr
    manifest = json.loads((out / "alder-green-lexicon" / MANIFEST).read_text("utf-8"))
    assert manifest["experiment"]["file"] is None
    assert json.loads(manifest["experiment"]["text"])["rubrics"] == {"green": {}}
    part = invoke(*words, "--limit", 4, "--section", "report", "--out", "part")
    assert part.exit_code == 0, part.stderr
    assert {path.name for path in (tmp_path / "part/limit-4").iterdir()} == {
        "alder-report-green-lexicon",
        "birch-report-green-lexicon",
    }


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--model", "oak"), "--model goes with one PREDS"),
        (("--shard", "1/2"), "--shard goes with one PREDS"),
        (("--batch",), "--batch goes with one PREDS"),
        (("--column", "id=nothing"), "nothing"),
    ],
)
def test_what_goes_with_one_file_of_candidates(
    invoke: Invoke, tmp_path: Path, option: tuple[str, ...], message: str
) -> None:
    done = invoke("green", ALDER, BIRCH, REFS, *option)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "judge-runs").exists()


def test_a_folder_of_one_data_set_is_compared(invoke: Invoke) -> None:
    assert invoke("green", ALDER, BIRCH, REFS, "--out", "runs").exit_code == 0
    done = invoke("compare", "runs", "--format", "json", "--no-tests")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["models"] == ["alder", "birch"]
    listed = invoke("runs", "runs", "--format", "json")
    assert len(json.loads(listed.stdout)) == 2


def test_a_folder_of_several_data_sets_is_a_challenge(
    invoke: Invoke, two_sets: Path, tmp_path: Path
) -> None:
    refused = invoke("compare", two_sets)
    assert refused.exit_code == 2
    assert "several data sets (north, south)" in refused.stderr
    pytest.importorskip("vl_convert")
    done = invoke("reproduce", "challenge", two_sets, "--out", "paper")
    assert done.exit_code == 0, done.stderr
    tables = (tmp_path / "paper/findings/tables.tex").read_text("utf-8")
    assert "% north, abnormal, findings" in tables
    assert "% south, normal, findings" in tables
