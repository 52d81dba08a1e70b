"""Which studies have an error, by a judge and by readers, and the alternative-annotator test.

Worked out by hand, by brute force and against scipy.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from attributes import named
from scipy import stats

from judge.stats.agreement import (
    alternative_annotator,
    detection,
    detections,
    mean_below,
    severity_measure,
)
from judge.stats.intervals import Resamples, draw_resamples, tail, wilson

NAN = float("nan")
IRRCAC = 0.65517
SKLEARN = ((0.5652173913043479, 0.5555555555555556), (0.8333333333333334, 0.75))
RATES = ("sensitivity", "specificity", "judge_rate", "majority_rate")


def resampled(n: int, clusters: object = None, resamples: int = 300) -> Resamples:
    at = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return draw_resamples(at, n, np.random.default_rng(n), resamples)


def detected(judge: list[float], readers: list[list[float]]) -> SimpleNamespace:
    """`readers` has a list of values a reader."""
    values = np.array(readers, dtype=float).T.reshape(len(judge), len(readers))
    return named(detection(np.array(judge, dtype=float), values, resampled(len(judge))))


def test_detection_by_hand() -> None:
    """1 is a study without an error; positive is a study that has one."""
    #             clean, error seen, error missed, false alarm, tie, one reader, no reader
    judge = [1, 0, 1, 0, 1, 0, 1, NAN]
    one = [1, 0, 0, 1, 1, NAN, NAN, 1]
    two = [1, 0, 0, 1, 0, 0, NAN, 1]
    three = [1, 0, 1, 1, NAN, NAN, NAN, 0]
    found = detected(judge, [one, two, three])
    assert (found.n, found.n_ties) == (6, 1)
    # Errors by the majority: seen, missed, tie, one reader. The judge says so of two.
    assert (found.sensitivity.k, found.sensitivity.n) == (2, 4)
    # None: clean, false alarm. The judge says so of one.
    assert (found.specificity.k, found.specificity.n) == (1, 2)
    assert (found.judge_rate.k, found.judge_rate.n) == (3, 6)
    assert (found.majority_rate.k, found.majority_rate.n) == (2, 6)
    # Shares of readers who say none: 1, 0, 1/3, 1, 1/2, 0.
    assert found.reader_rate.value == pytest.approx((1 + 1 / 3 + 1 + 1 / 2) / 6)
    assert found.bias.value == pytest.approx(3 / 6 - (1 + 1 / 3 + 1 + 1 / 2) / 6)
    # Agreed in 3 of 6; by chance 1/2 · 1/3 + 1/2 · 2/3 = 1/2.
    assert found.kappa.value == pytest.approx(0)
    assert found.judge_rate.n_undefined == found.kappa.n_undefined == 2


def simulated(seed: int, n: int = 120, m: int = 5) -> np.ndarray:
    random = np.random.default_rng([4, seed])
    chance = random.beta(0.6, 0.6, (n, 1))
    return (random.random((n, m)) < chance).astype(float)


def test_kappa_is_cohens_in_every_resample() -> None:
    values = simulated(2, n=60, m=4)
    resamples = resampled(60, np.arange(60) // 2, 100)
    cell = named(detection(values[:, 0], values[:, 1:], resamples))
    majority = values[:, 1:].sum(axis=1) > 1.5
    drawn = []
    for column in range(101):
        rows = np.repeat(
            np.arange(60), resamples.weights[column, resamples.units].astype(int)
        )
        same = (values[rows, 0] == majority[rows]).mean()
        judge, readers = values[rows, 0].mean(), majority[rows].mean()
        by_chance = judge * readers + (1 - judge) * (1 - readers)
        drawn.append((same - by_chance) / (1 - by_chance))
    assert cell.kappa.value == pytest.approx(drawn[0])
    share = tail(30)
    ends = np.quantile(drawn[1:], [share, 1 - share])
    assert (cell.kappa.low, cell.kappa.high) == pytest.approx(tuple(ends))


def test_prevalence_raw_agreement_and_ac1_by_hand() -> None:
    """Nine of ten studies have an error by both: kappa is below 0, and 8 of 10 are agreed."""
    found = detected([1, *[0] * 9], [[*[0] * 9, 1]])
    assert (found.prevalence.k, found.prevalence.n, found.n_positive) == (9, 10, 9)
    assert (found.agreement.k, found.agreement.n) == (8, 10)
    assert found.kappa.value == pytest.approx((0.8 - 0.82) / (1 - 0.82))
    # e = 2 x 0.1 x 0.9.
    assert found.ac1.value == pytest.approx((0.8 - 0.18) / (1 - 0.18))
    assert found.kappa.low is None
    assert "fewer than 5" in found.kappa.reason


@pytest.mark.parametrize(
    ("n_with_error", "has_interval"), [(4, False), (5, True), (55, True), (56, False)]
)
def test_kappa_has_no_interval_below_five_positives_or_negatives(
    n_with_error: int, has_interval: bool
) -> None:
    random = np.random.default_rng(7)
    reader = (np.arange(60) >= n_with_error).astype(float)
    judge = np.where(random.random(60) < 0.8, reader, 1 - reader)
    found = detected(judge.tolist(), [reader.tolist()])
    assert (found.kappa.low is not None) == has_interval
    assert found.kappa.value is not None
    assert found.ac1.low is not None


def test_gwets_ac1_against_irrcac() -> None:
    """By irrCAC 0.4.4, `CAC(ratings).gwet()`: two raters of ten studies, five digits."""
    judge = [1, 1, 0, 1, 0, 1, 1, 1, 0, 1]
    reader = [1, 0, 0, 1, 0, 1, 1, 1, 1, 1]
    assert detected(judge, [reader]).ac1.value == pytest.approx(IRRCAC, abs=1e-5)


def test_judges_and_readers_are_detected_in_the_same_way() -> None:
    values = simulated(5, n=90, m=4)
    resamples = resampled(90)
    rows = detections(values, 1, resamples)
    assert [(row.rater, row.is_left_out) for row, _ in rows] == [
        (0, False),
        (0, True),
        (1, True),
        (2, True),
        (3, True),
        (None, True),
    ]
    readers = values[:, 1:]
    in_place = [
        detection(values[:, 0], np.delete(readers, at, 1), resamples) for at in range(3)
    ]
    own = [
        detection(readers[:, at], np.delete(readers, at, 1), resamples)
        for at in range(3)
    ]
    for name in (
        "sensitivity",
        "specificity",
        "agreement",
        "kappa",
        "ac1",
        "prevalence",
    ):
        for found, sets in ((rows[1][1], in_place), (rows[5][1], own)):
            mean = np.mean([one[name]["value"] for one in sets])
            assert found[name]["value"] == pytest.approx(mean)
            assert "k" not in found[name]
            assert found[name]["low"] < mean < found[name]["high"]
    assert rows[0][1] == detection(values[:, 0], readers, resamples)
    assert [figures for _, figures in rows[2:5]] == own


def test_weighted_kappa_by_hand_and_over_readers() -> None:
    """Grades 0 to 2 in ten studies, by sklearn 1.9.1's `cohen_kappa_score(..., weights=)`."""
    judge = np.array([0, 0, 1, 1, 2, 2, 0, 1, 2, 0], float)
    one = np.array([0, 1, 1, 2, 2, 0, 0, 1, 2, 0], float)
    two = np.array([0, 0, 1, 1, 2, 1, 0, 0, 2, NAN], float)
    measure = severity_measure(resampled(10), 3)
    for reader, quadratic, linear in ((one, *SKLEARN[0]), (two, *SKLEARN[1])):
        found = measure(judge, reader[:, None])
        assert found.value("weighted_kappa") == pytest.approx(quadratic)
        assert found.value("weighted_kappa_linear") == pytest.approx(linear)
    both = measure(judge, np.column_stack([one, two]))
    mean = np.mean([row[0] for row in SKLEARN])
    assert both.value("weighted_kappa") == pytest.approx(mean)
    same = measure(judge * 0, one[:, None] * 0).estimate("weighted_kappa")
    assert same.value is None
    assert same.reason
    few = measure(judge, np.array([1] * 4 + [0] * 6, float)[:, None]).estimate(
        "weighted_kappa"
    )
    assert "fewer than 5" in few.reason


def test_detection_counts_patients_and_not_studies() -> None:
    values = simulated(6, n=80)
    doubled, patients = np.repeat(values, 2, axis=0), np.repeat(np.arange(80), 2)
    once = named(detection(values[:, 0], values[:, 1:], resampled(80)))
    twice = named(detection(doubled[:, 0], doubled[:, 1:], resampled(160, patients)))
    as_studies = named(detection(doubled[:, 0], doubled[:, 1:], resampled(160)))
    for name in RATES:
        alone, again, naive = (getattr(one, name) for one in (once, twice, as_studies))
        width = alone.high - alone.low
        assert (again.value, again.high - again.low) == (
            alone.value,
            pytest.approx(width, rel=0.1),
        )
        assert naive.high - naive.low < 0.8 * width
    # None of 80 patients has an error in both of its studies: worth 80, not 160.
    clean = named(detection(np.ones(160), np.ones((160, 2)), resampled(160, patients)))
    assert clean.judge_rate.low == pytest.approx(wilson(80, 80).low, abs=0.002)


# The alternative-annotator test.

# Studies by judge, A, B, C. Against the other two readers, squared distances:
# 1: all alike. 2: for A and C the judge is nearer, for B as near. 3: as near each time.
# 4: the judge is far off, the readers agree. 5: for A the judge is nearer, else as near.
BY_HAND = np.array(
    [[0, 0, 0, 0], [2, 1, 2, 3], [4, 0, 0, 4], [5, 1, 1, 1], [0, 2, 0, 0]], dtype=float
)


def outcome(values: np.ndarray, units: object = None, **options: object):
    at = np.arange(len(values)) if units is None else np.asarray(units)
    return named(alternative_annotator(values[:, 0], values[:, 1:], at, **options))


def test_alternative_annotator_by_hand() -> None:
    found = outcome(np.tile(BY_HAND, (6, 1)))
    assert [one.n for one in found.readers] == [30, 30, 30]
    assert [one.judge_wins for one in found.readers] == [0.8, 0.8, 0.8]
    assert [one.reader_wins for one in found.readers] == pytest.approx([0.6, 1.0, 0.8])
    # B: d is 1 in 6 of 30 studies, else 0: the mean is epsilon itself.
    assert found.readers[1].p == pytest.approx(0.5)
    # A: 1 in 6, -1 in 12. The likeliest share of -1, where that of 1 is larger by 0.2, is q.
    q = max(np.roots([60, 0.2 * (60 - 6 + 12) - 18, -12 * 0.2 * 0.8]))
    z = (-0.2 - 0.2) / np.sqrt((2 * q + 0.2 * 0.8) / 30)
    assert found.readers[0].p == pytest.approx(stats.norm.cdf(z))
    wanted = stats.false_discovery_control(
        [one.p for one in found.readers], method="by"
    )
    assert [one.p_adjusted for one in found.readers] == pytest.approx(wanted)
    assert (found.omega, found.passes) == (1 / 3, False)
    assert found.rho == pytest.approx(0.8)


def test_under_thirty_patients_no_test_is_given_and_p_is_never_nought() -> None:
    values = judged(0.3, 60, seed=3)
    few = outcome(values, np.arange(60) % 29)
    assert (few.omega, few.passes, {one.p for one in few.readers}) == (
        None,
        None,
        {None},
    )
    assert "30" in str(few.reason)
    alike = mean_below(np.full(30, -1.0), np.arange(30), 0.2)
    assert alike is not None
    assert 0 < alike < 0.001
    once, twice = (
        outcome(values),
        outcome(np.repeat(values, 2, axis=0), np.repeat(range(60), 2)),
    )
    for one, other in zip(once.readers, twice.readers, strict=True):
        assert other.p == pytest.approx(one.p, abs=0.02)


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("worse", [0.0, 0.2])
def test_a_judge_that_is_worse_by_just_epsilon_rarely_passes(
    n: int, worse: float
) -> None:
    """`worse` is the share of studies in which the judge wins all the same."""
    random, size = np.random.default_rng(n), 2000
    draws = random.choice(
        [1.0, 0.0, -1.0], p=[0.2 + worse, 0.8 - 2 * worse, worse], size=(size, n)
    )
    p_values = [mean_below(d, np.arange(n), 0.2) for d in draws]
    assert np.mean(np.array(p_values) < 0.05) < 0.065


def judged(noise: float, n: int = 200, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    truth = random.poisson(2, n)[:, None]
    readers = truth + random.integers(-1, 2, (n, 4))
    judge = truth + np.round(random.normal(0, noise, (n, 1)))
    return np.hstack([judge, readers]).astype(float)


def test_fewer_than_three_readers_have_a_reason() -> None:
    for n_readers in range(3):
        few = outcome(judged(1)[:, : 1 + n_readers])
        assert (few.omega, few.rho, few.passes) == (None, None, None)
        assert few.reason
    values = judged(0.3)
    values[:, 4] = NAN  # a reader without a study in common is not tested
    found = outcome(values)
    last = found.readers[3]
    assert (last.n, last.p, last.p_adjusted, last.judge_wins) == (0, None, None, None)
    assert found.omega == 1.0
