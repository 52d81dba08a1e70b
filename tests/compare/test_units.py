"""Intervals are by patient wherever patients have several studies, and no order of a file or name
of an id changes a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from answered_runs import answered, green
from panels import RATE, SCORE, panel_of
from support import EXAMPLES, Invoke, write_json

from judge.cli.options import _SEED
from judge.comparing.alignment import RunChoice
from judge.comparing.recurring import recurring_in
from judge.metrics import ScoredReports
from judge.stats.intervals import (
    SEED,
    Draws,
    clustered_error,
    rate_interval,
    student,
    wilson,
    wilson_ends,
)
from judge.stats.scores import canonical
from judge.stats.significance import Resampling, compare_pairs
from judge.stress.report import _joined
from judge.studies import read_pair

FEW = Resampling(seed=3, resamples=200, flips=200)
PREDS: dict[str, Any] = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
REFS: dict[str, Any] = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
IDS = [f"s{n}" for n in range(40)]


def of_patients(size: int) -> dict[str, dict[str, str]]:
    """The field `patient`: so many studies each."""
    return {"patient": {study_id: f"p{n // size}" for n, study_id in enumerate(IDS)}}


# The order of a file, and the names of ids


@pytest.mark.parametrize("has_patients", [False, True])
def test_tests_are_the_same_in_any_order_and_by_any_names(has_patients: bool) -> None:
    rng = np.random.default_rng(1)
    score, rate = (
        rng.random((60, 3)).round(1),
        (rng.random((60, 3)) < 0.6).astype(float),
    )
    score[4, 1] = np.nan
    patients = np.repeat(np.arange(20), 3) if has_patients else None
    expected = compare_pairs(panel_of({SCORE: score, RATE: rate}, patients), {}, FEW)
    for _ in range(4):
        order, names = rng.permutation(60), rng.permutation(20)
        renamed = None if patients is None else names[patients][order]
        panel = panel_of({SCORE: score[order], RATE: rate[order]}, renamed)
        assert compare_pairs(panel, {}, FEW) == expected


def test_a_missing_score_is_no_score_of_0() -> None:
    values = np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, np.nan]])
    panel = canonical(panel_of({SCORE: values}))
    assert panel.study_ids == ("s0", "s2", "s1")


def written(folder: Path, name: str, order: list[str], new: dict[str, str]) -> Path:
    folder.mkdir()
    for file, records in (("preds", PREDS), ("refs", REFS)):
        write_json(folder / f"{file}.json", {new[key]: records[key] for key in order})
    return folder / name


def test_rates_and_compare_print_one_interval_for_one_figure(
    tmp_path: Path, invoke: Invoke
) -> None:
    ids = list(REFS)
    renamed = {study_id: f"z{len(ids) - n:03d}" for n, study_id in enumerate(ids)}
    runs = {
        "first": written(tmp_path / "a", "run", ids, dict(zip(ids, ids, strict=True))),
        "other": written(tmp_path / "b", "run", ids[::-1], renamed),
    }
    shown = []
    for run in runs.values():
        files = run.parent / "preds.json", run.parent / "refs.json"
        assert invoke("crimson", *files, "--out", run).exit_code == 0
        rates = json.loads(invoke("rates", run, "--format", "json").stdout)
        recall = rates["statistics"]["urgent_recall"]
        assert recall["low"] < recall["value"] < recall["high"]
        shown.append([recall[name] for name in ("value", "low", "high")])
        for more in ([], ["--no-tests"]):
            done = invoke("compare", f"m={run}", "--format", "json", *more)
            cell = json.loads(done.stdout)["groups"][0]["cells"][
                "crimson_urgent_recall"
            ]["m"]
            shown.append([cell[name] for name in ("value", "low", "high")])
    assert all(numbers == shown[0] for numbers in shown), shown


def test_the_seed_of_a_ratio_is_an_option_and_in_the_signature(
    tmp_path: Path, invoke: Invoke
) -> None:
    run = tmp_path / "run"
    done = invoke(
        "crimson", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", run
    )
    assert f"|resamples:10000|seed:{SEED}|version:" in done.stdout
    done = invoke("rates", run, "--seed", 7, "--resamples", 500)
    assert "|resamples:500|seed:7|version:" in done.stdout
    done = invoke("compare", run, "--no-tests", "--seed", 7, "--resamples", 500)
    assert "|resamples:500|seed:7|version:" in done.stdout
    # A rubric without a ratio draws nothing.
    done = invoke(
        "green",
        EXAMPLES / "preds.json",
        EXAMPLES / "refs.json",
        "--out",
        tmp_path / "g",
    )
    assert "seed:" not in done.stdout
    assert _SEED == SEED


def test_the_number_of_resamples_goes_by_the_number_of_patients_or_studies() -> None:
    assert [Draws().count(n) for n in (20, 1500, 1501)] == [10_000, 10_000, 1_000]
    assert Draws(resamples=300).count(20) == 300
    rng = np.random.default_rng(2)
    panel = panel_of({SCORE: rng.random((30, 2))})
    usual = compare_pairs(panel, {}, Resampling(flips=200))
    assert usual == compare_pairs(panel, {}, Resampling(resamples=10_000, flips=200))


# By patient


def test_errors_of_one_run_are_by_patient(tmp_path: Path, invoke: Invoke) -> None:
    error = green({"b": "1. Missing pleural effusion"})
    answers = {study_id: error if n < 8 else green() for n, study_id in enumerate(IDS)}
    run = answered(tmp_path / "run", answers, fields=of_patients(4))
    has_error = np.arange(40) < 8
    wanted = rate_interval(has_error, np.arange(40) // 4)
    for options, expected in (
        ((), wanted),
        (("--patient-field", "none"), wilson(8, 40)),
    ):
        done = invoke("errors", run, "--format", "json", *options)
        data = json.loads(done.stdout)
        (found,) = data["errors"]
        assert (found["k"], found["n"]) == (8, 40)
        assert (found["low"], found["high"]) == (expected.low, expected.high)
        is_by_patient = not options
        assert data["intervals_by"] == ("patient" if is_by_patient else None)
        text = invoke("errors", run, *options).stdout
        assert ("by patient: some have several" in text) is is_by_patient
    assert wanted.high - wanted.low > 1.5 * (wilson(8, 40).high - wilson(8, 40).low)


def test_errors_of_two_runs_are_by_patient(tmp_path: Path) -> None:
    error = green({"b": "1. Missing pleural effusion"})
    choices = []
    for name, n_errors in (("alder", 12), ("birch", 8)):
        answers = {
            study_id: error if n < n_errors else green()
            for n, study_id in enumerate(IDS)
        }
        path = answered(tmp_path / name, answers, fields=of_patients(4))
        choices.append(RunChoice(path, name, model=name))
    (found,) = recurring_in(choices, seed=5).data["errors"]
    expected = rate_interval(np.arange(40) < 12, np.arange(40) // 4)
    assert found["models"]["alder"]["low"] == expected.low
    assert "|seed:5|" in recurring_in(choices, seed=5).data["signature"]


def scored_reports(
    folder: Path, patient: str, names: list[str], **options: Any
) -> ScoredReports:
    refs = {
        key: {**record, patient: name}
        for (key, record), name in zip(REFS.items(), names, strict=True)
    }
    files = str(EXAMPLES / "preds.json"), str(write_json(folder / "refs.json", refs))
    scored = ScoredReports(read_pair(*files), "m", **options)
    for name in ("bleu2", "corpus_bleu"):
        scored.compute(name)
    return scored


def test_metrics_are_by_patient(tmp_path: Path, invoke: Invoke) -> None:
    pytest.importorskip("sacrebleu")
    alone = [str(n) for n in range(15)]
    ten = [str(n * 2 // 3) for n in range(15)]
    by_study, by_patient, as_studies = (
        {metric.name: cell for metric, cell in scored.figures([])[0][1]}
        for scored in (
            scored_reports(tmp_path, "subject_id", alone),
            scored_reports(tmp_path, "subject_id", ten),
            scored_reports(tmp_path, "subject_id", ten, patient_field="none"),
        )
    )
    for name, cell in by_patient.items():
        assert cell.value == pytest.approx(by_study[name].value)
        assert (cell.low, cell.high) != (by_study[name].low, by_study[name].high)
        assert as_studies[name] == by_study[name]
    out = "--out", tmp_path / "metrics.csv"
    files = EXAMPLES / "preds.json", tmp_path / "refs.json"
    printed = invoke(
        "metrics", *files, "--metric", "bleu2,corpus_bleu", "--seed", 9, *out
    ).stdout
    assert "by subject_id: some have several studies" in printed
    assert "10,000 resamples, seed 9" in printed
    unknown = invoke("metrics", *files, "--patient-field", "ward", *out)
    assert unknown.exit_code == 2
    assert "'ward'" in unknown.stderr


def test_candidates_of_a_patient_or_of_equal_references_are_one_unit() -> None:
    """References 0 and 1 are of one patient; 1 and 2 are equal, so all three go together."""
    by_text = np.array([0, 1, 1, 2])
    by_patient = np.array([0, 0, 1, 2])
    units = _joined(by_text, by_patient)
    assert units[0] == units[1] == units[2] != units[3]
    assert len(_joined(np.empty(0, np.intp), np.empty(0, np.intp))) == 0


def test_stress_reports_are_by_patient(tmp_path: Path, invoke: Invoke) -> None:
    keys = list(REFS)[:12]
    widths = []
    for patients in (range(12), [n // 3 for n in range(12)]):
        named = zip(keys, patients, strict=True)
        refs = {key: {**REFS[key], "subject_id": f"p{n}"} for key, n in named}
        folder = tmp_path / f"stress{len(widths)}"
        file = write_json(tmp_path / "refs.json", refs)
        changes = "--changes", "identical,denied"
        assert invoke("stress", "run", file, *changes, "--out", folder).exit_code == 0
        data = json.loads(invoke("stress", "report", folder, "--format", "json").stdout)
        widths.append(data["candidates"]["n_units"])
        printed = invoke("stress", "report", folder).stdout
        assert ("groups of studies of one patient" in printed) is (len(widths) == 2)
    assert widths == [12, 4]


def test_a_clustered_rate_is_wilsons_of_the_effective_number() -> None:
    """By hand, beside the table of a run: Rao and Scott's design effect."""
    units = np.repeat(np.arange(10), 4)
    is_yes = np.array([1, 1, 1, 0] * 4 + [0, 0, 0, 0] * 6, bool)
    found = rate_interval(is_yes, units)
    error, m = clustered_error(is_yes.astype(float), units)
    worth = 40 / max(1, error**2 * 40 / (0.3 * 0.7))
    assert (found.low, found.high) == pytest.approx(
        wilson_ends(0.3, worth, student(m - 1))
    )
    assert pd.notna(found.low)
