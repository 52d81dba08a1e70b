"""`judge errors RUN`: what recurs in one run, counted by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from answered_runs import answered, green, missing
from support import Invoke

from judge import JudgeError, recurring_errors
from judge.comparing.recurring import recurring
from judge.running.folder import Run

ANSWERS = {
    "s0": green(insignificant={"b": "1. Tiny pleural effusion"}),
    "s1": green({"b": "1. Missing left pleural effusion in the reference"}, {"a": "1. Nodule"}),
    "s2": missing("The candidate fails to mention the pleural effusion"),
    "s3": missing("Right effusion", "Left effusion"),
    "s4": missing("Pneumothorax with pleural effusion"),
    "s5": green({"f": "1. Nothing is said of earlier studies"}),
    "s6": green(insignificant={"f": "1. The interval change"}),
    "s7": green(),
    "s8": "Pleural effusion is missing, that is all.",
    "s9": None,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return answered(tmp_path / "alder", ANSWERS)


def data(invoke: Invoke, *args: object) -> dict[str, Any]:
    done = invoke("errors", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_errors_are_grouped_and_counted(run: Path, invoke: Invoke) -> None:
    found = data(invoke, run)
    assert found["model"] == "alder"
    assert data(invoke, f"birch={run}")["model"] == "birch"
    assert (found["n_studies"], found["n_scored"], found["n_unparsed"], found["n_failed"]) == (
        *(10, 8),
        *(1, 1),
    )
    effusion, other = found["errors"]
    assert (effusion["category"], effusion["finding"]) == ("b", "pleural effusion")
    # s0, s1, s2, s3 twice, s4; neither the answer that was not read nor the one that is not there.
    assert (effusion["n_errors"], effusion["n_grave"], effusion["k"]) == (6, 5, 5)
    assert (effusion["n"], effusion["value"]) == (8, 5 / 8)
    # The insignificant one of s0 comes last of all, so it is none of the three.
    assert effusion["examples"] == ["s1", "s2", "s3"]
    assert (other["category"], other["finding"], other["k"]) == ("f", None, 2)
    assert other["examples"] == ["s5", "s6"]


def test_an_error_about_two_findings_is_counted_for_each_and_it_is_said(
    run: Path, invoke: Invoke
) -> None:
    found = data(invoke, run, "--min-studies", 1)
    groups = {(one["category"], one["finding"]): one for one in found["errors"]}
    assert groups["b", "pneumothorax"]["examples"] == ["s4"]
    assert groups["a", "nodule"]["n_grave"] == 0
    assert len(groups) == 4
    # Six effusions, of which one is the pneumothorax, two comparisons and the nodule.
    assert found["notes"] == [
        "1 of 9 errors are about several findings or of several categories, and counted for each"
    ]


def test_the_table_says_what_it_rests_on_and_what_to_open(run: Path, invoke: Invoke) -> None:
    done = invoke("errors", run, "--top", 1)
    assert done.exit_code == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "scored 8" in lines
    assert "Errors that recur in 2 studies or more, the first 1 of 2" in lines
    assert "category finding errors clinically significant studies examples" in lines
    assert "(b) missing finding pleural effusion 6 5 5/8 62.5% [30.6, 86.3] s1, s2, s3" in lines
    assert lines[-1].startswith("signature green:2|judge:test-1|")
    assert f"judge audit {run} STUDY_ID" in done.stderr
    assert invoke("audit", run, "s1").exit_code == 0
    markdown = invoke("errors", run, "--format", "md").stdout
    assert "| (f) omitted comparison | (other) | 2 | 1 | 2/8 25.0% [7.1, 59.1] | s5, s6 |" in (
        markdown
    )


def test_csv_and_python_have_every_group(run: Path, invoke: Invoke) -> None:
    done = invoke("errors", run, "--format", "csv", "--top", 1, "--min-studies", 1)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["finding"], row["k"], row["n"]) for row in rows] == [
        *[("pleural effusion", "5", "8"), ("", "2", "8"), ("pneumothorax", "1", "8")],
        ("nodule", "1", "8"),
    ]
    assert {row["signature"] for row in rows} == {Run(run).signature}
    frame = recurring_errors(Run(run), min_studies=1)
    printed = pd.read_csv(io.StringIO(done.stdout))
    pd.testing.assert_frame_equal(frame, printed, check_dtype=False)
    with pytest.raises(JudgeError, match="one run or two, not 0"):
        recurring_errors()


def test_a_run_without_errors_says_so(tmp_path: Path, invoke: Invoke) -> None:
    run = answered(tmp_path / "none", {"s0": green(), "s1": None})
    done = invoke("errors", run)
    assert done.exit_code == 0
    assert "No error recurs in 2 studies or more, of 1 scored." in done.stdout
    assert "judge audit" not in done.stderr
    assert data(invoke, run)["errors"] == []
    head = invoke("errors", run, "--format", "csv").stdout
    assert head.startswith("category,category_label,finding,n_errors")
    assert len(head.splitlines()) == 1
    assert "No error recurs" in invoke("errors", run, "--format", "md").stdout


def test_errors_that_are_stated_but_not_listed_are_noted(tmp_path: Path) -> None:
    run = answered(tmp_path / "short", {"s0": green({"b": "3. effusion"}), "s1": missing("PICC")})
    found = recurring(Run(run), 1)
    assert sum(one.n_errors for one in found.errors) == 2
    assert found.notes == (
        "the answers state 4 errors and list 2: what recurs is counted of those that are listed",
    )


CORRECTIONS = [
    {"line": 0, "edit": "change", "corrected": "Heart size is normal.", "severity": 2},
    {"line": 1, "edit": "delete", "corrected": "", "severity": 3},
    {"line": None, "edit": "insert", "corrected": "Small effusion.", "severity": 4},
]


@pytest.mark.parametrize(
    ("comments", "findings"),
    [
        (("", "", ""), ("cardiomegaly", "nodule", "pleural effusion")),
        (("It is not.", "Why.", "Left out."), ("cardiomegaly", "nodule", "pleural effusion")),
        (("No edema", "Not there", "PICC"), ("pulmonary edema", "nodule", "PICC")),
    ],
)
def test_a_correction_without_a_telling_comment_is_about_what_it_changes(
    comments: tuple[str, ...], findings: tuple[str, ...], tmp_path: Path
) -> None:
    entries = [
        {**one, "categories": [category], "comment": comment}
        for one, category, comment in zip(CORRECTIONS, "aab", comments, strict=True)
    ]
    answer = json.dumps({"corrections": entries})
    found = recurring(Run(answered(tmp_path / "f", {"s0": answer}, "fineradscore")), 1)
    groups = {(one.group.category, one.group.finding): one for one in found.errors}
    assert groups.keys() == set(zip("aab", findings, strict=True))
    assert [groups[key].n_grave for key in zip("aab", findings, strict=True)] == [0, 1, 1]


def test_an_error_of_two_categories_is_counted_for_each(tmp_path: Path, invoke: Invoke) -> None:
    entry = {**CORRECTIONS[0], "categories": ["a", "c"], "comment": "The heart is not enlarged."}
    answer = json.dumps({"corrections": [entry]})
    run = answered(tmp_path / "f", {"s0": answer, "s1": answer}, "fineradscore")
    found = data(invoke, run)
    assert [(one["category"], one["k"]) for one in found["errors"]] == [("a", 2), ("c", 2)]
    head = invoke("errors", run).stdout
    assert "3 urgent or 4 emergent" in head


def test_what_is_graded_as_good_is_no_error_and_a_rubric_may_have_no_category(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = tmp_path / "facts"
    refs = {f"s{n}": {"section_findings": "Small left pleural effusion."} for n in range(2)}
    preds = {name: {"model_prediction": "Large nodule."} for name in refs}
    for name, told in (("refs", refs), ("preds", preds)):
        Path(f"{name}.json").write_text(json.dumps(told), "utf-8")
    assert invoke("toy_facts", "preds.json", "refs.json", "--out", run).exit_code == 0
    items = [item for r in Run(run).records() for item in r["annotation"]["items"]]
    verdicts = [item["labels"]["verdict"][0] for item in items]
    found = data(invoke, run, "--min-studies", 1)
    wrong = sum(verdict == "not_entailed" for verdict in verdicts)
    assert sum(one["n_errors"] for one in found["errors"]) == wrong > 0
    assert {one["category_label"] for one in found["errors"]} == {"fact"}
    assert {one["category"] for one in found["errors"]} == {None}
    same = {name: {"model_prediction": "Small left pleural effusion."} for name in refs}
    Path("preds.json").write_text(json.dumps(same), "utf-8")
    right = tmp_path / "right"
    assert invoke("toy_facts", "preds.json", "refs.json", "--out", right).exit_code == 0
    assert data(invoke, right, "--min-studies", 1)["errors"] == []


def test_a_rubric_that_grades_nothing_has_no_errors_to_group(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    assert example_run.is_dir()
    direct = answered(tmp_path / "direct", {"s0": None}, "toy_direct")
    done = invoke("errors", direct)
    assert done.exit_code == 2
    assert "grades nothing that it lists" in done.stderr


def test_the_real_reports_say_what_a_reader_would(shared: Path, invoke: Invoke) -> None:
    out = Path("real").resolve()
    preds = shared / "preds_indication.json"
    assert invoke("green", preds, shared / "refs.json", "--out", out).exit_code == 0
    found = data(invoke, out)
    first = found["errors"][0]
    assert (first["category"], first["finding"]) == ("a", "degenerative bone change")
    (effusion,) = (
        one
        for one in found["errors"]
        if (one["category"], one["finding"]) == ("b", "pleural effusion")
    )
    missed = {
        record["study_id"]
        for record in Run(out).records()
        for item in record["annotation"]["items"]
        if item["labels"].get("category") == ["b"]
        and re.match(r'The reference says "[^"]*(effusion|pleural (fluid|densit))', item["text"])
    }
    assert effusion["k"] == len(missed) > 10
    assert missed.issuperset(effusion["examples"])
