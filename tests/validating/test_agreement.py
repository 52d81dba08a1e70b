"""Correlations with readers, the ceiling, limits of agreement.

Against scipy, brute force and examples worked out by hand.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from attributes import named
from scipy import stats

from judge.stats.agreement import (
    CandidatePairs,
    agreement,
    candidate_pairs,
    clustered_error,
    correlation_measure,
    limits_of_agreement,
    mean_of,
    pair_counts,
    ranking_measure,
)
from judge.stats.correlation import ACCURACY, METHODS, correlate
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Z_95,
    Resamples,
    draw_resamples,
    interval,
    tail,
)
from judge.stats.rater_figures import judge_differences, rater_figures

NAN = float("nan")
SCIPY = {
    "kendall": stats.kendalltau,
    "spearman": stats.spearmanr,
    "pearson": stats.pearsonr,
}


def by_scipy(method: str, x: np.ndarray, y: np.ndarray) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    return SCIPY[method](x[both], y[both]).statistic


def resampled(
    n: int, clusters: object = None, resamples: int = 20, seed: int = 0
) -> Resamples:
    at = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return draw_resamples(at, n, np.random.default_rng(seed), resamples)


def rows_of(resamples: Resamples, column: int) -> np.ndarray:
    """The rows of a resample, each as often as its patient was drawn."""
    weights = resamples.weights[column, resamples.units].astype(int)
    return np.repeat(np.arange(len(resamples.units)), weights)


def kinds_of_values(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of columns: both with many ties, one of them, none."""
    random = np.random.default_rng([7, seed])
    n = int(random.integers(12, 60))
    latent = random.gamma(1, 2, n)
    few = random.poisson(latent[:, None], (n, 2)).astype(float)
    many = random.normal(size=(n, 2)) + latent[:, None]
    return [(few[:, 0], few[:, 1]), (few[:, 0], many[:, 0]), (many[:, 0], many[:, 1])]


def counts(seed: int, n: int = 80, m: int = 6, missing: float = 0.0) -> np.ndarray:
    random = np.random.default_rng([1, seed])
    values = random.poisson(random.gamma(1, 2, n)[:, None], (n, m)).astype(float)
    values[random.random((n, m)) < missing] = NAN
    return values


# Correlations of every resample.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clustered", [False, True])
def test_every_resample_against_scipy(seed: int, clustered: bool) -> None:
    for x, y in kinds_of_values(seed):
        n = len(x)
        patients = (
            np.random.default_rng(seed).integers(0, n // 2, n) if clustered else None
        )
        resamples = resampled(n, patients, 15)
        found = correlate(x, y, resamples).figures
        assert found.shape == (16, 4)
        for column, figures in enumerate(found):
            rows = rows_of(resamples, column)
            expected = [by_scipy(name, x[rows], y[rows]) for name in METHODS]
            # scipy's D(Y|X) has the independent variable first.
            somers = stats.somersd(y[rows], x[rows]).statistic
            assert figures == pytest.approx([*expected, (1 + somers) / 2], abs=1e-9)


def estimate_of(x: list[float], y: list[float], clusters: object = None) -> Estimate:
    at = resampled(len(x), clusters, 200)
    found = correlate(
        np.array(x, float), np.array(y, float), at, ("the judge", "their mean")
    )
    estimates = [found.estimate(method, at) for method in METHODS]
    assert len({one.reason for one in estimates}) == 1
    return estimates[0]


def test_many_studies_and_values_far_from_0() -> None:
    random = np.random.default_rng(5)
    latent = random.normal(size=4000)
    x = latent + random.normal(size=4000)
    y = np.round(latent + random.normal(size=4000), 1)
    expected = [by_scipy(name, x, y) for name in METHODS]
    found = correlate(x, y, resampled(4000, resamples=2)).figures[0, :3]
    assert found == pytest.approx(expected, abs=1e-10)
    far = correlate(x.round(3) + 1e8, y, resampled(4000, resamples=2)).figures[0, :3]
    assert far == pytest.approx(expected, abs=1e-4)


def test_every_missing_value_and_interval_has_a_reason() -> None:
    two = estimate_of([1, 2, NAN], [2, 1, 3])
    assert (two.n, two.n_undefined, two.value) == (2, 1, None)
    assert "needs 3 studies, 2" in two.reason
    assert estimate_of([], []).reason
    assert estimate_of([1, 1, 1], [2, 1, 3]).reason.startswith("the judge")
    x, y = [float(v) for v in range(30)], [float(v * 7 % 30) for v in range(30)]
    assert estimate_of(x[:10], y[:10]).reason is None
    # One study of thirty has an error: a third of the resamples have none.
    once = [1.0] + [0.0] * 29
    few_patients = np.arange(30) // 5
    for one in (
        estimate_of(x[:9], y[:9]),
        estimate_of(x, y, few_patients),
        estimate_of(x, x),
        estimate_of(once, once[::-1]),
    ):
        assert one.value is not None
        assert (one.low, one.high) == (None, None)
        assert one.reason


def test_the_ends_are_percentiles_and_a_few_undefined_resamples_are_left_out() -> None:
    figures = np.random.default_rng(4).normal(size=1000)
    figures[:10] = NAN
    low, high, reason = interval(figures, 50, "studies")
    assert reason is None
    assert (low, high) == pytest.approx(
        tuple(np.quantile(figures[10:], [tail(50), 1 - tail(50)]))
    )
    figures[10] = NAN
    assert interval(figures, 50, "studies")[0] is None


# Judges against the mean of the readers, and each reader against the others.


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_agreement_and_ceiling_against_scipy(missing: float) -> None:
    values = counts(2, missing=missing)
    found = named(agreement(values, 2, resampled(80, resamples=300)))
    readers = values[:, 2:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of no reader
        mean = np.nanmean(readers, axis=1)
        others = [np.nanmean(np.delete(readers, at, axis=1), axis=1) for at in range(4)]
    assert mean_of(readers) == pytest.approx(mean, nan_ok=True)
    for method in METHODS:
        for judge in range(2):
            cell = getattr(found.judges[judge].all_readers, method)
            assert cell.value == pytest.approx(
                by_scipy(method, values[:, judge], mean), abs=1e-9
            )
            assert cell.n == (~(np.isnan(values[:, judge]) | np.isnan(mean))).sum()
            assert cell.low < cell.value < cell.high
            # In the place of each reader, on this reader's studies.
            in_place = [
                by_scipy(
                    method,
                    np.where(np.isnan(readers[:, at]), NAN, values[:, judge]),
                    other,
                )
                for at, other in enumerate(others)
            ]
            assert found.judges[judge].n_sets == 4
            own = getattr(found.judges[judge], method)
            assert own.value == pytest.approx(np.mean(in_place), abs=1e-9)
            assert own.low < own.value < own.high
        expected = [by_scipy(method, readers[:, at], others[at]) for at in range(4)]
        own = [getattr(one, method).value for one in found.readers]
        assert own == pytest.approx(expected, abs=1e-9)
        ceiling = getattr(found.mean, method)
        assert ceiling.value == pytest.approx(np.mean(expected), abs=1e-9)
        assert ceiling.n == ((~np.isnan(readers)).sum(axis=1) > 1).sum()
        assert getattr(found.mean.range, method) == pytest.approx([min(own), max(own)])


def test_a_judge_that_is_as_good_as_a_reader_has_the_readers_figure() -> None:
    """The first reader given as the judge, in the place of the others, is close to the ceiling.

    Against all readers it is above, since more readers have a mean with less noise.
    """
    random = np.random.default_rng(8)
    values = random.normal(size=(3000, 1)) + random.normal(size=(3000, 4))
    found = named(agreement(values, 1, resampled(3000, resamples=20)))
    assert found.judges[0].pearson.value == pytest.approx(
        found.mean.pearson.value, abs=0.02
    )
    assert found.judges[0].all_readers.pearson.value > found.mean.pearson.value + 0.03


def test_one_reader_and_readers_of_other_studies_leave_no_sets() -> None:
    alone = counts(3, m=2)
    apart = counts(3, m=3)
    apart[:40, 1] = apart[40:, 2] = NAN
    for values in (alone, apart):
        found = agreement(values, 1, resampled(80, resamples=50))
        (judge,) = found["judges"]
        all_readers = judge.pop("all_readers")
        assert judge == all_readers
        assert judge["n_sets"] == 0
        assert found["mean"]["kendall"]["reason"]
    (reader,) = agreement(alone, 1, resampled(80, resamples=50))["readers"]
    assert reader["kendall"]["reason"] == "there is one reader"


# Intervals over readers.


def test_random_readers_widen_the_interval_by_their_jackknife_variance() -> None:
    values = counts(4, n=60, m=5)
    resamples = resampled(60, resamples=400)
    fixed = agreement(values, 1, resamples)["judges"][0]["kendall"]
    random = agreement(values, 1, resamples, random_readers=True)["judges"][0][
        "kendall"
    ]
    readers = values[:, 1:]

    def mean_over_sets(columns: list[int]) -> float:
        return float(
            np.mean(
                [
                    by_scipy(
                        "kendall",
                        values[:, 0],
                        readers[:, [at for at in columns if at != left]].mean(axis=1),
                    )
                    for left in columns
                ]
            )
        )

    without = [
        mean_over_sets([at for at in range(4) if at != left]) for left in range(4)
    ]
    by_reader = 3 / 4 * ((without - np.mean(without)) ** 2).sum()
    draws = np.mean(
        [
            correlate(
                values[:, 0], np.delete(readers, left, axis=1).mean(axis=1), resamples
            ).figures[1:, 0]
            for left in range(4)
        ],
        axis=0,
    )
    by_study = draws.var()
    freedom = 3 * ((by_study + by_reader) / by_reader) ** 2
    factor = np.sqrt(1 + by_reader / by_study) * stats.t.ppf(0.975, freedom) / Z_95
    assert random["value"] == fixed["value"]
    width = (random["high"] - random["low"]) / (fixed["high"] - fixed["low"])
    assert width == pytest.approx(factor)
    assert factor > 1


def test_two_readers_say_nothing_about_other_readers() -> None:
    found = agreement(
        counts(5, m=3), 1, resampled(80, resamples=50), random_readers=True
    )
    kendall = found["judges"][0]["kendall"]
    assert (kendall["low"], kendall["high"]) == (None, None)
    assert "needs 3 readers, there are 2" in kendall["reason"]


# Differences between judges.


def test_the_difference_of_two_judges_is_paired() -> None:
    values = counts(6, m=5)
    values[:3, 0] = values[5:7, 1] = NAN
    resamples = resampled(80, resamples=200)
    measure = correlation_measure(resamples)
    rows = rater_figures(measure, values, 2)
    ((first, second, found),) = judge_differences(
        measure, rows, values, 2, ("kendall",), pairs=[(0, 1)]
    )
    assert (first, second) == (0, 1)
    both = ~np.isnan(values[:, :2]).any(axis=1)
    readers = values[:, 2:]
    sides = [
        np.mean(
            [
                by_scipy(
                    "kendall",
                    values[both, judge],
                    np.delete(readers, at, axis=1)[both].mean(axis=1),
                )
                for at in range(3)
            ]
        )
        for judge in range(2)
    ]
    kendall = found["kendall"]
    assert kendall.value == pytest.approx(sides[0] - sides[1], abs=1e-9)
    assert kendall.n == both.sum()
    # Judges with the same errors differ less surely than their intervals suggest.
    same = values.copy()
    same[:, 1] = same[:, 0] + (np.arange(80) % 20 == 0)
    again = rater_figures(measure, same, 2)
    ((_, _, found),) = judge_differences(
        measure, again, same, 2, ("kendall",), pairs=[(0, 1)]
    )
    own = again[0].estimate("kendall")
    assert found["kendall"].high - found["kendall"].low < 0.5 * (own.high - own.low)
    equal = values.copy()
    equal[:, 1] = equal[:, 0]
    again = rater_figures(measure, equal, 2)
    ((_, _, found),) = judge_differences(
        measure, again, equal, 2, ("kendall",), pairs=[(0, 1)]
    )
    assert (found["kendall"].value, found["kendall"].low) == (0, None)
    assert found["kendall"].reason


# Candidates of one reference.


def pairs_of(references: list[int], clusters: object = None) -> CandidatePairs:
    at = None if clusters is None else np.array(clusters)
    found = candidate_pairs(np.array(references), at, np.random.default_rng(1), 300)
    assert found is not None
    return found


def test_pairs_of_one_reference_by_hand() -> None:
    references = [0, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    readers = np.array([5, 1, 3, 1, 2, 3, 2, 2, 1, 4], float)[:, None]
    judge = np.array([0, 2, 4, 1, 1, 3, 0, 1, 9, 3], float)
    pairs = pairs_of(references)
    assert (pairs.n_references, len(pairs.first)) == (4, 6)
    # Readers order 5 pairs: (1,2) right, (3,4) tied, (3,5) and (4,5) right, (8,9) wrong.
    assert pair_counts(pairs, judge, readers) == {
        "n_pairs": 5,
        "n_right": 3,
        "n_tied": 1,
        "n_wrong": 1,
        "n_tied_by_readers": 1,
    }
    found = ranking_measure(pairs)(judge, readers)
    assert found.value(ACCURACY) == pytest.approx((3 + 0.5) / 5)
    # The judge orders 5 of the 6 pairs.
    assert found.value("kendall") == pytest.approx((3 - 1) / np.sqrt(5 * 5))
    judge[1] = NAN
    assert pair_counts(pairs, judge, readers)["n_pairs"] == 4
    tied = ranking_measure(pairs)(judge, readers * 0)
    assert tied.estimate(ACCURACY).value is None
    assert tied.estimate(ACCURACY).reason


def test_pairs_are_drawn_by_patient_or_reference() -> None:
    random = np.random.default_rng(3)
    references = np.repeat(np.arange(40), 2)
    readers = random.normal(size=(80, 1))
    judge = readers[:, 0] + random.normal(size=80)
    for clusters, n_units in ((None, 40), (references // 2, 20)):
        pairs = candidate_pairs(references, clusters, np.random.default_rng(1), 300)
        assert pairs.resamples.weights.shape == (301, n_units)
        found = ranking_measure(pairs)(judge, readers).estimate(ACCURACY)
        assert found.low < found.value < found.high
    assert candidate_pairs(np.arange(5), None, random, 10) is None


# Bias and limits of agreement.


def limits(values: np.ndarray, units: np.ndarray | None = None):
    at = np.arange(len(values)) if units is None else units
    return named(limits_of_agreement(values[:, 0], values[:, 1:], at))


def test_limits_by_hand() -> None:
    found = limits(
        np.array([[3, 1, 1], [2, 3, NAN], [5, 4, 4], [NAN, 1, 1], [4, 2, 2]], float)
    )
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
    assert clustered_error(d, np.arange(80)[::-1] * 3)[0] == pytest.approx(stats.sem(d))


@pytest.mark.parametrize(("n", "constant"), [(9, False), (30, True)])
def test_few_studies_or_a_reader_who_never_varies_make_no_ceiling(
    n: int, constant: bool
) -> None:
    readers = np.random.default_rng(1).integers(0, 4, (n, 3)).astype(float)
    if constant:
        readers[:, 2] = 1
    found = named(
        agreement(readers, 0, draw_resamples(None, n, np.random.default_rng(1), 100))
    )
    assert found.mean.kendall.value is None
    assert found.mean.kendall.reason
    assert found.mean.range.kendall is None
