"""What a reader was not asked for is never counted as none, whoever stands beside."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support import Invoke

from judge.running.folder import Run

N = 12
CANDIDATE, REFERENCE = "There is a pleural effusion.", "No pleural effusion."


@pytest.fixture
def pair(invoke: Invoke, tmp_path: Path) -> tuple[Path, Path]:
    """The lexicon's run, and that of a reader who wrote down the same errors, uncategorised."""
    rows = [f"q{at},ann,yes,pleural effusion,{REFERENCE},{CANDIDATE}" for at in range(N)]
    head = "study_id,reader,significant,text,reference,candidate"
    Path("readings.csv").write_text("\n".join([head, *rows]), "utf-8")
    done = invoke("import", "tidy", "readings.csv", "--out", tmp_path / "readers")
    assert done.exit_code == 0, done.stderr
    for name, text in (("preds", CANDIDATE), ("refs", REFERENCE)):
        field = "prediction" if name == "preds" else "report"
        Path(f"{name}.json").write_text(json.dumps({f"q{at}": {field: text} for at in range(N)}))
    run = tmp_path / "lexicon"
    options = ("--section", "report", "--model", "lexi", "--out", run)
    done = invoke("green", "preds.json", "refs.json", *options)
    assert done.exit_code == 0, done.stderr
    return run, tmp_path / "readers" / "reader-ann"


def test_errors_by_category_of_who_gave_none_are_unknown(
    invoke: Invoke, pair: tuple[Path, Path]
) -> None:
    runs = [f"lexi={pair[0]}", f"ann={pair[1]}"]
    section = Run(pair[1]).manifest["section"]
    assert section == "report"
    done = invoke("compare", *runs, "--allow", "judge", "--tables", "errors")
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("  clinically")]
    (mine,) = [line[2:] for line in lines if line[:3] == ["clinically", "significant", "ann"]]
    assert mine == ["ann", *["n/a"] * 6, "1.000"]
    text = invoke("compare", *runs, "--allow", "judge", "--format", "errors").stdout
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["model"] == "ann"]
    known = [row for row in rows if not row["category"]]
    assert [row["errors"] for row in known] == [str(N), "0"]
    assert {(row["n"], row["errors"], row["per_study"]) for row in rows if row["category"]} == {
        ("0", "", "")
    }
    figures = invoke("compare", *runs, "--allow", "judge", "--figures", "figures")
    assert figures.exit_code == 0, figures.stderr


def test_errors_of_two_are_not_compared_where_one_has_no_categories(
    invoke: Invoke, pair: tuple[Path, Path]
) -> None:
    done = invoke("errors", *pair, "--allow", "judge")
    assert done.exit_code == 2
    assert "do not have the same categories and levels" in done.stderr
    assert invoke("errors", pair[1]).exit_code == 0


def test_a_category_may_be_called_as_what_is_lacking(invoke: Invoke, tmp_path: Path) -> None:
    rows = ("s1,ann,edit,2,x", "s1,ann,edit,3,y", "s2,ann,Reference,4,z", "s3,ann,a,1,w")
    Path("own.csv").write_text("\n".join(["study_id,reader,category,level,text", *rows]), "utf-8")
    assert invoke("import", "tidy", "own.csv", "--out", tmp_path / "own").exit_code == 0
    table = Run(tmp_path / "own" / "reader-ann").table()
    assert table["severity2_edit"].sum() == 1
    assert table["severity3_edit"].sum() == 1
    assert table["severity4_reference"].sum() == 1


def test_the_same_readings_of_another_model_are_another_run(invoke: Invoke, tmp_path: Path) -> None:
    Path("r.csv").write_text("study_id,reader,significant,text\ns1,ann,yes,x\n", "utf-8")
    out = tmp_path / "out"
    assert invoke("import", "tidy", "r.csv", "--out", out, "--model", "one").exit_code == 0
    assert invoke("import", "tidy", "r.csv", "--out", out, "--model", "one").exit_code == 0
    done = invoke("import", "tidy", "r.csv", "--out", out, "--model", "two")
    assert done.exit_code == 2
    assert "holds another run" in done.stderr
    assert Run(out / "reader-ann").manifest["model"] == "one"


def radpref(annotations: object) -> tuple[str, str]:
    reports = [
        {"id": "p1", "ground_truth_report": "r", "C1_report": "a", "C2_report": "b"},
    ]
    Path("preference_data.json").write_text(json.dumps(reports), "utf-8")
    Path("user_1.json").write_text(json.dumps({"annotations": annotations}), "utf-8")
    return "preference_data.json", "user_1.json"


NOTHING: dict[str, object] = {"rating": 3, "finding_errors": [], "missing_findings": []}
ODD = {"clinical_significance": ["urgent"]}


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"p1": {"c1": NOTHING}}, "the candidate 'c1' must be written 'C1'"),
        ({"p2": {"note": "none"}}, "no such study in the file of reports"),
        ({}, "has no annotation"),
        ({"p1": {"C1": {**NOTHING, "missing_findings": [ODD]}}}, "clinical_significance is"),
    ],
)
def test_no_reading_goes_lost_in_silence(
    invoke: Invoke, tmp_path: Path, annotations: object, words: str
) -> None:
    done = invoke("import", "radpref", *radpref(annotations), "--out", tmp_path / "rp")
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / "rp").exists()


def test_counts_in_another_order_of_columns_are_refused(invoke: Invoke, tmp_path: Path) -> None:
    names = [f"{reader}{again}" for reader in range(6) for again in ("", ".1")]
    head = ["study_number", "origin", "error_category", *names]
    rows = [["0", "bleu", str(category), *["0"] * 12] for category in range(1, 7)]
    Path("t.csv").write_text("\n".join(",".join(row) for row in (head, *rows)), "utf-8")
    done = invoke("import", "rexval", "t.csv", "--out", tmp_path / "rx")
    assert done.exit_code == 2
    assert "in the order 0, 0, 1, 1" in done.stderr
