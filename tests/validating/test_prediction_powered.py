"""Corrected rates and means: by the formulas, by another package, and by properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.stats.intervals import Z_95, mean_interval, student, wilson, wilson_ends
from judge.stats.prediction_powered import Corrected, corrected
from judge.stats.statistic import InverseMean, Mean, Rate

RATE = Rate("no_error", "no error", measures=("n",), higher_is_better=True)
COUNT = Mean("errors", "errors", measures=("n",), higher_is_better=False)
SCORE = Mean("score", "score", measures=("s",), higher_is_better=True, scale=(0, 1))


def figures(found: Corrected) -> tuple[float, float, float]:
    assert None not in (found.value, found.low, found.high)
    return found.value, found.low, found.high


def labels(found: Corrected) -> tuple[float, float, float]:
    assert found.labels is not None
    return found.labels.value, found.labels.low, found.labels.high


def drawn(
    rng: np.random.Generator,
    n: int,
    unread: int,
    rate: float,
    false: float,
    missed: float,
) -> tuple[np.ndarray, np.ndarray]:
    """A judge and readers: n read; the judge errs in these shares of the 0 and of the 1."""
    truth = rng.random(n + unread) < rate
    errs = rng.random(n + unread) < np.where(truth, missed, false)
    readers = truth.astype(float)
    readers[n:] = np.nan
    return (truth ^ errs).astype(float), readers


def some(seed: int, n: int, unread: int = 100) -> tuple[np.ndarray, np.ndarray]:
    return drawn(np.random.default_rng(seed), n, unread, 0.5, 0.1, 0.1)


def test_it_is_what_the_formulas_say() -> None:
    f, y = drawn(np.random.default_rng(1), 80, 160, 0.4, 0.1, 0.2)
    found = corrected(f, y, RATE)
    n, unread, rate = 80, 160, y[:80]
    slope = np.mean((rate - rate.mean()) * (f[:n] - f[:n].mean())) / np.var(f, ddof=1)
    weight = slope / (1 + n / unread)
    theta = weight * f[n:].mean() + (rate - weight * f[:n]).mean()
    assert 0 < weight < 1
    assert found.weight == pytest.approx(weight, rel=1e-12)
    assert found.value == pytest.approx(theta, rel=1e-12)
    assert (found.n, found.n_studies) == (80, 240)
    # What an interval counts besides: the judge is wrong in half of z² readings more.
    wrong = np.mean((rate - f[:n]) ** 2)
    allowed = (n * wrong + Z_95**2 / 2) / (n + Z_95**2)
    variance = (
        weight**2 * np.var(f[n:], ddof=1) / unread
        + np.var(rate - weight * f[:n], ddof=1) / n
    )
    variance += weight**2 * (allowed - wrong) / n
    alone = np.var(rate, ddof=1) / n
    assert found.worth == pytest.approx(n * alone / variance - n, rel=1e-9)
    # The interval is Wilson's of so many readings.
    worth = wilson(0, 1).n * (n + found.worth)
    half = Z_95 / (1 + Z_95**2 / worth)
    half *= np.sqrt(theta * (1 - theta) / worth + Z_95**2 / 4 / worth**2)
    _, low, high = figures(found)
    assert high - low == pytest.approx(2 * half, rel=1e-9)


def test_readings_alone_are_wilsons_and_a_judge_that_never_varies_adds_nothing() -> (
    None
):
    f, y = some(3, 40)
    expected = wilson(int(y[:40].sum()), 40)
    expected = pytest.approx((expected.value, expected.low, expected.high), abs=1e-12)
    assert labels(corrected(f, y, RATE)) == expected
    for judge in (np.ones(140), np.full(140, 0.1)):
        found = corrected(judge, y, RATE)
        assert figures(found) == labels(found) == expected
        assert (found.weight, found.worth) == (0, 0)


def test_readings_that_all_agree_have_wilsons_interval_of_n_of_n() -> None:
    """Whatever the rounding of the weights, whose sum need not be exactly 1."""
    inexact = 0
    for studies in range(10, 70):
        for n in range(10, studies + 1):
            weights = np.full(n, 1.0) * studies / n / studies
            inexact += weights.sum() != 1
            for clean in (0.0, 1.0):
                readers = np.r_[np.full(n, clean), np.full(studies - n, np.nan)]
                judge = (np.arange(studies) % 3 > 0).astype(float)
                expected = wilson(n * int(clean), n)
                ends = pytest.approx((clean, expected.low, expected.high), abs=1e-9)
                found = corrected(judge, readers, RATE)
                assert figures(found) == labels(found) == ends, (studies, n)
    assert inexact > 500
    found = corrected(np.ones(49), np.r_[np.ones(30), np.full(19, np.nan)], RATE)
    assert [round(100 * end, 1) for end in figures(found)] == [100, 88.6, 100]


def test_readings_of_unequal_weights_are_worth_fewer() -> None:
    """Kish's effective number: 1 / the sum of the squared weights."""
    strata = np.repeat([0, 1], [900, 100]).astype(np.intp)
    readers = np.full(1000, np.nan)
    readers[[*range(10), *range(900, 930)]] = 1.0
    worth = 1 / (10 * (0.9 / 10) ** 2 + 30 * (0.1 / 30) ** 2)
    found = corrected(np.zeros(1000), readers, RATE, strata)
    assert figures(found) == pytest.approx((1, *wilson_ends(1.0, worth)), abs=1e-9)
    # Counts that are all 0, at the end of a scale without an upper end.
    counts = replace(COUNT, scale=(0, None))
    _, _, high = figures(corrected(np.zeros(1000), readers - 1, counts, strata))
    assert high == pytest.approx(student(39) ** 2 / worth)


def test_a_judge_that_never_erred_narrows_a_rate_near_its_end_little() -> None:
    """49 of 50 readings are clean; the judge agrees with all, and says 3% of 2,000 are not."""
    readers = np.r_[0.0, np.ones(49), np.full(1950, np.nan)]
    judge = np.r_[readers[:50], (np.arange(1950) % 33 > 0).astype(float)]
    found = corrected(judge, readers, RATE)
    assert found.value == pytest.approx(0.97, abs=0.004)
    assert found.high > 0.99
    assert figures(found)[1] >= labels(found)[1] - 0.02
    assert 0 <= found.worth < 10


def test_where_all_was_read_it_is_what_the_readers_say() -> None:
    f, y = some(4, 60, 0)
    found = corrected(f, y, RATE)
    expected = wilson(int(y.sum()), 60)
    assert figures(found) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    assert found.weight == found.worth == 0


def test_too_few_readings_or_patients_have_no_figure() -> None:
    found = corrected(*some(6, 9), RATE)
    assert found.why_not == "too few readings: 9 of at least 10"
    assert (found.n, found.n_studies, found.value, found.labels) == (9, 109, None, None)
    found = corrected(*some(6, 30), RATE, patients=np.arange(130) // 10)
    assert found.why_not == "too few patients: 3 of at least 10"


def test_a_stratum_has_the_weight_of_its_studies() -> None:
    """Nine of ten readings are of a class that has half of the studies."""
    rng = np.random.default_rng(8)
    strata = np.repeat([0, 1], 500).astype(np.intp)
    y = np.where(strata == 0, 0.2, 0.8) > rng.random(1000)
    readers = np.full(1000, np.nan)
    for stratum, n in ((0, 180), (1, 20)):
        rows = rng.choice(np.flatnonzero(strata == stratum), n, replace=False)
        readers[rows] = y[rows]
    means = [np.nanmean(readers[strata == stratum]) for stratum in (0, 1)]
    assert corrected(np.zeros(1000), readers, RATE, strata).value == pytest.approx(
        np.mean(means)
    )
    assert corrected(np.zeros(1000), readers, RATE).value == pytest.approx(
        np.nanmean(readers)
    )
    f, y = some(9, 40)
    strata = (np.arange(140) >= 130).astype(np.intp)
    assert (
        corrected(f, y, RATE, strata).why_not == "no reading of a stratum of 10 studies"
    )


def test_means_scores_and_reciprocals() -> None:
    rng = np.random.default_rng(11)
    readers = np.r_[rng.beta(4, 2, 60), np.full(240, np.nan)]
    value, low, high = labels(corrected(np.zeros(300), readers, SCORE))
    expected = mean_interval(readers[:60].tolist(), (0, 1))
    assert value == pytest.approx(expected.value)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.004)
    # A reciprocal is that of the corrected mean.
    readers = np.r_[rng.integers(1, 5, 50).astype(float), np.full(100, np.nan)]
    judge = np.r_[readers[:50], rng.integers(1, 5, 100)]
    kinds: dict[str, Any] = {"higher_is_better": True, "scale": (1, 4)}
    mean, inverse = (
        corrected(
            judge,
            readers,
            kind("m", "m", measures=("s",), **kinds),
        )
        for kind in (Mean, InverseMean)
    )
    value, low, high = figures(mean)
    assert figures(inverse) == pytest.approx((1 / value, 1 / high, 1 / low))
    assert inverse.worth == mean.worth


@given(st.data())
def test_whatever_is_read_there_is_an_interval_on_the_scale_or_a_reason(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(1, 40))
    number = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, np.nan])
    judge = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    readers = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    codes = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    strata = np.array(data.draw(codes), np.intp)
    patients = data.draw(st.none() | st.just(np.arange(n) // 2))
    for statistic, top in ((RATE, 1), (COUNT, 5)):
        found = corrected(
            np.minimum(judge, top),
            np.minimum(readers, top),
            statistic,
            strata,
            patients,
        )
        if found.why_not:
            assert found.value is found.low is found.labels is found.worth is None
            continue
        for value, low, high in (figures(found), labels(found)):
            assert 0 <= low <= value + 1e-12
            assert value - 1e-12 <= high < np.inf
            assert statistic is COUNT or high <= 1
        assert found.worth >= 0
