"""Judges against the mean of the readers, the ceiling, and differences between judges."""

from __future__ import annotations

import json
import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from judge.stats.agreement import Agreement, Coefficients, agreement, mean_of
from judge.stats.correlation import METHODS, Resamples, draw
from judge.stats.estimate import Estimate

NAN = float("nan")


def of(coefficients: Coefficients, method: str) -> Estimate:
    return getattr(coefficients, method)


def theirs(method: str, x: np.ndarray, y: np.ndarray) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    test = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
    return test[method](x[both], y[both]).statistic


def raters(seed: int, n: int = 80, m: int = 6, missing: float = 0.0) -> np.ndarray:
    random = np.random.default_rng([1, seed])
    values = random.poisson(random.gamma(1, 2, n)[:, None], (n, m)).astype(float)
    values[random.random((n, m)) < missing] = NAN
    return values


def resampled(n: int, clusters: object = None, resamples: int = 300, seed: int = 0) -> Resamples:
    at = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return draw(at, n, np.random.default_rng(seed), resamples)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_each_value_against_scipy(missing: float) -> None:
    values = raters(2, missing=missing)
    found = agreement(values, 2, resampled(80))
    readers = values[:, 2:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of no reader
        mean = np.nanmean(readers, axis=1)
        others = [np.nanmean(np.delete(readers, at, axis=1), axis=1) for at in range(4)]
    for method in METHODS:
        for judge in range(2):
            cell = of(found.judges[judge], method)
            assert cell.value == pytest.approx(theirs(method, values[:, judge], mean), abs=1e-9)
            assert cell.n == (~(np.isnan(values[:, judge]) | np.isnan(mean))).sum()
            assert cell.low < cell.value < cell.high
        expected = [theirs(method, readers[:, at], others[at]) for at in range(4)]
        own = [of(one, method).value for one in found.ceiling.readers]
        assert own == pytest.approx(expected, abs=1e-9)
        assert of(found.ceiling.mean, method).value == pytest.approx(np.mean(expected), abs=1e-9)
        assert of(found.ceiling.mean, method).n == ((~np.isnan(readers)).sum(axis=1) > 1).sum()
        assert found.ceiling.ranges[method] == pytest.approx((min(own), max(own)))
        for pair, (a, b) in zip(found.ceiling.pairs, combinations(range(4), 2), strict=True):
            assert (pair.a, pair.b) == (a, b)
            value = theirs(method, readers[:, a], readers[:, b])
            assert of(pair.coefficients, method).value == pytest.approx(value, abs=1e-9)


def test_a_mean_is_of_those_who_have_a_value() -> None:
    values = np.array([[1, 2, 6], [NAN, 4, 5], [NAN, NAN, NAN], [NAN, NAN, 3]])
    assert mean_of(values) == pytest.approx([3, 4.5, NAN, 3], nan_ok=True)
    assert np.isnan(mean_of(np.empty((2, 0)))).all()


def test_a_difference_is_of_the_studies_of_both_and_the_same_resamples() -> None:
    values = raters(3, n=60)
    values[:9, 0] = values[6:15, 1] = NAN
    resamples = resampled(60)
    (difference,) = agreement(values, 2, resamples).differences
    assert (difference.a, difference.b) == (0, 1)
    common = values.copy()
    common[:15, :2] = NAN
    mean = mean_of(values[:, 2:])
    drawn = []
    for column in range(301):
        rows = np.repeat(np.arange(60), resamples.weights[:, column].astype(int))
        drawn.append(
            theirs("spearman", common[rows, 0], mean[rows])
            - theirs("spearman", common[rows, 1], mean[rows])
        )
    cell = difference.coefficients.spearman
    assert (cell.n, cell.n_undefined) == (45, 15)
    assert cell.value == pytest.approx(drawn[0], abs=1e-9)
    ends = np.quantile(drawn[1:], [0.025, 0.975])
    assert (cell.low, cell.high) == pytest.approx(tuple(ends), abs=1e-9)


def test_all_pairs_of_judges_are_compared() -> None:
    found = agreement(raters(4), 3, resampled(80))
    pairs = [(one.a, one.b) for one in found.differences]
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    for one in found.differences:
        for method in METHODS:
            a, b = of(found.judges[one.a], method), of(found.judges[one.b], method)
            assert of(one.coefficients, method).value == pytest.approx(a.value - b.value)


def test_a_difference_is_surer_than_two_judges_apart() -> None:
    """The same resamples for both: what makes a study hard for all does not count."""
    values = raters(5, n=300)
    values[:, 1] = np.where(np.arange(300) % 10 == 0, values[:, 1], values[:, 0])
    found = agreement(values, 2, resampled(300))
    cell = found.differences[0].coefficients.pearson
    assert cell.high - cell.low < found.judges[0].pearson.high - found.judges[0].pearson.low


def test_a_judge_that_copies_another_differs_by_nothing() -> None:
    values = raters(6)
    values[:, 1] = values[:, 0]
    cell = agreement(values, 2, resampled(80)).differences[0].coefficients.kendall
    assert cell.value == 0
    assert cell.reason == "all resamples have the same value, which is no interval"


def test_a_judge_that_never_varies_has_a_reason_and_spoils_no_other() -> None:
    values = raters(7)
    alone = agreement(np.delete(values, 1, axis=1), 1, resampled(80))
    values[:, 1] = 2
    found = agreement(values, 2, resampled(80))
    assert found.judges[1].kendall.value is None
    assert found.judges[1].kendall.reason == "the judge never varies"
    assert found.differences[0].coefficients.pearson.reason == "the judge never varies"
    assert found.judges[0] == alone.judges[0]
    assert found.ceiling == alone.ceiling


def test_readers_that_never_vary() -> None:
    values = raters(8)
    values[:, 2:] = 1
    found = agreement(values, 2, resampled(80))
    assert found.judges[0].pearson.reason == "the mean of the readers never varies"
    assert found.ceiling.mean.kendall.value is None
    assert found.ceiling.mean.kendall.reason == "no reader has a correlation with the others"
    assert found.ceiling.ranges == dict.fromkeys(METHODS)


def test_a_reader_that_never_varies_is_not_in_the_mean() -> None:
    values = raters(9)
    values[:, 5] = 1
    ceiling = agreement(values, 2, resampled(80)).ceiling
    assert ceiling.readers[3].kendall.reason == "the reader never varies"
    others = [one.kendall.value for one in ceiling.readers[:3]]
    assert ceiling.mean.kendall.value == pytest.approx(np.mean(others))


@pytest.mark.parametrize("n_readers", [0, 1])
def test_fewer_than_two_readers_have_no_ceiling(n_readers: int) -> None:
    found = agreement(raters(10)[:, : 1 + n_readers], 1, resampled(80))
    assert len(found.ceiling.readers) == n_readers
    assert found.ceiling.pairs == ()
    assert found.ceiling.mean.spearman.value is None
    assert (found.judges[0].kendall.value is None) == (n_readers == 0)


def test_no_study_in_common() -> None:
    values = raters(11)
    values[:40, 0] = NAN
    values[40:, 2:] = NAN
    cell = agreement(values, 2, resampled(80)).judges[0].kendall
    assert cell.reason == "a correlation needs 3 studies, 0 have both values"
    nothing = agreement(np.empty((0, 5)), 2, resampled(0))
    assert nothing.judges[0].kendall.n == 0


def every_number(found: Agreement) -> list[float]:
    def walk(value: object) -> list[float]:
        if isinstance(value, dict):
            return [x for one in value.values() for x in walk(one)]
        if isinstance(value, list):
            return [x for one in value for x in walk(one)]
        return [value] if isinstance(value, float) else []

    return walk(json.loads(json.dumps(found.plain(), allow_nan=False)))


@pytest.mark.parametrize("seed", range(12))
def test_never_a_nan_and_never_beyond_1(seed: int) -> None:
    random = np.random.default_rng([3, seed])
    n = int(random.integers(0, 14))
    values = random.integers(0, 2, (n, 5)).astype(float)
    values[random.random((n, 5)) < 0.4] = NAN
    for number in every_number(agreement(values, 2, resampled(n, random.integers(0, 9, n)))):
        assert -2 <= number <= 2


def test_plain_has_the_keys_that_are_promised() -> None:
    found = agreement(raters(12), 2, resampled(80)).plain()
    assert set(found) == {"judges", "differences", "ceiling"}
    assert list(found["judges"][0]) == ["n", "kendall", "spearman", "pearson"]
    assert {"n", "value", "low", "high"} <= set(found["judges"][0]["kendall"])
    assert set(found["ceiling"]) == {"readers", "pairs", "mean", "range"}
    assert found["differences"][0]["a"] == 0
    assert "reason" not in found["judges"][0]["kendall"]


def test_the_same_seed_gives_the_same_numbers() -> None:
    values = raters(13)
    one, again = (agreement(values, 2, resampled(80, seed=5)) for _ in range(2))
    assert one == again
    assert one != agreement(values, 2, resampled(80, seed=6))
