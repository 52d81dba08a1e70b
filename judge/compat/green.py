"""A replacement for the package `green_score` of GREEN's authors (docs/python.md)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import pandas as pd

from judge.api import JudgeOptions, annotate
from judge.backends.options import is_green
from judge.jsonio import replace_surrogates
from judge.rubrics.categories import KEY, SIGNIFICANT
from judge.types import Category, JudgeError

_COLUMNS = {
    Category.FALSE_FINDING: "(a) False report of a finding in the candidate",
    Category.MISSING_FINDING: "(b) Missing a finding present in the reference",
    Category.WRONG_LOCATION: "(c) Misidentification of a finding's anatomic location/position",
    Category.WRONG_SEVERITY: "(d) Misassessment of the severity of a finding",
    Category.FALSE_COMPARISON: "(e) Mentioning a comparison that isn't in the reference",
    Category.OMITTED_COMPARISON: "(f) Omitting a comparison detailing a change from a prior study",
}
_COUNTS = {KEY[SIGNIFICANT, category]: name for category, name in _COLUMNS.items()}
_COUNTS["n_matched"] = "Matched Findings"


class GREEN:
    """GREEN's scorer with the interface of `green_score.GREEN`, for any judge of `annotate`."""

    def __init__(
        self,
        model_name: str,
        output_dir: str | Path = ".",
        cpu: bool = False,  # noqa: FBT001, FBT002 - the package's own
        compute_summary_stats: bool = True,  # noqa: FBT001, FBT002
        **options: Unpack[JudgeOptions],
    ) -> None:
        self.model_name = model_name
        self.output_dir = output_dir
        self.compute_summary_stats = compute_summary_stats
        is_local = is_green(model_name) or Path(model_name, "config.json").is_file()
        is_own = is_local and not options.get("base_url") and ":" not in model_name
        self._judge = f"hf:{model_name}" if is_own else model_name
        if cpu and self._judge.startswith("hf:"):
            options["options"] = {**(options.get("options") or {}), "cpu": True}
        self._options = options

    def __call__(
        self, refs: Sequence[str], hyps: Sequence[str]
    ) -> tuple[float, float, list[float], str | None, pd.DataFrame]:
        """Return the mean, the standard deviation, the scores, the summary and a table.

        A study without a score is NaN and is left out of mean and deviation.
        """
        if isinstance(refs, str) or len(refs) != len(hyps):
            raise JudgeError("refs and hyps are two lists of texts, equally long")
        ids = [str(row) for row in range(len(refs))]
        judged = annotate(
            [*refs],
            [*hyps],
            judge=self._judge,
            study_ids=ids,
            allow_missing=True,
            **self._options,
        )
        frame = judged.set_index("study_id").reindex(ids).reset_index(drop=True)
        scores, answers = frame["green"].astype(float), frame["answer"].astype(object)
        counts = frame[[*_COUNTS]].rename(columns=_COUNTS)
        counts = counts.astype(float if scores.isna().any() else int)
        table = pd.DataFrame(
            {
                "reference": [*map(replace_surrogates, refs)],
                "predictions": [*map(replace_surrogates, hyps)],
                "green_analysis": answers.where(answers.notna(), None),
                "green_score": scores,
            }
        ).join(counts)
        table.attrs.update(judged.attrs)
        lost = frame[scores.isna()]
        if len(lost):
            reasons = (lost["outcome"] + ", " + lost["reason"]).fillna("no reference")
            why = "; ".join(
                f"{n} {reason}" for reason, n in reasons.value_counts().items()
            )
            warnings.warn(
                f"{len(lost)} of {len(frame)} studies are not scored: they are NaN, left out of "
                f"mean and standard deviation: {why}",
                stacklevel=2,
            )
        mean, std = float(scores.mean()), float(scores.std(ddof=0))
        summary = (
            self._summary(mean, std, counts) if self.compute_summary_stats else None
        )
        return mean, std, scores.tolist(), summary, table

    def _summary(self, mean: float, std: float, counts: pd.DataFrame) -> str:
        free = (counts[[*_COLUMNS.values()]].dropna() == 0).mean()
        return (
            f"\n-------------{self.model_name.rpartition('/')[2]}----------------\n"
            f" [Summary]: Green average {mean} and standard deviation {std} \n"
            " [Clinically Significant Errors Analyses]: <accuracy>\n\n"
            + "".join(f"{name}: {float(share)}. \n\n" for name, share in free.items())
            + "----------------------------------\n"
        )
