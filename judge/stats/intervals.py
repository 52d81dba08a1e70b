"""Intervals of means and of rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""The 97.5% point of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `n` studies with its 95% interval.

    `mean` is None for no study; `low` and `high` are None for fewer than two, which have
    no standard error.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Rate:
    """`k` of `n` studies with its 95% interval; `rate`, `low` and `high` are None where n is 0."""

    k: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


Scale = tuple[float | None, float | None]
"""The least and the greatest value of a study; None where there is no such end."""


def mean_interval(values: Sequence[float], scale: Scale | None = None) -> Mean:
    """Return the mean of `values` with its 95% interval, which stays within the `scale`.

    Without a scale it is mean ± 1.96 standard errors, as ReXrank prints it; the standard
    error is the sample standard deviation (n - 1) over the root of n. With a scale from L to
    U the same is done to logit(p), p = (mean - L) / (U - L), and turned back, by the delta
    method with standard error se / ((U - L) p (1 - p)); from L without an end, to
    log(mean - L), se / (mean - L) [Agresti, Categorical Data Analysis, 3.1]. Where all
    values are alike the spread that was seen is none, which is not to say that there is
    none: n studies at one end of the scale have the Wilson interval of n out of n (without
    an upper end z²/n, that of no event in n [Wilson 1927]), and the variance is taken for
    1/n of the largest, (mean - L) (U - mean), at least. Values off the scale have no interval
    on it, and get the one without. A scale with an upper end alone is that turned round.
    """
    n = len(values)
    if n == 0:
        return Mean(0, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Mean(1, mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    low, high = scale or (None, None)
    if low is None and high is not None:  # the same, seen from the other end
        turned = mean_interval([-value for value in values], (-high, None))
        assert turned.low is not None
        assert turned.high is not None
        return Mean(n, mean, -turned.high, -turned.low)
    if low is not None and low <= min(values) and (high is None or max(values) <= high):
        return Mean(n, mean, *_within(mean, variance, n, low, high))
    half = 1.96 * math.sqrt(variance / n)
    return Mean(n, mean, mean - half, mean + half)


_ENDLESS = 100.0
"""Half an interval of a logit or log that reaches the ends of the scale as floats go."""


def _within(
    mean: float, variance: float, n: int, low: float, high: float | None
) -> tuple[float, float]:
    """Return the interval of a mean on a scale, a Wald interval of its logit or its log."""
    above = mean - low
    if high is None:
        if above <= 0:
            return low, low + Z_95**2 / n
        half = Z_95 * math.sqrt(max(variance, above / n) / n) / above
        factor = math.exp(min(half, _ENDLESS))
        return low + above / factor, low + above * factor
    width = high - low
    share = above / width
    if not 0 < share < 1:
        rate = wilson(n if share >= 1 else 0, n)
        return low + width * (rate.low or 0.0), low + width * (rate.high or 0.0)
    largest = share * (1 - share)
    half = Z_95 * math.sqrt(max(variance / width**2, largest / n) / n) / largest
    odds = share / (1 - share)
    factor = math.exp(min(half, _ENDLESS))
    return low + width / (1 + factor / odds), low + width / (1 + 1 / (factor * odds))


def inverse(mean: Mean, scale: Scale | None = None) -> Mean:
    """Return 1 / mean with its interval.

    On a `scale` above 0 its ends are 1 / those of the mean, so that it stays within the
    scale too. Without one, as ReXrank prints it, its standard error is that of the mean
    divided by the mean's square (the delta method). Raises ZeroDivisionError for a mean of 0,
    which no score with an inverse can have.
    """
    if mean.mean is None:
        return mean
    value = 1 / mean.mean
    if mean.low is None or mean.high is None:
        return Mean(mean.n, value, None, None)
    if scale is not None and (scale[0] or 0) > 0 and mean.low > 0:
        return Mean(mean.n, value, 1 / mean.high, 1 / mean.low)
    half = (mean.high - mean.mean) * value**2
    return Mean(mean.n, value, value - half, value + half)


def wilson(k: int, n: int) -> Rate:
    """Return k / n with its 95% score interval [Wilson 1927], which stays within 0 and 1.

    Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no rate")
    if n == 0:
        return Rate(0, 0, None, None, None)
    rate = k / n
    # scipy's `binomtest` gives the same, but takes half a second to import, in every run.
    shrink = Z_95**2 / n
    centre = (rate + shrink / 2) / (1 + shrink)
    half = Z_95 / (1 + shrink) * math.sqrt(rate * (1 - rate) / n + shrink / (4 * n))
    # At the ends the interval touches 0 or 1 exactly; rounding must not step beyond.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return Rate(k, n, rate, low, high)
