"""Control limits against sums of binomial probabilities, and how often they alarm for nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, poisson

from judge.stats.control_limits import (
    TAIL,
    count_limits,
    dispersion_of,
    share_limits,
)


def mid_p(k: int, n: int, k_period: int, n_period: int) -> tuple[float, float]:
    """The one-sided mid-p values of Fisher's test, below and above, by their definition."""
    total, events = n + n_period, k + k_period

    def probability(count: int) -> float:
        ways = math.comb(n_period, count) * math.comb(n, events - count)
        return ways / math.comb(total, events)

    possible = range(max(0, events - n), min(n_period, events) + 1)
    here = probability(k_period) / 2
    below = here + sum(probability(count) for count in possible if count < k_period)
    above = here + sum(probability(count) for count in possible if count > k_period)
    return below, above


@pytest.mark.parametrize(
    ("k", "n", "n_period"), [(8, 160, 20), (0, 60, 15), (40, 40, 10), (30, 90, 33)]
)
def test_the_limits_of_a_share_are_the_last_that_the_test_does_not_refuse(
    k: int, n: int, n_period: int
) -> None:
    limits = share_limits(k, n, n_period)
    calm = []
    for count in range(n_period + 1):
        below, above = mid_p(k, n, count, n_period)
        is_signal = (below <= TAIL and count < n_period * k / n) or (
            above <= TAIL and count > n_period * k / n
        )
        if not is_signal:
            calm.append(count)
    assert (limits.low, limits.high) == (calm[0] / n_period, calm[-1] / n_period)


@pytest.mark.parametrize(
    ("k", "n", "n_period"), [(80, 160, 20), (0, 160, 20), (500, 400, 90)]
)
def test_the_limits_of_counts_are_those_of_two_poisson_counts_given_their_sum(
    k: int, n: int, n_period: int
) -> None:
    limits = count_limits(k, n, n_period)
    share = n_period / (n + n_period)
    calm = [
        count
        for count in range(10 * n_period)
        if binom.sf(count - 1, k + count, share) > TAIL
        and binom.cdf(count, k + count, share) > TAIL
    ]
    assert (limits.low, limits.high) == (calm[0] / n_period, calm[-1] / n_period)


def test_counts_that_vary_more_have_wider_limits() -> None:
    narrow, wide = count_limits(400, 400, 50), count_limits(400, 400, 50, 2.0)
    assert wide.low < narrow.low
    assert narrow.high < wide.high
    assert dispersion_of(np.array([0.0, 4.0])) == 4.0
    assert dispersion_of(np.array([1.0, 1.0])) == 1.0
    assert dispersion_of(np.zeros(5)) == dispersion_of(np.ones(1)) == 1.0


def test_a_chart_without_studies_has_no_limits() -> None:
    for limits in (share_limits, count_limits):
        with pytest.raises(ValueError, match="studies"):
            limits(0, 0, 5)
        with pytest.raises(ValueError, match="studies"):
            limits(0, 5, 0)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_nothing_alarms_more_often_than_is_said(rate: float) -> None:
    """Exactly, over all baselines of eight weeks of ten studies."""
    n_week, n = 10, 80
    high = low = 0.0
    for k, weight in enumerate(binom.pmf(range(n + 1), n, rate)):
        if weight < 1e-9:
            continue
        limits = share_limits(k, n, n_week)
        high += weight * binom.sf(round(limits.high * n_week), n_week, rate)
        low += weight * binom.cdf(round(limits.low * n_week) - 1, n_week, rate)
    assert high <= TAIL
    assert low <= TAIL


def test_counts_alarm_no_more_often_than_is_said_and_see_a_change() -> None:
    rate, n_week, n = 0.5, 20, 160
    false = found = 0.0
    mean = rate * n
    for k in range(int(mean) - 45, int(mean) + 50):
        weight = poisson.pmf(k, mean)
        last = round(count_limits(k, n, n_week).high * n_week)
        false += weight * poisson.sf(last, rate * n_week)
        found += weight * poisson.sf(last, 3 * rate * n_week)
    assert 0.0002 < false <= TAIL
    assert found > 0.9
