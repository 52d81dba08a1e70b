"""Reports as evaluation harnesses hand them over, without a harness; tests/harnesses has those."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from support import EXAMPLES

import judge
from judge.compat.evaluated import (
    EvaluatedReport,
    ReportScorer,
    mean_of_scored,
    share_unscored,
)
from judge.compat.lm_eval import radiology_judge
from judge.types import JudgeError

REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
PREDS = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))


def reports(n: int = 4) -> list[EvaluatedReport]:
    return [
        EvaluatedReport(
            study_id,
            REFS[study_id]["section_findings"],
            PREDS[study_id]["model_prediction"],
        )
        for study_id in list(PREDS)[:n]
    ]


def test_values_are_in_the_order_of_the_reports_and_nan_where_unscored() -> None:
    scorer = ReportScorer("green", "lexicon", None, None, {})
    given = reports()
    given.insert(1, EvaluatedReport(None, "The lungs are clear.", " \n"))
    # What the built-in judge does not read is a failure, not a score.
    given.append(
        EvaluatedReport("ct", "CT ABDOMEN: Acute appendicitis.", "Appendicitis.")
    )
    values = scorer.values(given)
    table = judge.annotate(
        [r.reference for r in reports()], [r.candidate for r in reports()]
    )
    assert [values[0], *values[2:5]] == table["green"].tolist()
    assert math.isnan(values[1])
    assert math.isnan(values[5])
    assert mean_of_scored(values) == pytest.approx(table["green"].mean())
    assert share_unscored(values) == pytest.approx(2 / 6)


def test_nothing_scored_is_no_number_and_a_study_needs_a_reference() -> None:
    scorer = ReportScorer("green", "lexicon", None, None, {})
    values = scorer.values([EvaluatedReport("a", "No effusion.", "")])
    assert math.isnan(mean_of_scored(values))
    assert share_unscored(values) == 1
    assert math.isnan(share_unscored([]))
    with pytest.raises(JudgeError, match="sample b needs one target"):
        scorer.values([EvaluatedReport("b", " ", "No effusion.")])
    with pytest.raises(JudgeError):
        ReportScorer("green", "lexicon", "no_such_measure", None, {})


def test_parts_of_a_task_of_lm_eval_make_two_metrics_of_one_run(tmp_path: Path) -> None:
    parts = radiology_judge(
        reference="findings",
        study_id="id",
        out=tmp_path / "run",
        measure="n_significant",
    )
    mean, unscored = parts["metric_list"]
    assert mean["metric"] == "n_significant"
    assert unscored["metric"] == "n_significant_unscored"
    assert not mean["higher_is_better"]
    items = []
    for report in reports():
        doc = {"id": report.study_id, "findings": report.reference}
        made = parts["process_results"](doc, [report.candidate])
        assert made["n_significant"] == made["n_significant_unscored"] == report
        items.append(made["n_significant"])
    run_of = mean["aggregation"](items)
    assert unscored["aggregation"](items) == 0
    run = judge.Run.open(tmp_path / "run")
    columns = run.table().set_index("study_id")
    assert run_of == pytest.approx(float(columns["n_significant"].mean()))
    assert list(columns.index) == [report.study_id for report in reports()]
    with pytest.raises(JudgeError, match="one report"):
        parts["process_results"]({"findings": "Clear."}, ["a", "b"])
