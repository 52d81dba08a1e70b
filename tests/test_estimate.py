"""Each kind of statistic, against what it is by definition and against scipy's own intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as reference

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Codes,
    Draws,
    inverse,
    mean_interval,
    ratio_interval,
    wilson,
)
from judge.stats.statistic import InverseMean, Mean, Rate, Ratio, Statistic

RATIO = Ratio(
    "precision", "precision", measures=("right",), higher_is_better=True, per=("all",)
)


def estimate(
    scored: pd.DataFrame, one: Statistic, units: Codes | None = None
) -> Estimate:
    """The number of a table's studies."""
    return one.of_table(scored, units)


def table(**columns: Sequence[float | None]) -> pd.DataFrame:
    """A table of scored studies; None is a measure that is undefined for a study."""
    return pd.DataFrame(
        {name: pd.array(values, "Float64") for name, values in columns.items()}
    )


def statistic(kind: type[Statistic], *measures: str, **more: Any) -> Statistic:
    return kind("x", "x", measures=measures, higher_is_better=False, **more)


def facts(n: int, seed: int = 3) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Facts of n studies that are right, and all of them."""
    rng = np.random.default_rng(seed)
    of = rng.integers(1, 9, n)
    return rng.binomial(of, rng.beta(4, 2, n)).astype(float), of.astype(float)


def ratio_ends(right: NDArray[np.float64], of: NDArray[np.float64]) -> Any:
    found = ratio_interval(right, of)
    return found.low, found.high


def test_a_mean_is_that_of_the_sum_of_its_measures() -> None:
    scored = table(a=[1, 2, 3], b=[0, 1, 1])
    found = estimate(scored, statistic(Mean, "a", "b"))
    wanted = mean_interval([1, 3, 4], (0, None))
    assert (found.n, found.value, found.low, found.high) == (
        3,
        8 / 3,
        wanted.low,
        wanted.high,
    )
    assert (found.k, found.numerator, found.n_undefined) == (None, None, 0)


def test_studies_of_which_it_is_undefined_are_counted_and_in_no_part() -> None:
    scored = table(a=[1, None, 3, 5], b=[0, 1, None, 1])
    for kind, expected in ((Mean, 3.5), (Rate, 0.0)):
        found = estimate(scored, statistic(kind, "a", "b"))
        assert (found.n, found.n_undefined, found.value) == (2, 2, expected)
    ratio = estimate(scored, statistic(Ratio, "a", per=("b",)))
    assert (ratio.n, ratio.n_undefined) == (2, 2)
    assert (ratio.numerator, ratio.denominator, ratio.value) == (6, 1, 6)


def test_a_rate_is_the_share_without_any() -> None:
    scored = table(a=[0, 0, 2, 0], b=[0, 1, 0, 0])
    found, wanted = estimate(scored, statistic(Rate, "a", "b")), wilson(2, 4)
    assert (
        estimate(table(a=[-1, 0], b=[1, 0]), statistic(Rate, "a", "b")).k == 1
    )  # no sum of 0
    assert (found.k, found.n, found.value) == (2, 4, 0.5)
    assert (found.low, found.high) == (wanted.low, wanted.high)


def test_a_reciprocal_is_that_of_the_mean() -> None:
    values = [1.0, 2.0, 4.0, 1.0]
    found = estimate(table(a=values), statistic(InverseMean, "a", scale=(1, 4)))
    wanted = inverse(mean_interval(values, (1, 4)), (1, 4))
    assert (found.value, found.low, found.high) == (0.5, wanted.low, wanted.high)
    none = estimate(table(a=[0.0, 0.0]), statistic(InverseMean, "a"))
    assert (none.n, none.value, none.low, none.high) == (2, None, None, None)


@pytest.mark.parametrize("values", [[], [None, None]])
def test_no_study_has_no_number(values: list[float | None]) -> None:
    for one in (
        statistic(Mean, "a"),
        statistic(InverseMean, "a"),
        statistic(Rate, "a"),
        statistic(Ratio, "a", per=("a",)),
    ):
        found = estimate(table(a=values), one)
        assert (found.n, found.n_undefined) == (0, len(values))
        assert found.value is found.low is found.high is None
        plain = found.plain()
        assert {"n", "value", "low", "high", "n_undefined"} <= set(plain)


def test_a_ratio_of_sums_is_no_mean_of_ratios() -> None:
    scored = table(right=[1, 0, 9], all=[1, 0, 10])
    found = estimate(scored, RATIO)
    assert (found.value, found.n) == (10 / 11, 3)
    assert found.value != np.mean([1, 0.9])
    nothing = estimate(table(right=[0, 0], all=[0, 0]), RATIO)
    assert (nothing.n, nothing.value, nothing.low, nothing.high) == (
        2,
        None,
        None,
        None,
    )
    one = estimate(table(right=[1], all=[2]), RATIO)
    assert (one.value, one.low, one.high) == (0.5, None, None)


def test_its_interval_is_that_of_scipys_bootstrap() -> None:
    right, of = facts(80)
    found = reference.bootstrap(
        (right, of),
        lambda one, other, axis: one.sum(axis=axis) / other.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=9999,
        method="percentile",
        rng=np.random.default_rng(7),
    ).confidence_interval
    low, high = ratio_ends(right, of)
    spread = found.high - found.low
    assert low == pytest.approx(found.low, abs=0.06 * spread)
    assert high == pytest.approx(found.high, abs=0.06 * spread)


@given(st.integers(10, 40), st.integers(0, 10**6))
def test_its_interval_holds_it_and_is_the_same_each_time(n: int, seed: int) -> None:
    right, of = facts(n, seed)
    low, high = ratio_ends(right, of)
    assert 0 <= low <= right.sum() / of.sum() <= high <= 1
    assert ratio_ends(right, of) == (low, high)


def test_where_draws_are_alike_few_or_undefined_it_is_that_of_the_share_or_none() -> (
    None
):
    right = np.array([1.0, 2.0, 3.0])
    for share in (0, 1):
        # Six facts of three studies, which are not independent: three of three.
        wanted = wilson(3 * share, 3)
        assert ratio_ends(share * right, right) == (wanted.low, wanted.high)
    assert ratio_ends(*facts(9)) == (None, None)
    only_one = (np.array([part, *[0.0] * 10]) for part in (1.0, 2.0))
    assert ratio_ends(*only_one) == (None, None)


def of_few(n: int, seed: int = 5) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two hundred studies, of which n have facts."""
    right, of = np.zeros(200), np.zeros(200)
    right[:n], of[:n] = facts(n, seed)
    return right, of


def test_draws_without_a_denominator_are_left_out_up_to_one_percent() -> None:
    """A thousandth of the draws of 10,000 must not take the interval away."""
    right, of = of_few(10)
    low, high = ratio_ends(right, of)
    # The probability of a draw with none of the ten is 0.00004: some of 10,000, or of 20,000.
    draws = ratio_interval(right, of, draws=Draws(resamples=100_000))
    assert 0 < low < right.sum() / of.sum() < high <= 1
    assert (draws.low, draws.high) == pytest.approx((low, high), abs=0.02)


def test_few_studies_with_facts_have_the_interval_of_the_formula() -> None:
    """By hand: linearised, on the logit scale, with Student's t [Cochran 1977].

    The variance is at least 1/n of the largest, as that of a mean.
    """
    for n in (3, 5, 9):
        right, of = of_few(n)
        low, high = ratio_ends(right, of)
        share = right.sum() / of.sum()
        apart = (right - share * of)[:n]
        error = np.sqrt(n / (n - 1) * np.sum(apart**2)) / of.sum()
        error = max(error, np.sqrt(share * (1 - share)) / n)
        half = reference.t.ppf(0.975, n - 1) * error / (share * (1 - share))
        logits = np.log(share / (1 - share)) + np.array([-half, half])
        assert (low, high) == pytest.approx(tuple(1 / (1 + np.exp(-logits))), rel=1e-6)


def test_ratios_that_are_no_shares_stay_above_0() -> None:
    right, of = of_few(5)
    found = ratio_interval(3 * of + right, of)
    assert 0 < found.low < found.value < found.high
    alike = ratio_interval(np.full(20, 1.0), np.full(20, 2.0))
    assert alike.low < alike.value == 0.5 < alike.high


def test_neither_order_nor_names_of_studies_and_patients_change_a_ratio() -> None:
    rng = np.random.default_rng(4)
    right, of = facts(60)
    units = np.repeat(np.arange(20), 3)
    expected, by_patient = ratio_interval(right, of), ratio_interval(right, of, units)
    assert expected != by_patient
    for _ in range(5):
        order, names = rng.permutation(60), rng.permutation(20)
        assert ratio_interval(right[order], of[order]) == expected
        assert (
            ratio_interval(right[order], of[order], names[units][order]) == by_patient
        )
    other = ratio_interval(right, of, draws=Draws(seed=1))
    assert other.low != expected.low
    assert other.low == pytest.approx(expected.low, abs=0.01)


# Patients with several studies


def of_patients(rng: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    """Errors of n patients with `size` studies each, which are much alike, and the patients."""
    rates = np.repeat(rng.gamma(0.8, 1.5, n), size)
    return rng.poisson(rates).astype(float), np.repeat(np.arange(n), size)


def test_intervals_of_single_figures_are_by_patient() -> None:
    errors, units = of_patients(np.random.default_rng(1), 40, 4)
    scored = table(a=errors.tolist(), b=[1.0] * len(errors))
    for one in (
        statistic(Mean, "a"),
        statistic(Rate, "a"),
        statistic(Ratio, "a", per=("b",)),
    ):
        by_study, by_patient = estimate(scored, one), estimate(scored, one, units)
        assert by_study.value == by_patient.value
        width = by_study.high - by_study.low
        assert by_patient.high - by_patient.low > 1.2 * width
        # Patients with one study each are studies, and one patient says nothing.
        assert estimate(scored, one, np.arange(len(errors))) == by_study
        assert estimate(scored, one, 0 * units).low is None
