"""Corrected rates and means: by the formulas, by another package, and by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from judge.rubrics.numbers import Statistic
from judge.stats.estimate import mean_interval, wilson
from judge.stats.prediction_powered import Corrected, corrected

Values = NDArray[np.float64]
Drawn = tuple[Values, Values, "NDArray[np.intp] | None", "NDArray[np.intp] | None"]
RATE = Statistic("no_error", "no error", "rate", ("n",), higher_is_better=True)
COUNT = Statistic("errors", "errors", "mean", ("n",), higher_is_better=False)
SCORE = Statistic("score", "score", "mean", ("s",), higher_is_better=True, scale=(0, 1))


def figures(found: Corrected) -> tuple[float, float, float]:
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


def labels(found: Corrected) -> tuple[float, float, float]:
    assert found.labels is not None
    assert found.labels.value is not None
    assert found.labels.low is not None
    assert found.labels.high is not None
    return found.labels.value, found.labels.low, found.labels.high


def drawn(
    rng: np.random.Generator, n: int, unread: int, rate: float, false: float, missed: float
) -> tuple[Values, Values]:
    """A judge and readers: n read; the judge errs in these shares of the 0 and of the 1."""
    truth = rng.random(n + unread) < rate
    errs = rng.random(n + unread) < np.where(truth, missed, false)
    readers = truth.astype(float)
    readers[n:] = np.nan
    return (truth ^ errs).astype(float), readers


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
    # What an interval counts besides: a covariance of n / (n + z²) of what was seen.
    seen = np.cov(rate, f[:n])[0, 1]
    variance = (
        weight**2 * np.var(f[n:], ddof=1) / unread + np.var(rate - weight * f[:n], ddof=1) / n
    )
    variance += 2 * weight * seen / n * (1 - n / (n + 1.959963984540054**2))
    alone = np.var(rate, ddof=1) / n
    assert found.worth == pytest.approx(n * alone / variance - n, rel=1e-9)
    assert found.worth is not None
    worth = wilson(0, 1).n * (n + found.worth)  # the interval is Wilson's of so many readings
    z = 1.959963984540054
    half = z / (1 + z**2 / worth) * np.sqrt(theta * (1 - theta) / worth + z**2 / 4 / worth**2)
    _, low, high = figures(found)
    assert high - low == pytest.approx(2 * half, rel=1e-9)


@pytest.mark.parametrize(("n", "unread"), [(20, 100), (80, 160), (100, 30)])
def test_it_is_that_of_ppi_python(n: int, unread: int) -> None:
    other = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(n)
    for missed in (0.0, 0.1, 0.3, 0.5, 0.8):
        f, y = drawn(rng, n, unread, 0.4, 0.1, missed)
        found = corrected(f, y, RATE)
        theirs = other.ppi_mean_pointestimate(y[:n], f[:n], f[n:]).item()
        assert found.value == pytest.approx(min(1.0, max(0.0, theirs)), abs=1e-12)
        weight = found.weight
        low, high = other.ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05, lam=weight)
        # Theirs divides by n, ours by n - 1, and ours counts 3.84 readings more.
        variance = ((high - low).item() / 2 / 1.959963984540054) ** 2
        assert found.worth is not None
        ours = np.var(y[:n]) / (n - 1) * n / (n + found.worth)
        more = 2 * weight * np.cov(y[:n], f[:n])[0, 1] / n * 3.8415 / (n + 3.8415)
        if found.worth:
            assert ours - more == pytest.approx(variance, rel=1.5 / min(n, unread))


def test_readings_alone_are_wilsons_and_a_judge_that_never_varies_adds_nothing() -> None:
    f, y = drawn(np.random.default_rng(3), 40, 100, 0.7, 0.2, 0.2)
    expected = wilson(int(y[:40].sum()), 40)
    for judge in (f, np.ones(140), np.zeros(140), np.full(140, 0.1)):
        assert labels(corrected(judge, y, RATE)) == pytest.approx(
            (expected.value, expected.low, expected.high), abs=1e-12
        )
    for judge in (np.ones(140), np.zeros(140), np.full(140, 0.1)):
        found = corrected(judge, y, RATE)
        assert figures(found) == pytest.approx(labels(found), abs=1e-12)
        assert (found.weight, found.worth) == (0, 0)


def test_where_all_was_read_it_is_what_the_readers_say() -> None:
    f, y = drawn(np.random.default_rng(4), 60, 0, 0.4, 0.1, 0.1)
    found = corrected(f, y, RATE)
    expected = wilson(int(y.sum()), 60)
    assert figures(found) == pytest.approx((expected.value, expected.low, expected.high))
    assert found.weight == found.worth == 0
    strata = (np.arange(60) % 3 == 0).astype(np.intp)
    by_stratum = corrected(f, y, RATE, strata)
    assert by_stratum.value == pytest.approx(expected.value)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_readers_who_all_say_the_same_have_the_interval_of_a_rate(value: float) -> None:
    y = np.full(200, np.nan)
    y[:50] = value
    found = corrected(np.random.default_rng(5).integers(0, 2, 200).astype(float), y, RATE)
    expected = wilson(50 * int(value), 50)
    assert figures(found) == pytest.approx((expected.value, expected.low, expected.high), abs=1e-12)


def test_too_few_readings_or_patients_have_no_figure() -> None:
    f, y = drawn(np.random.default_rng(6), 9, 100, 0.5, 0.1, 0.1)
    found = corrected(f, y, RATE)
    assert found.why_not == "too few readings: 9 of at least 10"
    assert (found.n, found.n_studies, found.value, found.labels) == (9, 109, None, None)
    f, y = drawn(np.random.default_rng(6), 30, 100, 0.5, 0.1, 0.1)
    found = corrected(f, y, RATE, patients=np.arange(130) // 10)
    assert found.why_not == "too few patients: 3 of at least 10"


def test_studies_without_a_number_of_the_judge_are_in_no_part() -> None:
    f, y = drawn(np.random.default_rng(7), 40, 100, 0.5, 0.1, 0.1)
    lost = np.zeros(140, bool)
    lost[[3, 5, 77]] = True
    found = corrected(np.where(lost, np.nan, f), y, RATE)
    assert found == corrected(f[~lost], y[~lost], RATE)
    assert (found.n, found.n_studies) == (38, 137)


def test_a_stratum_has_the_weight_of_its_studies() -> None:
    """Nine of ten readings are of a class that has half of the studies."""
    rng = np.random.default_rng(8)
    strata = np.repeat([0, 1], 500).astype(np.intp)
    y = np.where(strata == 0, 0.2, 0.8) > rng.random(1000)
    readers = np.full(1000, np.nan)
    for stratum, n in ((0, 180), (1, 20)):
        rows = rng.choice(np.flatnonzero(strata == stratum), n, replace=False)
        readers[rows] = y[rows]
    found = corrected(np.zeros(1000), readers, RATE, strata)
    means = [np.nanmean(readers[strata == stratum]) for stratum in (0, 1)]
    assert found.value == pytest.approx(np.mean(means))
    assert corrected(np.zeros(1000), readers, RATE).value == pytest.approx(np.nanmean(readers))


def test_a_stratum_without_a_reading_is_said_unless_all_were_drawn_alike() -> None:
    f, y = drawn(np.random.default_rng(9), 40, 100, 0.5, 0.1, 0.1)
    strata = (np.arange(140) >= 130).astype(np.intp)
    assert corrected(f, y, RATE, strata).why_not == "no reading of a stratum of 10 studies"
    assert corrected(f, y, RATE, strata, is_even=True) == corrected(f, y, RATE)


def test_studies_of_a_patient_do_not_count_as_so_many() -> None:
    rng = np.random.default_rng(10)
    patients = np.repeat(np.arange(100), 4)
    truth = np.repeat(rng.random(100) < 0.5, 4).astype(float)
    readers = np.where(patients < 30, truth, np.nan)
    judge = np.abs(truth - np.repeat(rng.random(100) < 0.1, 4))
    alone, together = (corrected(judge, readers, RATE, patients=one) for one in (None, patients))
    assert together.value == alone.value
    width = [np.ptp(figures(one)[1:]) for one in (alone, together)]
    assert width[1] > 1.6 * width[0]
    assert np.ptp(labels(together)[1:]) > 1.6 * np.ptp(labels(alone)[1:])


def test_a_mean_that_the_correction_takes_off_its_scale_is_brought_back() -> None:
    readers = np.full(400, np.nan)
    readers[:20] = [1] + [0] * 19
    counts = np.r_[np.array([3.0] + [0.0] * 3 + [1.0] * 16), np.arange(380) % 4 == 0]
    shares = np.r_[np.ones(2), np.zeros(398)]
    for statistic, judge in ((COUNT, counts), (RATE, shares)):
        found = corrected(judge, readers, statistic)
        value, low, high = figures(found)
        assert value == 0
        assert low == pytest.approx(0, abs=1e-12)
        assert 0.05 < high < 1


def test_readings_of_scores_are_as_a_mean_of_them() -> None:
    rng = np.random.default_rng(11)
    y = rng.beta(4, 2, 60)
    judge = np.zeros(300)
    readers = np.r_[y, np.full(240, np.nan)]
    value, low, high = labels(corrected(judge, readers, SCORE))
    expected = mean_interval(y.tolist(), (0, 1))
    assert value == pytest.approx(expected.value)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.004)


def test_a_reciprocal_is_that_of_the_corrected_mean() -> None:
    rng = np.random.default_rng(12)
    readers = np.r_[rng.integers(1, 5, 50).astype(float), np.full(100, np.nan)]
    judge = np.r_[readers[:50], rng.integers(1, 5, 100)]
    kinds: dict[str, Any] = {"higher_is_better": True, "scale": (1, 4)}
    mean = corrected(judge, readers, Statistic("m", "m", "mean", ("s",), **kinds))
    inverse = corrected(
        judge, readers, Statistic("i", "i", "mean", ("s",), is_reciprocal=True, **kinds)
    )
    value, low, high = figures(mean)
    assert figures(inverse) == pytest.approx((1 / value, 1 / high, 1 / low))
    assert inverse.worth == mean.worth


def test_a_scale_may_have_one_end_or_none() -> None:
    rng = np.random.default_rng(13)
    readers = np.r_[rng.poisson(2.0, 30).astype(float), np.full(60, np.nan)]
    judge = np.r_[readers[:30] + rng.poisson(1.0, 30), rng.poisson(3.0, 60)]

    def mean(sign: int, low: float | None, high: float | None) -> tuple[float, float, float]:
        statistic = Statistic("m", "m", "mean", ("s",), higher_is_better=True, scale=(low, high))
        return figures(corrected(sign * judge, sign * readers, statistic))

    value, low, high = mean(1, 0, None)
    assert mean(-1, None, 0) == pytest.approx((-value, -high, -low))
    same, down, up = mean(1, None, None)
    assert same == pytest.approx(value)
    assert same - down == pytest.approx(up - same)
    assert mean(1, 3, None)[0] == 3  # brought onto the scale


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
    for statistic, scale in ((RATE, 1), (COUNT, np.inf)):
        top = min(scale, 5)
        found = corrected(
            np.minimum(judge, top), np.minimum(readers, top), statistic, strata, patients
        )
        if found.why_not:
            assert found.value is found.low is found.labels is found.worth is None
            continue
        for value, low, high in (figures(found), labels(found)):
            assert 0 <= low <= value + 1e-12
            assert value <= high + 1e-12
            assert high <= scale
            assert np.isfinite(high)
        assert found.worth is not None
        assert found.worth >= 0


def covered(
    make: Callable[[np.random.Generator], Drawn], truth: float, statistic: Statistic, times: int
) -> tuple[float, float, float]:
    """How often the corrected interval and that of the readings cover, and width by width."""
    rng = np.random.default_rng(20240612)
    hits, widths = np.zeros(2), np.zeros(2)
    for _ in range(times):
        f, y, strata, patients = make(rng)
        found = corrected(f, y, statistic, strata, patients)
        for at, (_, low, high) in enumerate((figures(found), labels(found))):
            hits[at] += low <= truth <= high
            widths[at] += high - low
    return float(hits[0] / times), float(hits[1] / times), float(widths[0] / widths[1])


# With 1,200 draws the standard error of 95% is 0.6%.
TIMES, LEAST = 1200, 0.93


@pytest.mark.parametrize("n", [20, 40, 80, 400])
@pytest.mark.parametrize(("false", "missed"), [(0.5, 0.5), (0.3, 0.3), (0.1, 0.0), (0.0, 0.0)])
def test_95_percent_of_the_intervals_of_a_rate_hold(n: int, false: float, missed: float) -> None:
    def make(rng: np.random.Generator) -> Drawn:
        return (*drawn(rng, n, 600, 0.5, false, missed), None, None)

    both, alone, width = covered(make, 0.5, RATE, TIMES)
    assert both >= LEAST
    assert alone >= LEAST
    # A judge that knows nothing costs nothing, and one that is right spares readings.
    assert width < (1.01 if false == 0.5 else 1.0 if false == 0.3 else 0.85)
    if false == 0.5:
        assert both < 0.97


@pytest.mark.parametrize(("n", "errs"), [(20, 0.3), (60, 0.5), (60, 0.05), (400, 0.1)])
def test_they_hold_where_patients_have_several_studies(n: int, errs: float) -> None:
    def make(rng: np.random.Generator) -> Drawn:
        patients = np.repeat(np.arange(250), 4)
        truth = np.where(
            rng.random(1000) < 0.7, np.repeat(rng.random(250) < 0.4, 4), rng.random(1000) < 0.4
        )
        # The judge errs in half of the patients.
        errs_here = np.repeat(rng.random(250) < 0.5, 4) & (rng.random(1000) < 2 * errs)
        readers = np.full(1000, np.nan)
        rows = rng.choice(1000, n, replace=False)
        readers[rows] = truth[rows]
        return (truth ^ errs_here).astype(float), readers, None, patients

    both, alone, _ = covered(make, 0.4, RATE, TIMES)
    assert both >= LEAST
    assert alone >= LEAST


@pytest.mark.parametrize(("n", "noise"), [(20, 1.0), (40, 0.5), (80, 0.0), (200, 0.3)])
def test_they_hold_for_counts_of_errors(n: int, noise: float) -> None:
    def make(rng: np.random.Generator) -> Drawn:
        shared = rng.poisson(1.2 * (1 - noise), n + 500)
        readers = (shared + rng.poisson(1.2 * noise, n + 500)).astype(float)
        readers[n:] = np.nan
        # The judge finds too many.
        return (shared + rng.poisson(1.8 * noise + 0.2, n + 500)).astype(float), readers, None, None

    both, alone, _ = covered(make, 1.2, COUNT, TIMES)
    assert both >= LEAST
    assert alone >= LEAST


@pytest.mark.parametrize("n", [(6, 14), (48, 12), (160, 40)])
def test_they_hold_in_strata_of_other_sampling_fractions(n: tuple[int, int]) -> None:
    def make(rng: np.random.Generator) -> Drawn:
        strata = (rng.random(800) < 0.7).astype(np.intp)
        truth = rng.random(800) < np.where(strata == 0, 0.8, 0.3)
        judge = truth ^ (rng.random(800) < np.where(strata == 0, 0.1, 0.3))
        readers = np.full(800, np.nan)
        for stratum, size in enumerate(n):
            rows = rng.choice(np.flatnonzero(strata == stratum), size, replace=False)
            readers[rows] = truth[rows]
        return judge.astype(float), readers, strata, None

    both, alone, _ = covered(make, 0.3 * 0.8 + 0.7 * 0.3, RATE, TIMES)
    assert both >= LEAST - 0.005
    assert alone >= LEAST


def test_the_truth_is_covered_where_the_judge_alone_is_off_by_29_points() -> None:
    """The size of the issue: 240 reports, 80 read; 51% by readers, 80% by the judge."""

    def make(rng: np.random.Generator) -> Drawn:
        return (*drawn(rng, 80, 160, 0.51, 0.6, 0.02), None, None)

    both, alone, width = covered(make, 0.51, RATE, TIMES)
    assert both >= LEAST
    assert alone >= LEAST
    assert width < 1.0
    judge, _ = drawn(np.random.default_rng(0), 80, 160, 0.51, 0.6, 0.02)
    naive = wilson(int(judge.sum()), 240)
    assert naive.low is not None
    assert naive.low > 0.7
