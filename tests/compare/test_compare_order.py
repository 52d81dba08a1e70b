"""Whose number is whose: studies, models and patients go by their names, never by position."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged_runs import IDS, PREDS, REFS, as_written, data, fail, judged, texts
from support import Invoke

from judge import rubrics
from judge.comparing.comparison import compare_runs
from judge.comparing.names import choice

HALF_EMPTY = {
    key: PREDS[key] if at % 2 else {"model_prediction": "No effusion."}
    for at, key in enumerate(IDS)
}
ROWS = [
    (model, key, at / 50 if model == "good" else at / 25)
    for model in ("good", "bad")
    for at, key in enumerate(IDS)
]


def backwards(records: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(records.items()))


def metrics_file(path: Path, rows: Sequence[tuple[object, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("model", "study_id", "bleu"), *rows])
    return path


def with_patients(**patients: str) -> dict[str, Any]:
    """The references, those of some studies with the field `patient`."""
    return {
        key: {**REFS[key], **({"patient": patients[key]} if key in patients else {})} for key in IDS
    }


# Order


def test_studies_are_matched_by_id_whatever_their_order(invoke: Invoke) -> None:
    one, other = judged(invoke, "a", PREDS), judged(invoke, "b", HALF_EMPTY)
    turned = judged(invoke, "turned", backwards(HALF_EMPTY), "green", backwards(REFS))
    found = [
        data(invoke, one, run, "--by", "study_class")["groups"] for run in (other, f"b={turned}")
    ]
    assert found[0] == found[1]


def test_metrics_of_a_file_are_matched_by_study_and_model_whatever_their_order(
    invoke: Invoke, two: tuple[Path, Path], tmp_path: Path
) -> None:
    shuffled = [ROWS[7 * at % len(ROWS)] for at in range(len(ROWS))]
    assert sorted(shuffled) == sorted(ROWS)
    assert shuffled != ROWS
    files = metrics_file(tmp_path / "m.csv", ROWS), metrics_file(tmp_path / "n.csv", shuffled)
    one, other = (data(invoke, *two, "--metrics", file, "--by", "study_class") for file in files)
    assert one["groups"] == other["groups"]
    assert one["correlations"] == other["correlations"]


# The runs' own figures


@pytest.mark.parametrize("rubric", ["green", "fineradscore"])
def test_every_figure_is_what_the_run_itself_says(invoke: Invoke, rubric: str) -> None:
    runs = [
        judged(invoke, name, preds, rubric)
        for name, preds in (("good", as_written()), ("bad", texts()))
    ]
    cells = data(invoke, *runs)["groups"][0]["cells"]
    for run, model in zip(runs, ("good", "bad"), strict=True):
        summary = json.loads((run / "summary.json").read_text("utf-8"))
        figures = {name: cell[model]["value"] for name, cell in cells.items()}
        totals = summary["totals"]
        errors = totals["n_significant"]["per_study"] + totals["n_insignificant"]["per_study"]
        assert figures[f"{rubric}_errors"] == pytest.approx(errors)
        compared = [one.name for one in rubrics.load(rubric).shown("compare")]
        own = {name.removeprefix(f"{rubric}_"): value for name, value in figures.items()}
        own |= {name: figures[name] for name in figures if name in compared}
        wanted = {name: summary["statistics"][name]["value"] for name in compared}
        assert {name: own[name] for name in compared} == pytest.approx(wanted)
        assert len(figures) == len(compared)


def test_on_common_studies_a_runs_counts_are_of_those_alone(
    invoke: Invoke, two: tuple[Path, Path]
) -> None:
    fewer = judged(
        invoke, "fewer", {key: PREDS[key] for key in IDS[2:]}, "green", REFS, "--allow-missing"
    )
    fail(two[0], [IDS[0], IDS[5]])
    names = ("model", "n_studies", "n_scored", "n_unparsed", "n_failed")
    alone = data(invoke, two[0])["runs"][0]
    assert [alone[name] for name in names] == ["good", 15, 13, 0, 2]
    good, other = data(invoke, two[0], fewer, "--common")["runs"]
    assert [good[name] for name in names] == ["good", 13, 12, 0, 1]
    assert [other[name] for name in names] == ["fewer", 13, 13, 0, 0]


# What is to be known


def test_rows_of_metrics_about_no_study_are_counted(
    invoke: Invoke, two: tuple[Path, Path], tmp_path: Path
) -> None:
    more = [("good", "elsewhere", 1), ("another", IDS[0], 1)]
    file = metrics_file(tmp_path / "m.csv", [*ROWS, *more])
    notes = data(invoke, *two, "--metrics", file)["notes"]
    assert f"2 rows of {file} are about no study compared here" in notes
    whole = metrics_file(tmp_path / "n.csv", ROWS)
    notes = data(invoke, *two, "--metrics", whole)["notes"]
    assert not any("about no study" in note for note in notes)


def test_an_inferred_class_is_said(invoke: Invoke, two: tuple[Path, Path]) -> None:
    plain = {key: {"section_findings": REFS[key]["section_findings"]} for key in IDS}
    run = judged(invoke, "plain", PREDS, "green", plain)
    said = "the study class was inferred by the lexicon"
    assert said in data(invoke, run)["notes"]
    assert said not in data(invoke, *two)["notes"]


# Patients


def test_studies_without_a_patient_each_stand_for_themselves(invoke: Invoke) -> None:
    first, second, third, fourth, *rest = sorted(IDS)
    refs = with_patients(**{first: "p", second: "q", third: "p", fourth: "q"})
    run = judged(invoke, "a", PREDS, "green", refs)
    panel = compare_runs([choice(str(run))], None)[1].panel
    assert panel.study_ids == tuple(sorted(IDS))
    assert panel.clusters is not None
    numbers = panel.clusters.tolist()
    assert numbers[0] == numbers[2] != numbers[1] == numbers[3]
    assert len(set(numbers)) == 2 + len(rest)


def test_the_field_patient_is_found_without_being_named(invoke: Invoke) -> None:
    refs = with_patients(**{key: f"p{at // 2}" for at, key in enumerate(IDS)})
    runs = [
        judged(invoke, name, preds, "green", refs)
        for name, preds in (("a", PREDS), ("b", HALF_EMPTY))
    ]
    found = data(invoke, *runs)
    assert found["patient_field"] == "patient"
    tests = found["groups"][0]["tests"]["green_no_significant_error"]
    assert [test["method"] for test in tests] == ["sign-flip permutation test"]
    _, comparison = compare_runs([choice(str(run)) for run in runs], None)
    clusters = comparison.panel.clusters
    assert clusters is not None
    assert np.bincount(clusters).tolist() == [2] * 7 + [1]
