"""The paired tests, against scipy, brute force and numbers worked out by hand."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import COST, INVERSE, RATE, SCORE, panel_of
from scipy import stats

from judge.stats.compare import compare
from judge.stats.paired import Resampling, compare_pairs, holm, mcnemar
from judge.stats.panel import rank_shares
from judge.stats.resample import (
    ModelPairs,
    bootstrap_weights,
    percentiles,
    sums_of,
    units_of,
)

HOW = Resampling(seed=7)
RNG = np.random.default_rng(11)
EXACT = np.zeros(5)


def only(panel, metric, how=HOW):
    return compare_pairs(panel, {}, how).pairs[metric.name]


# Holm


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_is_step_down_and_leaves_what_is_no_test() -> None:
    assert holm([0.5, None, 0.01]) == [pytest.approx(0.5), None, pytest.approx(0.02)]
    assert holm([None]) == [None]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(q >= p and q <= 1 for p, q in zip(p_values, corrected, strict=True))
    by_p = [corrected[at] for at in np.argsort(p_values, kind="stable")]
    assert by_p == sorted(by_p)


# McNemar


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 5), (1, 1), (3, 9), (8, 8), (2, 300), (480, 520)])
def test_mcnemar_is_the_exact_test_less_half_the_mass_it_touches(b: int, c: int) -> None:
    values = [[1, 0]] * b + [[0, 1]] * c + [[1, 1]] * 7 + [[0, 0]] * 4
    p = mcnemar(np.array(values, dtype=float), ModelPairs(2))[0]
    n, least = b + c, min(b, c)
    ways = 2 * sum(math.comb(n, x) for x in range(least)) + math.comb(n, least)
    assert p == pytest.approx(float(Fraction(ways, 2**n)))


def test_mcnemar_by_hand() -> None:
    # One against five: 2 x (1/64) + 6/64 = 0.125.
    values = np.array([[1, 0]] + [[0, 1]] * 5, dtype=float)
    assert mcnemar(values, ModelPairs(2))[0] == pytest.approx(0.125)


def test_mcnemar_counts_only_studies_scored_for_both() -> None:
    nan = np.nan
    values = np.array([[1, 0]] + [[0, 1]] * 5 + [[1, nan]] * 9 + [[nan, 1]] * 9)
    assert mcnemar(values, ModelPairs(2))[0] == pytest.approx(0.125)


def test_a_rate_is_tested_by_mcnemar_unless_patients_have_several_studies() -> None:
    values = (RNG.random((90, 2)) < [0.8, 0.5]).astype(float)
    alone = only(panel_of({RATE: values}, clusters=range(90)), RATE)[0]
    several = only(panel_of({RATE: values}, clusters=np.arange(90) // 3), RATE)[0]
    assert (alone.method, several.method) == ("mcnemar mid-p", "sign-flip permutation test")
    assert alone.p == pytest.approx(mcnemar(values, ModelPairs(2))[0])


# Approximate randomization


def test_sign_flips_against_every_flip_there_is() -> None:
    values = RNG.normal(size=(11, 2)) + np.array([0.45, 0])
    difference = values[:, 0] - values[:, 1]
    signs = np.array(list(itertools.product((-1, 1), repeat=11)))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12)
    test = only(panel_of({SCORE: values}), SCORE, Resampling(3, flips=40_000))[0]
    assert test.p == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / 40_000) + 1e-4)
    assert 0.02 < exact < 0.6


def test_sign_flips_against_scipy() -> None:
    values = RNG.normal(size=(60, 2)) + np.array([0.2, 0])
    theirs = stats.permutation_test(
        (values[:, 0], values[:, 1]),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).pvalue
    ours = only(panel_of({SCORE: values}), SCORE, Resampling(3, flips=20_000))[0].p
    assert ours == pytest.approx(theirs, abs=0.015)


def test_a_p_value_is_never_nought() -> None:
    values = np.column_stack([np.ones(500), np.zeros(500)])
    assert only(panel_of({SCORE: values}), SCORE)[0].p == pytest.approx(1 / 10_001)


def test_equal_models_do_not_differ() -> None:
    column = RNG.random(200)
    test = only(panel_of({SCORE: np.column_stack([column, column])}), SCORE)[0]
    assert (test.difference, test.low, test.high, test.p) == (0, 0, 0, 1)


def test_p_values_are_uniform_where_nothing_differs() -> None:
    p = []
    for at in range(20):
        values = np.random.default_rng(at).integers(0, 4, (62, 20)).astype(float)
        pairs = only(panel_of({SCORE: values}), SCORE, Resampling(at, 100, 1000))
        p += [test.p for test in pairs if test.a % 2 == 0 and test.b == test.a + 1]
    share = np.mean(np.array(p) < 0.05)
    assert len(p) == 200
    assert share == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / 200))


# The bootstrap


def test_the_interval_of_a_difference_against_scipy() -> None:
    values = RNG.gamma(2, size=(120, 2)) + np.array([0.4, 0])
    theirs = stats.bootstrap(
        (values[:, 0], values[:, 1]),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = only(panel_of({SCORE: values}), SCORE, Resampling(3, 9999, 100))[0]
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert ours.difference == pytest.approx(np.mean(values[:, 0] - values[:, 1]))


def test_the_difference_of_a_reciprocal_is_of_the_printed_figures() -> None:
    values = RNG.integers(1, 5, (300, 2)).astype(float)
    test = only(panel_of({INVERSE: values}), INVERSE)[0]
    assert test.difference == pytest.approx(1 / values[:, 0].mean() - 1 / values[:, 1].mean())
    assert test.low < test.difference < test.high


def test_studies_that_one_of_a_pair_lacks_are_left_out_of_the_pair_alone() -> None:
    values = RNG.random((80, 3))
    values[:30, 0], values[20:40, 1] = np.nan, np.nan
    both = ~np.isnan(values[:, 0]) & ~np.isnan(values[:, 1])
    tests = {(test.a, test.b): test for test in only(panel_of({SCORE: values}), SCORE)}
    assert tests[0, 1].n == both.sum() == 40
    assert tests[0, 1].difference == pytest.approx(np.mean(values[both, 0] - values[both, 1]))
    alone = only(panel_of({SCORE: values[both][:, :2]}), SCORE)[0]
    assert tests[0, 1].p == pytest.approx(alone.p, abs=0.03)
    assert tests[0, 1].low == pytest.approx(alone.low, abs=0.05)
    assert tests[1, 2].n == 60


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.booleans())
def test_sums_of_common_studies_are_those_of_a_loop(seed: int, is_clustered: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((15, 2, 4))
    values[np.broadcast_to((rng.random((15, 4)) < 0.3)[:, None], values.shape)] = np.nan
    units = units_of(rng.integers(0, 5, 15) if is_clustered else None, 15)
    pairs, sums = ModelPairs(4), sums_of(values, units)
    for weights in bootstrap_weights(rng, int(units.max()) + 1, 3):
        one, other, n = sums.common(weights, pairs)
        difference = sums.difference(weights, pairs)
        for at, (a, b) in enumerate(itertools.combinations(range(4), 2)):
            both = ~np.isnan(values[:, 0, a]) & ~np.isnan(values[:, 0, b])
            w = weights[:, units[both]]
            assert n[:, at] == pytest.approx(w.sum(axis=1))
            for k in range(2):
                assert one[:, k, at] == pytest.approx(w @ values[both, k, a], abs=1e-9)
                assert other[:, k, at] == pytest.approx(w @ values[both, k, b], abs=1e-9)
                wanted = w @ (values[both, k, a] - values[both, k, b])
                assert difference[:, k, at] == pytest.approx(wanted, abs=1e-9)


def test_weights_draw_as_many_units_as_there_are() -> None:
    drawn = np.concatenate(list(bootstrap_weights(np.random.default_rng(1), 9_000, 700)))
    assert drawn.shape == (700, 9_000)
    assert set(drawn.sum(axis=1)) == {9_000}
    assert drawn.mean(axis=0) == pytest.approx(1, abs=0.25)


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=40))
def test_percentiles_are_numpys(rows: list[list[float]]) -> None:
    values = np.array(rows)
    wanted = np.percentile(values, (2.5, 97.5), axis=0)
    assert percentiles(values, (0.025, 0.975)) == pytest.approx(wanted)


def test_percentiles_pass_over_what_is_missing() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan], [2.0, np.nan]])
    low, high = percentiles(values, (0.0, 1.0))
    assert (low[0], high[0]) == (1, 3)
    assert np.isnan(low[1])


def test_the_seed_decides_and_other_groups_do_not() -> None:
    panel = panel_of({SCORE: RNG.random((50, 3)), COST: RNG.random((50, 3))})
    first = compare_pairs(panel, {"site": "x"}, Resampling(1))
    assert first == compare_pairs(panel, {"site": "x"}, Resampling(1))
    assert first.pairs != compare_pairs(panel, {"site": "x"}, Resampling(2)).pairs
    assert first.pairs != compare_pairs(panel, {"site": "y"}, Resampling(1)).pairs


# Patients


def test_studies_of_one_patient_count_as_one() -> None:
    """Each study three times over says no more than once."""
    once = RNG.random((40, 2)) + np.array([0.1, 0])
    thrice = np.repeat(once, 3, axis=0)
    alone = only(panel_of({SCORE: once}), SCORE)[0]
    by_patient = only(panel_of({SCORE: thrice}, clusters=np.repeat(np.arange(40), 3)), SCORE)[0]
    naive = only(panel_of({SCORE: thrice}), SCORE)[0]
    assert by_patient.p == pytest.approx(alone.p, abs=0.03)
    assert by_patient.high - by_patient.low == pytest.approx(alone.high - alone.low, rel=0.1)
    assert naive.high - naive.low < 0.7 * (alone.high - alone.low)


# Too little to compare


@pytest.mark.parametrize("clusters", [None, [0]])
def test_one_study_is_no_test(clusters: list[int] | None) -> None:
    test = only(panel_of({SCORE: [[0.5, 0.25]]}, clusters=clusters), SCORE)[0]
    assert (test.n, test.difference) == (1, 0.25)
    assert test.low is test.high is test.p is test.p_holm is None
    assert not test.is_significant


def test_one_patient_is_no_test() -> None:
    test = only(panel_of({SCORE: RNG.random((5, 2))}, clusters=[3] * 5), SCORE)[0]
    assert (test.n, test.p) == (5, None)


@pytest.mark.parametrize("metric", [SCORE, RATE])
def test_a_pair_whose_studies_are_all_of_one_patient_is_no_test(metric) -> None:
    values = RNG.integers(0, 2, (9, 3)).astype(float)
    values[0] = 1, 0, 0
    # Of the first two models only the first patient's three studies are scored for both.
    values[3:6, 0], values[6:, 1] = np.nan, np.nan
    tests = only(panel_of({metric: values}, clusters=np.repeat([0, 1, 2], 3)), metric)
    assert (tests[0].n, tests[0].difference is None) == (3, False)
    assert (tests[0].low, tests[0].high, tests[0].p, tests[0].p_holm) == (None,) * 4
    assert all(test.p is not None and test.low is not None for test in tests[1:])


def test_no_study_in_common_is_no_test() -> None:
    nan = np.nan
    tests = only(panel_of({SCORE: [[1, nan, 2], [nan, 1, 2], [1, nan, 3]]}), SCORE)
    assert (tests[0].n, tests[0].difference, tests[0].p, tests[0].p_holm) == (0, None, None, None)
    assert tests[1].n == 2
    assert tests[1].p is not None


def test_one_model_has_no_pair() -> None:
    found = compare_pairs(panel_of({SCORE: RNG.random((9, 1))}), {}, HOW)
    assert found.pairs["score"] == ()
    assert found.rank_shares["score"][0].shares == (1.0,)


# Ranks


def test_shares_of_places_by_hand() -> None:
    figures = np.array([[3.0, 2.0, 1.0], [3.0, 3.0, 1.0], [1.0, 2.0, 3.0], [4.0, 2.0, 3.0]])
    a, b, c = rank_shares(figures, EXACT[:3], higher=True)
    assert a.shares == pytest.approx((2.5 / 4, 0.5 / 4, 1 / 4))
    assert b.shares == pytest.approx((0.5 / 4, 2.5 / 4, 1 / 4))
    assert c.shares == pytest.approx((1 / 4, 1 / 4, 2 / 4))
    assert (a.low, a.high) == (1, 3)
    low_first = rank_shares(figures, EXACT[:3], higher=False)
    assert low_first[2].shares == pytest.approx((2 / 4, 1 / 4, 1 / 4))


@given(st.integers(0, 10_000))
def test_every_place_is_taken_once(seed: int) -> None:
    figures = np.random.default_rng(seed).integers(0, 3, (30, 5)).astype(float)
    shares = np.array([found.shares for found in rank_shares(figures, EXACT, higher=True)])
    assert shares.sum(axis=0) == pytest.approx(1)
    assert shares.sum(axis=1) == pytest.approx(1)


def test_a_model_without_a_figure_takes_no_place() -> None:
    figures = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, np.nan]])
    a, b, c = rank_shares(figures, EXACT[:3], higher=True)
    assert b is None
    assert a.shares == pytest.approx((0.5, 0.5))
    assert c.shares == pytest.approx((0.5, 0.5))


# Enough flips


@pytest.mark.parametrize(("models", "said"), [(4, False), (5, True), (6, True)])
def test_too_few_flips_for_so_many_pairs_are_said(models: int, said: bool) -> None:
    # Six pairs of 1 / 200 are 0.03, ten are 0.05 and can never be below it.
    panel = panel_of({SCORE: RNG.random((30, models)) - 5 * np.arange(models)})
    found = compare(panel, how=Resampling(1, resamples=100, flips=199), notes=("a note",))
    notes = [note for note in found.notes if "flips are too few" in note]
    assert (bool(notes), found.notes[0]) == (said, "a note")
    assert any(test.is_significant for test in found.tests[0]["score"]) is not said
    if said:
        flips = int(re.search(r"--flips (\d+)", notes[0]).group(1))
        assert not compare(panel, how=Resampling(1, resamples=100, flips=flips)).notes


def test_rates_of_single_patients_need_no_flips() -> None:
    panel = panel_of({RATE: RNG.integers(0, 2, (30, 6))})
    assert compare(panel, how=Resampling(1, resamples=100, flips=100)).notes == ()
