"""Limits of agreement, and the order of candidates."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from judge.stats.agreement import clustered_error, limits_of_agreement, preference
from judge.stats.correlation import draw
from judge.stats.estimate import Z_95, wilson

NAN = float("nan")


def counts(seed: int, n: int = 50, m: int = 4) -> np.ndarray:
    random = np.random.default_rng([6, seed])
    return random.poisson(random.gamma(1, 2, n)[:, None], (n, m)).astype(float)


def limits(values: np.ndarray, units: np.ndarray | None = None):
    at = np.arange(len(values)) if units is None else units
    return limits_of_agreement(values[:, 0], values[:, 1:], at)


def test_limits_by_hand() -> None:
    found = limits(np.array([[3, 1, 1], [2, 3, NAN], [5, 4, 4], [NAN, 1, 1], [4, 2, 2]], float))
    # Differences 2, -1, 1, 2: mean 1, sd √2.
    assert found.bias.value == 1
    assert found.sd == pytest.approx(np.sqrt(2))
    assert (found.bias.n, found.bias.n_undefined) == (4, 1)
    assert found.lower.value == pytest.approx(1 - Z_95 * np.sqrt(2))
    assert found.upper.value == pytest.approx(1 + Z_95 * np.sqrt(2))
    t = 3.1824463052842624  # of three degrees of freedom
    assert found.bias.high == pytest.approx(1 + t * np.sqrt(2 / 4))
    half = t * np.sqrt(2) * np.sqrt(1 / 4 + Z_95**2 / 6)
    assert found.upper.low == pytest.approx(found.upper.value - half)
    assert found.lower.high == pytest.approx(found.lower.value + half)


def test_the_interval_of_the_bias_is_students() -> None:
    values = counts(1)
    d = values[:, 0] - values[:, 1:].mean(axis=1)
    expected = stats.ttest_1samp(d, 0).confidence_interval()
    found = limits(values).bias
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_patients_with_several_studies() -> None:
    values = counts(2, 60)
    once, twice = limits(values), limits(np.repeat(values, 2, axis=0), np.repeat(range(60), 2))
    assert twice.bias.value == pytest.approx(once.bias.value)
    assert (twice.bias.low, twice.bias.high) == pytest.approx((once.bias.low, once.bias.high))
    naive = limits(np.repeat(values, 2, axis=0))
    assert naive.bias.high - naive.bias.low < 0.75 * (twice.bias.high - twice.bias.low)
    assert naive.upper.high - naive.upper.low < 0.8 * (twice.upper.high - twice.upper.low)


def test_the_clustered_error_of_one_study_a_unit_is_the_plain_one() -> None:
    d = np.random.default_rng(1).normal(size=31)
    assert clustered_error(d, np.arange(31)[::-1] * 3) == (
        pytest.approx(d.std(ddof=1) / np.sqrt(31)),
        31,
    )
    assert np.isnan(clustered_error(d, np.zeros(31, int))[0])


def test_every_missing_interval_of_a_limit_has_a_reason() -> None:
    two = limits(np.array([[1, 2], [3, 1], [NAN, 1]], float))
    assert two.bias.value is None
    assert two.bias.reason == "limits of agreement need 3 studies, 2 have both values"
    assert two.sd is None
    alike = limits(np.array([[1.1, 0.1], [3.3, 2.3], [0.7, -0.3]]))
    assert alike.bias.value == pytest.approx(1)
    assert alike.upper.value == alike.bias.value
    assert alike.sd == 0
    assert alike.upper.reason == "all differences are the same, which gives no interval"
    one = limits(counts(3), np.zeros(50, int))
    assert one.bias.reason == "an interval needs 2 patients, there is 1"
    assert one.sd > 0
    for found in (two, alike, one, limits(np.empty((0, 3)))):
        assert found.bias.low is None
        plain = json.loads(json.dumps(found.plain(), allow_nan=False))
        assert set(plain) == {"n", "bias", "lower", "upper", "sd"}


def ordered(judge: list[float], readers: list[list[float]], studies: list[int], resamples=200):
    values = np.array(readers, dtype=float).T.reshape(len(judge), len(readers))
    at = np.array(studies)
    drawn = draw(at, len(at), np.random.default_rng(1), resamples)
    return preference(np.array(judge, dtype=float), values, at, drawn)


def test_preference_by_hand() -> None:
    studies = [0, 0, 0, 1, 1, 2, 2, 3]
    reader_one = [1, 2, 3, 1, 1, 4, 2, 9]
    reader_two = [1, 2, 5, 2, 2, NAN, 1, 9]
    judge = [0, 0, 2, 5, 1, 3, 1, 0]
    found = ordered(judge, [reader_one, reader_two], studies)
    # Study 0: tied by the judge, right, right. Study 1: tied by the readers. Study 2: right,
    # by the first reader, who has both. Study 3 has one candidate.
    assert (found.accuracy.n, found.accuracy.n_undefined, found.n_ties) == (4, 1, 1)
    assert found.accuracy.value == 3.5 / 4


def test_a_reader_of_one_candidate_has_no_say_in_the_order() -> None:
    """A strict reader who has read the better candidate only does not turn the two round."""
    found = ordered([1, 2], [[1, 2], [9, NAN]], [0, 0])
    assert found.accuracy.value == 1


@pytest.mark.parametrize("seed", range(4))
def test_preference_in_every_resample(seed: int) -> None:
    values = counts(seed, 120)
    random = np.random.default_rng(seed)
    values[random.random(values.shape) < 0.1] = NAN
    studies = random.integers(0, 40, 120)
    patients = studies // 2
    resamples = draw(patients, 120, random, 150)
    found = preference(values[:, 0], values[:, 1:], studies, resamples)
    right, pairs, ties = np.zeros(len(resamples.weights)), np.zeros(len(resamples.weights)), 0
    for i, j in combinations(range(120), 2):
        d = values[i, 1:] - values[j, 1:]
        if studies[i] != studies[j] or np.isnan(d).all() or np.isnan(values[i, 0] - values[j, 0]):
            continue
        by_readers, by_judge = np.sign(np.nanmean(d).round(9)), np.sign(values[i, 0] - values[j, 0])
        if by_readers:
            right[resamples.units[i]] += 0.5 if by_judge == 0 else by_judge == by_readers
            pairs[resamples.units[i]] += 1
            ties += by_judge == 0
    assert (found.accuracy.n, found.n_ties) == (pairs.sum(), ties)
    drawn = (right @ resamples.weights) / (pairs @ resamples.weights)
    assert found.accuracy.value == pytest.approx(drawn[0])
    ends = np.quantile(drawn[1:], [0.025, 0.975])
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(tuple(ends))


def test_the_ends_of_preference() -> None:
    studies = np.repeat(np.arange(15), 2).tolist()
    order = [0, 1] * 15
    right, wrong = ordered(order, [order], studies), ordered(order, [order[::-1]], studies)
    fifteen = wilson(15, 15)
    assert (right.accuracy.value, right.accuracy.low, right.accuracy.high) == (1, fifteen.low, 1)
    assert (wrong.accuracy.value, wrong.accuracy.low) == (0, 0)
    tied = ordered([1] * 30, [order], studies)
    assert (tied.accuracy.value, tied.n_ties) == (0.5, 15)
    assert tied.accuracy.reason == "all resamples have the same value, which is no interval"


def test_preference_without_a_pair_has_a_reason() -> None:
    for found in (
        ordered([1, 2, 3], [[1, 2, 3]], [0, 1, 2]),
        ordered([1, 2], [[4, 4]], [0, 0]),
        ordered([1, NAN], [[4, 5]], [0, 0]),
        ordered([1, 2], [[0.1 + 0.2, 0.3]], [0, 0]),
        ordered([], [], []),
    ):
        assert found.accuracy.value is None
        assert found.accuracy.reason == "the readers order no two candidates of a study"
        assert found.plain()["n"] == 0
    few = ordered([1, 2, 5, 4], [[1, 2, 4, 5]], [0, 0, 1, 1])
    assert few.accuracy.value == 0.5
    assert few.accuracy.reason == "an interval needs 10 patients, there are 2"
