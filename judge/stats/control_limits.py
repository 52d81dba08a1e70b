"""Control limits: between which figures a period's point says nothing new about a baseline.

A point beyond a limit has a probability of at most about 0.00135 on each side if nothing has
changed, that of three standard errors in Shewhart's charts [Shewhart 1931]. A period has its own
number of studies, so it has its own limits. Both kinds take the baseline as the sample that it is,
so that limits of a short baseline are wide. `bench/bench_monitor.py` measures how often they err.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import Values

TAIL = 0.00135
"""The probability of a point beyond one limit if nothing has changed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The smallest and the largest figure of a period that is no signal; both may occur."""

    low: float
    high: float


def share_limits(k: int, n: int, n_period: int) -> Limits:
    """Return the limits of the share of a period's `n_period` studies.

    `k` of `n` studies of the baseline count. A share is a signal where Fisher's exact test of both
    samples, one-sided and with the mid-p value, is at `TAIL` or below. Wilson's intervals in its
    place would signal up to four times as often where rates are near 0 or 1. Raises ValueError
    where either has no study.
    """
    _check_sizes(n, n_period)
    # Takes a moment to import, which only charts need.
    from scipy.stats import hypergeom

    def is_high(count: int) -> bool:
        of_both = (n + n_period, k + count, n_period)
        more = hypergeom.sf(count, *of_both)
        return bool(more + hypergeom.pmf(count, *of_both) / 2 <= TAIL)

    def is_low(count: int) -> bool:
        of_both = (n + n_period, k + count, n_period)
        at_most = hypergeom.cdf(count, *of_both)
        return bool(at_most - hypergeom.pmf(count, *of_both) / 2 <= TAIL)

    counts = _counts_between(is_low, is_high, n_period * k / n, n_period)
    return Limits(counts[0] / n_period, counts[1] / n_period)


def count_limits(k: int, n: int, n_period: int, dispersion: float = 1.0) -> Limits:
    """Return the limits of the number per study of a period's `n_period` studies.

    The baseline has `k` in `n` studies. Of two Poisson counts with one rate the period's is
    binomial, given their sum, which makes the test exact [Przyborowski and Wilenski 1940]. Counts
    that vary more than Poisson's are divided by their `dispersion` (`dispersion_of`). Raises
    ValueError where either has no study.
    """
    _check_sizes(n, n_period)
    from scipy.special import betainc

    share = n_period / (n + n_period)
    of_baseline = k / dispersion

    def is_high(count: int) -> bool:
        if count == 0:
            return False
        return bool(betainc(count / dispersion, of_baseline + 1, share) <= TAIL)

    def is_low(count: int) -> bool:
        if k == 0:
            return False
        at_most = 1 - betainc(count / dispersion + 1, of_baseline, share)
        return bool(at_most <= TAIL)

    expected = n_period * k / n
    most = 16
    while not is_high(math.ceil(expected) + most):
        most *= 2
    counts = _counts_between(is_low, is_high, expected, math.ceil(expected) + most)
    return Limits(counts[0] / n_period, counts[1] / n_period)


def dispersion_of(counts: Values) -> float:
    """Return the variance of the studies' counts over their mean, at least 1.

    It is 1 for a Poisson distribution, for fewer than two studies, and where all counts are 0.
    """
    if len(counts) < 2:
        return 1.0
    mean = float(np.mean(counts))
    if mean == 0:
        return 1.0
    return max(1.0, float(np.var(counts, ddof=1)) / mean)


def _check_sizes(n: int, n_period: int) -> None:
    if n < 1 or n_period < 1:
        raise ValueError("limits need studies in the baseline and in the period")


def _counts_between(
    is_low: Callable[[int], bool],
    is_high: Callable[[int], bool],
    expected: float,
    most: int,
) -> tuple[int, int]:
    """Return the smallest and the largest count from 0 to `most` that is neither low nor high."""
    middle = round(expected)
    smallest = bisect_left(range(middle), x=True, key=lambda count: not is_low(count))
    above = range(middle, most + 1)
    largest = middle + bisect_left(above, x=True, key=is_high) - 1
    return smallest, max(largest, middle)
