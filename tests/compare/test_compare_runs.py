"""`judge compare` on runs: names, what may differ, groups, formats, bad input."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from judged_runs import IDS, PREDS, REFS, data, fail, judged, texts
from support import Invoke


def fails(invoke: Invoke, *args: object) -> str:
    done = invoke("compare", *args)
    assert done.exit_code == 2, done.stdout
    return " ".join(done.stderr.split())


def edit_manifest(run: Path, **changes: object) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, **changes}), "utf-8")


# The leaderboard


def test_models_are_ranked_and_tested(invoke: Invoke, two) -> None:
    found = data(invoke, *two, "--sort", "GREEN")
    cells = found["groups"][0]["cells"]["green"]
    assert (cells["good"]["rank"], cells["bad"]["rank"]) == (1, 2)
    assert cells["good"]["n"] == len(IDS)
    test = found["groups"][0]["tests"]["green"][0]
    assert (test["a"], test["b"], test["n"]) == ("good", "bad", len(IDS))
    assert test["difference"] == pytest.approx(cells["good"]["value"] - cells["bad"]["value"])
    assert found["groups"][0]["ranks"]["green"]["good"]["shares"][0] > 0.9


def test_the_figures_are_the_runs_own(invoke: Invoke, two) -> None:
    cells = data(invoke, *two, "--by", "study_class")
    for run, model in zip(two, ("good", "bad"), strict=True):
        summary = json.loads((run / "summary.json").read_text("utf-8"))
        for group, block in zip(cells["groups"], [summary, *summary["rates"]], strict=True):
            found = block["statistics"]
            score, cell = found["green"], group["cells"]["green"][model]
            assert [cell["n"], cell["value"]] == [score["n"], pytest.approx(score["value"])]
            rate = group["cells"]["green_no_significant_error"][model]
            assert {k: rate[k] for k in ("k", "n", "low", "high")} == {
                k: found["no_significant_error"][k] for k in ("k", "n", "low", "high")
            }


def test_both_rubrics_of_a_model_are_one_row(invoke: Invoke, two) -> None:
    fine = judged(invoke, "bad", texts(), "fineradscore")
    found = data(invoke, *two, fine)
    assert found["models"] == ["good", "bad"]
    cells = found["groups"][0]["cells"]["inverse_fineradscore"]
    assert cells["good"] == {
        "n": 0,
        "k": None,
        "value": None,
        "low": None,
        "high": None,
        "rank": None,
    }
    assert cells["bad"]["rank"] == 1
    assert "no run of fineradscore is of good" in invoke("compare", *two, fine).stdout


@pytest.mark.parametrize("form", ["table", "md", "latex", "csv", "pairs", "json", "rexrank"])
def test_every_format_is_whole(invoke: Invoke, two, form: str) -> None:
    done = invoke("compare", *two, "--by", "study_class", "--format", form)
    assert done.exit_code == 0, done.stderr
    assert not re.search(r"\bnan\b", done.stdout, re.IGNORECASE)
    assert "good" in done.stdout
    if form != "rexrank":
        assert "compare:1|models:2|runs:2+" in done.stdout
    if form in ("csv", "pairs", "rexrank"):
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert all(None not in row and None not in row.values() for row in rows)


def test_latex_is_escaped_and_marks_the_best(invoke: Invoke, two) -> None:
    text = invoke("compare", f"a_b&c={two[0]}", two[1], "--format", "latex").stdout
    best = next(line for line in text.splitlines() if r"a\_b\&c" in line)
    assert best.startswith("1 & ")
    assert r"\textbf{" in best
    assert r"\%" in best


def test_the_signature_names_seed_and_runs(invoke: Invoke, two) -> None:
    one = data(invoke, *two)["signature"]
    assert "seed:20260101" in one
    assert "flips:10000" in one
    assert data(invoke, *reversed(two))["signature"] == one
    assert data(invoke, *two, "--seed", 5)["signature"] == one.replace("20260101", "5")
    assert "seed" not in data(invoke, *two, "--no-tests")["signature"]
    edit_manifest(
        two[0],
        signature=json.loads((two[0] / "manifest.json").read_text())["signature"].replace(
            "omitted:0", "omitted:1"
        ),
    )
    assert data(invoke, *two)["signature"] != one


def test_the_same_seed_gives_the_same_numbers(invoke: Invoke, two) -> None:
    assert data(invoke, *two, "--seed", 3) == data(invoke, *two, "--seed", 3)
    other = data(invoke, *two, "--seed", 4)
    assert other["groups"][0]["tests"] != data(invoke, *two, "--seed", 3)["groups"][0]["tests"]


def test_patients_are_found_and_can_be_set_aside(invoke: Invoke) -> None:
    refs = {key: {**REFS[key], "patient_id": f"p{at // 2}"} for at, key in enumerate(IDS)}
    runs = [
        judged(invoke, name, texts(same), "green", refs)
        for name, same in (("a", None), ("b", "No effusion."))
    ]
    found = data(invoke, *runs)
    assert found["patient_field"] == "patient_id"
    assert "patient:patient_id" in found["signature"]
    rate = found["groups"][0]["tests"]["green_no_significant_error"][0]
    assert rate["method"] == "sign-flip permutation test"
    alone = data(invoke, *runs, "--patient-field", "none")
    assert alone["patient_field"] is None
    rate = alone["groups"][0]["tests"]["green_no_significant_error"][0]
    assert rate["method"] == "mcnemar mid-p"
    assert "patientt" in fails(invoke, *runs, "--patient-field", "patientt")


# Names


def test_the_model_is_named_by_argument_field_or_file(invoke: Invoke, two) -> None:
    assert data(invoke, two[0], f"Mine={two[1]}")["models"] == ["good", "Mine"]
    preds = {key: {"model_prediction": "No effusion.", "model": "from-field"} for key in IDS}
    run = judged(invoke, "x", preds)
    assert data(invoke, *two, run)["models"][2] == "from-field"


def test_two_runs_of_one_model_say_how_to_mend(invoke: Invoke, two) -> None:
    text = fails(invoke, two[0], f"good={two[1]}")
    assert "two runs of green are of the model 'good'" in text
    assert f"NAME={two[1]}" in text


def test_runs_of_different_predictions_are_not_one_row_by_accident(invoke: Invoke, two) -> None:
    other = judged(invoke, "good", texts("No."), "fineradscore")
    assert "different files of predictions" in fails(invoke, two[0], other)
    notes = data(invoke, f"good={two[0]}", f"good={other}")["notes"]
    assert any("different files of predictions" in note for note in notes)


@pytest.mark.parametrize("argument", ["=x", "name=", "missing"])
def test_what_is_no_run_is_an_error(invoke: Invoke, argument: str) -> None:
    fails(invoke, argument)


# What differs


@pytest.mark.parametrize(
    ("part", "other", "said"),
    [
        ("judge", {"judge": {"name": "m", "version": "m-2", "note": None}}, "--allow judge"),
        ("prompt", {}, "--allow prompt"),
    ],
)
def test_another_judge_or_prompt_needs_to_be_allowed(
    invoke: Invoke, two, part: str, other: dict, said: str
) -> None:
    line = json.loads((two[1] / "manifest.json").read_text("utf-8"))["signature"]
    if part == "prompt":
        other = {"signature": line.replace("prompt:none", "prompt:mine@1+abc")}
    edit_manifest(two[1], **other)
    text = fails(invoke, *two)
    assert f"the {part} of green" in text
    assert said in text
    found = data(invoke, *two, "--allow", part)
    assert f"allowed:{part}" in found["signature"]
    assert any("differs (allowed)" in note for note in found["notes"])


def test_another_section_or_rubric_version_is_never_mixed(invoke: Invoke, two) -> None:
    line = json.loads((two[1] / "manifest.json").read_text("utf-8"))["signature"]
    edit_manifest(two[1], section="report", signature=line.replace("green:2", "green:0"))
    text = fails(invoke, *two, "--allow", "judge", "--allow", "prompt", "--common")
    assert "the section: findings in" in text
    assert "the version of the rubric: green:2 in" in text
    assert "judge rescore" in text


def test_other_studies_stop_unless_common_ones_are_asked_for(invoke: Invoke, two) -> None:
    fewer = {key: PREDS[key] for key in IDS[2:]}
    run = judged(invoke, "fewer", fewer, "green", REFS, "--allow-missing")
    text = fails(invoke, two[0], run)
    assert "on different studies" in text
    assert f"all have {len(IDS) - 2}" in text
    found = data(invoke, two[0], run, "--common")
    assert found["groups"][0]["n_studies"] == len(IDS) - 2
    assert any(f"the {len(IDS) - 2} studies that all runs have" in n for n in found["notes"])


def test_no_study_in_common(invoke: Invoke) -> None:
    half = len(IDS) // 2
    runs = [
        judged(invoke, name, {key: PREDS[key] for key in ids}, "green", {k: REFS[k] for k in ids})
        for name, ids in (("one", IDS[:half]), ("two", IDS[half:]))
    ]
    assert "no study in common" in fails(invoke, *runs, "--common")


def test_fields_that_disagree_cannot_be_grouped_by(invoke: Invoke) -> None:
    refs = {key: {**REFS[key], "site": "x"} for key in IDS}
    moved = {key: {**REFS[key], "site": "y" if key == IDS[0] else "x"} for key in IDS}
    one = judged(invoke, "s1", texts(), "green", refs)
    other = judged(invoke, "s2", texts("No."), "green", moved)
    assert "disagree about 'site' of 1 studies" in fails(invoke, one, other, "--by", "site")
    assert any("it is left out" in note for note in data(invoke, one, other)["notes"])
    assert "cannot group by 'nowhere'" in fails(invoke, one, other, "--by", "nowhere")


@pytest.mark.parametrize("column", ["green", "outcome", "n_significant", "warnings", "study_id"])
def test_what_a_judge_said_is_no_field_to_group_by(invoke: Invoke, two, column: str) -> None:
    assert f"cannot group by {column!r}" in fails(invoke, *two, "--by", column)


# Cells without a value


def test_one_model_is_a_leaderboard_without_tests(invoke: Invoke, two) -> None:
    found = data(invoke, two[0])
    assert found["groups"][0]["tests"]["green"] == []
    assert found["groups"][0]["cells"]["green"]["good"]["rank"] == 1
    assert "Differences" not in invoke("compare", two[0]).stdout


def test_equal_models_share_the_first_place(invoke: Invoke, two) -> None:
    found = data(invoke, f"a={two[0]}", f"b={two[0]}")
    cells = found["groups"][0]["cells"]["green"]
    assert [cells[model]["rank"] for model in "ab"] == [1, 1]
    test = found["groups"][0]["tests"]["green"][0]
    assert (test["difference"], test["p_holm"], test["significant"]) == (0, 1, False)
    assert "1=" in invoke("compare", f"a={two[0]}", f"b={two[0]}").stdout


def test_a_site_of_one_study_has_cells_but_no_test(invoke: Invoke) -> None:
    refs = {key: {**REFS[key], "site": "y" if key == IDS[0] else "x"} for key in IDS}
    runs = [
        judged(invoke, name, texts(same), "green", refs)
        for name, same in (("a", None), ("b", "No effusion."))
    ]
    site = data(invoke, *runs, "--by", "site")["groups"][2]
    assert (site["group"], site["n_studies"]) == ({"site": "y"}, 1)
    assert site["cells"]["green"]["a"]["value"] is not None
    assert site["cells"]["green"]["a"]["low"] is None
    assert site["tests"]["green"][0]["p"] is None


def test_a_class_without_a_scored_study_is_not_a_number_but_said(invoke: Invoke, two) -> None:
    normal = {key for key in IDS if REFS[key]["study_class"] == "normal"}
    fail(two[0], normal)
    found = data(invoke, *two, "--by", "study_class")
    group = next(g for g in found["groups"] if g["group"] == {"study_class": "normal"})
    cell = group["cells"]["green"]["good"]
    assert (cell["n"], cell["value"], cell["rank"]) == (0, None, None)
    assert group["cells"]["green_no_significant_error"]["good"]["value"] is None
    assert group["tests"]["green"][0]["n"] == 0
    assert group["tests"]["green"][0]["p"] is None
    whole = found["groups"][0]["cells"]["green"]["good"]
    assert whole["n"] == len(IDS) - len(normal)
    shown = invoke("compare", *two, "--by", "study_class").stdout
    assert "n/a (n 0)" in shown
    assert f"(n {whole['n']})" in shown


def test_an_unknown_metric_lists_what_there_is(invoke: Invoke, two) -> None:
    text = fails(invoke, *two, "--sort", "bleu")
    assert "green_no_significant_error" in text
    assert data(invoke, *two, "--sort", "no-significant-error")["sort"].endswith("_error")


def test_the_page_is_written_whole_or_not_at_all(invoke: Invoke, two, tmp_path: Path) -> None:
    done = invoke("compare", *two, "--html", "page.html")
    assert done.exit_code == 0, done.stderr
    assert "good" in (tmp_path / "page.html").read_text("utf-8")
    assert "page.html" in done.stderr
    assert "cannot write" in fails(invoke, *two, "--html", tmp_path / "no" / "page.html")
    assert not list(tmp_path.glob(".page*"))


def test_figures_are_drawn_or_what_is_missing_is_said(invoke: Invoke, two, tmp_path: Path) -> None:
    from judge.plots import available

    done = invoke("compare", *two, "--figures", "figures")
    if available():
        assert done.exit_code == 0, done.stderr
        assert list((tmp_path / "figures").glob("*.svg"))
    else:
        assert done.exit_code == 2
        assert "matplotlib>=3.8" in done.stderr
