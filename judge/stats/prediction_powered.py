"""A rate or a mean with the judge's bias taken out, from studies drawn at random that readers read.

Prediction-powered inference [Angelopoulos et al. 2023] with power tuning [Angelopoulos, Duchi and
Zrnic 2023], each reading with the weight of its stratum. Nothing is assumed of the judge.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import partial
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
    is_scored = ~np.isnan(judge)
    f_all, y_all = judge[is_scored], readers[is_scored]
    n_studies = len(f_all)
    if strata is None:
        stratum = np.zeros(n_studies, np.intp)
    else:
        stratum = units_of(strata[is_scored], n_studies)
    if patients is None:
        patient = units_of(None, n_studies)
    else:
        patient = units_of(patients[is_scored], n_studies)
    is_read = ~np.isnan(y_all)
    is_unread = ~is_read
    n = int(is_read.sum())
    n_units = len(np.unique(patient[is_read]))
    none = Corrected(n=n, n_studies=n_studies)
    too_few = _too_few(n, n_units)
    if too_few is not None:
        return replace(none, why_not=too_few)
    read_stratum, unread_stratum = stratum[is_read], stratum[is_unread]
    # Studies of each stratum, and those of them that were read.
    n_all = np.bincount(stratum)
    n_read = np.bincount(read_stratum, minlength=len(n_all))
    n_unread = n_all - n_read
    if not n_read.all():
        is_without = (n_read == 0)[stratum]
        without = int(is_without.sum())
        return replace(none, why_not=f"no reading of a stratum of {without} studies")

    # The estimate: theta, of f and y of the read and f of the unread.
    y, f = y_all[is_read], f_all[is_read]
    f_unread = f_all[is_unread]
    stratum_weights = n_all / n_read / n_studies
    weights = stratum_weights[read_stratum]
    # The weights' sum may be 1 but for rounding: labels that are all 1 have a figure of exactly 1.
    by_labels = float(np.clip(weights @ y, y.min(), y.max()))
    y_apart = y - by_labels
    f_apart = f - weights @ f
    # Cov(y, f) / Var(f): 0 where one of them never varies.
    slope = 0.0
    if np.ptp(y) and np.ptp(f_all):
        covariance_yf = float(weights @ (y_apart * f_apart))
        slope = covariance_yf / float(np.var(f_all, ddof=1))
    # How much the judge is relied on, by stratum.
    lambdas = np.clip(slope * (1 - n_read / n_all), 0.0, 1.0)
    read_lambdas = lambdas[read_stratum]
    stratum_unread_weights = n_all * lambdas / np.maximum(n_unread, 1) / n_studies
    unread_weights = stratum_unread_weights[unread_stratum]
    theta = by_labels - float(weights @ (read_lambdas * f))
    theta += float(unread_weights @ f_unread)

    # The variance: what each study adds to the figure, by readers and by the judge.
    parts = np.zeros((n_studies, 2))
    readers_part = weights * y_apart
    judge_part = -weights * read_lambdas * f_apart
    parts[is_read] = np.stack([readers_part, judge_part], axis=1)
    parts[is_read] *= _inflation(n_units)
    if is_unread.any():
        f_unread_apart = f_unread - f_unread.mean()
        n_unread_units = len(np.unique(patient[is_unread]))
        inflation = _inflation(n_unread_units)
        parts[is_unread, 1] = unread_weights * f_unread_apart * inflation
    sums = unit_sums(parts, patient)
    (by_readers, covariance), (_, by_judge) = sums.T @ sums
    is_rate = statistic.is_share
    # As if z² more readings had been seen, of which the judge knew nothing.
    if covariance < 0 and not is_rate:
        covariance *= n_units / (n_units + _UNSEEN)
    variance = by_readers + 2 * covariance + by_judge
    if is_rate:
        wrong = float(weights @ (y - f) ** 2)
        allowed = (n_units * wrong + _UNSEEN / 2) / (n_units + _UNSEEN)
        reliance = float(weights @ read_lambdas**2)
        more_wrong = max(0.0, allowed - wrong)
        wider = variance + reliance * more_wrong / n_units
        variance = max(variance, min(wider, by_readers))

    # The interval, of the labels alone and of both.
    # The variance of a rate is known from the rate; where its units are not studies it is not.
    if is_rate and n_units == n:
        z = Z_95
    else:
        z = student(n_units - 1)
    # The Wilson interval of a rate takes the variance with n, not n - 1, below it.
    share = 1.0
    if is_rate:
        share = 1 - 1 / n
    unit_weights = unit_sums(weights[:, None], units_of(patient[is_read], n))
    kish = 1 / float((unit_weights**2).sum())
    effective_n = min(float(n_units), kish)
    interval_of = partial(
        _ends, seen=by_labels, scale=statistic.ends, n=effective_n, z=z
    )
    mean_by_labels = interval_of(by_labels, share * by_readers)
    mean_by_both = interval_of(theta, share * variance)
    if statistic.may_lack and 0 in (mean_by_labels.value, mean_by_both.value):
        return replace(none, why_not="the mean is 0 and has no reciprocal")
    of_labels = statistic.of_mean(mean_by_labels)
    of_both = statistic.of_mean(mean_by_both)
    return Corrected(
        n=n,
        n_studies=n_studies,
        value=of_both.value,
        low=of_both.low,
        high=of_both.high,
        labels=replace(of_labels, n=n),
        weight=float(n_all @ lambdas) / n_studies,
        worth=_worth(n, by_readers, variance),
    )


def _too_few(n_readings: int, n_patients: int) -> str | None:
    """Return why nothing is corrected by so few readings or patients, None by enough of both."""
    if n_readings < LEAST:
        return f"too few readings: {n_readings} of at least {LEAST}"
    if n_patients < LEAST:
        return f"too few patients: {n_patients} of at least {LEAST}"
    return None


def _worth(n: int, by_readers: float, variance: float) -> float:
    """Return how many readings the judge spares: variances are of the labels alone, and of both."""
    if variance <= 0:
        return 0.0
    # By labels alone the variance falls as 1 / n.
    n_as_narrow = n * by_readers / variance
    return float(max(0.0, n_as_narrow - n))


def _inflation(n: int) -> float:
    """Return the root of n / (n - 1), which makes a variance unbiased; 1 for fewer than two."""
    if n < 2:
        return 1.0
    return math.sqrt(n / (n - 1))


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
    # As shares of the scale; without an upper end in its own units, from the lower end on.
    if high is None:
        width = 1.0
        share = max(0.0, value - low)
        seen_share = seen - low
        is_at_end = seen_share <= _AT_END
        largest = seen_share
    else:
        width = high - low
        share = min(1.0, max(0.0, (value - low) / width))
        seen_share = (seen - low) / width
        is_at_end = seen_share <= _AT_END or seen_share >= 1 - _AT_END
        largest = seen_share * (1 - seen_share)
    # The variance as a share of the largest, which is 1 / n of it for n independent studies.
    if is_at_end:
        per = 1 / n
    else:
        # It is 1/n of the largest at least, as that of a mean [`mean_interval`].
        per = max(variance / width**2 / largest, 1 / n**2)
    if high is None:
        middle = share + z**2 * per / 2
        half = z * float(np.sqrt(per * share + (z * per) ** 2 / 4))
        low_share = max(0.0, middle - half)
        high_share = middle + half
    else:
        low_share, high_share = wilson_ends(share, 1 / per, z)
    return Estimate(
        value=low + width * share,
        low=low + width * low_share,
        high=low + width * high_share,
    )
