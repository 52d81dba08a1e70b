"""How many studies an interval or a claim takes: closed forms, and samples drawn anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judge.planning.drops import difference_rows, drop_rows
from judge.planning.pilot import Pilot, n_for_any_rate
from judge.planning.widths import candidates_rows, studies_rows, within_correlation
from judge.stats.intervals import Draws, wilson_ends
from judge.stats.metric import Metric
from judge.stats.non_inferiority import difference_interval, tango
from judge.stats.power import tango_power
from judge.stats.sample_size import (
    Sample,
    clustering,
    estimate_by,
    least_units,
    width,
)
from judge.stats.scores import ScoreMatrix
from judge.stats.statistic import Mean, Rate, Ratio, Statistic

RNG = np.random.default_rng(8)
FEW = Draws(seed=1, resamples=400)


def metric(statistic: Statistic) -> Metric:
    return Metric(
        name=statistic.name,
        label=statistic.name,
        statistic=statistic,
        study_label=statistic.name,
        what="rate" if statistic.is_share else "score",
    )


RATE = metric(Rate("rate", "rate", measures=("a",), higher_is_better=True))
SCORE = metric(
    Mean("score", "score", measures=("a",), higher_is_better=True, scale=(0, 1))
)
COST = metric(
    Mean("cost", "cost", measures=("a",), higher_is_better=False, scale=(0, None))
)
RATIO = metric(
    Ratio("ratio", "ratio", measures=("a",), per=("b",), higher_is_better=True)
)


def pilot_of(
    of: Metric, values: object, clusters: object = None, per: object = None
) -> Pilot:
    grid = np.atleast_2d(np.asarray(values, float).T).T
    n, n_runs = grid.shape
    panel = ScoreMatrix(
        models=("run", "other")[:n_runs],
        study_ids=tuple(map(str, range(n))),
        metrics=(of,),
        values={of.name: grid},
        fields={},
        clusters=None if clusters is None else np.asarray(clusters, np.intp),
        patient_field=None if clusters is None else "patient",
        per={} if per is None else {of.name: np.asarray(per, float)},
    )
    return Pilot(panel=panel, is_unread=np.isnan(grid), metrics=(of,), draws=FEW)


def of_share(n: int, k: int) -> np.ndarray:
    return (np.arange(n) < k).astype(float)


def test_a_rate_takes_as_many_studies_as_wilsons_interval() -> None:
    (row,) = studies_rows(pilot_of(RATE, of_share(200, 160)), 0.05)
    n = row.studies.n
    assert n is not None
    low, high = wilson_ends(0.8, n)
    assert high - low == pytest.approx(0.05, rel=2e-3)
    # Without clusters and lost studies all numbers of studies are one.
    assert row.scored == row.studies
    assert row.patients is None
    assert row.design_effect == 1
    # The whole width, not its half: 4 x 1.96² p (1 - p) / W².
    assert n == pytest.approx(4 * 3.8415 * 0.16 / 0.05**2, rel=0.01)
    assert row.studies.cautious is not None
    assert n < row.studies.cautious < 1.5 * n


def test_lost_studies_enlarge_the_number_to_judge() -> None:
    values = np.concatenate([of_share(180, 144), np.full(20, np.nan)])
    (row,) = studies_rows(pilot_of(RATE, values), 0.05)
    assert row.scored.n is not None
    assert row.share_scored == 0.9
    assert row.studies.n == math.ceil(row.scored.n / 0.9)


def test_patients_who_are_alike_take_as_many_patients_as_studies() -> None:
    """With the same value in all of a patient's studies a patient is worth one study."""
    by_patient = of_share(80, 60)
    values = np.repeat(by_patient, 3)
    clusters = np.repeat(np.arange(80), 3)
    (row,) = studies_rows(pilot_of(RATE, values, clusters), 0.1)
    (alone,) = studies_rows(pilot_of(RATE, by_patient), 0.1)
    assert row.design_effect == pytest.approx(3, rel=0.02)
    assert row.correlation == pytest.approx(1, rel=0.02)
    assert row.patients is not None
    assert alone.studies.n is not None
    # Student's t and n - 1 add a little.
    assert row.patients.n == pytest.approx(alone.studies.n, rel=0.03)
    assert row.studies.n == 3 * (row.patients.n or 0)


def test_clustering_of_independent_studies_is_none() -> None:
    values = RNG.normal(size=3000)
    effect, correlation = clustering(values, np.arange(3000) // 3)
    assert effect == pytest.approx(1, abs=0.1)
    assert correlation == pytest.approx(0, abs=0.05)
    assert clustering(values, None) == (1, None)


@pytest.mark.parametrize("of", [SCORE, COST, pytest.param(RATIO, marks=pytest.mark.ci)])
def test_the_planned_number_gives_the_width(of: Metric) -> None:
    """The mean width of samples that are drawn anew is the wanted one within 4%."""
    pers = RNG.integers(1, 4, 3000).astype(float)
    population = RNG.binomial(pers.astype(int), 0.6).astype(float)
    per = None
    if of is RATIO:
        per = pers[:, None]
    elif of is SCORE:
        population = population / pers
    (row,) = studies_rows(pilot_of(of, population, per=per), 0.08)
    n = row.studies.n
    assert n is not None
    found = []
    for _ in range(60):
        rows = RNG.integers(0, 3000, n)
        columns = population[rows, None]
        if of is RATIO:
            columns = np.column_stack([population[rows], pers[rows]])
        estimate = estimate_by(of.statistic)(Sample.of(columns, None), FEW)
        found.append(width(estimate))
    assert np.mean(found) == pytest.approx(0.08, rel=0.04)


def test_a_pilot_that_cannot_tell_says_so() -> None:
    (row,) = studies_rows(pilot_of(RATE, of_share(100, 97)), 0.05)
    assert row.studies.n is None
    assert row.reason == (
        "3 of 100 studies differ from the others, and 5 are needed; 1,533 studies are enough "
        "whatever the rate is"
    )
    lost = np.concatenate([of_share(20, 10), np.full(40, np.nan)])
    (row,) = studies_rows(pilot_of(RATE, lost), 0.05)
    assert row.reason == "the pilot has this figure for 20 studies, and 30 are needed"
    assert n_for_any_rate(0.05) == 1533


def test_more_than_a_million_is_not_a_number() -> None:
    (row,) = studies_rows(pilot_of(RATE, of_share(100, 50)), 0.001)
    assert row.studies.n is None
    assert row.reason == ""
    # A width that falls as the root is carried on beyond the largest sample that is made.
    assert least_units(lambda n: 10 / math.sqrt(n), 0.02, 100) == pytest.approx(
        250_000, abs=1
    )


def test_a_sample_of_another_size_is_like_the_pilot() -> None:
    values = RNG.normal(size=(97, 1))
    clusters = np.sort(RNG.integers(0, 40, 97))
    sample = Sample.of(values, clusters)
    twice = sample.like_it(2 * sample.n_units)
    assert twice.n == 2 * sample.n
    assert np.sort(twice.values[:, 0]) == pytest.approx(
        np.sort(np.repeat(values[:, 0], 2))
    )
    larger = sample.like_it(1_001)
    assert larger.values.mean() == pytest.approx(values.mean(), abs=0.02)


# A gate that passes


def test_the_power_of_a_rate_is_that_of_tangos_interval() -> None:
    """By all outcomes of 60 pairs, each with its chance."""
    n, first, second, margin = 60, 0.08, 0.05, 0.1
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            ways = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(c + 1)
            ways -= math.lgamma(n - b - c + 1)
            chance = math.exp(ways) * first**b * second**c
            chance *= (1 - first - second) ** (n - b - c)
            if chance > 1e-9 and tango(n, b, c)[0] >= -margin:
                total += chance
    assert tango_power(n, first, second, margin) == pytest.approx(total, abs=1e-5)


def pairs(n: int, first: int, second: int) -> np.ndarray:
    """Pairs of which `first` and `second` are counted by one model alone."""
    values = np.ones((n, 2))
    values[:first, 1] = 0
    values[first : first + second, 0] = 0
    return values


def test_a_rate_takes_about_what_the_rule_of_thumb_says() -> None:
    (row,) = drop_rows(
        pilot_of(RATE, pairs(200, 20, 20)), margin=0.05, power=0.8, difference=0
    )
    thumb = (1.96 + 0.84) ** 2 * 0.2 / 0.05**2
    assert row.studies.n == pytest.approx(thumb, rel=0.06)
    assert row.variation == 0.2
    assert row.pilot.value == 0
    assert row.power_at_half is not None
    assert 0.2 < row.power_at_half < 0.35
    assert (row.studies.cautious or 0) > (row.studies.n or 0)


def test_an_assumed_difference_changes_the_number() -> None:
    pilot = pilot_of(RATE, pairs(200, 20, 20))
    numbers = []
    for difference in (0.02, 0.0, -0.02):
        (row,) = drop_rows(pilot, margin=0.05, power=0.8, difference=difference)
        assert row.studies.n is not None
        numbers.append(row.studies.n)
    assert numbers == sorted(numbers)
    assert numbers[2] > 2 * numbers[1]
    (row,) = drop_rows(pilot, margin=0.05, power=0.8, difference=-0.05)
    assert row.reason == "the assumed difference is a drop of the margin or more"
    (row,) = drop_rows(pilot, margin=0.5, power=0.8, difference=0.3)
    assert "differ on 20.0% of the studies" in row.reason


def test_lost_studies_count_at_their_worst() -> None:
    values = pairs(200, 20, 20)
    (whole,) = drop_rows(pilot_of(RATE, values), margin=0.05, power=0.8, difference=0)
    values[100:102, 0] = np.nan
    (lost,) = drop_rows(pilot_of(RATE, values), margin=0.05, power=0.8, difference=0)
    assert lost.studies.n is not None
    assert whole.studies.n is not None
    assert lost.studies.n > 1.4 * whole.studies.n
    values[100:112, 0] = np.nan
    (never,) = drop_rows(pilot_of(RATE, values), margin=0.05, power=0.8, difference=0)
    assert never.studies.n is None
    assert never.reason.startswith("12 of 200 studies have no score in one of the runs")


@pytest.mark.ci
@pytest.mark.parametrize("of", [RATE, SCORE, COST])
def test_the_planned_number_has_the_power(of: Metric) -> None:
    """Of 300 samples 0.8 pass, with a standard error of 0.023."""
    first = RNG.binomial(3, 0.7, 4000) / 3
    second = np.where(RNG.random(4000) < 0.6, first, RNG.binomial(3, 0.7, 4000) / 3)
    both = np.column_stack([first, second])
    # Equally good: each pair in both orders.
    population = np.concatenate([both, both[:, ::-1]])
    if of is RATE:
        population = (population == 1).astype(float)
    (row,) = drop_rows(pilot_of(of, population), margin=0.06, power=0.8, difference=0)
    n = row.studies.n
    assert n is not None
    passed = []
    for _ in range(300):
        sample = population[RNG.integers(0, len(population), n)]
        ends = difference_interval(pilot_of(of, sample).panel, of, FEW)
        assert ends.low is not None
        assert ends.high is not None
        if of.higher_is_better:
            passed.append(ends.low >= -0.06)
        else:
            passed.append(ends.high <= 0.06)
    assert np.mean(passed) == pytest.approx(0.8, abs=0.075)


def test_the_interval_of_a_difference_has_the_width() -> None:
    (row,) = difference_rows(pilot_of(RATE, pairs(200, 20, 20)), 0.05)
    # 2 x 1.96 sqrt(0.2 / n).
    assert row.studies.n == pytest.approx(4 * 3.8415 * 0.2 / 0.05**2, rel=0.01)
    changes = RNG.normal(0, 0.3, 400)
    values = np.column_stack([changes + 5, np.full(400, 5.0)])
    (row,) = difference_rows(pilot_of(COST, values), 0.05)
    variance = changes.var(ddof=1)
    assert row.studies.n == pytest.approx(4 * 3.8415 * variance / 0.05**2, rel=0.02)


def test_pairs_that_hardly_differ_are_unknown() -> None:
    (row,) = drop_rows(
        pilot_of(RATE, pairs(200, 2, 1)), margin=0.05, power=0.8, difference=0
    )
    assert row.reason == "the two differ on 3 studies, and 5 are needed"


# Candidates per reference


def test_candidates_of_a_reference_are_worth_what_their_correlation_says() -> None:
    n, k = 200, 4
    own = RNG.normal(0, 1, n)
    values = 5 + np.repeat(own, k) + RNG.normal(0, 1, n * k)
    references = np.repeat(np.arange(n), k)
    assert within_correlation(values, references) == pytest.approx(0.5, abs=0.07)
    pilot = pilot_of(COST, values)
    rows, reason = candidates_rows(pilot, studies_rows(pilot, 0.2), references, 0.2)
    assert reason == ""
    by_k = {row.k: row for row in rows}
    assert sorted(by_k) == [1, 2, 3, 5, 10]
    r = by_k[1].correlation
    for number, row in by_k.items():
        expected = by_k[1].references * (1 + (number - 1) * r) / number
        assert row.references == pytest.approx(expected, abs=1.01)
        assert row.candidates == number * row.references
    # Within a reference half of the variance is left.
    assert by_k[1].within == pytest.approx(by_k[1].references * (1 - r), abs=1.01)


def test_references_with_one_candidate_tell_nothing_of_several() -> None:
    pilot = pilot_of(RATE, of_share(100, 60))
    rows = studies_rows(pilot, 0.1)
    found = candidates_rows(pilot, rows, np.arange(100), 0.1)
    assert found == ([], "unknown: each reference of the pilot has one candidate")
