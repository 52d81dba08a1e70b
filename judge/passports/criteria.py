"""What a judge has to reach to be trusted, and the answer of a figure with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from judge.run_files.passport import Answer, CriterionEntry, Verdict
from judge.run_files.summary import FigureEntry
from judge.stats.estimate import Estimate
from judge.text import percent
from judge.types import JudgeError


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A figure and its threshold; `least` are the studies, or references, that it needs."""

    name: str
    label: str
    side: Literal["at least", "at most"]
    threshold: float
    least: int
    of: str = "reports"
    is_share: bool = True

    @property
    def rule(self) -> str:
        """The threshold in words: `at least 80.0%`."""
        return f"{self.side} {self.text(self.threshold)}"

    def text(self, value: float) -> str:
        """Return a value of the figure as text."""
        if self.is_share:
            return percent(value)
        return f"{value:.2f}"


CRITERIA = (
    Criterion(
        name="agreement",
        label="agreement with readers",
        side="at least",
        threshold=0.4,
        least=50,
        is_share=False,
    ),
    Criterion(
        name="agreement_within",
        label="agreement within a reference",
        side="at least",
        threshold=0.4,
        least=20,
        of="references with several candidates",
        is_share=False,
    ),
    Criterion(
        name="errors_found",
        label="known errors found",
        side="at least",
        threshold=0.8,
        least=50,
        of="candidates with a known error",
    ),
    Criterion(
        name="false_alarms",
        label="false alarms",
        side="at most",
        threshold=0.1,
        least=50,
        of="candidates without an error",
    ),
    Criterion(
        name="same_verdict",
        label="same verdict again",
        side="at least",
        threshold=0.9,
        least=50,
    ),
    Criterion(
        name="unread",
        label="without a score",
        side="at most",
        threshold=0.05,
        least=50,
        of="studies",
    ),
)
"""What a judge must reach to be trusted; docs/passport.md gives the reasons for the numbers."""


def thresholds_with(changed: Mapping[str, float]) -> dict[str, float]:
    """Return the threshold of each criterion, `changed` ones as they are named.

    Raises `JudgeError` for a name that is no criterion's.
    """
    thresholds = {criterion.name: criterion.threshold for criterion in CRITERIA}
    for name in changed:
        if name not in thresholds:
            raise JudgeError(
                f"there is no threshold {name!r}; there are: {', '.join(thresholds)}"
            )
    return {**thresholds, **changed}


def judged(
    criterion: Criterion,
    estimate: Estimate,
    *,
    n_of: int | None = None,
    is_by_construction: bool = False,
) -> CriterionEntry:
    """Return the answer of an estimate: on which side of the threshold its whole interval is.

    `n_of` is how many of what the criterion needs, the estimate's `n` if not named. A figure that
    holds `by_construction` needs no interval.
    """
    n = estimate.n or 0
    if n_of is not None:
        n = n_of
    low, high = estimate.low, estimate.high
    if criterion.side == "at most" and low is not None and high is not None:
        is_good, is_bad = high <= criterion.threshold, low > criterion.threshold
    else:
        is_good = low is not None and low >= criterion.threshold
        is_bad = high is not None and high < criterion.threshold
    answer: Answer = "unknown"
    why = ""
    if is_by_construction:
        answer = "yes"
        why = estimate.reason or ""
    elif estimate.value is None:
        why = estimate.reason or "not measured"
    elif n < criterion.least:
        why = f"it needs {criterion.least} {criterion.of}, there are {n:,}"
    elif low is None or high is None:
        why = estimate.reason or "it has no interval"
    elif is_good:
        answer = "yes"
    elif is_bad:
        answer = "no"
        why = f"the 95% interval is beyond {criterion.text(criterion.threshold)}"
    else:
        why = f"the 95% interval spans {criterion.text(criterion.threshold)}"
    return CriterionEntry(
        name=criterion.name,
        label=criterion.label,
        rule=criterion.rule,
        figure=FigureEntry.model_validate(estimate.plain()),
        answer=answer,
        why=why,
    )


def verdict_of(criteria: list[CriterionEntry]) -> tuple[Verdict, str]:
    """Return the verdict of all criteria, and which stand against `trusted`, in words."""
    failed = [entry for entry in criteria if entry.answer == "no"]
    if failed:
        return "not trusted", _named(failed)
    unknown = [entry for entry in criteria if entry.answer == "unknown"]
    if unknown:
        return "unknown", _named(unknown)
    return "trusted", ""


def _named(entries: list[CriterionEntry]) -> str:
    return "; ".join(f"{entry.label}: {entry.why}" for entry in entries)
