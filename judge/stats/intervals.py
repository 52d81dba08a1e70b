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
        return RESAMPLES if n_units <= MANY_UNITS else FEWER_RESAMPLES

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
    sums = np.bincount(units, values - values.mean())[np.bincount(units) > 0]
    m = len(sums)
    if m < 2:
        return math.nan, m
    return float(np.sqrt(m / (m - 1) * (sums**2).sum()) / len(values)), m


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
    m = n if units is None else n_different(units)
    if m == 1:
        return Estimate(n=n, value=mean, reason=ONE_PATIENT if n > 1 else None)
    error, z = math.sqrt(values.var(ddof=1) / n), Z_95
    if units is not None and m < n:
        error, z = clustered_error(values, units)[0], student(m - 1)
    low, high = scale or (None, None)
    if (
        low is not None
        and low <= values.min()
        and (high is None or values.max() <= high)
    ):
        ends = _within(mean, error, n=m, low=low, high=high, z=z)
        return Estimate(n=n, value=mean, low=ends[0], high=ends[1])
    half = (1.96 if m == n else z) * error
    if half <= 1e-12 * abs(mean):
        return Estimate(n=n, value=mean)
    return Estimate(n=n, value=mean, low=mean - half, high=mean + half)


_ENDLESS = 100.0
"""Half an interval of a logit or log that reaches the ends of the scale as floats go."""


def _within(
    mean: float, error: float, *, n: int, low: float, high: float | None, z: float
) -> tuple[float, float]:
    above = mean - low
    if high is None:
        if above <= 0:
            return low, low + z**2 / n
        half = z * max(error, math.sqrt(above) / n) / above
        factor = math.exp(min(half, _ENDLESS))
        return low + above / factor, low + above * factor
    width = high - low
    share = above / width
    if not 0 < share < 1:
        ends = wilson_ends(1.0 if share >= 1 else 0.0, n, z)
        return low + width * ends[0], low + width * ends[1]
    largest = share * (1 - share)
    half = z * max(error / width, math.sqrt(largest) / n) / largest
    odds = share / (1 - share)
    factor = math.exp(min(half, _ENDLESS))
    return low + width / (1 + factor / odds), low + width / (1 + 1 / (factor * odds))


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
    if scale is not None and (scale[0] or 0) > 0 and mean.low > 0:
        return Estimate(n=mean.n, value=value, low=1 / mean.high, high=1 / mean.low)
    half = (mean.high - mean.value) * value**2
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
    word = "studies" if units is None else "patients"
    # In an order of their values: sums are then the same to the last bit for any order of studies.
    order = np.lexsort((denominators, numerators))
    pairs = np.stack([numerators, denominators], axis=1)[order]
    sums = unit_sums(
        pairs, units_of(None if units is None else units[order], n_studies)
    )
    k, n = math.fsum(numerators), math.fsum(denominators)
    none = Estimate(n=n_studies, numerator=k, denominator=n)
    if not n:
        return none
    none = replace(none, value=k / n)
    if len(sums) < 2:
        return none
    counting = sums[(sums != 0).any(axis=1)]
    is_share = bool(((counting[:, 0] >= 0) & (counting[:, 0] <= counting[:, 1])).all())
    if is_share and k in (0, n):
        low_end, high_end = wilson_ends(k / n, len(counting))
        return replace(none, low=low_end, high=high_end)
    if len(sums) < LEAST_UNITS:
        few = f"an interval needs {LEAST_UNITS} {word}, there are {len(sums)}"
        return replace(none, reason=few)
    if len(counting) < 2:
        return replace(
            none, reason=f"an interval needs 2 {word} with something to count"
        )
    top, under = _resampled_sums(sums, draws.of(len(sums))).T
    drawn = np.divide(top, under, out=np.full(len(top), np.nan), where=under != 0)
    # Studies with nothing to count add nothing: the percentiles are those of the others' number.
    low, high, why_not = interval(drawn, len(counting), word)
    if why_not is not None:
        low, high = _ratio_by_formula(counting, is_share=is_share)
    return replace(none, low=low, high=high)


def _resampled_sums(sums: Values, draws: Draws) -> Values:
    """Return the sums of resamples of `sums`, units by columns, whatever the order of the units.

    How often each different unit is drawn is multinomial: the same as drawing one by one, and
    quicker where many are alike.
    """
    different, counts = np.unique(sums, axis=0, return_counts=True)
    rng = np.random.default_rng([draws.seed, len(sums)])
    resamples = draws.count(len(sums))
    return np.concatenate(
        [
            rng.multinomial(len(sums), counts / len(sums), size=size) @ different
            for size in _sizes(resamples, len(different))
        ]
    )


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
    apart = sums[:, 0] - ratio * sums[:, 1]
    error = math.sqrt(m / (m - 1) * float(apart @ apart)) / abs(under)
    t = student(m - 1)
    if is_share:
        return _within(ratio, error, n=m, low=0.0, high=1.0, z=t)
    if ratio > 0:
        factor = math.exp(min(t * error / ratio, _ENDLESS))
        return ratio / factor, ratio * factor
    return ratio - t * error, ratio + t * error


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
    half = z / (1 + shrink) * math.sqrt(rate * (1 - rate) / n + shrink / (4 * n))
    # At the ends the interval touches 0 or 1 exactly; rounding must not step beyond.
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
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
    rate = wilson(int(is_yes.sum()), n)
    if rate.value is None:
        return replace(rate, reason=missing)
    m = n if units is None else n_different(units)
    if units is None or m == n:
        return rate
    worth = float(m)
    if 0 < rate.value < 1:
        if m < 2:
            return replace(rate, low=None, high=None, reason=ONE_PATIENT)
        error, _ = clustered_error(is_yes.astype(float), units)
        worth = n / max(1.0, error**2 * n / (rate.value * (1 - rate.value)))
    low, high = wilson_ends(rate.value, worth, student(max(m - 1, 1)))
    return replace(rate, low=low, high=high)


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
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def units_of(clusters: Codes | None, n_studies: int) -> Codes:
    """Return the number of each study's unit, counted from 0 without gaps."""
    if clusters is None:
        return np.arange(n_studies)
    return np.unique(clusters, return_inverse=True)[1].astype(np.intp)


def unit_sums(values: Values, units: Codes) -> Values:
    """Return the sums of the rows of each unit; NaN counts as 0."""
    total = np.zeros((int(units.max()) + 1 if len(units) else 0, *values.shape[1:]))
    np.add.at(total, units, np.nan_to_num(values))
    return total


def bootstrap_weights(
    rng: np.random.Generator, n: int, resamples: int
) -> Iterator[Values]:
    """Yield arrays of resamples by `n` units: how often each unit was drawn, with replacement."""
    for size in _sizes(resamples, n):
        units = rng.integers(0, n, size=(size, n))
        units += np.arange(size)[:, None] * n
        yield (
            np.bincount(units.ravel(), minlength=size * n)
            .reshape(size, n)
            .astype(float)
        )


def sign_flips(rng: np.random.Generator, n: int, flips: int) -> Iterator[Values]:
    """Yield arrays of flips by `n` units: 1 or -1, each with probability one half."""
    for size in _sizes(flips, n):
        bits = np.frombuffer(rng.bytes((size * n + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(bits, count=size * n).reshape(size, n).astype(float) * 2 - 1


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

    return float(ndtr(-math.sqrt(n_units / (n_units - 1)) * student(n_units - 1)))


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
        return (
            None,
            None,
            f"an interval needs {LEAST_UNITS} {unit_words}, there are {n_units}",
        )
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
    value = float(figure(sums.sum(axis=0)[None])[0])
    if math.isnan(value):
        return Estimate(n=n, reason=missing)
    drawn = figure(_resampled_sums(sums, draws)) if len(sums) else np.empty(0)
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
        words = "patients" if self.has_patients else "studies"
        low, high, reason = interval(figures[1:], n_units, words)
        n, n_undefined = int(known.sum()), int((~known).sum())
        return Estimate(
            n=n,
            value=float(figures[0]),
            low=low,
            high=high,
            n_undefined=n_undefined,
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
    n_units = int(units.max()) + 1 if n_studies else 0
    draws = (
        bootstrap_weights(rng, n_units, resamples or FEWER_RESAMPLES) if n_units else ()
    )
    weights = np.concatenate([np.ones((1, n_units)), *draws])
    return Resamples(units, weights, has_patients=clusters is not None)
