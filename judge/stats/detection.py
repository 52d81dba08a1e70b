"""How well a judge finds the studies with an error, of the readers' majority.

`values` is studies by raters: 1 where a rater says that the study has no error of a level, 0
where it has one, NaN where the rater has no word. **Positive is a study that has an error.**
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judge.stats.agreement import mean_of
from judge.stats.correlation import Bools, Resamples, lacking
from judge.stats.estimate import Estimate, rate_interval
from judge.stats.panel import Values

NO_STUDY = "no study has the word of both"
FIGURES = (
    *("sensitivity", "specificity", "kappa", "judge_rate", "reader_rate"),
    *("majority_rate", "bias"),
)


@dataclass(frozen=True, slots=True)
class Detection:
    """A judge, or a reader, beside readers, on the `n` studies that both have.

    The readers' majority says whether a study has an error; where it is even, in `n_ties` of
    the studies, the study counts as one that has: half of the readers would not sign it.
    `sensitivity`: of the studies that have one, the share where the judge says so;
    `specificity`: of those that have none. `kappa` is Cohen's, of the judge and the majority.
    The rates are of studies *without* an error: `judge_rate`, `majority_rate`, and
    `reader_rate`, the mean over studies of the share of the study's readers who say so; `bias`
    is the judge's rate less the readers'. Figures that have no value or no interval have a
    reason.
    """

    n: int
    n_ties: int
    sensitivity: Estimate
    specificity: Estimate
    kappa: Estimate
    judge_rate: Estimate
    reader_rate: Estimate
    majority_rate: Estimate
    bias: Estimate

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        figures = {name: getattr(self, name).plain() for name in FIGURES}
        return {"n": self.n, "n_ties": self.n_ties, **figures}


@dataclass(frozen=True, slots=True)
class Detections:
    """Each judge against the readers, and the ceiling: each reader against the others."""

    judges: tuple[Detection, ...]
    ceiling: tuple[Detection, ...]

    def plain(self) -> dict[str, Any]:
        """Return them as JSON's types."""
        return {
            "judges": [one.plain() for one in self.judges],
            "ceiling": [one.plain() for one in self.ceiling],
        }


def detections(values: Values, n_judges: int, resamples: Resamples) -> Detections:
    """Return how the first `n_judges` columns find errors, and the readers, the other columns."""
    readers = values[:, n_judges:]
    return Detections(
        tuple(detection(column, readers, resamples) for column in values[:, :n_judges].T),
        tuple(
            detection(column, np.delete(readers, at, axis=1), resamples)
            for at, column in enumerate(readers.T)
        ),
    )


def detection(judge: Values, readers: Values, resamples: Resamples) -> Detection:
    """Return how one judge finds the studies with an error in the eyes of `readers`.

    Sensitivity, specificity and the rates of the judge and of the majority have Wilson's
    interval (`rate_interval`); kappa, the readers' rate and the bias have a bootstrap interval.
    """
    share = mean_of(readers)
    known = ~(np.isnan(judge) | np.isnan(share))
    units = resamples.units[known]
    is_clean, shares = judge[known] == 1, share[known]
    majority = shares > 0.5
    n, n_undefined = int(known.sum()), int((~known).sum())
    both = np.zeros((len(judge), 5))
    both[known] = np.column_stack([np.ones(n), is_clean, majority, is_clean & majority, shares])
    drawn = resamples.sums(both).T
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas, rates = _kappas(*drawn[:4]), drawn[4] / drawn[0]
        biases = (drawn[1] - drawn[4]) / drawn[0]

    def resampled(figures: Values, missing: str) -> Estimate:
        if not n or np.isnan(figures[0]):
            return lacking(known, missing if n else NO_STUDY)
        return resamples.estimate(figures, known)

    def rate(is_yes: Bools, of: Bools | slice, missing: str) -> Estimate:
        return replace(rate_interval(is_yes[of], units[of], missing), n_undefined=n_undefined)

    everything = slice(None)
    majority_rate = rate(majority, everything, NO_STUDY)
    # Where all readers say the same of all studies no resample differs.
    alike = n and shares.min() == shares.max() and shares[0] in (0, 1)
    return Detection(
        n,
        int((shares == 0.5).sum()),
        rate(~is_clean, ~majority, "no study has an error, by the readers"),
        rate(is_clean, majority, "every study has an error, by the readers"),
        resampled(kappas, "the judge and the readers say the same one thing of every study"),
        rate(is_clean, everything, NO_STUDY),
        majority_rate if alike else resampled(rates, NO_STUDY),
        majority_rate,
        resampled(biases, NO_STUDY),
    )


def _kappas(n: Values, judge: Values, majority: Values, both: Values) -> Values:
    """Return Cohen's kappa of each resample; NaN where chance alone would agree as well."""
    agreed = n - judge - majority + 2 * both
    by_chance = judge * majority + (n - judge) * (n - majority)  # of n * n
    return (agreed * n - by_chance) / (n * n - by_chance)
