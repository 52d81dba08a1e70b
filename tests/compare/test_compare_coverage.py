"""Intervals cover what they should, on studies whose truth is known.

n are the sizes of ReXrank's test sets. Bounds are 95% give or take 3.5 standard errors of
the simulation.
"""

from __future__ import annotations

import numpy as np
import pytest
from panels import INVERSE, RATE, SCORE, panel_of

from judge.stats.paired import PairTest, Resampling, compare_pairs

pytestmark = pytest.mark.ci

SEVERITIES = (0.30, 0.25, 0.25, 0.20)
MEAN = sum(p * s for p, s in zip(SEVERITIES, (1, 2, 3, 4), strict=True))
WORSE = 0.1
WORSE_MEAN = (1 - WORSE) * MEAN + WORSE * 4
DIFFERENCES = {
    "rate": (SEVERITIES[0] + SEVERITIES[1]) * WORSE,
    "score": MEAN - WORSE_MEAN,
    "inverse": 1 / MEAN - 1 / WORSE_MEAN,
}


def bounds(n: int) -> tuple[float, float]:
    half = 3.5 * np.sqrt(0.95 * 0.05 / n)
    return 0.95 - half, 0.95 + half


def simulated(rng: np.random.Generator, n: int, m: int):
    """Severities of m models; a study that is hard is hard for all. Odd models are worse."""
    hard = rng.random((n, 1))
    mixed = np.where(rng.random((n, m)) < 0.5, hard, rng.random((n, m)))
    found = 1 + (mixed[:, :, None] > np.cumsum(SEVERITIES)[:3]).sum(axis=2)
    is_worse = (rng.random((n, m)) < WORSE) & (np.arange(m) % 2 == 1)
    values = np.where(is_worse, 4, found).astype(float)
    return panel_of({RATE: (values <= 2).astype(float), SCORE: values, INVERSE: values})


def neighbours(panel, seed: int, metric: str) -> list[PairTest]:
    """The tests of models 0 and 1, 2 and 3, ...: no model is in two of them."""
    tests = compare_pairs(panel, {}, Resampling(seed, 400, 1000)).pairs[metric]
    return [test for test in tests if test.a % 2 == 0 and test.b == test.a + 1]


@pytest.mark.parametrize("n", [62, 590, 2347])
def test_intervals_of_a_difference(n: int) -> None:
    panels = [simulated(np.random.default_rng([n, seed]), n, 40) for seed in range(15)]
    low, high = bounds(15 * 20)
    for name, truth in DIFFERENCES.items():
        tests = [test for at, panel in enumerate(panels) for test in neighbours(panel, at, name)]
        assert low < np.mean([test.low <= truth <= test.high for test in tests]) < high, name


def test_intervals_hold_where_patients_have_several_studies() -> None:
    n, m, runs = 600, 40, 10
    hits = {"by patient": 0, "by study": 0}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        # What is odd about a patient shows in each of the five studies, in every model anew.
        odd = np.repeat(rng.normal(size=(n // 5, m)), 5, axis=0)
        values = odd + 0.5 * rng.normal(size=(n, m))
        for name, clusters in (("by patient", np.repeat(np.arange(n // 5), 5)), ("by study", None)):
            panel = panel_of({SCORE: values}, clusters)
            tests = neighbours(panel, seed, "score")
            hits[name] += sum(test.low <= 0 <= test.high for test in tests)
    low, high = bounds(runs * m // 2)
    assert low < hits["by patient"] / (runs * m // 2) < high
    assert hits["by study"] / (runs * m // 2) < 0.8


@pytest.mark.parametrize("n", [10, 20, 60])
def test_intervals_of_rates_hold_where_few_studies_differ(n: int) -> None:
    rng = np.random.default_rng(n)
    hits = []
    for seed in range(1000):
        hard = rng.random(n) < 0.9
        first, second = (np.where(rng.random(n) < 0.5, hard, rng.random(n) < 0.9) for _ in range(2))
        panel = panel_of({RATE: np.column_stack([first, second])})
        (test,) = compare_pairs(panel, {}, Resampling(seed, 100, 100)).pairs["rate"]
        hits.append(test.low <= 0 <= test.high)
    assert np.mean(hits) > 0.93
