"""The paired tests, against scipy, brute force and numbers worked out by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import COST, RATE, SCORE, panel_of
from scipy import stats

from judge.stats.significance import Resampling, compare, compare_pairs, holm, mcnemar

HOW = Resampling(seed=7)
FEW = Resampling(seed=1, resamples=100, flips=100)
RNG = np.random.default_rng(11)


def only(panel, metric=SCORE, how=HOW):
    return compare_pairs(panel, {}, how).pairs[metric.name]


# Holm


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, None, 0.01]) == [pytest.approx(0.5), None, pytest.approx(0.02)]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(q >= p and q <= 1 for p, q in zip(p_values, corrected, strict=True))
    by_p = [corrected[at] for at in np.argsort(p_values, kind="stable")]
    assert by_p == sorted(by_p)


# McNemar


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 5), (8, 8), (2, 300), (480, 520)])
def test_mcnemar_is_the_exact_test_less_half_the_mass_it_touches(
    b: int, c: int
) -> None:
    nan = np.nan
    values = [[1, 0]] * b + [[0, 1]] * c + [[1, 1]] * 7 + [[0, 0]] * 4
    values += [[1, nan]] * 9 + [
        [nan, 1]
    ] * 5  # only studies that are scored for both count
    p = only(panel_of({RATE: np.array(values, dtype=float)}), RATE, FEW)[0].p
    n, least = b + c, min(b, c)
    ways = 2 * sum(math.comb(n, x) for x in range(least)) + math.comb(n, least)
    # Where b is c, 1 less half the mass of that [Fagerland, Lydersen and Laake 2013].
    wanted = (
        1 - Fraction(math.comb(n, least), 2 ** (n + 1))
        if b == c
        else Fraction(ways, 2**n)
    )
    assert p == pytest.approx(float(wanted) if n else 1.0)


def test_a_rate_is_tested_by_mcnemar_unless_patients_have_several_studies() -> None:
    values = (RNG.random((90, 2)) < [0.8, 0.5]).astype(float)
    alone = only(panel_of({RATE: values}, clusters=range(90)), RATE)[0]
    b, c = ((values[:, side] > values[:, 1 - side]).sum() for side in (0, 1))
    assert (alone.method, alone.p) == ("mcnemar mid-p", mcnemar(int(b), int(c)))
    sites = ["x", "x", "x", "y", "y", "y"] * 15
    several = panel_of({RATE: values}, clusters=np.arange(90) // 3, site=sites)
    comparison = compare(several, by=["site"], how=FEW)
    assert [tests["rate"][0].method for tests in comparison.tests] == [
        "sign-flip permutation test"
    ] * 3


# Sign flips


def test_sign_flips_against_every_flip_there_is() -> None:
    values = RNG.normal(size=(11, 2)) + np.array([0.45, 0])
    difference = values[:, 0] - values[:, 1]
    signs = np.array(list(itertools.product((-1, 1), repeat=11)))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12)
    test = only(panel_of({SCORE: values}), how=Resampling(seed=3, flips=40_000))[0]
    assert test.p == pytest.approx(
        exact, abs=3 * np.sqrt(exact * (1 - exact) / 40_000) + 1e-4
    )
    assert 0.02 < exact < 0.6


def test_a_p_value_is_never_nought_and_equal_models_do_not_differ() -> None:
    ones, column = np.ones(500), RNG.random(500)
    first, second = (
        np.column_stack(pair) for pair in ((ones, 0 * ones), (column, column))
    )
    assert only(panel_of({SCORE: first}))[0].p == pytest.approx(1 / 10_001)
    test = only(panel_of({SCORE: second}))[0]
    assert (test.difference, test.low, test.high, test.p) == (0, None, None, 1)


# The bootstrap


def test_the_interval_of_a_difference_against_scipy() -> None:
    # The interval is the bootstrap's where it and p agree, which needs more than a few flips.
    values = np.random.default_rng(5).gamma(2, size=(120, 2)) + np.array([0.4, 0])
    theirs = stats.bootstrap(
        (values[:, 0], values[:, 1]),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = only(panel_of({SCORE: values}), how=Resampling(seed=3, resamples=9999))[0]
    assert ours.interval_by == "paired bootstrap"
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert ours.difference == pytest.approx(np.mean(values[:, 0] - values[:, 1]))


def test_studies_that_one_of_a_pair_lacks_are_left_out_of_the_pair_alone() -> None:
    values = RNG.random((80, 3))
    values[:30, 0], values[20:40, 1] = np.nan, np.nan
    both = ~np.isnan(values[:, 0]) & ~np.isnan(values[:, 1])
    tests = {(test.a, test.b): test for test in only(panel_of({SCORE: values}))}
    assert tests[0, 1].n == both.sum() == 40
    assert tests[0, 1].difference == pytest.approx(
        np.mean(values[both, 0] - values[both, 1])
    )
    alone = only(panel_of({SCORE: values[both][:, :2]}))[0]
    assert tests[0, 1].p == pytest.approx(alone.p, abs=0.03)
    assert tests[0, 1].low == pytest.approx(alone.low, abs=0.05)
    assert tests[1, 2].n == 60


# Patients


def test_studies_of_one_patient_count_as_one() -> None:
    """Each study three times over says no more than once."""
    once = RNG.random((40, 2)) + np.array([0.1, 0])
    thrice = np.repeat(once, 3, axis=0)
    alone = only(panel_of({SCORE: once}))[0]
    by_patient = only(panel_of({SCORE: thrice}, clusters=np.repeat(np.arange(40), 3)))[
        0
    ]
    naive = only(panel_of({SCORE: thrice}))[0]
    assert by_patient.p == pytest.approx(alone.p, abs=0.03)
    assert by_patient.high - by_patient.low == pytest.approx(
        alone.high - alone.low, rel=0.1
    )
    assert naive.high - naive.low < 0.7 * (alone.high - alone.low)


# Too little to compare


@pytest.mark.parametrize(("n", "clusters"), [(1, None), (1, [0]), (5, [3] * 5)])
def test_one_study_or_patient_is_no_test(n: int, clusters: list[int] | None) -> None:
    test = only(panel_of({SCORE: [[0.5, 0.25]] * n}, clusters=clusters))[0]
    assert (test.n, test.difference) == (n, 0.25)
    assert test.low is test.high is test.p is test.p_holm is None
    assert not test.is_significant


@pytest.mark.parametrize("n", [9, 10])
def test_fewer_than_ten_patients_have_a_p_value_and_no_interval(n: int) -> None:
    values = RNG.random((3 * n, 2)) + np.array([0.3, 0])
    panel = panel_of({SCORE: values}, clusters=np.repeat(np.arange(n), 3))
    found = compare(panel, how=FEW)
    test = found.tests[0]["score"][0]
    assert (test.n, test.n_units, test.p is None) == (3 * n, n, False)
    assert (test.low is None) == (n < 10)


# Holm over a table


def test_all_tests_of_a_table_are_corrected_together() -> None:
    values = RNG.random((40, 3)) + np.array([0.3, 0.1, 0])
    panel = panel_of({SCORE: values, COST: values**2, RATE: values > 0.6})
    tests = compare_pairs(panel, {}, FEW).pairs
    each = [test for name in ("score", "cost", "rate") for test in tests[name]]
    assert [one.p_holm for one in each] == holm([one.p for one in each])
