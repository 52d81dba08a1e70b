"""Intervals that a claim of "no worse by more than a margin" rests on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from panels import COST, INVERSE, RATE, SCORE, metric_of, panel_of
from scipy.optimize import minimize_scalar

from judge.stats.intervals import Draws
from judge.stats.metric import Metric
from judge.stats.non_inferiority import difference_interval, studentised, tango
from judge.stats.statistic import Ratio

FEW = Draws(seed=1, resamples=2_000)
RATIO = metric_of(Ratio, "ratio", "recall")


def score(n: int, b: int, c: int, difference: float) -> float:
    """Tango's statistic, with the likeliest shares found by a search."""

    def loss(only_second: float) -> float:
        only_first = only_second + difference
        same = 1 - only_first - only_second
        parts = ((b, only_first), (c, only_second), (n - b - c, same))
        if any(share < 0 for _, share in parts):
            return math.inf
        return -sum(k * math.log(max(share, 1e-300)) for k, share in parts if k)

    least, most = max(0.0, -difference), (1 - difference) / 2
    found = minimize_scalar(
        loss, (least, most), (least, most), method="bounded", options={"xatol": 1e-12}
    ).x
    variance = 2 * found + difference - difference**2
    return (b - c - n * difference) / math.sqrt(n * variance)


@pytest.mark.parametrize(
    ("n", "b", "c"), [(50, 3, 8), (100, 10, 5), (200, 40, 41), (60, 0, 6), (60, 7, 0)]
)
def test_tangos_interval_has_the_differences_that_his_test_does_not_reject(
    n: int, b: int, c: int
) -> None:
    low, high = tango(n, b, c)
    assert low < (b - c) / n < high
    assert score(n, b, c, low) == pytest.approx(1.959964, abs=2e-3)
    assert score(n, b, c, high) == pytest.approx(-1.959964, abs=2e-3)
    assert tango(n, c, b) == pytest.approx((-high, -low))


def test_without_a_difference_it_is_z_squared_over_n_and_z_squared() -> None:
    """With no discordant pair: ± 3.84 / (n + 3.84) [Tango 1998]."""
    end = 3.841459 / (50 + 3.841459)
    assert tango(50, 0, 0) == pytest.approx((-end, end), abs=1e-6)
    low, high = tango(30, 30, 0)
    assert 0.7 < low < high == 1
    low, high = tango(30, 0, 30)
    assert -1 == low < high < -0.7


def two(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.integers(1, 5, n).astype(float)
    return first, np.clip(first + rng.integers(-1, 2, n), 1, 4)


@pytest.mark.parametrize("metric", [SCORE, INVERSE, COST])
def test_of_many_studies_it_is_that_of_the_normal_distribution(metric: Metric) -> None:
    first, second = two(1200)
    found = difference_interval(
        panel_of({metric: np.column_stack([first, second])}), metric, FEW
    )
    changes = first - second
    value = changes.mean()
    if metric is INVERSE:
        value = 1 / first.mean() - 1 / second.mean()
        changes = -first / first.mean() ** 2 + second / second.mean() ** 2
    half = 1.96 * changes.std(ddof=1) / np.sqrt(len(first))
    assert (found.low, found.high) == pytest.approx(
        (value - half, value + half), abs=0.15 * half
    )


def test_a_ratio_and_patients() -> None:
    rng = np.random.default_rng(2)
    of = rng.integers(1, 4, (300, 2)).astype(float)
    right = rng.binomial(of.astype(int), 0.8).astype(float)
    panel = panel_of({RATIO: right})
    panel = type(panel)(**{**vars(panel), "per": {"ratio": of}})
    found = difference_interval(panel, RATIO, FEW)
    value = right[:, 0].sum() / of[:, 0].sum() - right[:, 1].sum() / of[:, 1].sum()
    assert found.low < value < found.high
    # A rate of patients with several studies is no paired proportion of studies.
    values = np.repeat((rng.random((60, 2)) < 0.7).astype(float), 4, axis=0)
    by_patient, by_study = (
        difference_interval(panel_of({RATE: values}, clusters), RATE, FEW)
        for clusters in (np.repeat(np.arange(60), 4), None)
    )
    assert by_patient.high - by_patient.low > 1.7 * (by_study.high - by_study.low)


def test_there_is_none_of_few_studies_and_where_few_differ() -> None:
    def reason(first: Any, second: Any, metric: Metric = SCORE) -> str:
        panel = panel_of({metric: np.column_stack([first, second])})
        found = difference_interval(panel, metric, FEW)
        assert found.low is found.high is None
        return found.reason

    assert reason(*two(49)) == "it needs 50 studies scored in both runs, there are 49"
    assert reason(np.ones(80), np.ones(80)) == "no study differs, which is no interval"
    one = np.ones(80)
    one[0] = 0.5
    assert reason(one, np.ones(80)) == "too few studies differ for an interval"
    few_patients = panel_of({RATE: np.ones((90, 2))}, np.arange(90) // 3)
    assert "there are 30" in difference_interval(few_patients, RATE, FEW).reason


def test_order_changes_nothing_and_the_seed_does() -> None:
    sums = np.column_stack([two(80)[0], np.ones(80), two(80)[1], np.ones(80)])
    order = np.random.default_rng(0).permutation(80)
    mean = SCORE.statistic
    found = studentised(sums, mean, FEW)
    assert found == studentised(sums[order], mean, FEW)
    assert found != studentised(sums, mean, Draws(2, 2_000))


def test_a_run_that_is_worse_by_the_margin_passes_in_a_fortieth() -> None:
    """Skewed losses: nominal are 2.5%; 400 draws of 60 studies. The bench has more."""
    rng = np.random.default_rng(8)
    passed = 0
    for _ in range(400):
        losses = -rng.poisson(rng.gamma(0.6, 2.0, 60)).astype(float)
        sums = np.column_stack([losses, np.ones(60), np.zeros(60), np.ones(60)])
        found = studentised(sums, SCORE.statistic, Draws(3, 500))
        passed += found.low is not None and found.low > -1.2
    assert passed <= 24
