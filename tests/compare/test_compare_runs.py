"""`judge compare` on runs: rows, figures, groups, patients, models without a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from judged_runs import (
    COPIED,
    IDS,
    PREDS,
    REFS,
    data,
    edit_manifest,
    fail,
    judged,
    refused,
)
from judged_runs import same_text as said
from support import Invoke

from judge import rubrics
from judge.comparing.alignment import RunChoice, choice
from judge.comparing.comparison import compare_runs
from judge.stats.significance import Comparison, Resampling
from judge.tables.comparison import comparison_document
from judge.tables.document import Table

Two = tuple[Path, Path]


def with_field(name: str, value_of) -> dict[str, dict[str, object]]:
    """The references with a field whose value is that of the study's number."""
    return {key: {**REFS[key], name: value_of(at)} for at, key in enumerate(IDS)}


# Figures


@pytest.mark.parametrize("rubric", ["green", "fineradscore"])
def test_every_figure_is_what_the_run_itself_says(
    invoke: Invoke, stock: dict[str, Path], rubric: str
) -> None:
    runs = {name: stock[f"{rubric}-{name}"] for name in ("good", "bad")}
    found = data(invoke, *runs.values(), "--by", "study_class", "--no-tests")
    compared = [one.name for one in rubrics.load(rubric).shown("compare")]
    for model, run in runs.items():
        summary = json.loads((run / "summary.json").read_text("utf-8"))
        for group, block in zip(
            found["groups"], [summary, *summary["rates"]], strict=True
        ):
            cells = {name: cell[model] for name, cell in group["cells"].items()}
            assert len(cells) == len(compared)
            for name in compared:
                cell = cells.get(name) or cells[f"{rubric}_{name}"]
                own = block["statistics"][name]
                assert [cell["n"], cell["value"]] == [
                    own["n"],
                    pytest.approx(own["value"]),
                ]
        totals = summary["totals"]
        errors = (
            totals["n_significant"]["per_study"]
            + totals["n_insignificant"]["per_study"]
        )
        whole = found["groups"][0]["cells"][f"{rubric}_errors"][model]
        assert whole["value"] == pytest.approx(errors)


def without_correction(groups: list[dict]) -> list[dict]:
    tests = [test for group in groups for of in group["tests"].values() for test in of]
    for test in tests:
        del test["p_holm"], test["significant"]
    return groups


def test_neither_the_order_of_runs_nor_of_studies_changes_a_number(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    backwards = [dict(reversed(one.items())) for one in (PREDS, REFS)]
    turned = judged(tmp_path, "turned", backwards[0], "green", backwards[1])
    by = ("--by", "study_class")
    one, other = data(invoke, *two, *by), data(invoke, two[0], f"bad={turned}", *by)
    assert one["groups"] == other["groups"]
    several = data(invoke, *two, *by, "--by", "site,study_class", "--by", "site")
    # More groups are corrected together; nothing else of a group depends on the others.
    assert without_correction(several["groups"][:3]) == without_correction(
        one["groups"]
    )
    assert [len(group["group"]) for group in several["groups"]] == [
        0,
        1,
        1,
        2,
        2,
        2,
        2,
        1,
        1,
    ]
    swapped = data(invoke, *reversed(two))
    assert swapped["signature"] == data(invoke, *two)["signature"]
    ours, theirs = (found["groups"][0]["tests"]["green"][0] for found in (one, swapped))
    assert ours["p"] == theirs["p"]
    assert [ours["low"], ours["high"]] == pytest.approx(
        [-theirs["high"], -theirs["low"]]
    )


# Cells without a value


def test_a_class_without_a_scored_study_is_not_a_number_but_said(
    invoke: Invoke, two: Two
) -> None:
    normal = {key for key in IDS if REFS[key]["study_class"] == "normal"}
    fail(two[0], normal)
    found = data(invoke, *two, "--by", "study_class")
    group = next(g for g in found["groups"] if g["group"] == {"study_class": "normal"})
    cell = group["cells"]["green"]["good"]
    assert (cell["n"], cell["value"], cell["rank"]) == (0, None, None)
    assert (group["tests"]["green"][0]["n"], group["tests"]["green"][0]["p"]) == (
        0,
        None,
    )
    assert found["groups"][0]["cells"]["green"]["good"]["n"] == len(IDS) - len(normal)


def test_two_runs_of_one_model_are_refused(
    invoke: Invoke, two: Two, fine: Two, tmp_path: Path
) -> None:
    text = refused(invoke, two[0], f"good={two[1]}")
    assert "'good'" in text
    assert f"NAME={two[1]}" in text
    # A guessed name of two files of predictions may be two models.
    other = judged(tmp_path, "good", said("No."), "fineradscore")
    assert "NAME=RUN" in refused(invoke, two[0], other)
    assert data(invoke, *two, *fine, "--no-tests")["models"] == ["good", "bad"]
    refused(invoke, "=x")


# Patients and other fields


def test_patients_are_found_and_can_be_set_aside(
    invoke: Invoke, tmp_path: Path
) -> None:
    refs = with_field("patient_id", lambda at: f"p{at // 2}" if at < 4 else None)
    runs = [
        judged(tmp_path, name, preds, "green", refs)
        for name, preds in (("a", PREDS), ("b", said("No effusion.")))
    ]
    found = data(invoke, *runs)
    assert found["patient_field"] == "patient_id"
    assert "patient:patient_id" in found["signature"]
    assert any("by patient_id" in note for note in found["notes"])
    alone = data(invoke, *runs, "--patient-field", "none")
    assert alone["patient_field"] is None
    methods = [
        one["groups"][0]["tests"]["green_no_significant_error"][0]["method"]
        for one in (found, alone)
    ]
    assert methods == ["sign-flip permutation test", "mcnemar mid-p"]
    assert "patientt" in refused(invoke, *runs, "--patient-field", "patientt")
    # A study without a patient stands for itself.
    panel = compare_runs([choice(str(run)) for run in runs], None)[1].panel
    assert panel.study_ids == tuple(sorted(IDS))
    assert np.bincount(panel.clusters).tolist() == [2, 2] + [1] * (len(IDS) - 4)


def test_fields_that_disagree_are_left_out_or_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    one, other = (
        judged(tmp_path, name, PREDS, "green", with_field("site", value_of))
        for name, value_of in (
            ("a", lambda _: 1),
            ("b", lambda at: "y" if at == 0 else "1"),
        )
    )
    assert "disagree about 'site' of the study" in refused(
        invoke, one, other, "--by", "site"
    )
    notes = data(invoke, one, other, "--no-tests")["notes"]
    assert any("'site'" in note and "left out" in note for note in notes)
    one, other = (
        judged(
            tmp_path,
            f"p{by}",
            PREDS,
            "green",
            with_field("patient", lambda at, by=by: at // by),
        )
        for by in (2, 3)
    )
    assert "--patient-field none" in refused(invoke, one, other)


# A model that a rubric never judged


def compared(runs: list[Path], sort: str) -> Comparison:
    choices = [RunChoice(run, run.name, run.name.partition("-")[2]) for run in runs]
    return compare_runs(
        choices, Resampling(seed=1, resamples=100, flips=100), sort=sort
    )[1]


def table(comparison: Comparison, start: str, end: str = "") -> Table:
    (found,) = [
        table
        for table in comparison_document(comparison).tables
        if table.title.startswith(start) and table.title.endswith(end)
    ]
    return found


def test_a_model_without_a_run_of_a_rubric_has_no_place_in_it(
    stock: dict[str, Path], fine: Two, tmp_path: Path
) -> None:
    """`best` has a run of GREEN alone, `good` and `bad` of both rubrics."""
    best = judged(tmp_path, "best", COPIED)
    runs = [best, stock["green-good"], stock["green-bad"], *fine]
    by_green = compared(runs, "green")
    board = table(by_green, "Leaderboard", ", FineRadScore")
    assert board.head[:2] == ("rank by GREEN", "model")
    assert {row[1] for row in board.rows} == {"good", "bad"}
    by_severity = compared(runs, "severity_sum")
    assert [set(row[:2]) for row in table(by_severity, "Differences in").rows] == [
        {"good", "bad"}
    ]


# The signature


def test_the_signature_names_what_changes_a_number(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    def signature(*args: object) -> str:
        return str(data(invoke, *args)["signature"])

    line = signature(*two)
    assert "|judge:green=lexicon-4+" in line
    assert signature(*two, "--seed", 5) == line.replace("20260101", "5")
    untested = signature(*two, "--no-tests")
    assert "seed" not in untested
    for name, value in (("m", 0.25), ("n", 0.5), ("copy", 0.25)):
        rows = [f"{model},{key},{value}\n" for model in ("good", "bad") for key in IDS]
        (tmp_path / f"{name}.csv").write_text(
            "model,study_id,mine\n" + "".join(rows), "utf-8"
        )
    higher, lower = (("--higher-is-better", "mine"), ("--lower-is-better", "mine"))
    asked = [
        ("--by", "study_class"),
        *(("--metrics", "m.csv", *way) for way in (higher, lower)),
        ("--metrics", "n.csv", *higher),
    ]
    lines = [signature(*two, *options, "--no-tests") for options in asked]
    assert len({untested, *lines}) == 1 + len(asked)
    # The name of a file is nothing that changes a number.
    assert signature(*two, "--metrics", "copy.csv", *higher, "--no-tests") == lines[1]
    edit_manifest(two[0], omitted={"no candidate": 1})
    assert signature(*two) != line
