"""Whether two models differ on the same studies.

Means: an interval of the difference from the paired bootstrap, and a p-value by a sign-flip
permutation test: the sign of each patient's difference is flipped at random [Noreen 1989].
Rates: McNemar's test with the mid-p value [Fagerland, Lydersen and Laake 2013], or, where a
patient has several studies, so that they are not independent, the sign-flip permutation test by
patient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judge.stats import resample
from judge.stats.metric import Metric
from judge.stats.panel import ROUNDING, Panel, RankShares, Values, rank_shares, without_rounding
from judge.stats.resample import Block, ModelPairs, Resampled, blocks_of

Method = Literal["sign-flip permutation test", "mcnemar mid-p"]
SIGN_FLIP: Method = "sign-flip permutation test"
ALPHA = 0.05
LEAST_UNITS = 10
"""Of fewer patients, or studies, the ends of a bootstrap interval say too little."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """The test of one pair of models, `a` before `b` in the panel.

    `n` counts the studies that were scored for both, and `difference` is a's figure less b's
    on those. `low` and `high` are its 95% bootstrap interval, None for fewer than `LEAST_UNITS`
    patients, or studies. `p_holm` is `p` corrected for all tests of its family. None where the studies that were scored for both are
    fewer than two, or all of one patient; the interval also where the figure is a reciprocal
    that some resample has not.
    """

    a: int
    b: int
    n: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    method: Method

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often to resample and from which seed, and which tests are corrected together.

    `family` is `table`, all metrics and pairs of one group of studies, or `metric`, the pairs of one
    metric and group. In a table the metric `primary`, named in advance, is a family of its own.
    """

    seed: int = 20_260_101
    resamples: int = 1_000
    flips: int = 10_000
    family: Literal["table", "metric"] = "table"
    primary: str | None = None

    def families(self, metrics: Sequence[str]) -> list[list[str]]:
        """Return the metrics whose tests are corrected together."""
        if self.family == "metric":
            return [[metric] for metric in metrics]
        first = [metric for metric in metrics if metric == self.primary]
        rest = [metric for metric in metrics if metric != self.primary]
        return [family for family in (first, rest) if family]


@dataclass(frozen=True)
class Tested:
    """All tests of one group of studies: for each metric the pairs, and how sure the ranks are.

    The rank shares are None where the scored studies are fewer than two, or all of one patient, and
    where a reciprocal is lacking: `no_reciprocal` has the models, by number, of whom the mean
    of the studies or of a resample is 0 or less.
    """

    pairs: Mapping[str, tuple[PairTest, ...]]
    rank_shares: Mapping[str, tuple[RankShares | None, ...]]
    no_reciprocal: Mapping[str, tuple[int, ...]]


def compare_pairs(panel: Panel, key: Mapping[str, object], how: Resampling) -> Tested:
    """Test every pair of models by every metric on the studies of `panel`.

    One set of resamples serves all metrics and models, so differences are paired. `key`
    names the group: a group's numbers do not depend on which others there are.
    """
    units = resample.units_of(panel.clusters, len(panel.study_ids))
    n_units = int(units.max()) + 1
    pairs = ModelPairs(len(panel.models))
    blocks = blocks_of(panel, panel.metrics, units)
    rng = resample.generator(how.seed, "bootstrap", key)
    drawn = resample.bootstrap(panel, blocks, pairs, rng, how.resamples)
    n_of_pairs = {
        metric: n_of_pair
        for block in blocks
        for n_of_pair in [_n_units(panel.values[block.metrics[0].name], units, pairs)]
        for metric in block.metrics
    }
    by_flips = [m for m in panel.metrics if m.kind != "rate" or panel.is_clustered]
    p_values = _randomization(blocks_of(_linear(panel), by_flips, units), pairs, n_units, key, how)
    found, shares, no_reciprocal = {}, {}, {}
    for metric in panel.metrics:
        of_metric = drawn[metric]
        method: Method = SIGN_FLIP if metric in by_flips else "mcnemar mid-p"
        if metric not in by_flips:
            p_values[metric] = mcnemar(panel.values[metric.name], pairs)
        found[metric.name] = _tests(of_metric, pairs, n_of_pairs[metric], p_values[metric], method)
        no_reciprocal[metric.name] = lacking = of_metric.lacking(pairs)
        scored = ~np.isnan(panel.values[metric.name]).all(axis=1)
        is_ranked = _is_spread(units[scored]) and not lacking
        shares[metric.name] = (
            rank_shares(of_metric.figures, of_metric.rounding, higher=metric.higher_is_better)
            if is_ranked
            else (None,) * len(panel.models)
        )
    return Tested(_corrected(found, how), shares, no_reciprocal)


def _corrected(
    tests: Mapping[str, Sequence[PairTest]], how: Resampling
) -> dict[str, tuple[PairTest, ...]]:
    corrected = {}
    for family in how.families(list(tests)):
        p_values = iter(holm([test.p for metric in family for test in tests[metric]]))
        for metric in family:
            corrected[metric] = tuple(
                replace(test, p_holm=next(p_values)) for test in tests[metric]
            )
    return {metric: corrected[metric] for metric in tests}


def _randomization(
    blocks: Sequence[Block],
    pairs: ModelPairs,
    n_units: int,
    key: Mapping[str, object],
    how: Resampling,
) -> dict[Metric, Values]:
    """Return the p-values of all pairs.

    p = (1 + flips with at least the observed difference) / (1 + flips), which is never 0
    [Phipson and Smyth 2010]. The statistic is the sum of the differences; of a reciprocal
    it is that of its mean, whose null hypothesis is the same.
    """
    once = np.ones((1, n_units))
    observed, reached = [], []
    for block in blocks:
        sums = block.sums
        # Sums in another order must count as equal, whatever the other models' values are.
        size = ROUNDING * np.abs(sums.totals).sum(axis=0)
        near = size[:, pairs.first] + size[:, pairs.second]
        observed.append(np.abs(sums.difference(once, pairs)[0]) - near)
        reached.append(np.zeros(observed[-1].shape))
    rng = resample.generator(how.seed, "flips", key)
    for signs in resample.sign_flips(rng, n_units, how.flips if blocks else 0):
        for block, least, count in zip(blocks, observed, reached, strict=True):
            count += (np.abs(block.sums.difference(signs, pairs)) >= least).sum(axis=0)
    return {
        metric: (1 + count[column]) / (1 + how.flips)
        for block, count in zip(blocks, reached, strict=True)
        for column, metric in enumerate(block.metrics)
    }


def _linear(panel: Panel) -> Panel:
    """Return the panel with each ratio's values less what they would be at the ratio of all.

    A ratio is no sum over studies. Of two models whose labels are exchangeable the sum of
    `value - R per` is the same but for chance, whatever R; R is the ratio of all models'
    studies together, so that the sum differs as the ratios do.
    """
    values = dict(panel.values)
    for name, per in panel.per.items():
        under = np.nansum(per)
        values[name] = values[name] - (np.nansum(values[name]) / under if under else 0.0) * per
    metrics = tuple(
        replace(metric, kind="mean") if metric.name in panel.per else metric
        for metric in panel.metrics
    )
    return replace(panel, metrics=metrics, values=values, per={})


def _n_units(values: Values, units: NDArray[np.intp], pairs: ModelPairs) -> NDArray[np.intp]:
    """Return for each pair how many units have studies that were scored for both.

    `values` is studies by models.
    """
    scored = ~np.isnan(values)
    if scored.all():
        return np.full(len(pairs.first), len(np.unique(units)), dtype=np.intp)
    of_pairs = zip(pairs.first, pairs.second, strict=True)
    counts = [len(np.unique(units[scored[:, a] & scored[:, b]])) for a, b in of_pairs]
    return np.array(counts, dtype=np.intp)


def _is_spread(units: NDArray[np.intp]) -> bool:
    return len(units) > 0 and bool(units.min() < units.max())


def _tests(
    drawn: Resampled, pairs: ModelPairs, n_units: NDArray[np.intp], p: Values, method: Method
) -> list[PairTest]:
    low, high = resample.percentiles(drawn.differences, (0.025, 0.975))
    tests = []
    for pair, (a, b) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        n, near = round(float(drawn.n[pair])), float(max(drawn.rounding[a], drawn.rounding[b]))
        difference = _known(drawn.observed[pair], near)
        # One study, or one patient, has no spread to judge a difference by.
        ends: tuple[float | None, float | None, float | None] = (None, None, None)
        if n_units[pair] > 1 and difference is not None:
            # Without the resamples that have no reciprocal the others would look surer.
            lacks = drawn.first_lacks[pair] or drawn.second_lacks[pair]
            interval = (
                (None, None)
                if lacks or low[pair] == high[pair] or n_units[pair] < LEAST_UNITS
                else (_known(low[pair], near), _known(high[pair], near))
            )
            ends = *interval, float(p[pair])
        tests.append(PairTest(int(a), int(b), n, difference, *ends, p_holm=None, method=method))
    return tests


def _known(value: float, rounding: float) -> float | None:
    return None if np.isnan(value) else without_rounding(float(value), rounding)


def mcnemar(values: Values, pairs: ModelPairs) -> Values:
    """Return McNemar's mid-p value of each pair of models, from 0/1 values.

    b and c count the studies, scored for both, where one model alone has a 1. Two-sided
    mid-p = 2 P(X < min(b, c)) + P(X = min(b, c)) with X binomial(b + c, 1/2), and where b is c
    1 - P(X = b) / 2; 1 where b + c is 0. Unlike the exact test it is not conservative, and unlike
    the chi-squared one it holds for few discordant studies [Fagerland, Lydersen and Laake 2013].
    """
    # Takes a quarter of a second to import (`scipy.stats` three), for those who compare only.
    from scipy.special import bdtr

    scored = ~np.isnan(values)
    ones = np.where(scored, values, 0.0)
    alone = np.rint(ones.T @ scored.astype(float) - ones.T @ ones).astype(int)
    b, c = alone[pairs.first, pairs.second], alone[pairs.second, pairs.first]
    n, least = b + c, np.minimum(b, c)
    # 2 P(X < least) + P(X = least) = P(X <= least) + P(X <= least - 1)
    below = np.where(least > 0, bdtr(np.maximum(least - 1, 0), n, 0.5), 0.0)
    up_to = bdtr(least, n, 0.5)
    mid_p = np.where(b == c, 1 - (up_to - below) / 2, up_to + below)
    return np.asarray(np.where(n == 0, 1.0, np.minimum(mid_p, 1.0)), dtype=np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values corrected for their number, step down [Holm 1979].

    Those that are None are no tests: they stay None and do not count.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - done) * p))
        corrected[index] = largest
    return corrected


def few_flips(found: Sequence[Tested], how: Resampling) -> str | None:
    """Return a note where there are too few flips for the pairs that are tested by them.

    The least p there is, 1 / (1 + flips), times the number of pairs is the least that Holm's
    correction can give; from 0.05 on no pair can come out significant. None where all can.
    """
    families = [
        [test for metric in family for test in tested.pairs[metric]]
        for tested in found
        for family in how.families(list(tested.pairs))
    ]
    n = max(
        (sum(t.p is not None and t.method == SIGN_FLIP for t in tests) for tests in families),
        default=0,
    )
    if n / (1 + how.flips) < ALPHA:
        return None
    return (
        f"{how.flips:,} flips are too few for {n:,} tests: the smallest p value of the "
        f"sign-flip permutation test, {1 / (1 + how.flips):.1g}, times {n:,} is not below {ALPHA}, "
        "so no difference that it tests can be significant after Holm's correction; "
        f"--flips {round(n / ALPHA)} would do"
    )
