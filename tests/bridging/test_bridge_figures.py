"""The figures of a bridge against loops and formulas that say the same in another way."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from judge.bridging.figures import (
    Pairs,
    Quantity,
    Shift,
    TwoJudges,
    agreement_of,
    conclusions,
    restatable,
    restated,
    restated_draws,
    shift_of,
    within,
)
from judge.bridging.kept_runs import LEAST, drawn_studies
from judge.stats.deming import deming
from judge.stats.estimate import Estimate
from judge.stats.intervals import Draws
from judge.stats.metric import Metric, What
from judge.stats.non_inferiority import tango
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Resampling, compare_pairs
from judge.stats.statistic import InverseMean, Mean, Rate, Statistic
from judge.types import JudgeError


def metric_of(kind: type[Statistic], name: str, what: What) -> Metric:
    statistic = kind(
        name, name, measures=(name,), higher_is_better=what != "count", scale=None
    )
    return Metric(
        name=name, label=name, statistic=statistic, study_label=name, what=what
    )


RATE = metric_of(Rate, "clean", "rate")
COUNT = metric_of(Mean, "errors", "count")
INVERSE = metric_of(InverseMean, "inverse", "score")
METRICS = (RATE, COUNT, INVERSE)
DRAWS = Draws(3, 300)


def values_of(counts: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "clean": np.where(np.isnan(counts), np.nan, counts == 0),
        "errors": counts,
        "inverse": counts + 1,
    }


def two_judges(
    n: int = 200,
    n_models: int = 2,
    n_drawn: int = 80,
    *,
    is_same: bool = False,
    per_patient: int = 1,
    seed: int = 5,
    lost: float = 0.0,
) -> TwoJudges:
    """A new judge that sees fewer errors than the old one did, in a sample."""
    rng = np.random.default_rng(seed)
    true = rng.poisson(rng.gamma(2, 0.6, (n, 1)) * np.linspace(0.7, 1.4, n_models))
    old = rng.binomial(true, 0.9) + rng.poisson(0.2, true.shape)
    new = old if is_same else rng.binomial(true, 0.7)
    clusters = np.arange(n) // per_patient if per_patient > 1 else None
    panel = ScoreMatrix(
        models=tuple("abcdefgh"[:n_models]),
        study_ids=tuple(f"s{row:03}" for row in range(n)),
        metrics=METRICS,
        values=values_of(old.astype(float)),
        fields={"study_class": tuple(np.where(rng.random(n) < 0.4, "x", "y").tolist())},
        clusters=clusters,
        patient_field="patient",
    )
    all_scored = np.ones(true.shape, bool)
    drawn = drawn_studies(panel, all_scored, by="study_class", n=n_drawn, seed=1)
    is_drawn = np.zeros(true.shape, bool)
    for model, name in enumerate(panel.models):
        for study_id in drawn.samples[name].order:
            is_drawn[int(study_id[1:]), model] = True
    is_scored = is_drawn & (rng.random(true.shape) >= lost)
    seen = np.where(is_scored, new, np.nan)
    return TwoJudges(
        old=panel,
        new=replace(panel, values=values_of(seen)),
        strata=drawn.strata,
        is_drawn=is_drawn,
        is_scored=is_scored,
    )


def figure_of(judges: TwoJudges, pairs: Pairs, metric: Metric) -> Quantity:
    return Quantity(
        name=metric.name,
        label=metric.label,
        statistic=metric.statistic,
        is_whole=metric.what == "count",
        old=pairs.values(judges.old.values[metric.name]),
        new=pairs.values(judges.new.values[metric.name]),
    )


def shift(judges: TwoJudges, metric: Metric, model: int = 0) -> Shift:
    pairs = Pairs.of(judges, DRAWS)
    rows = pairs.models == model
    return shift_of(pairs, figure_of(judges, pairs, metric), rows, model="a")


def stratified_mean(judges: TwoJudges, values: np.ndarray, model: int) -> float:
    """The mean over the strata, each with its share of all studies."""
    strata = judges.strata[:, model]
    total = 0.0
    for stratum in set(strata.tolist()):
        is_of = strata == stratum
        rows = is_of & judges.is_scored[:, model]
        total += is_of.mean() * values[rows, model].mean()
    return total


@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_a_shift_is_the_weighted_mean_of_the_paired_differences(lost: float) -> None:
    judges = two_judges(lost=lost)
    for metric in (RATE, COUNT):
        found = shift(judges, metric)
        old = stratified_mean(judges, judges.old.values[metric.name], 0)
        new = stratified_mean(judges, judges.new.values[metric.name], 0)
        assert found.old == pytest.approx(old)
        assert found.new == pytest.approx(new)
        assert found.shift.value == pytest.approx(new - old)
        assert found.shift.low < found.shift.value < found.shift.high
        assert found.n == judges.is_scored[:, 0].sum()


def test_a_reciprocal_shifts_by_the_difference_of_the_reciprocals() -> None:
    judges = two_judges()
    found = shift(judges, INVERSE)
    old = 1 / stratified_mean(judges, judges.old.values["inverse"], 0)
    new = 1 / stratified_mean(judges, judges.new.values["inverse"], 0)
    assert found.shift.value == pytest.approx(new - old)


def test_the_rate_of_a_simple_sample_has_nearly_the_interval_of_paired_rates() -> None:
    judges = two_judges(400, 1, 400)
    found = shift(judges, RATE)
    old, new = judges.old.values["clean"][:, 0], judges.new.values["clean"][:, 0]
    b, c = int(((new == 1) & (old == 0)).sum()), int(((new == 0) & (old == 1)).sum())
    low, high = tango(400, b, c)
    assert found.shift.low == pytest.approx(low, abs=0.01)
    assert found.shift.high == pytest.approx(high, abs=0.01)


def test_two_judges_that_say_the_same_have_a_shift_of_0_and_not_a_certain_one() -> None:
    judges = two_judges(n_drawn=100, is_same=True)
    rate, count = shift(judges, RATE), shift(judges, COUNT)
    for found in (rate, count):
        assert found.shift.value == 0
        assert found.shift.low < 0 < found.shift.high
    # Of 100 studies of which none differs up to z² / (100 + z²) may: 3.7%, a little more by t.
    assert rate.shift.high == pytest.approx(0.037, abs=0.003)
    assert count.shift.high > 0.037
    assert count.slope.value == pytest.approx(1)
    pairs = Pairs.of(judges, DRAWS)
    old = pairs.values(judges.old.values["clean"])
    same = agreement_of(pairs, "clean", "clean", old, old)
    assert same.figures["kappa"].value == pytest.approx(1)
    for row in restated(judges, {}):
        assert row.rank == row.new_rank


def test_patients_with_several_studies_widen_the_intervals() -> None:
    alone, together = two_judges(), two_judges(per_patient=4)
    pairs = Pairs.of(together, DRAWS)
    assert pairs.word == "patients"
    assert len(np.unique(pairs.units)) <= 50
    assert shift(alone, COUNT).shift.value == shift(together, COUNT).shift.value


def test_a_slope_of_deming_is_that_of_the_formula() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = 3 + 2 * x + rng.normal(scale=0.5, size=50)
    columns = np.column_stack([np.ones(50), x, y, x * x, y * y, x * y])
    line = deming(columns.sum(axis=0)[None])
    covariance = np.cov(x, y, bias=True)
    (s_xx, s_xy), (_, s_yy) = covariance
    # The direction of the largest spread: for errors of one size the line is the orthogonal one.
    values, vectors = np.linalg.eigh(covariance)
    across, up = vectors[:, values.argmax()]
    assert line.slope[0] == pytest.approx(up / across)
    assert line.intercept[0] == pytest.approx(y.mean() - up / across * x.mean())
    assert line.least[0] == pytest.approx(s_xy / s_xx)
    assert line.most[0] == pytest.approx(s_yy / s_xy)
    assert line.least[0] < line.slope[0] < line.most[0]
    falling = np.column_stack([np.ones(50), x, -y, x * x, y * y, -x * y])
    assert math.isnan(deming(falling.sum(axis=0)[None]).slope[0])


def test_restated_is_the_old_mean_and_what_the_sample_differs_from_it() -> None:
    judges = two_judges()
    pairs = Pairs.of(judges, DRAWS)
    rows = {(row.model, row.metric.name): row for row in restated(judges, {})}
    for metric, statistic in restatable(judges.old):
        draws = restated_draws(judges, pairs, metric.name, statistic)
        for model, name in enumerate(judges.old.models):
            # The two ways of computing it differ by the degrees of freedom alone.
            found = rows[name, metric.name].new
            assert draws[0, model] == pytest.approx(found.value, rel=5e-3)
            by_sample = found.labels
            assert found.high - found.low <= (by_sample.high - by_sample.low) * 1.02


def test_all_studies_judged_again_have_the_new_judge_s_figures() -> None:
    judges = two_judges(120, 2, 120)
    for row in restated(judges, {}):
        if row.metric.name != "inverse":
            column = judges.new.values[row.metric.name]
            model = judges.old.models.index(row.model)
            assert row.new.value == pytest.approx(column[:, model].mean())


def test_a_sample_has_every_stratum_and_grows_without_losing_a_study() -> None:
    panel = two_judges().old
    all_scored = np.ones((200, 2), bool)

    def drawn(n: int, seed: int = 1) -> dict[str, set[str]]:
        found = drawn_studies(panel, all_scored, by="study_class", n=n, seed=seed)
        for sample in found.samples.values():
            for stratum in sample.strata:
                assert stratum["n_drawn"] >= min(LEAST, stratum["n_studies"])
            assert sum(stratum["n_studies"] for stratum in sample.strata) == 200
        return {name: set(one.order) for name, one in found.samples.items()}

    small, large, other = drawn(60), drawn(90), drawn(60, seed=2)
    assert small == drawn(60)
    assert all(small[name] < large[name] for name in small)
    assert small != other
    # Models have the same studies as far as their strata allow: far more than by chance.
    assert len(small["a"] & small["b"]) > 25
    with pytest.raises(JudgeError, match="--limit 40 or more"):
        drawn(39)


def test_a_stratum_of_few_studies_joins_another() -> None:
    panel = two_judges().old
    clean = panel.values["clean"].copy()
    clean[:, 0] = 1.0
    clean[:3, 0] = 0.0
    rare = ("z",) * 4 + ("w",) * 3 + ("y",) * 193
    panel = replace(
        panel, values={**panel.values, "clean": clean}, fields={"study_class": rare}
    )
    scored = np.ones((200, 2), bool)
    scored[50:60, 0] = False
    found = drawn_studies(panel, scored, by="study_class", n=50, seed=1)
    keys = [
        (*one["key"].values(), one["n_studies"]) for one in found.samples["a"].strata
    ]
    assert sorted(keys) == [("others", "any", 7), ("y", "clean", 183)]
    assert (found.strata[50:60, 0] == -1).all()
    assert not {f"s{row:03}" for row in range(50, 60)} & {*found.samples["a"].order}


def ruled(low: float, value: float, high: float, lost: float = 0.0) -> Shift:
    found = Shift(
        name="clean",
        label="clean",
        model="a",
        group={},
        is_share=True,
        n=100,
        shift=Estimate(n=100, value=value, low=low, high=high),
        slope=Estimate(),
    )
    return within(found, 0.05, n_drawn=100, lost=lost)


def test_the_rule_of_one_table() -> None:
    assert ruled(-0.04, 0.0, 0.05).answer == "yes"
    assert ruled(0.051, 0.08, 0.11).answer == "no"
    assert ruled(-0.2, -0.1, -0.06).answer == "no"
    inside = ruled(-0.06, 0.01, 0.08)
    assert inside.answer == "not known"
    # From 0.07 to 0.04 above: (7 / 4)² times as many.
    assert inside.n_needed == math.ceil(100 * (0.07 / 0.04) ** 2)
    outside = ruled(0.02, 0.09, 0.16)
    assert outside.n_needed == math.ceil(100 * (0.07 / 0.04) ** 2)
    below = ruled(-0.16, -0.09, -0.02)
    assert below.n_needed == outside.n_needed
    assert ruled(-0.02, 0.05, 0.12).n_needed is None


def test_reports_without_a_score_can_take_back_an_answer() -> None:
    assert ruled(-0.01, 0.0, 0.01, lost=0.03).answer == "yes"
    lost = ruled(-0.01, 0.0, 0.01, lost=0.2)
    assert lost.answer == "not known"
    assert "worst" in lost.why
    assert ruled(0.2, 0.3, 0.4, lost=0.05).answer == "no"
    assert ruled(0.06, 0.08, 0.1, lost=0.1).answer == "not known"


def test_a_conclusion_is_lost_gained_or_turned_round() -> None:
    judges = two_judges(400, 3, 300)
    old = judges.old.values["errors"].copy()
    # By the old judge the first model is the worst, by far; the new one sees no such thing.
    old[:, 0] += 3
    old_values = values_of(old)
    judges = replace(judges, old=replace(judges.old, values=old_values))
    pairs = Pairs.of(judges, DRAWS)
    how = Resampling(seed=1, resamples=200, flips=1000)
    tests = compare_pairs(judges.old, {}, how).pairs
    found = {
        (one.metric.name, one.first, one.second): one
        for one in conclusions(judges, pairs, tests)
    }
    assert len(found) == 9
    turned = found["errors", "a", "c"]
    assert turned.old.difference > 0 > turned.difference.value
    assert turned.changed == "reversed"
    assert all(one.p <= one.p_holm for one in found.values())
    for one in found.values():
        inside = one.difference.low <= 0 <= one.difference.high
        assert inside == (one.p >= 0.05)


def test_a_judge_that_scored_next_to_nothing_gives_reasons_and_no_figures() -> None:
    judges = two_judges(lost=0.97)
    assert 0 < judges.is_scored.sum() < 10
    found = shift(judges, RATE)
    assert found.shift.low is None
    assert "10 studies" in found.shift.reason or "scored by both" in found.shift.reason
    for row in restated(judges, {}):
        assert row.new.value is None
        assert "readings" not in row.new.why_not
