"""Figures of a set of studies with their intervals, by formula or by bootstrap.

A resample of the bootstrap is a weight for each unit (a patient, or a study where no patients are
known); figures are functions of weights times sums, so that a thousand resamples of 10,000 studies
are one product.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Estimate
from judge.types import Scale

Values = NDArray[np.float64]
Codes = NDArray[np.intp]
Bools = NDArray[np.bool_]

SEED = 20_260_101
"""The seed of all random numbers, where the user names none."""

RESAMPLES, FEWER_RESAMPLES, MANY_UNITS = 10_000, 1_000, 1_500
"""Bootstrap resamples, and how many for more patients or studies than `MANY_UNITS`.

Up to there 10,000 resamples of 15 models cost less than five seconds (`bench/bench_compare.py`).
"""

LEAST_UNITS = 10
"""Of fewer patients, or studies, there are too few different resamples for the ends of 95%."""

MOST_UNDEFINED = 0.01
"""The share of resamples without a figure from which on there is no interval."""

_UNDEFINED = "too many resamples have no value, since few studies differ"
_CHUNK = 2_500_000
"""How many weights there are at a time (20 MB), by resamples and units (300 at least)."""

Z_95 = 1.959963984540054
"""The 97.5% point of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How often a bootstrap resamples, and from which seed; `resamples` None is the usual number.

    The usual number is 10,000, and 1,000 for more than 1,500 patients or studies.
    """

    seed: int = SEED
    resamples: int | None = None

    def count(self, n_units: int) -> int:
        """Return the number of resamples for a set of so many patients or studies."""
        if self.resamples is not None:
            return self.resamples
        if n_units <= MANY_UNITS:
            return RESAMPLES
        return FEWER_RESAMPLES

    def of(self, n_units: int) -> Draws:
        """Return it with the number of resamples for a set of so many patients or studies."""
        return replace(self, resamples=self.count(n_units))

    @property
    def parts(self) -> tuple[str, str]:
        """Its parts of a signature."""
        return f"resamples:{self.resamples}", f"seed:{self.seed}"


USUAL_DRAWS = Draws()

ONE_PATIENT = "an interval needs 2 patients, there is 1"


def n_different(units: Codes) -> int:
    """Return how many units there are, numbered from 0, perhaps with gaps."""
    return int(np.count_nonzero(np.bincount(units)))


def clustered_error(values: Values, units: Codes) -> tuple[float, int]:
    """Return the standard error of a mean of clustered values, and the number of clusters."""
    residuals = values - values.mean()
    # Units may be numbered with gaps, and a gap is no cluster of sum 0.
    is_used = np.bincount(units) > 0
    sums = np.bincount(units, residuals)[is_used]
    m = len(sums)
    if m < 2:
        return math.nan, m
    squares = (sums**2).sum()
    error = np.sqrt(m / (m - 1) * squares) / len(values)
    return float(error), m


def mean_interval(
    values: Sequence[float] | Values,
    scale: Scale | None = None,
    units: Codes | None = None,
) -> Estimate:
    """Return the mean of `values` with its 95% interval, which stays within the `scale`.

    Without a scale it is mean ± 1.96 standard errors, as ReXrank prints it. With a scale from L to
    U the same is done to logit(p), p = (mean - L) / (U - L), and turned back, by the delta method;
    from L without an end, to log(mean - L) [Agresti, Categorical Data Analysis, 3.1]. Where all
    values are alike: n studies at one end of the scale have the Wilson interval of n out of n
    (without an upper end z²/n), and the variance is 1/n of the largest, (mean - L) (U - mean), at
    least. Where `units` (patients) have several values the error is that of their sums, and 1.96 is
    Student's t.
    """
    values = np.asarray(values, float)
    n = len(values)
    if n == 0:
        return Estimate(n=0)
    mean = math.fsum(values) / n
    m = n
    if units is not None:
        m = n_different(units)
    if m == 1:
        reason = None
        if n > 1:
            reason = ONE_PATIENT
        return Estimate(n=n, value=mean, reason=reason)
    if units is not None and m < n:
        error, _ = clustered_error(values, units)
        z = student(m - 1)
        z_unscaled = z
    else:
        error = math.sqrt(values.var(ddof=1) / n)
        z = Z_95
        # ReXrank multiplies by 1.96 and not by more digits of it.
        z_unscaled = 1.96
    low, high = scale or (None, None)
    # Values off the scale, as those of a metric with a wrong scale, have no interval on it.
    is_above_low = low is not None and low <= values.min()
    is_below_high = high is None or values.max() <= high
    if low is not None and is_above_low and is_below_high:
        low_end, high_end = _within(mean, error, n=m, low=low, high=high, z=z)
        return Estimate(n=n, value=mean, low=low_end, high=high_end)
    half = z_unscaled * error
    # Values that are all alike have no spread, but for rounding, and no interval.
    if half <= 1e-12 * abs(mean):
        return Estimate(n=n, value=mean)
    return Estimate(n=n, value=mean, low=mean - half, high=mean + half)


_ENDLESS = 100.0
"""Half an interval of a logit or log that reaches the ends of the scale as floats go."""


def _within(
    mean: float, error: float, *, n: int, low: float, high: float | None, z: float
) -> tuple[float, float]:
    """Return the ends of a mean's interval on a scale, as `mean_interval` says; `n` is of units."""
    above = mean - low
    if high is None:
        if above <= 0:
            return low, low + z**2 / n
        least_error = math.sqrt(above) / n
        log_half = z * max(error, least_error) / above
        factor = math.exp(min(log_half, _ENDLESS))
        return low + above / factor, low + above * factor
    width = high - low
    share = above / width
    if not 0 < share < 1:
        rate = 0.0
        if share >= 1:
            rate = 1.0
        low_share, high_share = wilson_ends(rate, n, z)
        return low + width * low_share, low + width * high_share
    # p (1 - p) is the largest variance on the scale, and the derivative of the logit is 1 / it.
    largest = share * (1 - share)
    least_error = math.sqrt(largest) / n
    logit_half = z * max(error / width, least_error) / largest
    odds = share / (1 - share)
    factor = math.exp(min(logit_half, _ENDLESS))
    low_end = low + width / (1 + factor / odds)
    high_end = low + width / (1 + 1 / (factor * odds))
    return low_end, high_end


def inverse(mean: Estimate, scale: Scale | None = None) -> Estimate:
    """Return 1 / mean with its interval; without a value for a mean of 0 or less.

    On a `scale` above 0 its ends are 1 / those of the mean. Without one, as ReXrank prints it,
    its standard error is that of the mean divided by the mean's square (the delta method).
    """
    if mean.value is None or mean.value <= 0:
        return Estimate(n=mean.n)
    value = 1 / mean.value
    if mean.low is None or mean.high is None:
        return Estimate(n=mean.n, value=value)
    is_above_0 = scale is not None and (scale[0] or 0) > 0
    if is_above_0 and mean.low > 0:
        # The greater the mean, the less its reciprocal: the ends change places.
        return Estimate(n=mean.n, value=value, low=1 / mean.high, high=1 / mean.low)
    half_of_mean = mean.high - mean.value
    half = half_of_mean * value**2
    return Estimate(n=mean.n, value=value, low=value - half, high=value + half)


def ratio_interval(
    numerators: Values,
    denominators: Values,
    units: Codes | None = None,
    draws: Draws = USUAL_DRAWS,
) -> Estimate:
    """Return a ratio of two sums over studies with its 95% interval: a bootstrap of studies.

    They are drawn with both of their numbers, or patients are (`units`). The order of the studies
    changes nothing. Resamples with nothing to divide by are left out up to 1%. With more of them,
    with fewer than ten units that have something to count, and where all resamples are alike, the
    interval is by a formula (`_ratio_by_formula`). Where a
    share is 0 or 1 it is Wilson's interval of the patients, or studies, that have something to
    count, so that three facts out of three are not certain to be all; the facts of one study are
    not independent. There is none for fewer than ten patients or studies in all, and where only one
    has something to count.
    """
    n_studies = len(numerators)
    # In an order of their values: sums are then the same to the last bit for any order of studies.
    order = np.lexsort((denominators, numerators))
    pairs = np.stack([numerators, denominators], axis=1)[order]
    if units is None:
        word = "studies"
        unit_of_pair = units_of(None, n_studies)
    else:
        word = "patients"
        unit_of_pair = units_of(units[order], n_studies)
    sums = unit_sums(pairs, unit_of_pair)
    n_units = len(sums)
    k = math.fsum(numerators)
    n = math.fsum(denominators)
    without_ends = Estimate(n=n_studies, numerator=k, denominator=n)
    if not n:
        return without_ends
    without_ends = replace(without_ends, value=k / n)
    if n_units < 2:
        return without_ends
    has_something = (sums != 0).any(axis=1)
    counting = sums[has_something]
    n_counting = len(counting)
    tops, unders = counting.T
    is_share = bool(((tops >= 0) & (tops <= unders)).all())
    if is_share and k in (0, n):
        low_end, high_end = wilson_ends(k / n, n_counting)
        return replace(without_ends, low=low_end, high=high_end)
    if n_units < LEAST_UNITS:
        few = f"an interval needs {LEAST_UNITS} {word}, there are {n_units}"
        return replace(without_ends, reason=few)
    if n_counting < 2:
        few = f"an interval needs 2 {word} with something to count"
        return replace(without_ends, reason=few)
    top, under = _resampled_sums(sums, draws.of(n_units)).T
    undefined = np.full(len(top), np.nan)
    drawn = np.divide(top, under, out=undefined, where=under != 0)
    # Studies with nothing to count add nothing: the percentiles are those of the others' number.
    low, high, why_not = interval(drawn, n_counting, word)
    if why_not is not None:
        low, high = _ratio_by_formula(counting, is_share=is_share)
    return replace(without_ends, low=low, high=high)


def _resampled_sums(sums: Values, draws: Draws) -> Values:
    """Return the sums of resamples of `sums`, units by columns, whatever the order of the units.

    How often each different unit is drawn is multinomial: the same as drawing one by one, and
    quicker where many are alike.
    """
    n = len(sums)
    different, counts = np.unique(sums, axis=0, return_counts=True)
    chances = counts / n
    rng = np.random.default_rng([draws.seed, n])
    resampled = []
    for size in _sizes(draws.count(n), len(different)):
        weights = rng.multinomial(n, chances, size=size)
        resampled.append(weights @ different)
    return np.concatenate(resampled)


def _ratio_by_formula(
    sums: Values, *, is_share: bool
) -> tuple[float | None, float | None]:
    """Return the 95% interval of a ratio of sums by linearisation, of the units that count.

    The variance of R = X/Y is that of the units' x - R y over Y² [Cochran 1977]. A share has its
    interval on the logit scale, and the variance of R is at least R (1 - R) / m² with m units;
    another ratio above 0 has it on the log scale. The quantile is Student's t of m - 1.
    """
    m = len(sums)
    top, under = sums.sum(axis=0).tolist()
    ratio = top / under
    x, y = sums.T
    residuals = x - ratio * y
    squares = float(residuals @ residuals)
    error = math.sqrt(m / (m - 1) * squares) / abs(under)
    t = student(m - 1)
    if is_share:
        return _within(ratio, error, n=m, low=0.0, high=1.0, z=t)
    if ratio > 0:
        log_half = t * error / ratio
        factor = math.exp(min(log_half, _ENDLESS))
        return ratio / factor, ratio * factor
    half = t * error
    return ratio - half, ratio + half


def wilson(k: int, n: int) -> Estimate:
    """Return k / n with its 95% score interval [Wilson 1927], which stays within 0 and 1."""
    if n == 0:
        return Estimate(n=0, k=0)
    # scipy's `binomtest` gives the same, but takes half a second to import, in every run.
    low, high = wilson_ends(k / n, n)
    return Estimate(n=n, value=k / n, low=low, high=high, k=k)


def wilson_ends(rate: float, n: float, z: float = Z_95) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a rate in `n` studies, which may be no whole number.

    For a clustered or stratified sample `n` is the effective sample size [Franco et al. 2019].
    """
    shrink = z**2 / n
    centre = (rate + shrink / 2) / (1 + shrink)
    variance = rate * (1 - rate) / n + shrink / (4 * n)
    half = z / (1 + shrink) * math.sqrt(variance)
    low = max(0.0, centre - half)
    high = min(1.0, centre + half)
    # At the ends the interval touches 0 or 1 exactly, which rounding would miss.
    if rate == 0:
        low = 0.0
    if rate == 1:
        high = 1.0
    return low, high


def rate_interval(
    is_yes: Bools, units: Codes | None = None, missing: str | None = None
) -> Estimate:
    """Return the share of studies with Wilson's interval, of those that they are worth.

    Where `units` (patients) have several studies n of them are worth n over the design effect, the
    clustered variance of the share over the binomial one, where that is above 1 [Rao and Scott
    1992], and z is Student's t. Where all say the same a patient counts as one study. `missing` is
    the reason where there is no study.
    """
    n = len(is_yes)
    k = int(is_yes.sum())
    estimate = wilson(k, n)
    rate = estimate.value
    if rate is None:
        return replace(estimate, reason=missing)
    if units is None:
        return estimate
    m = n_different(units)
    if m == n:
        return estimate
    effective_n = float(m)
    if 0 < rate < 1:
        if m < 2:
            return replace(estimate, low=None, high=None, reason=ONE_PATIENT)
        error, _ = clustered_error(is_yes.astype(float), units)
        design_effect = error**2 * n / (rate * (1 - rate))
        effective_n = n / max(1.0, design_effect)
    t = student(max(m - 1, 1))
    low, high = wilson_ends(rate, effective_n, t)
    return replace(estimate, low=low, high=high)


def student(freedom: int) -> float:
    """Return the 97.5% point of Student's t distribution."""
    # Takes a quarter of a second to import, in every run.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def generator(
    seed: int, purpose: str, key: Mapping[str, object]
) -> np.random.Generator:
    """Return the random numbers of one purpose and group: the same whatever else is computed."""
    name = json.dumps([purpose, dict(key)], sort_keys=True, default=str)
    digest = hashlib.sha256(name.encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    return np.random.default_rng([seed, number])


def units_of(clusters: Codes | None, n_studies: int) -> Codes:
    """Return the number of each study's unit, counted from 0 without gaps."""
    if clusters is None:
        return np.arange(n_studies)
    _, numbers = np.unique(clusters, return_inverse=True)
    return numbers.astype(np.intp)


def unit_sums(values: Values, units: Codes) -> Values:
    """Return the sums of the rows of each unit; NaN counts as 0."""
    n_units = 0
    if len(units):
        n_units = int(units.max()) + 1
    total = np.zeros((n_units, *values.shape[1:]))
    np.add.at(total, units, np.nan_to_num(values))
    return total


def bootstrap_weights(
    rng: np.random.Generator, n: int, resamples: int
) -> Iterator[Values]:
    """Yield arrays of resamples by `n` units: how often each unit was drawn, with replacement."""
    for size in _sizes(resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        # A unit of each resample has a number of its own, so that all are counted at once.
        drawn += np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n)
        yield counts.reshape(size, n).astype(float)


def sign_flips(rng: np.random.Generator, n: int, flips: int) -> Iterator[Values]:
    """Yield arrays of flips by `n` units: 1 or -1, each with probability one half."""
    for size in _sizes(flips, n):
        n_signs = size * n
        packed = np.frombuffer(rng.bytes((n_signs + 7) // 8), dtype=np.uint8)
        bits = np.unpackbits(packed, count=n_signs).reshape(size, n)
        yield bits.astype(float) * 2 - 1


def _sizes(total: int, n: int) -> Iterator[int]:
    at_once = max(1, _CHUNK // max(n, 300))
    for start in range(0, total, at_once):
        yield min(at_once, total - start)


def tail(n_units: int) -> float:
    """Return the share of resamples beyond each end of a 95% interval, by the number of units.

    A percentile interval of few units is too narrow, by the root of n / (n - 1) and as Student's t
    is wider than the normal distribution; further percentiles mend both [Hesterberg 2015]. With
    thousands of units it is 2.5%.
    """
    from scipy.special import ndtr

    freedom = n_units - 1
    narrowed = math.sqrt(n_units / freedom)
    return float(ndtr(-narrowed * student(freedom)))


def interval(
    draws: Values,
    n_units: int,
    unit_words: str = "studies",
    most: float = MOST_UNDEFINED,
) -> tuple[float | None, float | None, str | None]:
    """Return the ends of the 95% interval by one figure a resample, or else why there are none.

    There is none of fewer than `LEAST_UNITS` units, where more than a share of `most` of the
    resamples have no figure, and where all have the same: a sample without spread does not prove
    that there is none.
    """
    if n_units < LEAST_UNITS:
        few = f"an interval needs {LEAST_UNITS} {unit_words}, there are {n_units}"
        return None, None, few
    known = draws[np.isfinite(draws)]
    if len(known) < (1 - most) * len(draws):
        return None, None, _UNDEFINED
    share = tail(n_units)
    low, high = np.quantile(known, (share, 1 - share)).tolist()
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        return None, None, "all resamples have the same value, which is no interval"
    return low, high, None


def bootstrap_estimate(
    sums: Values,
    figure: Callable[[Values], Values],
    n: int,
    *,
    missing: str | None = None,
    unit_words: str = "studies",
    draws: Draws = USUAL_DRAWS,
) -> Estimate:
    """Return a figure of `sums`, units by columns, of `n` studies, with its interval.

    `figure` is computed of sums with their columns last, in each resample of units; the order of
    the units changes nothing. `missing` is the reason where there is none.
    """
    total = sums.sum(axis=0)
    value = float(figure(total[None])[0])
    if math.isnan(value):
        return Estimate(n=n, reason=missing)
    drawn = np.empty(0)
    if len(sums):
        drawn = figure(_resampled_sums(sums, draws))
    low, high, reason = interval(drawn, len(sums), unit_words)
    return Estimate(n=n, value=value, low=low, high=high, reason=reason)


@dataclass(frozen=True)
class Resamples:
    """Weights of patients, the same for every quantity that is made of these studies.

    `units` has the number of each study's patient; without patients each study is one. `weights` is
    resamples by units, 1 everywhere in the first row, which is the studies as they are.
    """

    units: Codes
    weights: Values
    has_patients: bool

    def estimate(self, figures: Values, known: Bools) -> Estimate:
        """Return the first of `figures`, one a resample, with its interval or why it has none."""
        n_units = len(np.unique(self.units[known]))
        words = "studies"
        if self.has_patients:
            words = "patients"
        observed, drawn = figures[0], figures[1:]
        low, high, reason = interval(drawn, n_units, words)
        return Estimate(
            n=int(known.sum()),
            value=float(observed),
            low=low,
            high=high,
            n_undefined=int((~known).sum()),
            reason=reason,
        )

    def sums(self, values: Values) -> Values:
        """Return the sum over each resample of `values`, studies by columns; NaN counts as 0."""
        return self.weights @ unit_sums(values, self.units)


def draw_resamples(
    clusters: Codes | None,
    n_studies: int,
    rng: np.random.Generator,
    resamples: int | None = None,
) -> Resamples:
    """Draw patients, or studies where `clusters` is None, with replacement.

    Give no studies that none of the readers has: they would be drawn too. A thousand resamples, the
    usual number, of 10,000 patients take 80 MB.
    """
    units = units_of(clusters, n_studies)
    has_patients = clusters is not None
    if not n_studies:
        return Resamples(units, np.ones((1, 0)), has_patients=has_patients)
    n_units = int(units.max()) + 1
    n_resamples = resamples or FEWER_RESAMPLES
    draws = bootstrap_weights(rng, n_units, n_resamples)
    weights = np.concatenate([np.ones((1, n_units)), *draws])
    return Resamples(units, weights, has_patients=has_patients)
