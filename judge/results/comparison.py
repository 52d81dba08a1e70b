"""Comparisons of models in Python: runs in, DataFrames out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from judge.comparing.alignment import Runs, choices
from judge.comparing.comparison import compare_runs
from judge.comparing.metric_files import read_files
from judge.comparing.recurring import recurring_in
from judge.results.result import Result
from judge.running.folder import RunFolder
from judge.stats.significance import Comparison, Resampling
from judge.tables.comparison import comparison_document, is_of_several_rubrics
from judge.tables.document import Document
from judge.tables.forms import as_frame
from judge.tables.recurring import recurring_document

_USUAL = Resampling()


@dataclass(frozen=True, repr=False)
class Leaderboard(Result):
    """Models side by side; `print` shows the leaderboard.

    Each DataFrame has the columns of `judge compare --format csv`.
    """

    comparison: Comparison

    def document(self, *, complete: bool = False) -> Document:
        """Return what is printed of it; `complete` has all groups, metrics and pairs."""
        return comparison_document(self.comparison, complete=complete)

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row a group and model, best first: its rank, and each metric `x` with its interval.

        `x_n` counts the studies that the figure rests on; of a rate, `x_k` of them are free of
        errors.
        """
        return self.frame("leaderboard")

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row a group and model with the main figures of all rubrics; empty for one rubric.

        The cells of a rubric are missing for a model without a run by it. `rank_by_METRIC` is
        there where all models have a figure.
        """
        if not is_of_several_rubrics(self.comparison):
            return pd.DataFrame()
        return self.frame("summary")

    @cached_property
    def tests(self) -> pd.DataFrame:
        """One row a group, metric and pair of models: the difference, `p` and Holm's `p_holm`."""
        return self.frame("tests") if self.comparison.tests else pd.DataFrame()

    @cached_property
    def errors(self) -> pd.DataFrame:
        """One row a group, rubric, level and model: errors per scored study, by category."""
        return self.frame("errors")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        return self.comparison.notes

    @property
    def signature(self) -> str:
        """The line that names everything that changes the numbers."""
        return self.comparison.signature


def compare(
    runs: Runs,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[str | Path] = (),
    higher_is_better: Sequence[str] = (),
    lower_is_better: Sequence[str] = (),
    tests: Resampling | None = _USUAL,
) -> Leaderboard:
    """Rank models by their runs on the same studies, as `judge compare` does.

    Args:
        runs: One run for each model and rubric, opened or by its folder; or the same by the name
            of the model. Without one the model is the run's field `model`, else the name of its
            file of predictions.
        sort: The metric to rank by, its name or label; by default the first that the most models
            have.
        by: Groupings of the studies: `site`, or `site,study_class` for the pairs of two fields.
        common: Compare on the studies that all runs have.
        allow: What may differ: "judge", "prompt", "references".
        patient_field: Resample by this field; by default `patient`, `patient_id`, `subject_id` or
            `subject` where a run has it; "none" takes studies as independent.
        metrics: Files of further metrics: `study_id`, `model` and a column each.
        higher_is_better: Columns of `metrics` whose direction their name does not tell.
        lower_is_better: The same, where less is better.
        tests: How to resample, which metric is primary and which tests are corrected together;
            None tests nothing.

    Raises:
        JudgeError: Where the runs differ in what they must share, for an unknown metric or field,
            and for a run or a file that cannot be read.

    """
    files = read_files(
        [*map(str, metrics)], higher=higher_is_better, lower=lower_is_better
    )
    _, comparison = compare_runs(
        choices(runs),
        tests,
        sort=sort,
        by=[by] if isinstance(by, str) else by,
        common=common,
        allow=allow,
        patient_field=patient_field,
        metrics=files,
    )
    return Leaderboard(comparison)


def recurring_errors(
    *runs: RunFolder | str | Path,
    min_studies: int | None = None,
    without_warnings: bool = False,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
) -> pd.DataFrame:
    """Return the errors that recur in a run, or in two on the same studies, one row a group.

    The rows are those of `judge errors --format csv`, and so are what is refused and the
    default of `min_studies`. `without_warnings` leaves out errors that an answer was read with a
    warning about. `examples` are ids of studies, joined by commas.
    """
    found = recurring_in(
        choices(runs),
        min_studies,
        without_warnings=without_warnings,
        common=common,
        allow=allow,
        patient_field=patient_field,
    )
    return as_frame(recurring_document(found, complete=True))
