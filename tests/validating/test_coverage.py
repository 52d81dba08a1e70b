"""95% intervals hold the truth as often as they say, on studies whose truth is known.

The simulations are long, and run in `.ci/run` only, but for one small one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from judge.stats.correlation import METHODS, correlate
from judge.stats.intervals import draw_resamples
from judge.stats.prediction_powered import corrected
from judge.stats.statistic import Rate


def normal(random: np.random.Generator, n: int, rho: float) -> np.ndarray:
    """Two columns of correlation `rho`."""
    drawn = random.normal(size=(n, 2))
    return np.column_stack(
        [drawn[:, 0], rho * drawn[:, 0] + np.sqrt(1 - rho**2) * drawn[:, 1]]
    )


def truths(rho: float) -> dict[str, float]:
    kendall, spearman = 2 / np.pi * np.arcsin(rho), 6 / np.pi * np.arcsin(rho / 2)
    return {"kendall": kendall, "spearman": spearman, "pearson": rho}


def test_correlations() -> None:
    """Give or take 3.5 standard errors of 95%, and two points below for few studies."""
    rho, runs = 0.5, 60
    hits = dict.fromkeys(METHODS, 0)
    for seed in range(runs):
        random = np.random.default_rng([1, seed])
        resamples = draw_resamples(None, 60, random, 400)
        found = correlate(*normal(random, 60, rho).T, resamples)
        for method in METHODS:
            cell = found.estimate(method, resamples)
            hits[method] += cell.low <= truths(rho)[method] <= cell.high
    half = 3.5 * np.sqrt(0.95 * 0.05 / runs)
    assert all(0.93 - half < n / runs <= min(0.95 + half, 1) for n in hits.values()), (
        hits
    )


# Rates with the judge's bias taken out: a judge, readers (NaN for unread), strata and
# patients of one draw.
Drawn = tuple[np.ndarray, np.ndarray, "np.ndarray | None", "np.ndarray | None"]
RATE = Rate("no_error", "no error", measures=("n",), higher_is_better=True)


def read(rng: np.random.Generator, truth: np.ndarray, n: int) -> np.ndarray:
    readers = np.full(len(truth), np.nan)
    rows = rng.choice(len(truth), n, replace=False)
    readers[rows] = truth[rows]
    return readers


def of_judge(n: int, rate: float, false: float, missed: float, unread: int = 600):
    """A judge that errs in these shares of the studies without and with the property."""

    def make(rng: np.random.Generator) -> Drawn:
        truth = rng.random(n + unread) < rate
        errs = rng.random(n + unread) < np.where(truth, missed, false)
        return (truth ^ errs).astype(float), read(rng, truth, n), None, None

    return make


def of_patients(n: int, errs: float):
    """Four studies a patient, often alike; the judge errs in half of the patients."""

    def make(rng: np.random.Generator) -> Drawn:
        patients = np.repeat(np.arange(250), 4)
        of_patient = np.repeat(rng.random(250) < 0.4, 4)
        truth = np.where(rng.random(1000) < 0.7, of_patient, rng.random(1000) < 0.4)
        wrong = np.repeat(rng.random(250) < 0.5, 4) & (rng.random(1000) < 2 * errs)
        return (truth ^ wrong).astype(float), read(rng, truth, n), None, patients

    return make


def of_strata(*n: int):
    """Two strata, read in other shares than they have of the studies."""

    def make(rng: np.random.Generator) -> Drawn:
        strata = (rng.random(800) < 0.7).astype(np.intp)
        truth = rng.random(800) < np.where(strata == 0, 0.8, 0.3)
        judge = truth ^ (rng.random(800) < np.where(strata == 0, 0.1, 0.3))
        readers = np.full(800, np.nan)
        for stratum, size in enumerate(n):
            rows = np.flatnonzero(strata == stratum)
            readers[rows] = read(rng, truth[rows].astype(float), size)
        return judge.astype(float), readers, strata, None

    return make


@pytest.mark.ci
@pytest.mark.parametrize(
    ("make", "truth", "widest"),
    [
        # A judge that knows nothing costs nothing, and one that is right spares readings.
        *(
            (of_judge(n, 0.5, false, missed), 0.5, widest)
            for n in (20, 80, 400)
            for false, missed, widest in (
                (0.5, 0.5, 1.01),
                (0.3, 0.3, 1.0),
                (0.1, 0, 0.85),
            )
        ),
        # Rates near their end, where many samples have no study with an error; the weights of
        # some numbers of readings do not add up to exactly 1.
        *(
            (of_judge(n, rate, false, missed, unread), rate, 1.0)
            for rate in (0.9, 0.95, 0.99)
            for n, unread in ((30, 600), (34, 600), (49, 1600), (100, 900))
            for false, missed in ((0.02, 0.02), (0.3, 0.02))
        ),
        # 51% by readers and 80% by the judge; 80 of 240 reports are read.
        (of_judge(80, 0.51, 0.6, 0.02, 160), 0.51, 1.0),
        *((of_patients(n, errs), 0.4, 1.1) for n, errs in ((20, 0.3), (60, 0.05))),
        *((of_strata(*n), 0.45, 1.1) for n in ((6, 14), (48, 12))),
    ],
)
def test_corrected_rates(
    make: Callable[[np.random.Generator], Drawn], truth: float, widest: float
) -> None:
    """With 1,200 draws the standard error of 95% is 0.6%."""
    rng, times = np.random.default_rng(20240612), 1200
    # Wilson's interval, that of the labels alone, is below 95% for some rates near 1.
    least = np.array([0.925, 0.88])
    hits, widths = np.zeros(2), np.zeros(2)
    for _ in range(times):
        f, y, strata, patients = make(rng)
        found = corrected(f, y, RATE, strata, patients)
        for at, one in enumerate((found, found.labels)):
            hits[at] += one.low <= truth <= one.high
            widths[at] += one.high - one.low
    assert (hits / times >= least).all()
    assert widths[0] / widths[1] < widest + 1e-9
