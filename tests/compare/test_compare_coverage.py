"""Intervals cover what they should, on studies whose truth is known.

n are the sizes of ReXrank's test sets. Bounds are 95% give or take 3.5 standard errors of
the simulation.
"""

from __future__ import annotations

import numpy as np
import pytest
from panels import INVERSE, RATE, SCORE, panel_of

from judge.stats.paired import Resampling, compare_pairs
from judge.stats.panel import group_cells

pytestmark = pytest.mark.ci

SIZES = (62, 590, 2347, 10_000)
METRICS = (RATE, SCORE, INVERSE)
SEVERITIES = (0.30, 0.25, 0.25, 0.20)
MEAN = sum(p * s for p, s in zip(SEVERITIES, (1, 2, 3, 4), strict=True))
TRUTH = {"rate": SEVERITIES[0] + SEVERITIES[1], "score": MEAN, "inverse": 1 / MEAN}


def bounds(n: int) -> tuple[float, float]:
    half = 3.5 * np.sqrt(0.95 * 0.05 / n)
    return 0.95 - half, 0.95 + half


def simulated(rng: np.random.Generator, n: int, m: int, worse: float = 0.0) -> np.ndarray:
    """Severities of m models; a study that is hard is hard for all. Odd models are worse."""
    hard = rng.random((n, 1))
    mixed = np.where(rng.random((n, m)) < 0.5, hard, rng.random((n, m)))
    found = 1 + (mixed[:, :, None] > np.cumsum(SEVERITIES)[:3]).sum(axis=2)
    is_worse = (rng.random((n, m)) < worse) & (np.arange(m) % 2 == 1)
    return np.where(is_worse, 4, found).astype(float)


def panel_from(severities: np.ndarray, clusters: object = None):
    rate = (severities <= 2).astype(float)
    return panel_of({RATE: rate, SCORE: severities, INVERSE: severities}, clusters)


@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_one_model(n: int) -> None:
    runs, m = (20, 25) if n < 10_000 else (8, 50)
    hits = dict.fromkeys(TRUTH, 0)
    for seed in range(runs):
        rng = np.random.default_rng([n, seed])
        severities = 1 + (rng.random((n, m, 1)) > np.cumsum(SEVERITIES)[:3]).sum(axis=2)
        for name, cells in group_cells(panel_from(severities.astype(float))).cells.items():
            hits[name] += sum(cell.low <= TRUTH[name] <= cell.high for cell in cells)
    low, high = bounds(runs * m)
    for name, k in hits.items():
        assert low < k / (runs * m) < high, name


@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_a_difference(n: int) -> None:
    worse = 0.1
    mean = (1 - worse) * MEAN + worse * 4
    truth = {
        "rate": TRUTH["rate"] * worse,
        "score": MEAN - mean,
        "inverse": 1 / MEAN - 1 / mean,
    }
    runs, m = (15, 40) if n < 10_000 else (8, 40)
    hits = dict.fromkeys(truth, 0)
    for seed in range(runs):
        panel = panel_from(simulated(np.random.default_rng([n, seed]), n, m, worse))
        for name, tests in compare_pairs(panel, {}, Resampling(seed, 400, 100)).pairs.items():
            hits[name] += sum(
                test.low <= truth[name] <= test.high
                for test in tests
                if test.a % 2 == 0 and test.b == test.a + 1
            )
    low, high = bounds(runs * m // 2)
    for name, k in hits.items():
        assert low < k / (runs * m // 2) < high, name


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
            tests = compare_pairs(panel, {}, Resampling(seed, 400, 100)).pairs["score"]
            hits[name] += sum(
                test.low <= 0 <= test.high
                for test in tests
                if test.a % 2 == 0 and test.b == test.a + 1
            )
    low, high = bounds(runs * m // 2)
    assert low < hits["by patient"] / (runs * m // 2) < high
    assert hits["by study"] / (runs * m // 2) < 0.8


def test_p_values_are_uniform_where_nothing_differs() -> None:
    p = []
    for at in range(20):
        values = np.random.default_rng(at).integers(0, 4, (62, 20)).astype(float)
        pairs = compare_pairs(panel_of({SCORE: values}), {}, Resampling(at, 100, 1000))
        p += [t.p for t in pairs.pairs["score"] if t.a % 2 == 0 and t.b == t.a + 1]
    assert len(p) == 200
    share = np.mean(np.array(p) < 0.05)
    assert share == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / 200))
