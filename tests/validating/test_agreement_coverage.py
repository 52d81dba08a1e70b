"""Intervals of agreement cover what they should, on studies whose truth is known.

Bounds are 95% give or take 3.5 standard errors of the simulation, and two points below for
percentile intervals of few studies.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from judge.stats.agreement import agreement, limits_of_agreement, preference
from judge.stats.correlation import METHODS, correlate, draw
from judge.stats.detection import detection
from judge.stats.estimate import Z_95, Estimate

RUNS = 200
HALF = 3.5 * np.sqrt(0.95 * 0.05 / RUNS)
LOW, HIGH = 0.95 - HALF - 0.02, min(0.95 + HALF, 1.0)


class Hits:
    """How often the truth lies within the interval."""

    def __init__(self) -> None:
        self.hits: dict[str, list[bool]] = defaultdict(list)

    def add(self, name: str, cell: Estimate, truth: float) -> None:
        assert cell.low is not None, cell.reason
        assert cell.high is not None
        self.hits[name].append(bool(cell.low <= truth <= cell.high))

    def shares(self) -> dict[str, float]:
        return {name: float(np.mean(hits)) for name, hits in self.hits.items()}

    def check(self) -> None:
        for name, share in self.shares().items():
            assert len(self.hits[name]) == RUNS
            assert LOW < share <= HIGH, (name, share)


def normal(random: np.random.Generator, n: int, rho: float, patients: int = 0) -> np.ndarray:
    """Two columns of correlation `rho`; the studies of a patient are nearly the same."""
    drawn = random.normal(size=(patients or n, 2))
    if patients:
        near = 0.1 * random.normal(size=(n, 2))
        drawn = np.sqrt(0.99) * np.repeat(drawn, n // patients, axis=0) + near
    return np.column_stack([drawn[:, 0], rho * drawn[:, 0] + np.sqrt(1 - rho**2) * drawn[:, 1]])


def truths(rho: float) -> dict[str, float]:
    kendall, spearman = 2 / np.pi * np.arcsin(rho), 6 / np.pi * np.arcsin(rho / 2)
    return {"kendall": kendall, "spearman": spearman, "pearson": rho}


def counted(random: np.random.Generator, n: int, m: int) -> np.ndarray:
    return random.poisson(random.gamma(1, 2, n)[:, None], (n, m)).astype(float)


@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_correlations(rho: float) -> None:
    hits = Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([1, seed])
        resamples = draw(None, 60, random, 400)
        found = correlate(*normal(random, 60, rho).T, resamples)
        for method in METHODS:
            hits.add(method, found.estimate(method, resamples), truths(rho)[method])
    hits.check()


def test_correlations_where_patients_have_several_studies() -> None:
    hits, naive = Hits(), Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([2, seed])
        x, y = normal(random, 120, 0.5, patients=40).T
        by_patient = draw(np.arange(120) // 3, 120, random, 300)
        by_study = draw(None, 120, random, 300)
        for told, resamples in ((hits, by_patient), (naive, by_study)):
            found = correlate(x, y, resamples)
            for method in METHODS:
                told.add(method, found.estimate(method, resamples), truths(0.5)[method])
    hits.check()
    assert max(naive.shares().values()) < 0.85


def test_counts_against_the_mean_of_readers_and_between_judges() -> None:
    """The second judge is blind to a third of the studies."""

    def studies(random: np.random.Generator, n: int) -> np.ndarray:
        values = counted(random, n, 5)
        is_blind = random.random(n) < 1 / 3
        values[is_blind, 1] = random.poisson(2, is_blind.sum())
        return values

    truth = agreement(studies(np.random.default_rng(0), 100_000), 2, draw(None, 100_000, None, 0))
    hits = Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([3, seed])
        found = agreement(studies(random, 80), 2, draw(None, 80, random, 200))
        for method in METHODS:
            of = [
                (one.judges[0], one.differences[0].coefficients, one.ceiling.mean)
                for one in (found, truth)
            ]
            for name, cell, true in zip(("judge", "difference", "ceiling"), *of, strict=True):
                hits.add(f"{name} {method}", getattr(cell, method), getattr(true, method).value)
    hits.check()


def test_limits_of_agreement() -> None:
    hits = Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([4, seed])
        for name, n, patients in (("alone", 40, 40), ("patients", 160, 40)):
            d = 1 + 2 * normal(random, n, 0, patients)[:, 0]
            units = np.repeat(np.arange(patients), n // patients)
            found = limits_of_agreement(d, np.zeros((n, 2)), units)
            hits.add(f"bias {name}", found.bias, 1)
            hits.add(f"lower {name}", found.lower, 1 - 2 * Z_95)
            hits.add(f"upper {name}", found.upper, 1 + 2 * Z_95)
    hits.check()


def test_detection_by_study_and_by_patient() -> None:
    """The judge sees two errors of three, and what it says of a patient it says of all studies."""
    hits, naive = Hits(), Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([5, seed])
        patients = 90
        is_clean = random.random(patients) < 0.4
        says_clean = np.where(random.random(patients) < 2 / 3, is_clean, 1 - is_clean)
        for name, each in (("alone", 1), ("patients", 3)):
            at = np.repeat(np.arange(patients), each)
            both = np.column_stack([says_clean, is_clean])[at].astype(float)
            for told, clusters in ((hits, at), (naive, None)):
                resamples = draw(clusters, len(at), random, 300)
                found = detection(both[:, 0], both[:, 1:], resamples)
                told.add(f"sensitivity {name}", found.sensitivity, 2 / 3)
                told.add(f"specificity {name}", found.specificity, 2 / 3)
                told.add(f"judge rate {name}", found.judge_rate, 0.4 * 2 / 3 + 0.6 / 3)
                told.add(f"reader rate {name}", found.reader_rate, 0.4)
                told.add(f"bias {name}", found.bias, 0.2 / 3)
                # Agree 2/3; by chance 0.4667 · 0.4 + 0.5333 · 0.6.
                chance = 7 / 15 * 0.4 + 8 / 15 * 0.6
                told.add(f"kappa {name}", found.kappa, (2 / 3 - chance) / (1 - chance))
    hits.check()
    shares = naive.shares()
    assert max(share for name, share in shares.items() if "patients" in name) < 0.85


def test_preference() -> None:
    hits = Hits()
    for seed in range(RUNS):
        random = np.random.default_rng([6, seed])
        studies = np.repeat(np.arange(60), 3)
        quality = random.normal(size=180)
        # Right or wrong of a whole study: its three pairs are no three studies.
        is_right = np.repeat(random.random(60) < 0.7, 3)
        judge = np.where(is_right, quality, -quality)
        found = preference(judge, quality[:, None], studies, draw(studies, 180, random, 400))
        hits.add("accuracy", found.accuracy, 0.7)
    hits.check()
