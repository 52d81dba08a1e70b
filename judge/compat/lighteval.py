"""A metric of lighteval for reports: the mean over scored studies, and the unscored."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.tasks.requests import SamplingMethod

from judge.api import JudgeOptions
from judge.backends import LEXICON
from judge.compat.evaluated import (
    EvaluatedReport,
    ReportScorer,
    mean_of_scored,
    scored,
    share_unscored,
)
from judge.types import JudgeError

if TYPE_CHECKING:
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc


class _Reports(SampleLevelComputation):  # type: ignore[misc]
    """The value of each report, NaN for one that is unscored."""

    def __init__(self, scorer: ReportScorer) -> None:
        self.scorer = scorer

    def compute(
        self, responses: Sequence[ModelResponse], docs: Sequence[Doc]
    ) -> list[float]:
        reports = []
        for response, doc in zip(responses, docs, strict=True):
            golds = doc.get_golds()
            texts = response.final_text
            if len(golds) != 1 or len(texts) != 1:
                raise JudgeError(
                    f"sample {doc.id} needs one target, the reference report, and one output; it "
                    f"has {len(golds)} and {len(texts)}"
                )
            study_id = (doc.specific or {}).get("study_id")
            if study_id is not None:
                study_id = str(study_id)
            reports.append(EvaluatedReport(study_id, golds[0], texts[0]))
        return self.scorer.values(reports)


def radiology_judge(
    rubric: str = "green",
    judge: str = LEXICON,
    measure: str | None = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[JudgeOptions],
) -> SampleLevelMetric:
    """Return the metric of a task whose outputs are reports.

    The only choice of a `Doc` is its reference; `specific["study_id"]` is its id, else its place.
    In the results `MEASURE` is the mean over the scored studies, `MEASURE_stderr` its standard
    error, and `MEASURE_unscored` the share of all studies without a score. A study that is unscored
    is NaN in the details. `measure` is by default the rubric's main score, `out` a folder for the
    run; see `judge.annotate` for `options`.
    """
    scorer = ReportScorer(rubric, judge, measure, out, options)

    def summed_up(values: Sequence[float]) -> dict[str, float]:
        known = scored(values)
        error = math.nan
        if len(known) > 1:
            error = statistics.stdev(known) / math.sqrt(len(known))
        # lighteval makes a standard error of its own where it is given a number.
        return {
            scorer.name: mean_of_scored(values),
            f"{scorer.name}_stderr": error,
            scorer.name_of_unscored: share_unscored(values),
        }

    return SampleLevelMetric(
        metric_name=scorer.name,
        higher_is_better=scorer.measure.higher_is_better,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=_Reports(scorer),
        corpus_level_fn=summed_up,
        batched_compute=True,
    )
