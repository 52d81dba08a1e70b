"""Reports as evaluation harnesses hand them over: one value a report, NaN where it is unscored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

from judge import rubrics
from judge.api import JudgeOptions, annotate
from judge.rubrics.quantities import measure_of
from judge.text import says_nothing
from judge.types import JudgeError


class EvaluatedReport(NamedTuple):
    """A report that a model wrote, with its reference; without an id it is known by its place."""

    study_id: str | None
    reference: str
    candidate: str


class ReportScorer:
    """Judges the reports of an evaluation together, many at a time, and keeps the last values.

    `measure` is by default the rubric's main score. `out` is a folder for the run, which any
    command then reads.
    """

    def __init__(
        self,
        rubric: str,
        judge: str,
        measure: str | None,
        out: str | Path | None,
        options: JudgeOptions,
    ) -> None:
        self.measure = measure_of(rubrics.load(rubric), measure)
        self._rubric = rubric
        self._judge = judge
        self._out = out
        self._options = options
        self._last: tuple[list[EvaluatedReport], list[float]] | None = None

    @property
    def name(self) -> str:
        """What the mean is called in the results."""
        return self.measure.name

    @property
    def name_of_unscored(self) -> str:
        """What the share of unscored reports is called in the results."""
        return f"{self.name}_unscored"

    def values(self, reports: Sequence[EvaluatedReport]) -> list[float]:
        """Return the value of each report, in their order; NaN for one that is unscored.

        Unscored are those whose judgement could not be read or failed, those of which the measure
        is not defined, and empty ones: the harness does not tell whether the model meant them.
        Raises `JudgeError` for a report without a reference, and as `judge.annotate` does.
        """
        if self._last is not None and self._last[0] == list(reports):
            return self._last[1]
        for place, report in enumerate(reports):
            if says_nothing(report.reference):
                raise JudgeError(
                    f"sample {report.study_id or place} needs one target, the reference report"
                )
        values = [math.nan] * len(reports)
        written = [
            place
            for place, report in enumerate(reports)
            if not says_nothing(report.candidate)
        ]
        if written:
            judged = annotate(
                [reports[place].reference for place in written],
                [reports[place].candidate for place in written],
                study_ids=[reports[place].study_id or str(place) for place in written],
                rubric=self._rubric,
                judge=self._judge,
                out=self._out,
                **self._options,
            )
            column = judged[self.name].to_numpy(dtype=float, na_value=math.nan)
            for place, value in zip(written, column.tolist(), strict=True):
                values[place] = value
        self._last = (list(reports), values)
        return values


def report_scorer(
    rubric: str,
    judge: str,
    measure: str | None = None,
    out: str | Path | None = None,
    **options: Unpack[JudgeOptions],
) -> ReportScorer:
    """Return the scorer of an evaluation; see `judge.annotate` for the options of the judge."""
    return ReportScorer(rubric, judge, measure, out, options)


def scored(values: Sequence[float]) -> list[float]:
    """Return the values of the scored reports."""
    return [value for value in values if not math.isnan(value)]


def mean_of_scored(values: Sequence[float]) -> float:
    """Return the mean over the scored reports, NaN where there is none."""
    known = scored(values)
    if not known:
        return math.nan
    return math.fsum(known) / len(known)


def share_unscored(values: Sequence[float]) -> float:
    """Return the share of the reports that are unscored, NaN without a report."""
    if not values:
        return math.nan
    return 1 - len(scored(values)) / len(values)
