"""Reports of a task of lm-evaluation-harness: the mean over scored studies, and the unscored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from judge.api import JudgeOptions
from judge.backends import LEXICON
from judge.compat.evaluated import (
    EvaluatedReport,
    ReportScorer,
    mean_of_scored,
    share_unscored,
)
from judge.types import JudgeError


def radiology_judge(
    rubric: str = "green",
    judge: str = LEXICON,
    measure: str | None = None,
    *,
    reference: str = "reference",
    study_id: str | None = None,
    out: str | Path | None = None,
    **options: Unpack[JudgeOptions],
) -> dict[str, Any]:
    """Return `process_results` and `metric_list` of a task whose outputs are reports.

    There are two metrics: `measure` (by default the rubric's main score) is the mean over the
    scored studies, and `MEASURE_unscored` the share of all studies without a score. All studies are
    judged together when the task is summed up, so lm-evaluation-harness gives no standard error.

    Args:
        rubric: The rubric's name.
        judge: The judge's name, as `judge.annotate` takes it.
        measure: The measure, by default the rubric's main score.
        reference: The field of a document that has the reference report.
        study_id: The field of a document that has the study's id.
        out: A folder for the run, with an interval and every study.
        options: Other options of `judge.annotate`.
    """
    scorer = ReportScorer(rubric, judge, measure, out, options)

    def process_results(
        doc: Mapping[str, Any], results: Sequence[str]
    ) -> dict[str, EvaluatedReport]:
        if len(results) != 1:
            raise JudgeError(
                f"a study needs one report, and the model wrote {len(results)}"
            )
        report = EvaluatedReport(
            study_id=None if study_id is None else str(doc[study_id]),
            reference=str(doc[reference] or ""),
            candidate=results[0],
        )
        return {scorer.name: report, scorer.name_of_unscored: report}

    def mean(reports: Sequence[EvaluatedReport]) -> float:
        return mean_of_scored(scorer.values(reports))

    def unscored(reports: Sequence[EvaluatedReport]) -> float:
        return share_unscored(scorer.values(reports))

    metrics = [
        {
            "metric": scorer.name,
            "aggregation": mean,
            "higher_is_better": scorer.measure.higher_is_better,
        },
        {
            "metric": scorer.name_of_unscored,
            "aggregation": unscored,
            "higher_is_better": False,
        },
    ]
    return {"process_results": process_results, "metric_list": metrics}
