"""The alternative annotator test, worked out by hand, by brute force and against scipy."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from scipy import stats

from judge.stats.alternative_annotator import (
    alternative_annotator,
    benjamini_yekutieli,
    signed_rank_below,
)

NAN = float("nan")

# Studies by judge, A, B, C. Against the other two readers, squared distances:
# 1: all alike. 2: for A and C the judge is nearer, for B as near. 3: as near each time.
# 4: the judge is far off, the readers agree. 5: for A the judge is nearer, else as near.
BY_HAND = np.array(
    [
        [0, 0, 0, 0],
        [2, 1, 2, 3],
        [4, 0, 0, 4],
        [5, 1, 1, 1],
        [0, 2, 0, 0],
    ],
    dtype=float,
)


def alone(values: np.ndarray) -> np.ndarray:
    return np.arange(len(values))


def outcome(values: np.ndarray, **options: object):
    return alternative_annotator(values[:, 0], values[:, 1:], alone(values), **options)


def test_by_hand() -> None:
    found = outcome(BY_HAND)
    a, b, c = found.readers
    assert [one.n for one in found.readers] == [5, 5, 5]
    assert [one.judge_wins for one in found.readers] == [0.8, 0.8, 0.8]
    assert [one.reader_wins for one in found.readers] == pytest.approx([0.6, 1.0, 0.8])
    assert {one.method for one in found.readers} == {"wilcoxon signed-rank test"}
    # A: d - 0.2 = -0.2, -1.2, -0.2, 0.8, -1.2; ranks 1.5, 4.5, 1.5, 3, 4.5; positive: 3.
    # Sums up to 3: none, 1.5 twice, 1.5 + 1.5, 3.
    assert a.p == 5 / 32
    # B: four times -0.2 and 0.8; ranks 2.5 and 5; up to 5: none, four, six pairs, 5.
    assert b.p == 12 / 32
    # C: three times -0.2, then 0.8, then -1.2; ranks 2, 4, 5; up to 4: none, three, three, 4.
    assert c.p == 8 / 32
    # 3 (1 + 1/2 + 1/3) = 5.5; 5.5/3 · 12/32 is the least from above for all three.
    assert [one.p_adjusted for one in found.readers] == pytest.approx([0.6875] * 3)
    assert found.omega == 0
    assert found.rho == pytest.approx(0.8)
    assert found.passes is False
    assert found.reason is None


def brute(values, epsilon, score):
    """Each reader's W and t test, study by study, as the paper puts it."""
    results = []
    for h in range(1, values.shape[1]):
        judge_wins, d = [], []
        for row in values:
            rest = [row[k] for k in range(1, len(row)) if k != h and not np.isnan(row[k])]
            if np.isnan(row[h]) or np.isnan(row[0]) or not rest:
                continue
            of_judge, of_reader = score(row[0], rest), score(row[h], rest)
            judge_wins.append(of_judge >= of_reader)
            d.append(int(of_reader >= of_judge) - int(of_judge >= of_reader))
        p = stats.ttest_1samp(d, epsilon, alternative="less").pvalue
        results.append((len(d), np.mean(judge_wins), p))
    return results


def near(value, rest):
    return -np.sqrt(np.mean([(value - other) ** 2 for other in rest]))


def same(value, rest):
    return np.mean([value == other for other in rest])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
@pytest.mark.parametrize(("scoring", "score"), [("negative rmse", near), ("accuracy", same)])
def test_many_studies_against_the_definition(missing, epsilon, scoring, score) -> None:
    random = np.random.default_rng(5)
    values = random.poisson(random.gamma(1, 2, 150)[:, None], (150, 6)).astype(float)
    values[random.random(values.shape) < missing] = NAN
    values[:, 0] = np.where(random.random(150) < 0.3, values[:, 1], values[:, 0])
    found = outcome(values, epsilon=epsilon, scoring=scoring)
    expected = brute(values, epsilon, score)
    assert [one.n for one in found.readers] == [n for n, _, _ in expected]
    assert {one.method for one in found.readers} == {"t test"}
    assert [one.p for one in found.readers] == pytest.approx([p for *_, p in expected])
    assert found.rho == pytest.approx(np.mean([wins for _, wins, _ in expected]))
    adjusted = stats.false_discovery_control([p for *_, p in expected], method="by")
    assert [one.p_adjusted for one in found.readers] == pytest.approx(adjusted)
    assert found.omega == np.mean(adjusted <= 0.05)
    assert found.passes == (found.omega >= 0.5)


def judged(noise: float, n: int = 200, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    truth = random.poisson(2, n)[:, None]
    readers = truth + random.integers(-1, 2, (n, 4))
    judge = truth + np.round(random.normal(0, noise, (n, 1)))
    return np.hstack([judge, readers]).astype(float)


def test_a_judge_as_good_as_readers_passes_and_a_wild_one_fails() -> None:
    good, wild = outcome(judged(0.3)), outcome(judged(6))
    assert (good.omega, good.passes) == (1.0, True)
    assert (wild.omega, wild.passes) == (0.0, False)
    assert good.rho > 0.7 > wild.rho


def test_half_of_the_readers_are_enough() -> None:
    """The judge is nearer to all than two wild readers, and further than two who agree."""
    random = np.random.default_rng(1)
    truth = random.integers(0, 9, (200, 1))
    wild = truth + random.choice([-9, 9], (200, 2))
    values = np.hstack([truth + 2, truth, truth, wild]).astype(float)
    found = outcome(values)
    assert [one.is_won for one in found.readers] == [False, False, True, True]
    assert (found.omega, found.passes) == (0.5, True)


@pytest.mark.parametrize("n", [29, 30])
def test_thirty_studies_are_enough_for_t(n: int) -> None:
    methods = {one.method for one in outcome(judged(1, n)).readers}
    assert methods == {"t test" if n == 30 else "wilcoxon signed-rank test"}


def test_units_and_not_studies_are_counted() -> None:
    values = judged(1, 60)
    found = alternative_annotator(values[:, 0], values[:, 1:], np.arange(60) // 3)
    assert {one.method for one in found.readers} == {"wilcoxon signed-rank test"}
    assert {one.n for one in found.readers} == {60}


def test_studies_that_are_written_down_twice_make_nothing_surer() -> None:
    values = judged(1.2, 60)
    once = outcome(values)
    doubled = np.repeat(values, 2, axis=0)
    twice = alternative_annotator(doubled[:, 0], doubled[:, 1:], np.repeat(alone(values), 2))
    assert [one.p for one in twice.readers] == pytest.approx([one.p for one in once.readers])
    few = alternative_annotator(doubled[:40, 0], doubled[:40, 1:], np.arange(40) // 2)
    assert [one.p for one in few.readers] == [one.p for one in outcome(values[:20]).readers]


def test_a_patient_counts_by_its_mean() -> None:
    values, epsilon = judged(1.2, 60, seed=3), 0.2
    units = np.random.default_rng(2).integers(0, 20, 60)
    found = alternative_annotator(values[:, 0], values[:, 1:], units, epsilon=epsilon)
    for h in range(1, 5):
        d = np.zeros(60)
        for study, row in enumerate(values):
            rest = [row[k] for k in range(1, 5) if k != h]
            of_judge, of_reader = near(row[0], rest), near(row[h], rest)
            d[study] = int(of_reader >= of_judge) - int(of_judge >= of_reader)
        means = np.array([d[units == unit].mean() for unit in np.unique(units)]) - epsilon
        assert found.readers[h - 1].p == signed_rank_below(means)


def test_a_judge_that_says_what_all_say() -> None:
    """d is 0 in every study: no spread, and t says 0 as it does in scipy."""
    values = np.repeat(np.arange(40.0)[:, None], 4, axis=1)
    found = outcome(values)
    assert [one.p for one in found.readers] == [0.0, 0.0, 0.0]
    assert (found.omega, found.rho) == (1.0, 1.0)
    values[:, 0] += 5
    found = outcome(values)
    assert [one.p for one in found.readers] == [1.0, 1.0, 1.0]
    assert (found.omega, found.rho) == (0.0, 0.0)


@pytest.mark.parametrize("n_readers", [0, 1, 2])
def test_fewer_than_three_readers(n_readers: int) -> None:
    found = outcome(judged(1)[:, : 1 + n_readers])
    assert (found.omega, found.rho, found.passes) == (None, None, None)
    n = n_readers if n_readers == 2 else 0  # One reader has no other beside.
    assert found.reason.startswith("the test needs 3 readers")
    assert f"; {n} reader" in found.reason
    assert found.plain()["reason"] == found.reason


def test_a_reader_without_a_study_in_common_is_not_tested() -> None:
    values = judged(0.3)
    values[:, 4] = NAN
    found = outcome(values)
    last = found.readers[3]
    assert (last.n, last.p, last.p_adjusted, last.judge_wins) == (0, None, None, None)
    assert not last.is_won
    assert found.omega == 1.0
    assert [one.p_adjusted for one in found.readers[:3]] == [
        one.p_adjusted for one in outcome(values[:, :4]).readers
    ]
    values[:, 3] = NAN
    assert outcome(values).reason.endswith("2 readers have such")


def test_the_epsilon_is_a_share() -> None:
    for epsilon in (-0.1, 1.0, NAN):
        with pytest.raises(ValueError, match="from 0 to below 1"):
            outcome(judged(1), epsilon=epsilon)


@pytest.mark.parametrize("scoring", ["negative rmse", "accuracy"])
def test_rounding_wins_nothing(scoring: str) -> None:
    """0.1 + 0.2 is 0.3: the judge is as near as each reader, in each study."""
    values = np.tile([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2], (40, 1))
    found = outcome(values, scoring=scoring)
    assert {(one.judge_wins, one.reader_wins) for one in found.readers} == {(1.0, 1.0)}


@pytest.mark.parametrize("seed", range(20))
def test_signed_ranks_with_ties_are_all_the_signs_there_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.choice([-1.2, -0.2, 0.8, 0.5, -0.5, 0.0], random.integers(1, 10))
    kept = values[values != 0]
    ranks = stats.rankdata(np.abs(kept))
    observed = ranks[kept > 0].sum()
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(kept))]
    assert signed_rank_below(values) == pytest.approx(np.mean(np.array(sums) <= observed))


@pytest.mark.parametrize("n", [3, 8, 17, 29])
def test_signed_ranks_without_ties_against_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(-0.2, 1, n)
    theirs = stats.wilcoxon(values, alternative="less", method="exact").pvalue
    assert signed_rank_below(values) == pytest.approx(theirs)


def test_nothing_but_zeros_says_nothing() -> None:
    assert signed_rank_below(np.zeros(5)) == 1.0
    # 0.3 - 0.1 is 0.2: rounding is no sign.
    assert signed_rank_below(np.array([0.3 - 0.1 - 0.2, -1.0, -1.0])) == 0.25


@pytest.mark.parametrize("seed", range(5))
def test_benjamini_yekutieli_against_scipy(seed: int) -> None:
    p = np.random.default_rng(seed).random(1 + seed * 2) ** 3
    assert benjamini_yekutieli(p.tolist()) == pytest.approx(
        stats.false_discovery_control(p, method="by")
    )


def test_plain_has_the_keys_that_are_promised() -> None:
    found = json.loads(json.dumps(outcome(judged(0.3)).plain(), allow_nan=False))
    assert found["epsilon"] == 0.2
    assert found["passes"] is True
    assert {"omega", "rho", "readers"} <= set(found)
    assert "reason" not in found
    assert found["readers"][1]["won"] is True
    assert found["readers"][1]["reader"] == 1
