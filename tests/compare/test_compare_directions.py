"""Which way is better, for whom a test is corrected, and what each seed and purpose decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from panels import COST, INVERSE, RATE, SCORE, panel_of

from judge import rubrics
from judge.stats.compare import compare
from judge.stats.metric import rubric_metrics
from judge.stats.paired import PairTest, Resampling, compare_pairs
from judge.stats.resample import generator

FEW = Resampling(1, resamples=100, flips=100)


def pairs_of(values: object, how: Resampling = FEW) -> tuple[PairTest, ...]:
    return compare_pairs(panel_of({SCORE: values}), {}, how).pairs["score"]


# Directions


@pytest.mark.parametrize(
    ("rubric", "directions"),
    [
        (
            "green",
            {
                "green": (True, True),
                "green_errors": (False, False),
                "green_no_significant_error": (True, True),
            },
        ),
        (
            "fineradscore",
            {
                # The printed 1 / mean is better when higher, a study's severity when lower.
                "inverse_fineradscore": (True, False),
                "fineradscore_sum": (False, False),
                "fineradscore_errors": (False, False),
                "fineradscore_no_significant_error": (True, True),
                "fineradscore_no_actionable_error": (True, True),
            },
        ),
    ],
)
def test_which_way_is_better_of_the_figure_and_of_a_study(
    rubric: str, directions: dict[str, tuple[bool, bool]]
) -> None:
    found = {
        metric.name: (metric.higher_is_better, metric.study_higher_is_better)
        for metric in rubric_metrics(rubrics.load(rubric))
    }
    assert found == directions


def test_ranks_go_down_or_up_and_equal_figures_share_the_better() -> None:
    values = [[2.0, np.nan, 1.0, 2.0]]
    (group,) = compare(panel_of({SCORE: values, COST: values, INVERSE: values})).groups
    ranks = {name: [cell.rank for cell in cells] for name, cells in group.cells.items()}
    assert ranks["score"] == [1, None, 3, 1]
    assert ranks["cost"] == ranks["inverse"] == [2, None, 1, 2]


def test_models_rank_in_the_direction_of_their_metric() -> None:
    # Of the reciprocal more is better, and it is the highest where the values are lowest.
    values = 1 + np.random.default_rng(4).random((60, 1)) + np.array([0.0, 1.0, 2.0])
    panel = panel_of({SCORE: values, COST: values, INVERSE: values})
    places = compare_pairs(panel, {}, FEW).rank_shares
    firsts = {
        name: [shares.shares[0] if shares else None for shares in found]
        for name, found in places.items()
    }
    assert firsts == {"score": [0, 0, 1], "cost": [1, 0, 0], "inverse": [1, 0, 0]}


def test_the_interval_of_a_rank_leaves_out_less_than_a_fortieth_at_either_end() -> None:
    # A thousand but one, so that no share is a fortieth exactly.
    panel = panel_of({SCORE: np.random.default_rng(10).random((40, 12))})
    found = compare_pairs(panel, {}, Resampling(1, resamples=999, flips=100)).rank_shares["score"]
    at_the_edge = 0
    for places in found:
        assert places is not None
        sums = np.cumsum(places.shares)
        assert places.low == 1 + int((sums < 0.025).sum())
        assert places.high == 1 + int((sums < 0.975).sum())
        at_the_edge += int(((sums > 0.025) & (sums < 0.05)).any())
    assert at_the_edge > 0


# Chance


def test_the_seed_decides_intervals_and_p_values_each() -> None:
    values = np.random.default_rng(1).random((50, 2))
    (one,), (other,) = (pairs_of(values, Resampling(seed)) for seed in (1, 2))
    assert one.difference == other.difference
    assert (one.low, one.high) != (other.low, other.high)
    assert one.p != other.p


def test_each_seed_purpose_and_group_has_random_numbers_of_its_own() -> None:
    asked: list[tuple[int, str, dict[str, object]]] = [
        (1, "bootstrap", {}),
        (1, "flips", {}),
        (2, "bootstrap", {}),
        (1, "bootstrap", {"site": "x"}),
        (1, "bootstrap", {"site": "y"}),
    ]
    streams = [tuple(generator(*one).random(4)) for one in asked]
    assert len(set(streams)) == len(asked)
    assert streams == [tuple(generator(*one).random(4)) for one in asked]


def test_flips_that_give_the_same_sum_in_another_order_count_as_equal() -> None:
    # In binary 0.1 + 0.2 - 0.3 is not 0, so that equal sums differ in their last digit.
    differences = np.array([0.1, 0.2, -0.3, 0.6])
    signs = np.array(list(itertools.product((-1, 1), repeat=4)))
    exact = np.mean(np.abs(signs @ np.array([1, 2, -3, 6])) >= 6)
    (test,) = pairs_of(np.column_stack([differences, np.zeros(4)]), Resampling(1))
    assert test.p == pytest.approx(exact, abs=0.02)


# Holm and patients


def test_holm_is_over_the_pairs_of_one_metric() -> None:
    values = np.random.default_rng(3).random((40, 3))
    alone = pairs_of(values, Resampling(1))
    panel = panel_of({SCORE: values, COST: values[:, ::-1]})
    beside_another = compare_pairs(panel, {}, Resampling(1)).pairs["score"]
    assert [test.p_holm for test in beside_another] == [test.p_holm for test in alone]
    assert all(test.p_holm is not None and test.p_holm < 1 for test in alone)


def test_groups_are_resampled_by_patient_too() -> None:
    values = np.repeat(np.random.default_rng(5).random((60, 2)) > 0.5, 2, axis=0)
    patients = np.repeat(np.arange(60), 2)
    panel = panel_of({RATE: values}, clusters=patients, site=["x", "x", "y", "y"] * 30)
    comparison = compare(panel, by=["site"], how=FEW)
    assert [group.key for group in comparison.groups] == [{}, {"site": "x"}, {"site": "y"}]
    assert [tests["rate"][0].method for tests in comparison.tests] == [
        "sign-flip permutation test"
    ] * 3
