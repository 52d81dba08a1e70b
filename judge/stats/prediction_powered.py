"""A rate or a mean with the judge's bias taken out, from studies drawn at random that readers read.

Prediction-powered inference [Angelopoulos et al. 2023] with power tuning [Angelopoulos, Duchi and
Zrnic 2023], stratified as the sample is [Fisch et al. 2024]. Nothing is assumed of the judge.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judge.rubrics.contract import Scale, Statistic
from judge.stats.bootstrap import Bools, units_of
from judge.stats.intervals import Z_95, Codes, Estimate, Values, inverse, student, wilson_ends

LEAST = 10
"""Readings, and patients, below which nothing is corrected."""
_UNSEEN = Z_95**2
"""Readings that an interval counts besides those there are: see `corrected`."""


@dataclass(frozen=True, slots=True)
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
    statistic: Statistic,
    strata: Codes | None = None,
    patients: Codes | None = None,
    *,
    is_even: bool = False,
) -> Corrected:
    """Return a mean or a rate of the studies that the judge scored, without the judge's bias.

    Args:
        judge: A value for each study.
        readers: The readers' (mean) value of those that were read, NaN elsewhere.
        statistic: What is corrected; of a rate the values are the shares that count.
        strata: Within each of these the read are drawn at random.
        patients: Studies of a patient are summed before they are squared.
        is_even: All were drawn with the same probability: a stratum without a reading is no reason
            against a figure.

    Of N unread and n read studies, f the judge's value and y the readers', theta = lambda mean(f,
    unread) + mean(y - lambda f, read) and lambda = Cov(y, f) / ((1 + n/N) Var(f)), within 0 and 1;
    the variance is lambda² Var(f, unread) / N + Var(y - lambda f, read) / n, in each stratum, plus
    that of the strata's shares. The slope of readers on judge is one for all strata. A variance of
    residuals says little where the judge has been wrong in few readings or none. So the interval,
    never the figure, counts z² = 3.84 more readings of which the judge knew nothing. It is a score
    interval, as Wilson's for a rate; at lambda 0 it is that of the labels.
    """
    scored = ~np.isnan(judge)
    f, y = judge[scored], readers[scored]
    no_strata = np.zeros(len(f), np.intp)
    strata = no_strata if strata is None else units_of(strata[scored], len(f))
    patients = None if patients is None else units_of(patients[scored], len(f))
    read = ~np.isnan(y)
    n = int(read.sum())
    none = Corrected(n, len(f))
    n_units = n if patients is None else len(np.unique(patients[read]))
    for what, many in (("readings", n), ("patients", n_units)):
        if many < LEAST:
            return replace(none, why_not=f"too few {what}: {many} of at least {LEAST}")
    n_read = np.bincount(strata[read], minlength=strata.max() + 1)
    if not n_read.all():
        if not is_even:
            without = int((n_read == 0)[strata].sum())
            return replace(none, why_not=f"no reading of a stratum of {without} studies")
        strata = no_strata
    parts = _Parts(f, y, strata, patients)
    labels, both = parts.labels(), parts.both()
    is_rate = statistic.kind == "rate"
    scale: Scale = (0, 1) if is_rate else statistic.scale
    # The variance of a rate is known from the rate; where its units are not studies it is not.
    z = Z_95 if is_rate and n_units == n else student(n_units - 1)
    share = 1 - 1 / n if is_rate else 1.0
    of_labels, of_both = (
        Estimate(n, *_ends(value, variance * share, labels[0], scale, n_units, z))
        for value, variance in (labels, both)
    )
    if statistic.is_reciprocal:
        if 0 in (of_labels.value, of_both.value):
            return replace(none, why_not="the mean is 0 and has no reciprocal")
        of_labels, of_both = (inverse(mean, statistic.scale) for mean in (of_labels, of_both))
    worth = max(0.0, n * labels[1] / both[1] - n) if both[1] > 0 else 0.0
    figures = (of_both.value, of_both.low, of_both.high, of_labels)
    return Corrected(n, len(f), *figures, float((parts.share * parts.weight).sum()), worth)


class _Parts:
    """The sums by stratum, and what each study adds to the figure."""

    def __init__(self, f: Values, y: Values, strata: Codes, patients: Codes | None) -> None:
        self.f, self.y, self.strata, self.patients = f, y, strata, patients
        self.read = ~np.isnan(y)
        self.n_all = np.bincount(strata)
        self.n_read = np.bincount(strata[self.read])
        self.n_unread = self.n_all - self.n_read
        self.share = self.n_all / len(f)
        s = strata[self.read]
        self.mean_y = self._mean(self.read, y)
        self.mean_read = self._mean(self.read, f)
        self.mean_unread = self._mean(~self.read, f)
        self.dev_y = y[self.read] - self.mean_y[s]
        self.dev_f = f[self.read] - self.mean_read[s]
        self.weight = self._weight()
        units = np.arange(len(f)) if patients is None else patients
        self._units = [self._counted(units, part) for part in (self.read, ~self.read)]

    def labels(self) -> tuple[float, float]:
        value = float(self.share @ self.mean_y)
        variance = self._variances()[0] + self._unseen(self.dev_y, self.y[self.read])
        return value, variance + self._between(self.mean_y, value)

    def both(self) -> tuple[float, float]:
        gap = np.where(self.n_unread > 0, self.mean_unread - self.mean_read, 0.0)
        means = self.mean_y + self.weight * gap
        value = float(self.share @ means)
        by_readers, covariance, by_judge = self._variances()
        if covariance < 0:
            n = 1 / float((self.share**2 / self._units[0]).sum())  # what the readings count for
            covariance *= n / (n + _UNSEEN)
        weight = self.weight[self.strata[self.read]]
        rest = self.y[self.read] - weight * self.f[self.read]
        variance = by_readers + 2 * covariance + by_judge
        variance += self._unseen(self.dev_y - weight * self.dev_f, rest)
        return value, variance + self._between(means, value)

    def _mean(self, which: Bools, values: Values) -> Values:
        size = len(self.n_all)
        n = np.bincount(self.strata[which], minlength=size)
        total = np.bincount(self.strata[which], values[which], minlength=size)
        return total / np.maximum(n, 1)

    def _weight(self) -> Values:
        if np.ptp(self.y[self.read]) == 0 or np.ptp(self.f) == 0:
            return np.zeros(len(self.n_all))
        several = self.n_read > 1
        size, s = len(self.n_all), self.strata[self.read]
        covariance = np.bincount(s, self.dev_y * self.dev_f, minlength=size) / self.n_read
        means = np.bincount(self.strata, self.f) / np.maximum(self.n_all, 1)
        squares = (self.f - means[self.strata]) ** 2
        variance = np.bincount(self.strata, squares) / np.maximum(self.n_all - 1, 1)
        left = self.n_unread / self.n_all
        counts = (self.share**2 * left / self.n_read)[several]
        under = float(counts @ variance[several])
        # What is left of differences of equal numbers is no spread.
        if under <= 1e-12 * float(counts @ np.full(several.sum(), np.var(self.f))):
            return np.zeros(size)
        slope = float(counts @ covariance[several]) / under
        return np.asarray(np.clip(slope * left, 0.0, 1.0))

    def _counted(self, units: Codes, which: Bools) -> Codes:
        size = int(units.max()) + 1
        pairs = np.unique(self.strata[which] * size + units[which])
        return np.bincount(pairs // size, minlength=len(self.n_all)).astype(np.intp)

    def _variances(self) -> tuple[float, float, float]:
        read, unread = self.strata[self.read], self.strata[~self.read]
        n_read, n_unread = self._units
        of_readers, of_judge = np.zeros((2, len(self.f)))
        per_reading = self.share / self.n_read * _inflated(n_read)
        of_readers[self.read] = per_reading[read] * self.dev_y
        of_judge[self.read] = -(per_reading * self.weight)[read] * self.dev_f
        per_reading = self.share * self.weight / np.maximum(self.n_unread, 1) * _inflated(n_unread)
        dev_unread = self.f[~self.read] - self.mean_unread[unread]
        of_judge[~self.read] = per_reading[unread] * dev_unread
        if self.patients is not None:
            of_readers, of_judge = (
                np.bincount(self.patients, part).astype(float) for part in (of_readers, of_judge)
            )
        pairs = ((of_readers, of_readers), (of_readers, of_judge), (of_judge, of_judge))
        by_readers, covariance, by_judge = (float(left @ right) for left, right in pairs)
        return by_readers, covariance, by_judge

    def _unseen(self, deviations: Values, values: Values) -> float:
        """Return what small strata may hide: a variance as if z² more of each were like all.

        Four readings that are alike do not prove a stratum to be so.
        """
        n, units = self.n_read, self._units[0]
        if len(n) == 1:
            return 0.0
        squares = np.bincount(self.strata[self.read], deviations**2, minlength=len(n))
        seen = squares / np.maximum(n - 1, 1)
        pooled = ((units - 1) * seen + _UNSEEN * np.var(values, ddof=1)) / (units - 1 + _UNSEEN)
        return float((self.share**2 / units) @ np.maximum(pooled - seen, 0.0))

    def _between(self, means: Values, value: float) -> float:
        return float(self.share @ (means - value) ** 2) / len(self.f)


def _inflated(n: Codes) -> Values:
    """Return the root of n / (n - 1), which makes a variance unbiased; 1 for fewer than two."""
    return np.asarray(np.sqrt(np.where(n > 1, n / np.maximum(n - 1, 1), 1.0)))


def _ends(
    value: float, variance: float, seen: float, scale: Scale, n: int, z: float
) -> tuple[float, float, float]:
    """Return a figure, brought onto the scale, and its interval.

    `seen` is the figure of the labels, where the variance was seen. Where they are all at an end
    of the scale they are as `n` of `n`.
    """
    low, high = scale
    if low is None:
        half = z * float(np.sqrt(variance))
        return value, value - half, value + half
    width = 1.0 if high is None else high - low
    share, seen = max(0.0, (value - low) / width), (seen - low) / width
    share = share if high is None else min(1.0, share)
    largest = seen if high is None else seen * (1 - seen)
    # The variance is 1/n of the largest at least, as that of a mean [`mean_interval`].
    per = max(variance / width**2 / largest, 1 / n**2) if largest > 0 else 1 / n
    if high is not None:
        ends = wilson_ends(share, 1 / per, z)
    else:
        middle, half = share + z**2 * per / 2, z * float(np.sqrt(per * share + (z * per) ** 2 / 4))
        ends = max(0.0, middle - half), middle + half
    return low + width * share, low + width * ends[0], low + width * ends[1]
