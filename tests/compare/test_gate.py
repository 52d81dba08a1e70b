"""A gate: an exit code from two runs, or from a run and its limits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from judged_runs import COPIED, REFS, fail, judged
from support import EXAMPLES, Invoke

from judge.comparing.alignment import RunChoice
from judge.comparing.gate import Gate, gate
from judge.types import JudgeError

COPIES = 20
ALDER, BIRCH = (
    json.loads((EXAMPLES / f"preds_{name}.json").read_text("utf-8"))
    for name in ("alder", "birch")
)


def copies(studies: dict[str, object], n: int = COPIES) -> dict[str, object]:
    """Each study several times: 300 studies, which are enough for a test."""
    return {
        f"{key}-{copy}": study for key, study in studies.items() for copy in range(n)
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("gate")
    sides = {"alder": ALDER, "birch": BIRCH, "perfect": COPIED}
    return {
        name: judged(folder, name, copies(preds), "green", copies(REFS))
        for name, preds in sides.items()
    }


def checked(run: Path, earlier: Path | None = None, **options: object) -> Gate:
    chosen = [RunChoice(path, path.name) for path in (run, earlier) if path is not None]
    return gate(*chosen, **options)


def verdicts(result: Gate) -> dict[str, str]:
    return {check.metric: check.verdict for check in result.checks}


def test_a_worse_model_fails_and_a_better_one_passes(runs: dict[str, Path]) -> None:
    worse = checked(runs["birch"], runs["perfect"])
    assert worse.verdict == "fail"
    assert (
        verdicts(worse)["green"]
        == verdicts(worse)["green_no_significant_error"]
        == "fail"
    )
    green = next(check for check in worse.checks if check.metric == "green")
    assert green.baseline == 1.0
    assert green.high < 0
    assert checked(runs["perfect"], runs["birch"]).verdict == "pass"


def test_a_run_does_not_fail_against_itself(runs: dict[str, Path]) -> None:
    for options in ({}, {"drift": True}, {"max_drop": 0.02}):
        assert checked(runs["birch"], runs["birch"], **options).verdict == "pass"
    # A mean that no study changes has no interval, and shows nothing.
    same = checked(runs["birch"], runs["birch"], max_drop=0.02, non_inferior=True)
    assert verdicts(same)["green"] == "undecided"
    assert verdicts(same)["green_no_significant_error"] == "pass"


def test_a_drop_within_the_margin_passes(runs: dict[str, Path]) -> None:
    assert checked(runs["birch"], runs["perfect"], max_drop=1.0).verdict == "pass"
    strict = checked(runs["birch"], runs["perfect"], max_drop=0.01, non_inferior=True)
    assert strict.verdict == "fail"


def kinder(run: Path, folder: Path) -> Path:
    """The same run, as a judge would have it that no longer sees half of the errors."""
    copy = Path(shutil.copytree(run, folder / "kinder"))
    table = pd.read_parquet(copy / "studies.parquet")
    half = np.arange(len(table)) % 2 == 0
    errors = [
        name for name in table if name.startswith(("significant_", "n_significant"))
    ]
    table.loc[half, errors] = 0
    table.loc[half, "green"] = 1.0
    table.to_parquet(copy / "studies.parquet", index=False)
    return copy


def test_drift_fails_in_either_direction(tmp_path: Path, runs: dict[str, Path]) -> None:
    later = kinder(runs["birch"], tmp_path)
    for run, earlier in ((later, runs["birch"]), (runs["birch"], later)):
        assert checked(run, earlier, drift=True).verdict == "fail"
    assert checked(later, runs["birch"]).verdict == "pass"
    assert checked(later, runs["birch"], drift=True, max_drop=1.0).verdict == "pass"
    with pytest.raises(JudgeError, match="other candidates"):
        checked(runs["perfect"], runs["birch"], drift=True)


def test_limits_are_of_the_printed_figure(runs: dict[str, Path]) -> None:
    def of(**options: object) -> str:
        return checked(runs["perfect"], **options).verdict

    assert of(floors={"no_significant_error": 1.0}) == "pass"
    assert of(floors={"GREEN": 1.01}) == "fail"
    assert of(ceilings={"errors": 0}) == "pass"
    with pytest.raises(JudgeError, match="bleu"):
        of(floors={"bleu": 0.5})


def test_lost_studies_fail_the_gate(tmp_path: Path, runs: dict[str, Path]) -> None:
    lost = Path(shutil.copytree(runs["perfect"], tmp_path / "lost"))
    fail(lost, [f"{key}-0" for key in REFS])
    result = checked(lost, runs["perfect"])
    assert verdicts(result)["scored"] == "fail"
    # Of 300 studies 15 are lost: with these at their worst the run would be worse.
    result = checked(lost, runs["perfect"], floors={"scored": 0.9})
    assert verdicts(result) == {
        "scored": "pass",
        "green": "undecided",
        "green_no_significant_error": "undecided",
    }
    reasons = {check.metric: check.reason for check in result.checks}
    assert (
        reasons["green"]
        == "with the 15 studies without a score at the worst it would not pass"
    )
    # It would not be worse by a tenth.
    wide = checked(lost, runs["perfect"], floors={"scored": 0.9}, max_drop=0.1)
    assert wide.verdict == "pass"
    limit = checked(lost, floors={"scored": 0.9, "GREEN": 0.99}).checks[-1]
    assert (limit.verdict, limit.value) == ("undecided", 1.0)
    assert (
        limit.reason
        == "with the 15 studies without a score at the worst it would be 0.950"
    )
    # How many errors a study without a score has nobody knows.
    limit = checked(lost, floors={"scored": 0.9}, ceilings={"errors": 5}).checks[-1]
    assert limit.verdict == "undecided"
    assert "any value" in limit.reason
    # Of the earlier run too: its lost studies may have been the better ones.
    other = checked(runs["perfect"], lost)
    assert verdicts(other)["green"] == "pass"  # no study can be better than perfect
    worse = checked(runs["birch"], lost, max_drop=1.0)
    assert verdicts(worse)["green"] == "pass"


def test_too_few_studies_are_no_pass(tmp_path: Path, runs: dict[str, Path]) -> None:
    lost = Path(shutil.copytree(runs["perfect"], tmp_path / "lost"))
    fail(lost, [key for key in copies(REFS) if key != "ex-001-0"])
    assert checked(lost, runs["birch"], floors={"scored": 0.0}).verdict == "undecided"


def test_runs_of_two_rubrics_are_no_gate(tmp_path: Path, runs: dict[str, Path]) -> None:
    other = judged(tmp_path, "crimson", copies(ALDER), "crimson", copies(REFS))
    with pytest.raises(JudgeError, match="green and crimson: give two"):
        checked(runs["alder"], other)


def test_a_limit_needs_a_value(invoke: Invoke, runs: dict[str, Path]) -> None:
    result = invoke("gate", runs["alder"], "--min", "green")
    assert result.exit_code == 2
    assert "METRIC=VALUE is needed, not 'green'" in result.stderr
    for limit in ("green=nan", "green=inf", "green=much"):
        assert "is not a" in invoke("gate", runs["alder"], "--min", limit).stderr
    against = ("gate", runs["birch"], "--against", runs["perfect"], "--max-drop")
    assert invoke(*against, "nan").exit_code == 2  # would let a worse run pass


def test_the_gate_says_what_it_compares_and_takes_a_margin_for_each(
    runs: dict[str, Path], invoke: Invoke
) -> None:
    against = ("gate", runs["birch"], "--against", runs["perfect"], "--format", "json")
    data = json.loads(
        invoke(*against, "--max-drop", 1, "--max-drop", "green=0.01").stdout
    )
    margins = {check["metric"]: check["margin"] for check in data["checks"]}
    assert margins == {"scored": None, "green": 0.01, "green_no_significant_error": 1.0}
    assert data["verdict"] == "fail"
    assert data["compared"] == ["GREEN", "no significant error (GREEN)"]
    assert "errors per study (GREEN)" in data["not_compared"]
    text = invoke(*against[:4], "--max-drop", 1).stdout
    assert "compared" in text
    assert "no significant error (GREEN)" in text
    # A metric that only has a margin is compared as well.
    more = json.loads(invoke(*against, "--max-drop", "errors=9").stdout)
    assert "green_errors" in {check["metric"] for check in more["checks"]}
    for wrong, words in (
        (("--max-drop", 1, "--max-drop", 2), "given twice"),
        (("--max-drop", "green=1", "--max-drop", "green=2"), "green is given twice"),
        (("--max-drop", "bleu=1"), "bleu"),
        (("--max-drop", "green=-1"), "-1"),
        (("--max-drop", "=1"), "METRIC=VALUE"),
        (("--max-drop", "errors=1", "--metric", "green"), "--metric too"),
    ):
        done = invoke(*against, *wrong)
        assert done.exit_code == 2, wrong
        assert words in done.stderr


def test_urgent_recall_and_precision_are_checked_where_a_rubric_has_them(
    tmp_path: Path,
) -> None:
    run, earlier = (
        judged(tmp_path, name, copies(preds, 4), "crimson", copies(REFS, 4))
        for name, preds in (("birch", BIRCH), ("perfect", COPIED))
    )
    result = checked(run, earlier)
    assert {"crimson_urgent_recall", "crimson_urgent_precision"} <= {*verdicts(result)}
    assert verdicts(result)["crimson_urgent_recall"] == "fail"
    # Nothing can be said of the urgent findings of studies that were not read.
    fail(run, ["ex-001-0"])
    result = checked(run, earlier, max_drop=1.0)
    assert verdicts(result)["crimson_urgent_recall"] == "undecided"
    assert verdicts(result)["crimson_no_urgent_error"] == "pass"


def test_a_ratio_of_nothing_is_noted_and_not_compared(tmp_path: Path) -> None:
    normal = {
        f"n{n}": {"report": "The lungs are clear. No effusion."} for n in range(12)
    }
    texts = {
        key: {"model_prediction": value["report"]} for key, value in normal.items()
    }
    run = judged(tmp_path, "same", texts, "crimson", normal)
    result = checked(run, run)
    assert result.verdict == "pass"
    assert any(
        "urgent recall" in note and "not compared" in note for note in result.notes
    )


def test_non_inferiority_needs_fifty_studies(tmp_path: Path) -> None:
    few = {key: REFS[key] for key in list(REFS)[:12]}
    run = judged(tmp_path, "few", {key: COPIED[key] for key in few}, "green", few)
    result = checked(run, run, max_drop=0.5, non_inferior=True)
    assert verdicts(result)["green_no_significant_error"] == "undecided"
    reason = result.checks[-1].reason
    assert reason == "it needs 50 studies scored in both runs, there are 12"
