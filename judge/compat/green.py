"""Stands in for the package `green_score` of GREEN's authors: one line of a script changes.

from judge.compat.green import GREEN  # was: from green_score import GREEN

docs/green-package.md says what differs and why.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from judge.api import JudgeOptions, session_of
from judge.backends.options import is_green
from judge.rubrics.categories import CATEGORY, ERROR, KEY, SIGNIFICANCE, SIGNIFICANT
from judge.running.records import Judged
from judge.running.run import with_classes
from judge.running.standing import JudgeThread
from judge.studies import from_given
from judge.studies.load import encodable
from judge.studies.texts import says_nothing
from judge.types import Annotated, Annotation, Category, JudgeError

# The package's names of the categories, which are columns of its table.
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
    """GREEN's scorer with the call of `green_score.GREEN`, answered by any judge of this program.

    The judge is loaded at the first call and stays loaded; what a model has answered comes from
    the cache. After a call `green_scores`, `completions` and `error_counts` are those of its
    studies, as in the package.

    Parameters
    ----------
    model_name
        A GREEN model, by its name on the hub or its folder, which answers in this process; or
        any judge as `judge.annotate` takes it, such as "lexicon".
    output_dir
        Nothing is written there, as in the package.
    cpu
        Keep a model in this process off the GPU.
    compute_summary_stats
        Whether there is a summary. Mean and standard deviation are there in any case.
    options
        What `judge.annotate` takes for its judge: `prompt`, `base_url`, `policy`, `cache`, ...

    """

    def __init__(
        self,
        model_name: str | None = None,
        output_dir: str | Path = ".",
        cpu: bool = False,  # noqa: FBT001, FBT002 - the package's own
        compute_summary_stats: bool = True,  # noqa: FBT001, FBT002
        **options: Unpack[JudgeOptions],
    ) -> None:
        judge = _judge(model_name, is_served=bool(options.get("base_url")))
        if cpu and judge.startswith(("vllm:", "ray:")):
            raise JudgeError(f"cpu=True is for a model in this process, not for {judge}")
        if cpu and judge.startswith("hf:"):
            options["options"] = {**(options.get("options") or {}), "cpu": True}
        self.model_name = judge.rpartition("/")[2]
        self.output_dir = output_dir
        self.cpu = cpu
        self.compute_summary_stats = compute_summary_stats
        self.sub_categories = list(_COLUMNS.values())
        self.completions: list[str | None] = []
        self.green_scores: list[float] = []
        self.error_counts = pd.DataFrame()
        self._thread = JudgeThread(session_of("green", judge, options))

    def __call__(
        self,
        refs: Any,  # noqa: ANN401 - a list, an array, a Series
        hyps: Any,  # noqa: ANN401
    ) -> tuple[float, float, list[float], str | None, pd.DataFrame]:
        """Return the mean, the standard deviation, the scores, the summary and a table.

        `refs` and `hyps` go by their order. A study without a score is NaN, counts in neither mean
        nor deviation, and is counted in a warning.
        """
        references, candidates = _texts("refs", refs), _texts("hyps", hyps)
        if len(references) != len(candidates):
            raise JudgeError(f"there are {len(references)} refs and {len(candidates)} hyps")
        if not references:
            raise JudgeError("there are no studies: refs is empty")
        ends, signature = self._judge(references, candidates)
        measures = [(end and end.measures) or {} for end in ends]
        columns = ["green", *_COUNTS]
        numbers = pd.DataFrame(measures, columns=columns).apply(pd.to_numeric)
        self.completions = [end.completion.text if end and end.completion else None for end in ends]
        self.green_scores = numbers["green"].astype(float).tolist()
        self.error_counts = numbers[[*_COUNTS]].rename(columns=_COUNTS)
        table = pd.DataFrame(
            {
                "reference": [encodable(text) for text in references],
                "predictions": [encodable(text) for text in candidates],
                "green_analysis": self.completions,
                "green_score": self.green_scores,
            }
        ).join(self.error_counts)
        table.attrs.update(signature=signature, note=self._thread.session.judge.note)
        if reasons := Counter(filter(None, map(_reason, ends))):
            warnings.warn(
                f"{reasons.total()} of {len(ends)} studies are not scored: they are NaN, and count "
                "in neither mean nor standard deviation: "
                + "; ".join(f"{n} {reason}" for reason, n in reasons.most_common()),
                stacklevel=2,
            )
        mean, std = float(numbers["green"].mean()), float(numbers["green"].std(ddof=0))
        summary = self._summary(mean, std, ends) if self.compute_summary_stats else None
        return mean, std, list(self.green_scores), summary, table

    def close(self) -> None:
        """Let go of the judge and of what it started."""
        self._thread.close()

    def _judge(
        self, references: list[str], candidates: list[str]
    ) -> tuple[list[Judged | None], str | None]:
        """Return the end of each study, None for one without a reference, and the signature."""
        rows = [row for row, text in enumerate(references) if not says_nothing(text)]
        ends: list[Judged | None] = [None] * len(references)
        if not rows:
            return ends, None
        studies = from_given(
            [references[row] for row in rows],
            [candidates[row] for row in rows],
            study_ids=[str(row) for row in rows],
        )
        studies, class_source = with_classes(studies)
        judged = self._thread.wait(lambda standing: standing.judge(studies))
        for row, end in zip(rows, judged, strict=True):
            ends[row] = end
        return ends, self._thread.session.signature(studies, class_source)

    def _summary(self, mean: float, std: float, ends: list[Judged | None]) -> str:
        scored = [
            end.outcome.annotation for end in ends if end and isinstance(end.outcome, Annotated)
        ]
        lines = [
            f"\n-------------{self.model_name}----------------\n",
            f" [Summary]: Green average {mean} and standard deviation {std} \n",
            " [Clinically Significant Errors Analyses]: <accuracy>. <representative error>\n\n",
        ]
        for category, name in _COLUMNS.items():
            share = float((self.error_counts[name].dropna() == 0).mean())
            lines.append(f"{name}: {share}. \n {_most_frequent(scored, category)} \n\n")
        if lacking := len(ends) - len(scored):
            lines.append(f"[Not scored]: {lacking} of {len(ends)} studies, nowhere above\n\n")
        return "".join([*lines, "----------------------------------\n"])


def _judge(model_name: str | None, *, is_served: bool) -> str:
    if not model_name:
        raise JudgeError(
            "name a model, such as StanfordAIMI/GREEN-radllama2-7b, or a judge, such as lexicon"
        )
    colon = ":" in model_name
    is_folder = model_name.startswith((".", "/", "~")) or Path(model_name, "config.json").is_file()
    is_own = not colon and not is_served and (is_folder or is_green(model_name))
    return f"hf:{model_name}" if is_own else model_name


def _texts(name: str, reports: Any) -> list[str]:  # noqa: ANN401 - a list, an array, a Series
    # Iterating over a table gives the names of its columns; a set has no order.
    unordered = isinstance(reports, str | Mapping | Set | pd.DataFrame)
    if unordered or not isinstance(reports, Iterable):
        raise JudgeError(f"{name} is a {type(reports).__name__}; give a list of reports")
    texts = list(reports)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise JudgeError(f"{name}[{place}] is not a text but a {type(text).__name__}")
    return texts


def _reason(end: Judged | None) -> str | None:
    if end is None:
        return "no reference"
    if isinstance(end.outcome, Annotated):
        return None
    return f"{type(end.outcome).__name__.lower()}, {end.outcome.reason}"


def _most_frequent(annotations: list[Annotation], category: Category) -> str | None:
    """Return the text of the error that most studies have, whatever its case and spaces."""
    counts: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for annotation in annotations:
        errors = {
            " ".join(item.text.lower().split()).strip(" ."): item.text
            for item in annotation.of_kind(ERROR)
            if category in item.labels[CATEGORY.name] and SIGNIFICANT in item.labels[SIGNIFICANCE]
        }
        counts.update(errors.keys())
        texts = {**errors, **texts}
    return texts[counts.most_common(1)[0][0]] if counts else None
