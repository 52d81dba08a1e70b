"""Ranks: figures that only rounding sets apart, edges of intervals, and what has no rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import COST, INVERSE, RATE, SCORE, panel_of

from judge.report import leaderboard
from judge.report.leaderboard import all_tables, ranks_table, signed
from judge.report.words import number
from judge.stats.compare import compare
from judge.stats.paired import Resampling, compare_pairs
from judge.stats.panel import group_cells, rank_shares, ranks_of, ranks_with_ties

HOW = Resampling(seed=7, resamples=400, flips=200)
RNG = np.random.default_rng(5)


def ranks(panel, metric) -> list[int | None]:
    return [cell.rank for cell in group_cells(panel).cells[metric.name]]


# Equal but for rounding

# The columns have one mean, but the computer's numbers have two.
SPLIT = [[0.4, 0.3], [0.2, 0.3]] * 20
THIRDS = [[1 / 3, 2 / 3], [2 / 3, 1 / 3], [5 / 6, 1 / 6], [1 / 6, 5 / 6], [1 / 7, 3 / 7]]
THIRDS += [[3 / 7, 1 / 7]]


@pytest.mark.parametrize("metric", [SCORE, COST, INVERSE])
@pytest.mark.parametrize("values", [SPLIT, THIRDS, (np.array(SPLIT) * 3e11).tolist()])
def test_figures_that_are_equal_but_for_the_last_bit_share_a_rank(metric, values) -> None:
    for order in (values, values[::-1]):
        panel = panel_of({metric: order})
        assert ranks(panel, metric) == [1, 1]
        test = compare_pairs(panel, {}, HOW).pairs[metric.name][0]
        assert test.difference == 0


def test_resamples_that_are_equal_but_for_the_last_bit_are_shared() -> None:
    values = np.array([[0.1 + 0.2, 0.3], [0.7 + 0.1, 0.8], [0.3, 0.1 * 3]])
    assert (values[:, 0] != values[:, 1]).all()
    found = compare_pairs(panel_of({SCORE: values, COST: values}), {}, HOW)
    for metric in (SCORE, COST):
        assert [one.shares for one in found.rank_shares[metric.name]] == [(0.5, 0.5)] * 2
        test = found.pairs[metric.name][0]
        assert (test.difference, test.low, test.high, test.p) == (0, 0, 0, 1)


def test_a_real_difference_is_none_of_rounding() -> None:
    small = np.tile([0.5, 0.5 + 1e-9], (30, 1))
    assert ranks(panel_of({SCORE: small}), SCORE) == [2, 1]
    # Nor does another model's size make it one.
    beside = np.column_stack([small, np.full(30, 1e11)])
    assert ranks(panel_of({SCORE: beside}), SCORE) == [3, 2, 1]
    first, second, _ = compare_pairs(panel_of({COST: beside}), {}, HOW).rank_shares["cost"]
    assert (first.shares[0], second.shares[1]) == (1, 1)


def test_values_that_cancel_are_nought_and_rank_so() -> None:
    values = [[0.1, 0.0], [0.2, 0.0], [-0.3, 0.0]]
    cells = group_cells(panel_of({SCORE: values})).cells["score"]
    assert [(cell.value, cell.rank) for cell in cells] == [(0, 1), (0, 1)]


@given(st.integers(0, 10_000), st.booleans())
def test_places_are_those_of_a_count(seed: int, higher: bool) -> None:
    figures = np.random.default_rng(seed).integers(0, 4, (6, 5)).astype(float)
    better, equal = ranks_with_ties(figures, np.zeros(5), higher=higher)
    for row in range(6):
        for at, value in enumerate(figures[row]):
            others = figures[row] > value if higher else figures[row] < value
            assert better[row, at] == others.sum()
            assert equal[row, at] == (figures[row] == value).sum()


def test_ranks_of_nothing() -> None:
    assert ranks_of([None, None], np.zeros(2), higher=True) == [None, None]
    assert ranks_of([None, 1.0, 2.0], np.zeros(3), higher=True) == [None, 2, 1]
    assert rank_shares(np.full((4, 2), np.nan), np.zeros(2), higher=True) == (None, None)


# Another model's values


def test_another_models_size_does_not_change_a_pairs_p() -> None:
    pair = RNG.normal(size=(20, 2)) + np.array([0.6, 0])
    alone = compare_pairs(panel_of({SCORE: pair}), {}, HOW).pairs["score"][0]
    beside = np.column_stack([pair, 1e11 * RNG.random(20)])
    assert compare_pairs(panel_of({SCORE: beside}), {}, HOW).pairs["score"][0].p == alone.p
    huge = np.column_stack([pair, 1e13 * RNG.random(20)])
    assert compare_pairs(panel_of({SCORE: huge}), {}, HOW).pairs["score"][0].p == alone.p


# The ends of a rank's interval


@pytest.mark.parametrize("models", [2, 39, 40])
def test_the_interval_of_equal_models_ranks_is_the_same_from_both_ends(models: int) -> None:
    found = rank_shares(np.zeros((50, models)), np.zeros(models), higher=True)
    assert {(one.low, one.high) for one in found} == {(1, models)}


@given(st.integers(0, 10_000))
def test_turning_the_order_round_turns_the_intervals_round(seed: int) -> None:
    figures = np.random.default_rng(seed).integers(0, 9, (40, 6)).astype(float)
    up = rank_shares(figures, np.zeros(6), higher=True)
    down = rank_shares(figures, np.zeros(6), higher=False)
    assert [(one.low, one.high) for one in up] == [(7 - one.high, 7 - one.low) for one in down]


# No place


@pytest.mark.parametrize("metric", [SCORE, RATE])
@pytest.mark.parametrize(("n", "clusters"), [(1, None), (1, [0]), (4, [2] * 4)])
def test_one_study_or_patient_has_no_rank_shares(metric, n: int, clusters) -> None:
    values = np.tile([[1.0, 0.0]], (n, 1))
    panel = panel_of({metric: values}, clusters=clusters)
    assert compare_pairs(panel, {}, HOW).rank_shares[metric.name] == (None, None)
    rows = ranks_table(compare(panel, how=HOW), 0).rows
    assert rows[0] == ("a", "1", "n/a", "n/a", "n/a", "n/a")


def test_a_metric_that_one_patient_alone_has_gives_no_rank_shares() -> None:
    values = np.full((6, 2), np.nan)
    values[:2] = [[1, 0], [1, 0]]
    panel = panel_of({SCORE: values, COST: RNG.random((6, 2))}, clusters=[0, 0, 1, 1, 2, 2])
    found = compare_pairs(panel, {}, HOW).rank_shares
    assert found["score"] == (None, None)
    assert None not in found["cost"]


# No reciprocal


def near_nought(mean: float, n: int = 40) -> np.ndarray:
    column = RNG.normal(size=n)
    return column - column.mean() + mean


def test_a_model_without_a_reciprocal_is_not_ranked_but_said() -> None:
    values = np.column_stack([near_nought(9), near_nought(-1), near_nought(8)])
    found = compare(panel_of({INVERSE: values, SCORE: values}), how=HOW)
    assert [cell.value is None for cell in found.groups[0].cells["inverse"]] == [False, True, False]
    assert found.rank_shares[0]["inverse"] == (None,) * 3
    assert None not in found.rank_shares[0]["score"]
    tests = {(test.a, test.b): test for test in found.tests[0]["inverse"]}
    assert tests[0, 1].difference is tests[0, 1].low is tests[0, 1].p is None
    assert None not in (tests[0, 2].difference, tests[0, 2].low, tests[0, 2].p)
    assert found.notes[0] == (
        "the mean cost of b is 0 or less: 1/cost is not defined and n/a there"
    )
    assert found.notes[1].startswith("the mean cost of b is 0 or less in some resamples: ")
    assert len(found.notes) == 2


def test_resamples_without_a_reciprocal_are_not_left_out_in_silence() -> None:
    values = np.column_stack([near_nought(0.1), near_nought(9), near_nought(8)])
    panel = panel_of({INVERSE: values}, site=["x"] * 20 + ["y"] * 20)
    found = compare(panel, how=HOW)
    assert found.groups[0].cells["inverse"][0].value == pytest.approx(10)
    test = found.tests[0]["inverse"][0]
    assert test.difference == pytest.approx(10 - 1 / 9)
    assert (test.low, test.high, test.p is None) == (None, None, False)
    assert found.rank_shares[0]["inverse"] == (None,) * 3
    assert [note.split(":")[0] for note in found.notes] == [
        "the mean cost of a is 0 or less in some resamples"
    ]
    assert compare(panel).notes == ()
    grouped = compare(panel, by=["site"], how=HOW).notes
    assert any(" of a (in " in note and " of 3 groups)" in note for note in grouped)


def test_reciprocals_that_there_are_need_no_note() -> None:
    values = np.column_stack([near_nought(9), near_nought(8)])
    values[:30, 0] = np.nan
    found = compare(panel_of({INVERSE: values}), how=HOW)
    assert found.notes == ()
    assert found.tests[0]["inverse"][0].low is not None
    assert None not in found.rank_shares[0]["inverse"]


# Nought


def test_a_difference_that_is_rounded_to_nought_has_no_sign() -> None:
    texts = [signed(value, 3) for value in (-0.0004, 0.0004, -0.0, 0.0, -0.0006, 0.1)]
    assert texts == ["0.000", "0.000", "0.000", "0.000", "-0.001", "+0.100"]
    assert (number(-0.0004), number(-0.0006), number(-0.004, 2)) == ("0.000", "-0.001", "0.00")


def test_no_table_says_minus_nought() -> None:
    values = np.column_stack([[0.1, 0.2, -0.3, 0.0001], [0.1, 0.2, -0.3, 0.0002]])
    found = compare(panel_of({SCORE: values, RATE: [[1, 1], [0, 0], [1, 0], [0, 1]]}), how=HOW)
    cells = [cell for table in all_tables(found) for row in table.rows for cell in row]
    assert not any("-0.000" in cell or "+0.000" in cell for cell in cells)
    assert leaderboard.tests_table(found, 0).rows[0][3] == "0.000 [0.000, 0.000]"
