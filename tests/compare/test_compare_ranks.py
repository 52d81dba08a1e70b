"""Ranks: their direction, equal figures, shares of places, and what has no rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import COST, INVERSE, RATE, SCORE, panel_of

from judge.stats.scores import group_figures, rank_shares
from judge.stats.significance import Resampling, compare, compare_pairs
from judge.tables.comparison import ranks_table

HOW = Resampling(seed=7, resamples=400, flips=200)
RNG = np.random.default_rng(5)


def ranks(panel, metric) -> list[int | None]:
    return list(group_figures(panel).ranks[metric.name])


# Directions


def test_models_rank_in_the_direction_of_their_metric() -> None:
    values = [[2.0, np.nan, 1.0, 2.0]]
    panel = panel_of({SCORE: values, COST: values, INVERSE: values})
    # Of the reciprocal more is better, and it is the highest where the values are lowest.
    assert ranks(panel, SCORE) == [1, None, 3, 1]
    assert ranks(panel, COST) == ranks(panel, INVERSE) == [2, None, 1, 2]
    apart = 1 + np.random.default_rng(4).random((60, 1)) + np.array([0.0, 1.0, 2.0])
    found = compare_pairs(
        panel_of({SCORE: apart, COST: apart, INVERSE: apart}), {}, HOW
    )
    firsts = {
        name: [one.shares[0] for one in of] for name, of in found.rank_shares.items()
    }
    assert firsts == {"score": [0, 0, 1], "cost": [1, 0, 0], "inverse": [1, 0, 0]}


# Equal but for rounding

# The columns have one mean, but the computer's numbers have two.
SPLIT = [[0.4, 0.3], [0.2, 0.3]] * 20
THIRDS = [
    [1 / 3, 2 / 3],
    [2 / 3, 1 / 3],
    [5 / 6, 1 / 6],
    [1 / 6, 5 / 6],
    [1 / 7, 3 / 7],
]
THIRDS += [[3 / 7, 1 / 7]]


@pytest.mark.parametrize("metric", [SCORE, INVERSE])
@pytest.mark.parametrize("values", [SPLIT, THIRDS, (np.array(SPLIT) * 3e11).tolist()])
def test_figures_that_are_equal_but_for_the_last_bit_share_a_rank(
    metric, values
) -> None:
    for order in (values, values[::-1]):
        panel = panel_of({metric: order})
        assert ranks(panel, metric) == [1, 1]
        assert compare_pairs(panel, {}, HOW).pairs[metric.name][0].difference == 0


def test_a_real_difference_is_none_of_rounding_whatever_stands_beside_it() -> None:
    small = np.tile([0.5, 0.5 + 1e-9], (30, 1))
    assert ranks(panel_of({SCORE: small}), SCORE) == [2, 1]
    beside = np.column_stack([small, np.full(30, 1e11)])
    assert ranks(panel_of({SCORE: beside}), SCORE) == [3, 2, 1]
    first, second, _ = compare_pairs(panel_of({COST: beside}), {}, HOW).rank_shares[
        "cost"
    ]
    assert (first.shares[0], second.shares[1]) == (1, 1)
    pair = RNG.normal(size=(20, 2)) + np.array([0.6, 0])
    alone, huge = pair, np.column_stack([pair, 1e13 * RNG.random(20)])
    tests = [
        compare_pairs(panel_of({SCORE: v}), {}, HOW).pairs["score"][0]
        for v in (alone, huge)
    ]
    assert tests[0].p == tests[1].p


# Places


def test_shares_of_places_by_hand() -> None:
    figures = np.array(
        [[3.0, 2.0, 1.0], [3.0, 3.0, 1.0], [1.0, 2.0, 3.0], [4.0, 2.0, 3.0]]
    )
    a, b, c = rank_shares(figures, higher=True)
    assert a.shares == pytest.approx((2.5 / 4, 0.5 / 4, 1 / 4))
    assert b.shares == pytest.approx((0.5 / 4, 2.5 / 4, 1 / 4))
    assert c.shares == pytest.approx((1 / 4, 1 / 4, 2 / 4))
    assert (a.low, a.high) == (1, 3)
    figures = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, np.nan]])
    a, b, c = rank_shares(figures, higher=True)
    assert b is None  # a model without a figure takes no place
    assert a.shares == c.shares == pytest.approx((0.5, 0.5))


@given(st.integers(0, 10_000))
def test_every_place_is_taken_once_and_turning_the_order_turns_the_intervals(
    seed: int,
) -> None:
    figures = np.random.default_rng(seed).integers(0, 5, (40, 5)).astype(float)
    up = rank_shares(figures, higher=True)
    down = rank_shares(figures, higher=False)
    shares = np.array([found.shares for found in up])
    assert shares.sum(axis=0) == pytest.approx(1)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert [(one.low, one.high) for one in up] == [
        (6 - one.high, 6 - one.low) for one in down
    ]


# No place


@pytest.mark.parametrize("metric", [SCORE, RATE])
@pytest.mark.parametrize(("n", "clusters"), [(1, None), (4, [2] * 4)])
def test_one_study_or_patient_has_no_rank_shares(metric, n: int, clusters) -> None:
    panel = panel_of({metric: np.tile([[1.0, 0.0]], (n, 1))}, clusters=clusters)
    assert compare_pairs(panel, {}, HOW).rank_shares[metric.name] == (None, None)
    comparison = compare(panel, how=HOW)
    rows = ranks_table(comparison, 0, comparison.sorted_by).texts
    assert rows[0] == ("a", "1", "n/a", "n/a", "n/a", "n/a")


def near_nought(mean: float, n: int = 40) -> np.ndarray:
    column = RNG.normal(size=n)
    return column - column.mean() + mean


def test_a_model_without_a_reciprocal_is_not_ranked() -> None:
    values = np.column_stack([near_nought(9), near_nought(-1), near_nought(8)])
    found = compare(panel_of({INVERSE: values, SCORE: values}), how=HOW)
    assert [one.value is None for one in found.groups[0].estimates["inverse"]] == [
        False,
        True,
        False,
    ]
    assert found.rank_shares[0]["inverse"] == (None,) * 3
    assert None not in found.rank_shares[0]["score"]
    tests = {(test.a, test.b): test for test in found.tests[0]["inverse"]}
    assert tests[0, 1].difference is tests[0, 1].low is tests[0, 1].p is None
    assert None not in (tests[0, 2].difference, tests[0, 2].low, tests[0, 2].p)


def test_resamples_without_a_reciprocal_leave_no_interval_and_no_shares() -> None:
    values = np.column_stack([near_nought(0.1), near_nought(9), near_nought(8)])
    found = compare(panel_of({INVERSE: values}), how=HOW)
    assert found.groups[0].estimates["inverse"][0].value == pytest.approx(10)
    test = found.tests[0]["inverse"][0]
    assert test.difference == pytest.approx(10 - 1 / 9)
    assert (test.low, test.high, test.p is None) == (None, None, False)
    assert found.rank_shares[0]["inverse"] == (None,) * 3
