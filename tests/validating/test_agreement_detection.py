"""Which studies have an error, by a judge and by the readers' majority."""

from __future__ import annotations

import json

import numpy as np
import pytest

from judge.stats.correlation import Resamples, draw
from judge.stats.detection import Detection, detection, detections
from judge.stats.estimate import wilson
from judge.stats.review import kappa

NAN = float("nan")
RATES = ("sensitivity", "specificity", "judge_rate", "majority_rate")


def resampled(n: int, clusters: object = None, resamples: int = 300) -> Resamples:
    at = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return draw(at, n, np.random.default_rng(n), resamples)


def found_of(judge: list[float], readers: list[list[float]], clusters=None) -> Detection:
    """`readers` has a list of values a reader."""
    values = np.array(readers, dtype=float).T.reshape(len(judge), len(readers))
    return detection(np.array(judge, dtype=float), values, resampled(len(judge), clusters))


def test_by_hand() -> None:
    """1 is a study without an error; positive is a study that has one."""
    #             clean, error seen, error missed, false alarm, tie, one reader, no reader
    judge = [1, 0, 1, 0, 1, 0, 1, NAN]
    one = [1, 0, 0, 1, 1, NAN, NAN, 1]
    two = [1, 0, 0, 1, 0, 0, NAN, 1]
    three = [1, 0, 1, 1, NAN, NAN, NAN, 0]
    found = found_of(judge, [one, two, three])
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


@pytest.mark.parametrize("seed", range(3))
def test_counts_and_wilson_intervals(seed: int) -> None:
    values = simulated(seed)
    found = detections(values, 2, resampled(120))
    for judge in range(2):
        has_error = 2 * values[:, 2:].sum(axis=1) <= 3
        says_error = values[:, judge] == 0
        cell = found.judges[judge]
        assert cell.n_ties == 0
        tables = {
            "sensitivity": (says_error & has_error, has_error),
            "specificity": (~says_error & ~has_error, ~has_error),
            "judge_rate": (~says_error, has_error | True),
            "majority_rate": (~has_error, has_error | True),
        }
        for name, (k, n) in tables.items():
            expected, own = wilson(int(k.sum()), int(n.sum())), getattr(cell, name)
            assert (own.k, own.n, own.value) == (expected.k, expected.n, expected.value)
            assert (own.low, own.high) == (expected.low, expected.high)


@pytest.mark.parametrize("seed", range(3))
def test_kappa_is_cohens_in_every_resample(seed: int) -> None:
    values = simulated(seed, n=60, m=4)
    resamples = resampled(60, np.arange(60) // 2, 100)
    cell = detections(values, 1, resamples).judges[0]
    majority = values[:, 1:].sum(axis=1) > 1.5
    drawn = []
    for column in range(101):
        rows = np.repeat(np.arange(60), resamples.weights[resamples.units, column].astype(int))
        words = [(str(values[row, 0] == 1), str(majority[row])) for row in rows]
        drawn.append(kappa(words)["kappa"])
    assert cell.kappa.value == pytest.approx(drawn[0])
    ends = np.quantile(drawn[1:], [0.025, 0.975])
    assert (cell.kappa.low, cell.kappa.high) == pytest.approx(tuple(ends))


def test_the_ceiling_is_each_reader_against_the_others() -> None:
    values = simulated(5)
    resamples = resampled(120)
    found = detections(values, 2, resamples)
    assert len(found.ceiling) == 3
    for at in range(3):
        others = np.delete(values[:, 2:], at, axis=1)
        assert found.ceiling[at] == detection(values[:, 2 + at], others, resamples)
        # Two others: half of the time they are at odds, and a tie counts as an error.
        assert found.ceiling[at].n_ties == (others.sum(axis=1) == 1).sum()
        assert found.ceiling[at].majority_rate.k == (others.sum(axis=1) == 2).sum()


def test_a_perfect_judge_and_its_opposite() -> None:
    majority = simulated(1)[:, 0]
    readers = np.repeat(majority[:, None], 3, axis=1)
    right = detection(majority, readers, resampled(120))
    assert (right.sensitivity.value, right.specificity.value, right.kappa.value) == (1, 1, 1)
    assert right.kappa.low is None
    assert right.sensitivity.low < 1
    assert right.bias.value == 0
    wrong = detection(1 - majority, readers, resampled(120))
    assert (wrong.sensitivity.value, wrong.specificity.value) == (0, 0)
    assert wrong.kappa.value < 0


def test_every_missing_figure_has_a_reason() -> None:
    nothing = found_of([1, NAN], [[NAN, 1]])
    for name in (*RATES, "kappa", "reader_rate", "bias"):
        cell = getattr(nothing, name)
        assert (cell.n, cell.value, cell.low, cell.high) == (0, None, None, None)
        assert cell.reason is not None
    clean = found_of([1] * 12, [[1] * 12, [1] * 12])
    assert clean.sensitivity.reason == "no study has an error, by the readers"
    assert clean.specificity.reason is None
    assert clean.kappa.reason == "the judge and the readers say the same one thing of every study"
    assert clean.bias.value == 0
    # As sure as twelve of twelve, in the mean of the readers too.
    twelve = wilson(12, 12)
    for cell in (clean.specificity, clean.judge_rate, clean.reader_rate, clean.majority_rate):
        assert (cell.value, cell.low, cell.high) == (1, twelve.low, 1)
    spoiled = found_of([1] * 12, [[0] * 12])
    assert spoiled.specificity.reason == "every study has an error, by the readers"
    assert spoiled.kappa.value == 0
    few = found_of([1, 0, 1, 0], [[1, 0, 0, 1]])
    assert few.kappa.reason == "an interval needs 10 studies, there are 4"


def test_only_yes_and_no() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        found_of([1, 2], [[1, 0]])


def test_studies_that_are_written_down_twice_say_no_more() -> None:
    values = simulated(6, n=80)
    doubled, patients = np.repeat(values, 2, axis=0), np.repeat(np.arange(80), 2)
    once = detections(values, 1, resampled(80)).judges[0]
    twice = detections(doubled, 1, resampled(160, patients)).judges[0]
    as_studies = detections(doubled, 1, resampled(160)).judges[0]
    for name in RATES:
        alone, again, naive = (getattr(one, name) for one in (once, twice, as_studies))
        assert again.value == alone.value
        width = alone.high - alone.low
        assert again.high - again.low == pytest.approx(width, rel=0.02)
        assert naive.high - naive.low < 0.8 * width
    # None of 80 patients has an error in both of its studies: worth 80, not 160.
    clean = detection(np.ones(160), np.ones((160, 2)), resampled(160, patients))
    assert clean.judge_rate.low == pytest.approx(wilson(80, 80).low)


def test_a_single_patient_has_no_interval() -> None:
    values = simulated(7, n=20)
    cell = detections(values, 1, resampled(20, np.zeros(20))).judges[0]
    assert cell.judge_rate.reason == "an interval needs 2 patients, there is 1"
    assert cell.judge_rate.low is None
    assert cell.reader_rate.reason == "an interval needs 10 patients, there are 1"


def test_rows_of_a_group_are_all_that_counts() -> None:
    values = simulated(8)
    rows = np.arange(0, 120, 3)
    part = detections(values[rows], 2, resampled(40)).judges[0]
    others_unknown = values.copy()
    others_unknown[np.setdiff1d(np.arange(120), rows)] = NAN
    whole = detections(others_unknown, 2, resampled(120)).judges[0]
    for name in RATES:
        one, other = getattr(part, name), getattr(whole, name)
        assert (one.k, one.n, one.low, one.high) == (other.k, other.n, other.low, other.high)


@pytest.mark.parametrize("seed", range(10))
def test_never_a_nan(seed: int) -> None:
    random = np.random.default_rng([5, seed])
    n = int(random.integers(0, 15))
    values = random.integers(0, 2, (n, 4)).astype(float)
    values[random.random((n, 4)) < 0.4] = NAN
    found = detections(values, 1, resampled(n, random.integers(0, 6, n)))
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    wanted = {"sensitivity", "specificity", "kappa", "judge_rate", "reader_rate", "n", "n_ties"}
    assert wanted <= set(plain["judges"][0])
    for one in (*plain["judges"], *plain["ceiling"]):
        for cell in one.values():
            if isinstance(cell, dict) and None in (cell["value"], cell["low"]):
                assert cell["reason"]
