"""`judge stress make`: the files, what is printed, and what is wrong with an input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke, write_json

from judge.studies import read_pair

REFS = EXAMPLES / "refs.json"
FILES = {"preds.json", "refs.json", "truth.jsonl", "stress.json"}


def truth_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]


def test_what_is_written_is_read_as_an_ordinary_run_reads_it(
    invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("stress", "make", REFS, "--out", "made")
    assert done.exit_code == 0, done.stderr
    made = tmp_path / "made"
    assert {path.name for path in made.iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"made"}
    studies = read_pair(str(made / "preds.json"), str(made / "refs.json"))
    truth = {one["id"]: one for one in truth_of(made)}
    assert {*studies.study_ids} == {*truth}
    for study in studies:
        one = truth[study.study_id]
        assert study.study_id == f"{one['study']}/{one['change']}"
        assert study.candidate == one["after"]
        assert study.reference == one["before"]
        assert one["k"] == len(one["errors"])
        assert study.fields["change"] == one["change"]
        assert study.fields["patient"] == one["study"]
        base = one["same_reading_as"]
        assert (base is not None) == (one["group"] == "hostile")
        assert base is None or truth[base]["errors"] == one["errors"]


def test_a_run_takes_the_files(invoke: Invoke, tmp_path: Path) -> None:
    wanted = "identical,reordered,denied"
    assert invoke("stress", "make", REFS, "--out", "made", "--changes", wanted).exit_code == 0
    made = tmp_path / "made"
    done = invoke(
        "green", made / "preds.json", made / "refs.json", "--out", "run", "--by", "change"
    )
    assert done.exit_code == 0, done.stderr
    groups = json.loads(invoke("rates", "run", "--by", "change", "--format", "json").stdout)
    keys = json.dumps(groups)
    assert all(f'"change": "{name}"' in keys for name in wanted.split(","))


def test_each_study_and_change_is_made_or_counted_with_a_reason(
    invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("stress", "make", REFS, "--out", "made", "--format", "json")
    said = json.loads(done.stdout)
    kept = json.loads((tmp_path / "made" / "stress.json").read_text("utf-8"))
    assert kept["changes"] == said["changes"]
    assert said["n_studies"] == 15
    for one in said["changes"]:
        assert one["made"] + sum(one["not_made"].values()) == 15, one["change"]
        assert all(one["not_made"])
    assert said["n_candidates"] == len(truth_of(tmp_path / "made"))
    assert "15 references are there: all are taken" in done.stderr


def test_the_order_and_the_number_of_references_change_no_candidate(
    invoke: Invoke, tmp_path: Path
) -> None:
    refs = json.loads(REFS.read_text("utf-8"))
    turned = write_json(tmp_path / "turned.json", dict(reversed(refs.items())))
    for source, n, out in ((REFS, 15, "a"), (turned, 15, "b"), (turned, 4, "c"), (REFS, 8, "d")):
        assert invoke("stress", "make", source, "-n", n, "--out", out).exit_code == 0
    made = {out: {one["id"]: one for one in truth_of(tmp_path / out)} for out in "abcd"}
    assert made["a"] == made["b"]
    assert made["c"].items() <= made["d"].items() <= made["a"].items()
    assert len({one["study"] for one in made["c"].values()}) == 4
    assert invoke("stress", "make", REFS, "--seed", 2, "--out", "e").exit_code == 0
    assert {one["id"]: one for one in truth_of(tmp_path / "e")} != made["a"]


@pytest.mark.parametrize("form", ["table", "md", "csv", "json"])
def test_each_format(invoke: Invoke, form: str) -> None:
    done = invoke("stress", "make", REFS, "--out", "made", "--format", form)
    assert done.exit_code == 0, done.stderr
    assert "side_swapped" in done.stdout
    assert "written to made" in done.stderr
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        found = [row for row in rows if row["change"] == "comparison_added"]
        assert sum(int(row["not made"]) for row in found) + int(found[0]["made"]) == 15
    listed = invoke("stress", "make", "--list", "--format", form)
    assert listed.exit_code == 0
    assert "one error (c)" in listed.stdout


def test_a_hostile_text_brings_what_it_is_compared_with(invoke: Invoke, tmp_path: Path) -> None:
    assert (
        invoke("stress", "make", REFS, "--out", "made", "--changes", "instruction").exit_code == 0
    )
    assert {one["change"] for one in truth_of(tmp_path / "made")} == {"errors_1", "instruction"}


def test_references_that_are_empty_or_short_are_counted(invoke: Invoke, tmp_path: Path) -> None:
    refs = write_json(tmp_path / "few.json", {"a": {"findings": ""}, "b": {"findings": "Clear."}})
    done = invoke("stress", "make", refs, "--out", "made")
    assert done.exit_code == 0, done.stderr
    assert "1 reference is empty, and was left out" in done.stderr
    assert "made on no report: " in done.stderr
    assert "side_swapped" in done.stderr.partition("made on no report: ")[2]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--changes", "denied,nothing"], "unknown change 'nothing'; there are: identical, "),
        (["--section", "impresion"], "impresion"),
        (["-n", "0"], "-n"),
        (["--reference-field", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_option_writes_nothing(
    invoke: Invoke, tmp_path: Path, given: list[str], says: str
) -> None:
    done = invoke("stress", "make", REFS, "--out", "made", *given)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not [*tmp_path.iterdir()]


def test_references_and_a_folder_are_needed(invoke: Invoke) -> None:
    for given in ([], [REFS], ["--out", "made"]):
        done = invoke("stress", "make", *given)
        assert done.exit_code == 2
        assert "give REFS and --out DIR, or --list" in done.stderr


@pytest.mark.parametrize("refs", [{}, {"a": {"findings": ""}}, {"a": {"findings": 5}}])
def test_references_without_a_text(invoke: Invoke, tmp_path: Path, refs: dict) -> None:
    done = invoke("stress", "make", write_json(tmp_path / "refs.json", refs), "--out", "made")
    assert done.exit_code == 2
    assert "refs.json" in done.stderr
    assert "PREDS" not in done.stderr
    assert "to be made" not in done.stderr
    assert not (tmp_path / "made").exists()


def test_what_is_there_stays(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for out, says in (("made", "holds something already"), ("file", "is a file")):
        done = invoke("stress", "make", REFS, "--out", out)
        assert done.exit_code == 2
        assert says in done.stderr
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["mine.txt"]
    (tmp_path / "new").mkdir()
    assert invoke("stress", "make", REFS, "--out", "new").exit_code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES


def test_a_report_that_is_not_plain_is_made_whole(invoke: Invoke, tmp_path: Path) -> None:
    text = "Größe ½. \u201cSmall\u201d left pneumothorax\u2014new?\n\n1. Hiatal hernia. \U0001f600"
    refs = write_json(tmp_path / "refs.json", {"é/ü": {"report": text}})
    assert invoke("stress", "make", refs, "--out", "made").exit_code == 0
    made = truth_of(tmp_path / "made")
    assert {one["study"] for one in made} == {"é/ü"}
    assert next(one for one in made if one["change"] == "identical")["after"] == text


def test_an_id_given_twice_is_said_once(invoke: Invoke, tmp_path: Path) -> None:
    one = {"study_id": "a", "report": "Hiatal hernia."}
    done = invoke("stress", "make", write_json(tmp_path / "refs.json", [one, one]), "--out", "made")
    assert done.exit_code == 2
    assert done.stderr.count("more than once") == 1
    assert not (tmp_path / "made").exists()


def test_candidates_are_no_references(invoke: Invoke) -> None:
    done = invoke("stress", "make", EXAMPLES / "preds.json", "--out", "made")
    assert done.exit_code == 2
    assert "has no field for the references; its fields are: model_prediction." in done.stderr
