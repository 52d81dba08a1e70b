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


def mean_interval(values: Sequence[float]) -> Mean:
    """Return the mean of `values` and mean ± 1.96 standard errors, as ReXrank prints it.

    The standard error is the sample standard deviation (n - 1) over the root of n.
    """
    n = len(values)
    if n == 0:
        return Mean(0, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Mean(1, mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = 1.96 * math.sqrt(variance / n)
    return Mean(n, mean, mean - half, mean + half)


def inverse(mean: Mean) -> Mean:
    """Return 1 / mean with its interval, as ReXrank prints 1 / FineRadScore.

    Its standard error is that of the mean divided by the mean's square (the delta method).
    Raises ZeroDivisionError for a mean of 0, which no score with an inverse can have.
    """
    if mean.mean is None:
        return mean
    value = 1 / mean.mean
    if mean.high is None:
        return Mean(mean.n, value, None, None)
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
    shrink = Z_95**2 / n
    centre = (rate + shrink / 2) / (1 + shrink)
    half = Z_95 / (1 + shrink) * math.sqrt(rate * (1 - rate) / n + shrink / (4 * n))
    # At the ends the interval touches 0 or 1 exactly; rounding must not step beyond.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return Rate(k, n, rate, low, high)
