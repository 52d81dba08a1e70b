"""A rate or a mean with the judge's bias taken out, from studies drawn at random that readers read.

Prediction-powered inference [Angelopoulos et al. 2023] with power tuning [Angelopoulos, Duchi and
Zrnic 2023], each reading with the weight of its stratum. Nothing is assumed of the judge.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Z_95,
    Codes,
    Values,
    student,
    unit_sums,
    units_of,
    wilson_ends,
)
from judge.stats.statistic import OfMean
from judge.types import Scale

LEAST = 10
"""Readings, and patients, below which nothing is corrected."""
_UNSEEN = Z_95**2
"""Readings that an interval counts besides those there are: see `corrected`."""
_AT_END = 1e-9
"""How far from an end of the scale, as a share of it, labels still count as all at that end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A statistic of `n_studies`, of which `n` were read, with its 95% interval.

    `labels` is what the `n` say without the judge. `weight` is how much the judge is relied on,
    from 0 to 1 (lambda; the mean over strata). `worth` is how many readings the judge spared: by
    labels alone, `n` + `worth` give an interval as narrow. `why_not` says why there are no figures.
    """

    n: int
    n_studies: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    labels: Estimate | None = None
    weight: float | None = None
    worth: float | None = None
    why_not: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        data = asdict(self)
        labels = data.pop("labels") or {}
        names = {"labels": "value", "labels_low": "low", "labels_high": "high"}
        return data | {name: labels.get(end) for name, end in names.items()}


def corrected(
    judge: Values,
    readers: Values,
    statistic: OfMean,
    strata: Codes | None = None,
    patients: Codes | None = None,
) -> Corrected:
    """Return a mean or a rate of the studies that the judge scored, without the judge's bias.

    Args:
        judge: A value for each study.
        readers: The readers' (mean) value of those that were read, NaN elsewhere.
        statistic: What is corrected; of a rate the values are the shares that count.
        strata: Within each of these the read are drawn at random.
        patients: Studies of a patient are summed before they are squared.

    Of N unread and n read studies, f the judge's value and y the readers', theta = lambda mean(f,
    unread) + mean(y - lambda f, read) and lambda = Cov(y, f) / ((1 + n/N) Var(f)), within 0 and 1;
    the variance is lambda² Var(f, unread) / N + Var(y - lambda f, read) / n. With strata each study
    that was read counts for those of its stratum, and lambda has the stratum's n/N; the variance is
    of all together, which is a little too large.

    A variance of residuals says little where the judge has been wrong in few readings or none. So
    the interval, never the figure, allows for more. Of a mean it counts z² = 3.84 more readings of
    which the judge knew nothing. Of a rate it takes the share of readings in which the judge was
    wrong, d of n, as (d + z²/2) / (n + z²), the centre of Wilson's interval [Agresti and Coull
    1998], but the variance then is at most that of the labels alone: where almost all studies say
    the same, a judge that never erred in 50 readings can still be off by more than the rate's
    distance from 1. The interval is a score interval, as Wilson's for a rate; at lambda 0 it is
    that of the labels. Where all labels are at one end of the scale it is Wilson's of n out of n,
    where n is the effective number of readings: 1 / the sum of their squared weights [Kish 1965].
    """
    scored = ~np.isnan(judge)
    f, y = judge[scored], readers[scored]
    studies = len(f)
    strata = (
        np.zeros(studies, np.intp)
        if strata is None
        else units_of(strata[scored], studies)
    )
    patients = units_of(None if patients is None else patients[scored], studies)
    read = ~np.isnan(y)
    n, n_units = int(read.sum()), len(np.unique(patients[read]))
    none = Corrected(n=n, n_studies=studies)
    for what, many in (("readings", n), ("patients", n_units)):
        if many < LEAST:
            return replace(none, why_not=f"too few {what}: {many} of at least {LEAST}")
    n_all, n_read = (
        np.bincount(strata),
        np.bincount(strata[read], minlength=strata.max() + 1),
    )
    if not n_read.all():
        without = int((n_read == 0)[strata].sum())
        return replace(none, why_not=f"no reading of a stratum of {without} studies")
    weights = (n_all / n_read / studies)[strata[read]]
    y = y[read]
    # The weights' sum may be 1 but for rounding: labels that are all 1 have a figure of exactly 1.
    by_labels = float(np.clip(weights @ y, y.min(), y.max()))
    apart_y, apart_f = y - by_labels, f[read] - weights @ f[read]
    slope = 0.0
    if np.ptp(y) and np.ptp(f):
        slope = float(weights @ (apart_y * apart_f)) / float(np.var(f, ddof=1))
    # How much the judge is relied on, by stratum.
    lambdas = np.clip(slope * (1 - n_read / n_all), 0.0, 1.0)
    unread_weights = (n_all * lambdas / np.maximum(n_all - n_read, 1) / studies)[
        strata[~read]
    ]
    value = by_labels - float(weights @ (lambdas[strata[read]] * f[read]))
    value += float(unread_weights @ f[~read])

    # What each study adds to the figure, by readers and by the judge.
    parts = np.zeros((studies, 2))
    parts[read] = np.stack(
        [weights * apart_y, -weights * lambdas[strata[read]] * apart_f], axis=1
    )
    parts[read] *= _inflation(n_units)
    if not read.all():
        apart = f[~read] - f[~read].mean()
        inflation = _inflation(len(np.unique(patients[~read])))
        parts[~read, 1] = unread_weights * apart * inflation
    sums = unit_sums(parts, patients)
    (by_readers, covariance), (_, by_judge) = sums.T @ sums
    is_rate = statistic.is_share
    if covariance < 0 and not is_rate:
        covariance *= n_units / (n_units + _UNSEEN)
    variance = by_readers + 2 * covariance + by_judge
    if is_rate:
        wrong = float(weights @ (y - f[read]) ** 2)
        allowed = (n_units * wrong + _UNSEEN / 2) / (n_units + _UNSEEN)
        reliance = float(weights @ lambdas[strata[read]] ** 2)
        wider = variance + reliance * max(0.0, allowed - wrong) / n_units
        variance = max(variance, min(wider, by_readers))

    scale = statistic.ends
    # The variance of a rate is known from the rate; where its units are not studies it is not.
    z = Z_95 if is_rate and n_units == n else student(n_units - 1)
    share = 1 - 1 / n if is_rate else 1.0
    unit_weights = unit_sums(weights[:, None], units_of(patients[read], n))
    effective = min(float(n_units), 1 / float((unit_weights**2).sum()))
    of_labels, of_both = (
        _ends(figure, share * spread, seen=by_labels, scale=scale, n=effective, z=z)
        for figure, spread in ((by_labels, by_readers), (value, variance))
    )
    if statistic.may_lack and 0 in (of_labels.value, of_both.value):
        return replace(none, why_not="the mean is 0 and has no reciprocal")
    of_labels, of_both = (statistic.of_mean(mean) for mean in (of_labels, of_both))
    worth = max(0.0, n * by_readers / variance - n) if variance > 0 else 0.0
    return Corrected(
        n=n,
        n_studies=studies,
        value=of_both.value,
        low=of_both.low,
        high=of_both.high,
        labels=replace(of_labels, n=n),
        weight=float(n_all @ lambdas) / studies,
        worth=float(worth),
    )


def _inflation(n: int) -> float:
    """Return the root of n / (n - 1), which makes a variance unbiased; 1 for fewer than two."""
    return math.sqrt(n / (n - 1)) if n > 1 else 1.0


def _ends(
    value: float, variance: float, *, seen: float, scale: Scale, n: float, z: float
) -> Estimate:
    """Return a figure, brought onto the scale, and its interval.

    `seen` is the figure of the labels, where the variance was seen. Where they are all at an end
    of the scale they are as `n` of `n`.
    """
    low, high = scale
    if low is None:
        half = z * float(np.sqrt(variance))
        return Estimate(value=value, low=value - half, high=value + half)
    width = 1.0 if high is None else high - low
    share, seen = max(0.0, (value - low) / width), (seen - low) / width
    share = share if high is None else min(1.0, share)
    is_at_end = seen <= _AT_END or (high is not None and seen >= 1 - _AT_END)
    largest = seen if high is None else seen * (1 - seen)
    # The variance is 1/n of the largest at least, as that of a mean [`mean_interval`].
    per = 1 / n if is_at_end else max(variance / width**2 / largest, 1 / n**2)
    if high is not None:
        ends = wilson_ends(share, 1 / per, z)
    else:
        middle, half = (
            share + z**2 * per / 2,
            z * float(np.sqrt(per * share + (z * per) ** 2 / 4)),
        )
        ends = max(0.0, middle - half), middle + half
    return Estimate(
        value=low + width * share,
        low=low + width * ends[0],
        high=low + width * ends[1],
    )
