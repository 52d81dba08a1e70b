"""A replacement for the package `green_score` of GREEN's authors (docs/python.md)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Set
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
        model_name: str | None = None,
        output_dir: str | Path = ".",
        cpu: bool = False,  # noqa: FBT001, FBT002 - the package's own
        compute_summary_stats: bool = True,  # noqa: FBT001, FBT002
        **options: Unpack[JudgeOptions],
    ) -> None:
        self._judge = _judge(model_name, is_served=bool(options.get("base_url")))
        if cpu and self._judge.startswith(("vllm:", "ray:")):
            raise JudgeError(f"cpu=True is for a model in this process, not for {self._judge}")
        if cpu and self._judge.startswith("hf:"):
            options["options"] = {**(options.get("options") or {}), "cpu": True}
        self._options = options
        self.model_name = self._judge.rpartition("/")[2]
        self.output_dir = output_dir
        self.cpu = cpu
        self.compute_summary_stats = compute_summary_stats
        self.sub_categories = list(_COLUMNS.values())
        self.completions: list[str | None] = []
        self.green_scores: list[float] = []
        self.error_counts = pd.DataFrame()

    def __call__(
        self,
        refs: Iterable[str],
        hyps: Iterable[str],
    ) -> tuple[float, float, list[float], str | None, pd.DataFrame]:
        """Return the mean, the standard deviation, the scores, the summary and a table.

        A study without a score is NaN and is left out of mean and deviation.
        """
        references, candidates = _texts("refs", refs), _texts("hyps", hyps)
        if len(references) != len(candidates):
            raise JudgeError(f"there are {len(references)} refs and {len(candidates)} hyps")
        ids = [str(row) for row in range(len(references))]
        judged = annotate(
            references,
            candidates,
            judge=self._judge,
            study_ids=ids,
            allow_missing=True,
            **self._options,
        )
        frame = judged.set_index("study_id").reindex(ids).reset_index(drop=True)
        scores, answers = frame["green"].astype(float), frame["answer"].astype(object)
        self.completions = answers.where(answers.notna(), None).tolist()
        self.green_scores = scores.tolist()
        counts = frame[[*_COUNTS]].rename(columns=_COUNTS)
        self.error_counts = counts.astype(float if scores.isna().any() else int)
        table = pd.DataFrame(
            {
                "reference": [replace_surrogates(text) for text in references],
                "predictions": [replace_surrogates(text) for text in candidates],
                "green_analysis": self.completions,
                "green_score": self.green_scores,
            }
        ).join(self.error_counts)
        table.attrs.update(judged.attrs)
        lost = frame[scores.isna()]
        reasons = Counter((lost["outcome"] + ", " + lost["reason"]).fillna("no reference"))
        if reasons:
            why = "; ".join(f"{n} {reason}" for reason, n in reasons.most_common())
            warnings.warn(
                f"{len(lost)} of {len(frame)} studies are not scored: they are NaN, left out of "
                f"mean and standard deviation: {why}",
                stacklevel=2,
            )
        mean, std = float(scores.mean()), float(scores.std(ddof=0))
        summary = self._summary(mean, std, len(lost)) if self.compute_summary_stats else None
        return mean, std, list(self.green_scores), summary, table

    def _summary(self, mean: float, std: float, n_lost: int) -> str:
        lines = [
            f"\n-------------{self.model_name}----------------\n",
            f" [Summary]: Green average {mean} and standard deviation {std} \n",
            " [Clinically Significant Errors Analyses]: <accuracy>\n\n",
        ]
        for name in self.sub_categories:
            share = float((self.error_counts[name].dropna() == 0).mean())
            lines.append(f"{name}: {share}. \n\n")
        if n_lost:
            n = len(self.green_scores)
            lines.append(f"[Not scored]: {n_lost} of {n} studies, left out above\n\n")
        return "".join([*lines, "----------------------------------\n"])


def _judge(model_name: str | None, *, is_served: bool) -> str:
    if not model_name:
        raise JudgeError(
            "name a model, such as StanfordAIMI/GREEN-radllama2-7b, or a judge, such as lexicon"
        )
    is_local = is_green(model_name) or Path(model_name, "config.json").is_file()
    is_own = is_local and not is_served and ":" not in model_name
    return f"hf:{model_name}" if is_own else model_name


def _texts(name: str, reports: Iterable[str]) -> list[str]:
    # Iterating over a table gives column names, over a text letters; a set has no order.
    texts = [] if isinstance(reports, str | Mapping | Set | pd.DataFrame) else [*reports]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise JudgeError(f"{name} must be a list of texts, not {reports!r:.80}")
    return texts
