"""The correlations of each resample, against scipy, brute force and their definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from judge.stats import correlation
from judge.stats.correlation import METHODS, Resamples, correlate, draw, interval, without_noise

NAN = float("nan")
THEIRS = {
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(n: int, resamples: int = 20, clusters: object = None) -> Resamples:
    at = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return draw(at, n, rng(n), resamples)


def rows_of(resamples: Resamples, column: int) -> np.ndarray:
    """The rows of a resample, each as often as its patient was drawn."""
    return np.repeat(
        np.arange(len(resamples.units)), resamples.weights[resamples.units, column].astype(int)
    )


def kinds_of_values(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random = rng(7, seed)
    n = int(random.integers(12, 60))
    latent = random.gamma(1, 2, n)
    few = random.poisson(latent[:, None], (n, 2)).astype(float)
    many = random.normal(size=(n, 2)) + latent[:, None]
    return [(few[:, 0], few[:, 1]), (few[:, 0], many[:, 0]), (many[:, 0], many[:, 1])]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("clustered", [False, True])
def test_every_resample_against_scipy(seed: int, clustered: bool) -> None:
    for x, y in kinds_of_values(seed):
        n = len(x)
        resamples = drawn(n, 15, rng(seed).integers(0, n // 2, n) if clustered else None)
        found = correlate(x, y, resamples).figures
        assert found.shape == (16, 3)
        for column, figures in enumerate(found):
            rows = rows_of(resamples, column)
            expected = [THEIRS[name](x[rows], y[rows]) for name in METHODS]
            assert figures == pytest.approx(expected, abs=1e-9)


def test_the_first_row_is_the_studies_as_they_are() -> None:
    x, y = kinds_of_values(3)[0]
    found = correlate(x, y, drawn(len(x))).figures[0]
    assert found == pytest.approx([THEIRS[name](x, y) for name in METHODS], abs=1e-12)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=3, max_size=25),
    st.sampled_from([1.0, 0.1, 1e6]),
)
def test_tau_b_is_what_all_pairs_say(pairs: list[tuple[int, int]], scale: float) -> None:
    x, y = (np.array(side, dtype=float) * scale for side in zip(*pairs, strict=True))
    found = correlate(x, y, drawn(len(x), 1))
    signs = [
        (np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in combinations(range(len(x)), 2)
    ]
    under = sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs)
    if not under:
        assert found.reason is not None
        assert "var" in found.reason
    else:
        expected = sum(a * b for a, b in signs) / np.sqrt(under)
        assert found.figures[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["_AT_ONCE", "_IN_CACHE"])
def test_how_many_resamples_are_made_at_once_changes_nothing(name, monkeypatch) -> None:
    for x, y in kinds_of_values(1):
        resamples = drawn(len(x), 40)
        whole = correlate(x, y, resamples).figures
        monkeypatch.setattr(correlation, name, 3 * len(x))
        assert np.allclose(correlate(x, y, resamples).figures, whole, atol=1e-12)
        monkeypatch.undo()


def test_at_size_against_scipy() -> None:
    n = 4000
    latent = rng(5).normal(size=n)
    x, y = latent + rng(6).normal(size=n), np.round(latent + rng(8).normal(size=n), 1)
    found = correlate(x, y, drawn(n, 2)).figures[0]
    assert found == pytest.approx([THEIRS[name](x, y) for name in METHODS], abs=1e-10)


def test_rounding_makes_no_order() -> None:
    """0.1 + 0.2 is 0.3: the tie counts as one."""
    x = np.array([0.1 + 0.2, 0.3, 0.5, 0.7])
    y = np.array([1.0, 2.0, 3.0, 4.0])
    exact = np.array([3.0, 3.0, 5.0, 7.0])
    resamples = drawn(4, 1)
    assert x[0] != x[1]
    assert np.allclose(
        correlate(x, y, resamples).figures[0, :2], correlate(exact, y, resamples).figures[0, :2]
    )
    assert correlate(np.array([0.1 + 0.2, 0.3, 0.3]), y[:3], drawn(3)).reason == "one never varies"


def test_values_stay_what_they_are_but_for_rounding() -> None:
    values = np.array([0.1 + 0.2, -7.5, NAN, -0.0, 1e-20])
    assert without_noise(values) == pytest.approx([0.3, -7.5, NAN, 0, 0], abs=1e-11, nan_ok=True)
    assert without_noise(np.zeros(2)).tolist() == [0, 0]
    assert without_noise(np.empty(0)).tolist() == []


def test_values_far_from_0_keep_their_digits() -> None:
    x, y = rng(1).integers(0, 9, 50) * 1.0, rng(2).integers(0, 9, 50) * 1.0
    near = correlate(x, y, drawn(50)).figures
    assert np.allclose(correlate(x + 1e8, y - 1e8, drawn(50)).figures, near, atol=1e-9)


def test_only_studies_with_both_values_count() -> None:
    x = np.array([1, 2, NAN, 4, 5, 3, NAN, 2.0])
    y = np.array([1, NAN, 5, 3, 4, 3, NAN, 1.0])
    found = correlate(x, y, drawn(8))
    both = [0, 3, 4, 5, 7]
    estimate = found.estimate("kendall", drawn(8))
    assert (estimate.n, estimate.n_undefined) == (5, 3)
    assert estimate.value == pytest.approx(THEIRS["kendall"](x[both], y[both]))


def reason_of(x: list[float], y: list[float], clusters: object = None, resamples: int = 200):
    at = drawn(len(x), resamples, clusters)
    found = correlate(np.array(x, float), np.array(y, float), at, ("the judge", "their mean"))
    estimates = [found.estimate(method, at) for method in METHODS]
    assert all(e.value is None or np.isfinite(e.value) for e in estimates)
    assert len({e.reason for e in estimates}) == 1
    return estimates[0]


def test_every_missing_value_has_a_reason() -> None:
    two = reason_of([1, 2, NAN], [2, 1, 3])
    assert two.value is None
    assert two.reason == "a correlation needs 3 studies, 2 have both values"
    assert (two.n, two.n_undefined) == (2, 1)
    assert reason_of([], []).reason == "a correlation needs 3 studies, 0 have both values"
    assert reason_of([1, 1, 1], [2, 1, 3]).reason == "the judge never varies"
    assert reason_of([1, 2, 1], [4, 4, 4]).reason == "their mean never varies"
    assert reason_of([1, 1, 1], [4, 4, 4]).reason == "neither of the two varies"


def test_every_missing_interval_has_a_reason() -> None:
    x, y = [float(v) for v in range(30)], [float(v * 7 % 30) for v in range(30)]
    nine = reason_of(x[:9], y[:9])
    assert nine.value is not None
    assert (nine.low, nine.high) == (None, None)
    assert nine.reason == "an interval needs 10 studies, there are 9"
    assert reason_of(x[:10], y[:10]).reason is None
    of_patients = reason_of(x, y, np.arange(30) // 5)
    assert of_patients.reason == "an interval needs 10 patients, there are 6"
    assert reason_of(x, x).reason == "all resamples have the same value, which is no interval"
    assert reason_of(x, x).value == 1
    # One study of thirty has an error: a third of the resamples have none.
    once = [1.0] + [0.0] * 29
    rare = reason_of(once, once[::-1])
    assert rare.value is not None
    assert rare.reason == "too many resamples have no value, since few studies differ"


def test_a_few_resamples_without_a_figure_are_passed_over() -> None:
    figures = rng(4).normal(size=1000)
    figures[:10] = NAN
    low, high, reason = interval(figures, 50, "studies")
    assert reason is None
    assert (low, high) == pytest.approx(tuple(np.quantile(figures[10:], [0.025, 0.975])))
    figures[10] = NAN
    assert interval(figures, 50, "studies")[0] is None


def test_the_ends_are_percentiles_of_the_resamples() -> None:
    x, y = kinds_of_values(2)[0]
    resamples = drawn(len(x), 500)
    found = correlate(x, y, resamples)
    for column, method in enumerate(METHODS):
        estimate = found.estimate(method, resamples)
        expected = np.quantile(found.figures[1:, column], [0.025, 0.975])
        assert (estimate.low, estimate.high) == pytest.approx(tuple(expected))


def test_a_patient_is_drawn_whole() -> None:
    resamples = drawn(12, 300, [5, 5, 5, 5, 9, 9, 9, 9, 2, 2, 2, 2])
    assert resamples.unit_words == "patients"
    assert resamples.weights.shape == (3, 301)
    assert (resamples.weights.sum(axis=0) == 3).all()
    assert (resamples.weights[:, 0] == 1).all()


def test_studies_that_are_written_down_twice_say_no_more() -> None:
    """The interval of pairs of equal studies of one patient is that of one study each."""
    x, y = kinds_of_values(4)[0]
    once = draw(None, len(x), rng(0), 400)
    patients = np.arange(len(x), dtype=np.int64)
    twice = draw(np.repeat(patients, 2), 2 * len(x), rng(0), 400)
    as_studies = draw(None, 2 * len(x), rng(0), 400)
    alone = correlate(x, y, once).estimate("pearson", once)
    doubled = np.repeat(x, 2), np.repeat(y, 2)
    by_patient = correlate(*doubled, twice).estimate("pearson", twice)
    by_study = correlate(*doubled, as_studies).estimate("pearson", as_studies)
    assert (by_patient.low, by_patient.high) == pytest.approx((alone.low, alone.high))
    assert by_study.high - by_study.low < 0.85 * (alone.high - alone.low)


def test_sums_of_resamples() -> None:
    values = rng(3).normal(size=(40, 2))
    values[3, 0] = NAN
    resamples = drawn(40, 30, rng(9).integers(0, 15, 40))
    found = resamples.sums(values)
    for column in range(31):
        rows = rows_of(resamples, column)
        assert found[column] == pytest.approx(np.nansum(values[rows], axis=0))
