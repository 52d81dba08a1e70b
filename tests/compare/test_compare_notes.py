"""What a comparison says beside its numbers, and by which metric it ranks unasked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from panels import COST, INVERSE, SCORE, panel_of
from support import EXAMPLES, Invoke, write_json

from judge.comparing.checks import most_of
from judge.report.leaderboard_formats import as_data, as_latex, as_markdown
from judge.stats.compare import INDEPENDENT, compare

PREDS = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
IDS = list(REFS)
RNG = np.random.default_rng(4)


def judged(
    invoke: Invoke, name: str, *, rubric: str = "green", ids: list[str] = IDS, refs: dict = REFS
) -> Path:
    """A run of the built-in judge on some of the predictions, its model called `name`."""
    out = Path(f"{rubric}-{name}").resolve()
    preds = write_json(Path(f"preds_{name}.json"), {key: PREDS[key] for key in ids})
    files = preds, write_json(Path("refs.json"), refs)
    done = invoke(rubric, *files, "--out", out, "--min-coverage", 0, "--allow-missing")
    assert done.exit_code == 0, done.stderr
    return out


def data(invoke: Invoke, *args: object) -> dict:
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def facts(invoke: Invoke, *args: object) -> dict[str, str]:
    """The facts above the tables, but for the notes."""
    done = invoke("compare", *args)
    assert done.exit_code == 0, done.stderr
    lines = [line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line]
    return {name.strip(): text.strip() for name, text in lines if name}


# Patients


def test_intervals_of_figures_do_not_know_patients_and_say_so() -> None:
    values = {SCORE: RNG.random((6, 2))}
    several = compare(panel_of(values, clusters=[0, 0, 1, 2, 3, 4]))
    assert several.notes == (INDEPENDENT,)
    assert as_data(several)["notes"] == [INDEPENDENT]
    assert f"% note {INDEPENDENT}" in as_latex(several)
    assert "Note: the ± and intervals of single figures" in as_markdown(several)
    assert compare(panel_of(values, clusters=range(6))).notes == ()
    assert compare(panel_of(values)).notes == ()


def test_patients_in_a_run_are_noted_in_the_table(invoke: Invoke) -> None:
    refs = {key: {**REFS[key], "patient": f"p{at // 2}"} for at, key in enumerate(IDS)}
    run = judged(invoke, "a", refs=refs)
    assert "single figures take studies as independent" in invoke("compare", run).stdout
    assert INDEPENDENT in data(invoke, run)["notes"]
    alone = data(invoke, run, "--patient-field", "none")
    assert INDEPENDENT not in alone["notes"]


# Studies left out


def test_studies_that_were_left_out_are_counted(invoke: Invoke) -> None:
    runs = [judged(invoke, name, ids=IDS[3:]) for name in "ab"]
    found = data(invoke, *runs)
    assert [run["n_left_out"] for run in found["runs"]] == [3, 3]
    assert "studies left out by --allow-missing: a 3, b 3" in found["notes"]
    text = " ".join(invoke("compare", *runs).stdout.split())
    assert "studies left out by --allow-missing: a 3, b 3" in text
    markdown = invoke("compare", *runs, "--format", "md").stdout
    assert "Note: studies left out by --allow-missing: a 3, b 3." in markdown


def test_studies_left_out_are_named_by_rubric_where_there_are_two(invoke: Invoke) -> None:
    runs = [judged(invoke, "a", ids=IDS[3:]), judged(invoke, "a", rubric="fineradscore")]
    found = data(invoke, *(f"a={run}" for run in runs), "--common")
    assert "studies left out by --allow-missing: a 3 (green)" in found["notes"]


def test_nothing_left_out_is_no_note(invoke: Invoke) -> None:
    found = data(invoke, judged(invoke, "a"))
    assert found["runs"][0]["n_left_out"] == 0
    assert not any("left out" in note for note in found["notes"])


# Facts


def test_one_model_is_not_resampled(invoke: Invoke) -> None:
    one, other = judged(invoke, "a"), judged(invoke, "b")
    assert "resampled by" not in facts(invoke, one)
    assert facts(invoke, one, other)["resampled by"] == "study"
    assert "resampled by" not in facts(invoke, one, other, "--no-tests")


def test_of_many_counts_the_largest_are_named() -> None:
    counted = [(at, f"m{at} {at}") for at in range(1, 9)]
    assert most_of(counted[:5]) == "m1 1, m2 2, m3 3, m4 4, m5 5"
    assert most_of(counted) == "m8 8, m7 7, m6 6, m5 5, m4 4 and 3 more"


def test_many_unscored_models_are_one_short_line(invoke: Invoke) -> None:
    run = judged(invoke, "a")
    lines = (run / "annotations.jsonl").read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    first["answer"]["text"] = "I cannot say."
    (run / "annotations.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    assert invoke("rescore", run).exit_code in (0, 3)
    runs = [f"m{at}={run}" for at in range(7)]
    said = next(
        text for text in data(invoke, *runs)["notes"] if text.startswith("studies not scored: ")
    )
    for form in ("csv", "rexrank", "latex", "md", "pairs"):
        assert said in invoke("compare", *runs, "--format", form).stderr.splitlines()
    assert "studies not scored: m0 1 of 15" in invoke("compare", *runs).stdout
    assert said.count(f"1 of {len(IDS)} (green)") == 5
    assert said.endswith(" and 2 more")


# The metric unasked


@pytest.mark.parametrize(
    ("lacking", "wanted"),
    [([], "inverse"), ([INVERSE], "score"), ([SCORE], "inverse"), ([INVERSE, SCORE], "cost")],
)
def test_models_are_ranked_by_the_first_metric_that_the_most_have(lacking, wanted: str) -> None:
    values = {metric: 1 + RNG.random((8, 3)) for metric in (INVERSE, SCORE, COST)}
    for metric in lacking:
        values[metric][:, 1:] = np.nan
    panel = panel_of(values)
    assert compare(panel).sort == wanted
    assert compare(panel, sort="score").sort == "score"


def test_one_more_run_of_another_rubric_does_not_take_the_ranks_away(invoke: Invoke) -> None:
    runs = [f"{name}={judged(invoke, name)}" for name in ("a", "b", "c")]
    fine = f"a={judged(invoke, 'a', rubric='fineradscore')}"
    found = data(invoke, *runs, fine)
    assert found["sort"] == "green"
    assert all(cell["rank"] for cell in found["groups"][0]["cells"]["green"].values())
