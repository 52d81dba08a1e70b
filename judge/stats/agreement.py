"""How well judges agree with readers, beside how well readers agree among themselves.

`values` is studies by raters, NaN where a rater has no value: first the judges, then the
readers. The mean of the readers of a study is that of those who have a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.stats.correlation import (
    LEAST_STUDIES,
    METHODS,
    Codes,
    Correlated,
    Resamples,
    correlate,
    lacking,
)
from judge.stats.estimate import ONE_PATIENT, Z_95, Estimate, clustered_error, wilson
from judge.stats.panel import ROUNDING, Values
from judge.stats.resample import LEAST_UNITS, interval

JUDGE, READER, OTHERS = "the judge", "the reader", "the mean of the other readers"
READERS = "the mean of the readers"


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The correlations of the same studies, each with its 95% interval or a reason."""

    kendall: Estimate
    spearman: Estimate
    pearson: Estimate

    def plain(self) -> dict[str, Any]:
        """Return them as JSON's types, after `n`."""
        return {"n": self.kendall.n, **{name: getattr(self, name).plain() for name in METHODS}}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How well readers agree among themselves.

    `readers` has each against the mean of the others. `mean` is the mean over the readers who have
    a correlation, and `ranges`, by method, the least and the greatest of theirs; without a value
    for fewer than ten studies, and where a reader never varies. A judge is held against the mean
    of one reader more than a reader is, which is a little easier.
    """

    readers: tuple[Coefficients, ...]
    mean: Coefficients
    ranges: Mapping[str, tuple[float, float] | None]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "readers": [one.plain() for one in self.readers],
            "mean": self.mean.plain(),
            "range": {name: list(ends) if ends else None for name, ends in self.ranges.items()},
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """How judges agree with the mean of the readers on one quantity."""

    judges: tuple[Coefficients, ...]
    ceiling: Ceiling

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "judges": [one.plain() for one in self.judges],
            "ceiling": self.ceiling.plain(),
        }


def agreement(values: Values, n_judges: int, resamples: Resamples) -> Agreement:
    """Return how the first `n_judges` columns agree with the readers, which are the others."""
    readers = values[:, n_judges:]
    mean = mean_of(readers)
    names = (JUDGE, READERS)
    found = [correlate(column, mean, resamples, names) for column in values[:, :n_judges].T]
    judges = tuple(_coefficients(one, resamples) for one in found)
    return Agreement(judges, _ceiling(readers, resamples))


def mean_of(values: Values) -> Values:
    """Return the mean of each row over the columns that have a value, NaN where none has."""
    n = (~np.isnan(values)).sum(axis=1)
    total = np.nan_to_num(values).sum(axis=1)
    mean: Values = np.divide(total, n, out=np.full(len(values), np.nan), where=n > 0)
    return mean


def _coefficients(found: Correlated, resamples: Resamples) -> Coefficients:
    return Coefficients(*(found.estimate(method, resamples) for method in METHODS))


def _ceiling(readers: Values, resamples: Resamples) -> Ceiling:
    found = [
        correlate(column, mean_of(np.delete(readers, at, axis=1)), resamples, (READER, OTHERS))
        for at, column in enumerate(readers.T)
    ]
    known = (~np.isnan(readers)).sum(axis=1) > 1
    defined = [one.figures for one in found if one.reason is None]
    n, n_constant = int(known.sum()), sum(_never_varies(column) for column in readers.T)
    reason = None if defined else "no reader has a correlation with the others"
    if n_constant:
        reason = f"{n_constant} of {len(found)} readers mark the same in every study"
    elif n < LEAST_UNITS:
        reason = f"a ceiling needs {LEAST_UNITS} studies that two readers have, there are {n}"
    defined = [] if reason else defined
    mean = np.mean(defined or np.zeros((1, 1, len(METHODS))), axis=0)
    ranges = {
        method: (min(values), max(values)) if values else None
        for column, method in enumerate(METHODS)
        for values in [[float(figures[0, column]) for figures in defined]]
    }
    return Ceiling(
        tuple(_coefficients(one, resamples) for one in found),
        _coefficients(Correlated(known, mean, reason), resamples),
        ranges,
    )


def _never_varies(column: Values) -> bool:
    values = column[~np.isnan(column)]
    return len(values) > 0 and bool((values == values[0]).all())


@dataclass(frozen=True, slots=True)
class Limits:
    """A judge's counts less the mean of the readers [Bland and Altman 1999].

    `bias` is the mean difference, `lower` and `upper` are bias ± 1.96 `sd`, the standard deviation.
    Intervals are of Student's t.
    """

    bias: Estimate
    lower: Estimate
    upper: Estimate
    sd: float | None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, after `n`."""
        ends = {name: getattr(self, name).plain() for name in ("bias", "lower", "upper")}
        return {"n": self.bias.n, **ends, "sd": self.sd}


def limits_of_agreement(judge: Values, readers: Values, units: Codes) -> Limits:
    """Return the bias and the limits of agreement of one judge, none of fewer than three studies.

    The standard error of a limit is sd sqrt(1/n + 1.96² / (2 (n - 1))) [Bland and Altman 1999];
    where a patient has several studies all three are clustered, by the limit's linear
    approximation.
    """
    # Takes a quarter of a second to import, for those who validate only.
    from scipy.special import stdtrit

    differences = judge - mean_of(readers)
    known = ~np.isnan(differences)
    d, units = differences[known], units[known]
    n = len(d)
    if n < LEAST_STUDIES:
        reason = f"limits of agreement need {LEAST_STUDIES} studies, {n} have both values"
        none = lacking(known, reason)
        return Limits(none, none, none, None)
    bias, sd = float(d.mean()), float(d.std(ddof=1))
    error, n_units = clustered_error(d, units)
    if sd <= ROUNDING * float(np.abs(judge[known]).max() + 1):
        sd, why = 0.0, "all differences are the same, which gives no interval"
    elif n_units < 2:
        why = ONE_PATIENT
    else:
        errors = [sd * np.sqrt(1 / n + Z_95**2 / (2 * (n - 1)))] * 2
        if n_units < n:
            spread = ((d - bias) ** 2 - sd**2) / (2 * sd)
            errors = [clustered_error(d + sign * Z_95 * spread, units)[0] for sign in (-1, 1)]
        halves = [float(stdtrit(n_units - 1, 0.975) * one) for one in (error, *errors)]
        why = None
    figures = []
    for at, value in enumerate((bias, bias - Z_95 * sd, bias + Z_95 * sd)):
        low, high = (None, None) if why else (value - halves[at], value + halves[at])
        figures.append(Estimate(n, value, low, high, int((~known).sum()), reason=why))
    return Limits(figures[0], figures[1], figures[2], sd)


@dataclass(frozen=True, slots=True)
class Preference:
    """How often a judge orders two candidates of a study as the readers do.

    `accuracy` is over the n pairs of candidates that the readers order; those that they tie are
    undefined. `n_ties` of the n are tied by the judge, and count one half.
    """

    accuracy: Estimate
    n_ties: int

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {**self.accuracy.plain(), "n_ties": self.n_ties}


def preference(judge: Values, readers: Values, studies: Codes, resamples: Resamples) -> Preference:
    """Return the preference accuracy of a judge, with a bootstrap interval by patient.

    A row is a candidate, and `studies` the number of the study that it is for. The readers' order
    of two candidates is that of their means over the readers who have a value for both. Where the
    judge orders all pairs right, or none, the interval is Wilson's over the patients.
    """
    first, second = _candidate_pairs(studies)
    by_judge = _differing(judge[:, None], first, second)
    by_readers = _differing(readers, first, second)
    both = ~(np.isnan(by_judge) | np.isnan(by_readers))
    ordered = both & (by_readers != 0)
    n, n_undefined = int(ordered.sum()), int((both & ~ordered).sum())
    if not n:
        reason = "the readers order no two candidates of a study"
        return Preference(Estimate(0, None, None, None, n_undefined, reason=reason), 0)
    by_judge, first = np.sign(by_judge[ordered]), first[ordered]
    credit = (1 + by_judge * np.sign(by_readers[ordered])) / 2
    counted = np.zeros((len(studies), 2))
    np.add.at(counted, first, np.stack([credit, np.ones(n)], axis=1))
    sums = resamples.sums(counted)
    drawn = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    value = float(drawn[0])
    n_units = len(np.unique(resamples.units[first]))
    low, high, why = interval(drawn[1:], n_units, resamples.unit_words)
    if value in (0, 1):
        rate = wilson(n_units if value else 0, n_units)
        low, high, why = rate.low, rate.high, None
    accuracy = Estimate(n, value, low, high, n_undefined, reason=why)
    return Preference(accuracy, int((by_judge == 0).sum()))


def _candidate_pairs(studies: Codes) -> tuple[Codes, Codes]:
    order = np.argsort(studies, kind="stable")
    ordered = studies[order]
    firsts, seconds = [order[:0]], [order[:0]]
    for apart in range(1, len(order)):
        same = np.flatnonzero(ordered[apart:] == ordered[:-apart])
        if not len(same):
            break
        firsts.append(order[same])
        seconds.append(order[same + apart])
    return np.concatenate(firsts), np.concatenate(seconds)


def _differing(values: Values, first: Codes, second: Codes) -> Values:
    found = mean_of(values[first] - values[second])
    least = ROUNDING * float(np.nan_to_num(np.abs(values)).max(initial=0.0))
    found[np.abs(found) <= least] = 0.0
    return found
