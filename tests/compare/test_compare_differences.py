"""What runs that are compared must share: one table of what differs, and what allows it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from judged_runs import IDS, PREDS, REFS, data, edit_manifest, judged, refused
from support import Invoke

from judge import rubrics

Two = tuple[Path, Path]


def test_all_that_differs_is_one_table_with_what_allows_it(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    moved = {
        **REFS,
        IDS[3]: {**REFS[IDS[3]], "section_findings": "Large left effusion."},
    }
    third = judged(
        *(tmp_path, "third", {key: PREDS[key] for key in IDS[2:]}, "green", moved),
        "--allow-missing",
    )
    prompts = [{"name": "mine", "version": "1", "digest": "abc"}]
    judge = {"name": "m", "version": "m-2", "note": None}
    edit_manifest(third, judge=judge, prompts=prompts)
    done = invoke("compare", *two, third)
    assert (done.exit_code, done.stdout) == (2, "")
    for allows in (
        "--allow judge",
        "--allow prompt",
        "--common: the 13",
        "--allow references",
    ):
        assert allows in done.stderr
    assert "--allow prompt" in refused(
        invoke, *two, third, "--allow", "judge", "--common"
    )
    words = [
        word for one in ("judge", "prompt", "references") for word in ("--allow", one)
    ]
    allowed = (*words, "--common")
    found = data(invoke, *two, third, *allowed, "--no-tests")
    assert found["groups"][0]["n_studies"] == 13
    assert [(run["n_studies"], run["n_scored"]) for run in found["runs"]] == [
        (13, 13)
    ] * 3
    assert "|allowed:judge,prompt,references|" in found["signature"]


def test_another_section_or_rubric_version_is_never_mixed(
    invoke: Invoke, two: Two
) -> None:
    edit_manifest(two[1], rubric_version="0")
    assert "judge runs rescore" in refused(invoke, *two)
    edit_manifest(
        two[1], section="report", rubric_version=str(rubrics.load("green").version)
    )
    every = [
        word for one in ("judge", "prompt", "references") for word in ("--allow", one)
    ]
    assert "section" in refused(invoke, *two, *every, "--common")


def test_runs_without_a_study_in_common_are_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    runs = [
        judged(
            tmp_path,
            name,
            *({key: of[key] for key in ids} for of in (PREDS,)),
            "green",
            refs,
        )
        for name, ids in (("one", IDS[:8]), ("two", IDS[8:]))
        for refs in ({key: REFS[key] for key in ids},)
    ]
    text = refused(invoke, *runs, "--common")
    assert "no study is in all runs" in text
    assert all(str(run) in text for run in runs)


def test_references_of_another_form_are_the_same(
    invoke: Invoke, tmp_path: Path
) -> None:
    refs = {key: {"report": REFS[key]["section_findings"], "patient": 7} for key in IDS}
    one = judged(tmp_path, "a", PREDS, "green", refs, "--section", "report")
    with (tmp_path / "other.csv").open("w", newline="") as file:
        rows = [{"study_id": key, **record} for key, record in refs.items()]
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        spaced = [
            {**row, "report": row["report"].replace(" ", "  ") + "\n"} for row in rows
        ]
        writer.writerows(spaced)
    words = (
        tmp_path / "preds_a.json",
        "other.csv",
        "--section",
        "report",
        "--out",
        "b",
    )
    assert invoke("green", *words).exit_code == 0
    found = data(invoke, one, "b=b")
    assert found["patient_field"] == "patient"  # 7 and "7" are one
    test = found["groups"][0]["tests"]["green"][0]
    assert (test["n"], test["difference"]) == (15, 0)
    # A run without its records cannot show its references.
    lines = Path("b/annotations.jsonl").read_text("utf-8").splitlines(keepends=True)
    Path("b/annotations.jsonl").write_text("".join([lines[1], *lines[1:]]), "utf-8")
    text = refused(invoke, one, "b=b")
    assert "annotations.jsonl" in text
    assert repr(json.loads(lines[0])["study_id"]) in text
