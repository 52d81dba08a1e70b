"""The reports of a run on disk, judged again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

from judge.running.folder import Run

FILES = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Path:
    done = invoke("green", *FILES, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "run"


def test_another_judge_has_the_same_studies(invoke: Invoke, run: Path, tmp_path: Path) -> None:
    done = invoke("fineradscore", run, "--out", tmp_path / "again")
    assert done.exit_code == 0, done.stderr
    from_files = invoke("fineradscore", *FILES, "--out", tmp_path / "files")
    assert from_files.exit_code == 0, from_files.stderr
    one, other = Run(tmp_path / "again"), Run(tmp_path / "files")
    assert one.signature == other.signature  # texts, section and classes are the same
    assert one.manifest["model"] == other.manifest["model"] == "preds"
    assert one.manifest["fields"] == other.manifest["fields"]
    assert [r["measures"] for r in one.records()] == [r["measures"] for r in other.records()]
    assert [r["study_class"] for r in one.records()] == [r["study_class"] for r in other.records()]
    (file,) = one.manifest["inputs"]
    assert (file["path"], file["role"]) == (str(run), "both")
    assert len(file["sha256"]) == 64


def test_what_a_run_cannot_give_is_refused(invoke: Invoke, run: Path, tmp_path: Path) -> None:
    section = Run(run).manifest["section"]
    other = "impression" if section != "impression" else "findings"
    for words, why in (
        (("--section", other), f"is a run of the section {section}"),
        (("--id-field", "accession"), "leave the --...-field away"),
    ):
        done = invoke("green", run, *words)
        assert done.exit_code == 2
        assert why in done.stderr
    done = invoke("green", run.parent)
    assert done.exit_code == 2
    assert f"holds runs, not reports; name one of them, such as {run}" in done.stderr
    done = invoke("green", run, "--section", section, "--out", tmp_path / "same")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("damage", ["manifest.json", "annotations.jsonl"])
def test_a_damaged_run_is_refused(invoke: Invoke, run: Path, tmp_path: Path, damage: str) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    (broken / damage).write_text('{"no": 1}\n')
    done = invoke("green", broken)
    assert done.exit_code == 2
    assert "is a damaged run" in done.stderr
    (broken / damage).write_text(json.dumps([1])[:-1])
    assert "is a damaged run" in invoke("green", broken).stderr
    assert not Path("judge-runs").exists()


READINGS = """study_id,reader,significant,count,reference,candidate
q1,ann,,0,Clear.,Clear.
q2,ann,,0,,Clear.
q3,ann,,0,Clear.,
"""


def test_a_report_that_a_reader_s_files_lack_is_not_judged_as_empty(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "readings.csv").write_text(READINGS)
    done = invoke("import", "tidy", tmp_path / "readings.csv", "--out", tmp_path / "readers")
    assert done.exit_code == 0, done.stderr
    reader = tmp_path / "readers" / "reader-ann"
    done = invoke("green", reader)
    assert done.exit_code == 2
    assert "no reference section: 1 (q2)" in done.stderr
    assert "no candidate text: 1 (q3)" in done.stderr
    done = invoke("green", reader, "--allow-missing", "--out", tmp_path / "judged")
    assert done.exit_code == 0, done.stderr
    judged = Run(tmp_path / "judged")
    assert [one["study_id"] for one in judged.records()] == ["q1"]
    assert judged.manifest["omitted"] == {"no reference section": 1, "no candidate text": 1}
    lacking = READINGS.replace(",Clear.\n", ",\n")
    (tmp_path / "readings.csv").write_text(lacking)
    invoke("import", "tidy", tmp_path / "readings.csv", "--out", tmp_path / "none")
    done = invoke("green", tmp_path / "none" / "reader-ann")
    assert "has no candidate reports" in done.stderr


def test_a_run_with_a_study_twice_and_a_name_that_is_too_long_are_refused(
    invoke: Invoke, run: Path
) -> None:
    path = run / "annotations.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    done = invoke("green", run)
    assert (done.exit_code, "a study is there twice" in done.stderr) == (2, True)
    done = invoke("green", "x" * 5000)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
