"""Models compared on the same studies: paired tests, ranks and correlations.

Means: an interval of the difference from the paired bootstrap, and a p-value by a sign-flip
permutation test: the sign of each patient's difference is flipped at random [Noreen 1989]. Its null
hypothesis is that the differences are symmetric about 0; a studentised statistic would order the
flips alike, since flips leave the squares as they are. Rates: the interval of Agresti and Min and
McNemar's test with the mid-p value, or the same as means where a patient has several studies.

Everything is computed from additive sums: a model's figure on a resample is weights times sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judge.stats.correlation import Correlations, correlations
from judge.stats.intervals import (
    LEAST_UNITS,
    USUAL_DRAWS,
    Z_95,
    Bools,
    Codes,
    Draws,
    Values,
    bootstrap_weights,
    generator,
    interval,
    n_different,
    sign_flips,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric, find
from judge.stats.scores import (
    ROUNDING,
    Group,
    RankShares,
    ScoreMatrix,
    canonical,
    group_cells,
    parts_of,
    rank_shares,
    round_mantissa,
)
from judge.types import JudgeError

Method = Literal["sign-flip permutation test", "mcnemar mid-p"]
ALPHA = 0.05
Pairs = tuple[Codes, Codes]
"""The number of the first and of the second model of each pair, the first before."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """The test of one pair of models, `a` before `b` in the panel.

    `n` studies of `n_units` patients (or studies) were scored for both, and `difference` is a's
    figure minus b's on these. `low` and `high` are its 95% interval, None for fewer than ten units
    and for a reciprocal that is undefined in a resample. `p_holm` is `p` corrected for all tests of
    its family; both are None for fewer than two units.
    """

    a: int
    b: int
    n: int
    n_units: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    method: Method = "sign-flip permutation test"

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often to resample and from which seed.

    `resamples` None is the usual number of `Draws`.
    """

    seed: int = USUAL_DRAWS.seed
    resamples: int | None = None
    flips: int = 10_000

    @property
    def draws(self) -> Draws:
        """What of it a bootstrap needs."""
        return Draws(self.seed, self.resamples)

    def of(self, n_units: int) -> Resampling:
        """Return it with the number of resamples for a set of so many patients or studies."""
        return replace(self, resamples=self.draws.count(n_units))


@dataclass(frozen=True)
class GroupTests:
    """All tests of one group of studies: for each metric the pairs, and how sure the ranks are.

    The rank shares are None for fewer than two units, and where a reciprocal or a ratio has no
    value in some resample.
    """

    pairs: Mapping[str, tuple[PairTest, ...]]
    rank_shares: Mapping[str, tuple[RankShares | None, ...]]


@dataclass(frozen=True)
class Comparison:
    """A leaderboard with its tests.

    `order` lists the models' numbers in the panel, best first by the metric `sort`; those
    without a figure come last. `groups` begins with all studies, then has the groups of each
    grouping in `by`, such as `site`, or `site,study_class` for the pairs of two fields.
    `tests` and `rank_shares` have one entry a group, by metric; they are empty where no tests
    were asked for.
    """

    panel: ScoreMatrix
    sort: str
    order: tuple[int, ...]
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    tests: tuple[Mapping[str, tuple[PairTest, ...]], ...]
    rank_shares: tuple[Mapping[str, tuple[RankShares | None, ...]], ...]
    correlations: Correlations | None
    how: Resampling | None
    signature: str
    notes: tuple[str, ...] = ()

    @property
    def sorted_by(self) -> Metric:
        """The metric that the models are ranked by."""
        return self.panel.metric(self.sort)

    @property
    def correction(self) -> str:
        """What Holm's method corrects for, empty where there is one test or none."""
        n = _n_tests(self.tests[0]) if self.tests else 0
        return f"p (Holm) is corrected for all tests of a table, up to {n:,}" if n > 1 else ""


Track = Callable[[Iterable[GroupTests], int], Iterable[GroupTests]]
"""Passes results on as they come, such as a progress bar; the number is how many will come."""


def compare(
    panel: ScoreMatrix,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    how: Resampling | None = None,
    signature: str = "",
    notes: Sequence[str] = (),
    track: Track = lambda tested, _n: tested,
) -> Comparison:
    """Compare the models of `panel`, ranked by `sort`, a metric's name or label.

    The default is the first metric that the most models have. Without
    `how` nothing is tested. `track` is given the groups' tests as they end, and how many there
    will be. Raises `JudgeError` for an unknown metric or field, and where no study
    is left to compare.
    """
    if not panel.study_ids:
        raise JudgeError("no study to compare")
    asked = find(panel.metrics, sort) if sort is not None else None
    parts = parts_of(panel, by)
    how = None if how is None else how.of(panel.n_units)
    groups = tuple(group_cells(part, key) for key, part in parts)
    more = [f"intervals of single figures are by {panel.patient_field}"] * panel.is_clustered
    results: list[GroupTests] = []
    if how:
        results = list(track((compare_pairs(part, key, how) for key, part in parts), len(parts)))
        n = _n_tests(results[0].pairs)
        if n / (1 + how.flips) >= ALPHA:
            more.append(
                f"{how.flips:,} flips are too few for {n:,} tests: none by sign flips can be "
                f"significant after Holm's correction; --flips {round(n / ALPHA)} would do"
            )
    all_cells = groups[0].cells
    metric = asked or max(
        panel.metrics, key=lambda m: sum(cell.value is not None for cell in all_cells[m.name])
    )
    scores = [m for m in panel.metrics if m.what in ("score", "other")]
    return Comparison(
        panel=panel,
        sort=metric.name,
        order=model_order(groups[0], metric.name),
        by=tuple(dict.fromkeys(by)),
        groups=groups,
        tests=tuple(result.pairs for result in results),
        rank_shares=tuple(result.rank_shares for result in results),
        correlations=correlations(panel) if len(scores) > 1 else None,
        how=how,
        signature=signature,
        notes=(*notes, *more),
    )


def model_order(group: Group, metric: str) -> tuple[int, ...]:
    """Return the models' numbers by their rank in a group, those without one last."""
    ranks = [cell.rank for cell in group.cells[metric]]
    last = len(ranks) + 1
    return tuple(sorted(range(len(ranks)), key=lambda model: ranks[model] or last))


def _n_tests(pairs: Mapping[str, Sequence[PairTest]]) -> int:
    return sum(test.p is not None for tests in pairs.values() for test in tests)


def compare_pairs(panel: ScoreMatrix, key: Mapping[str, object], how: Resampling) -> GroupTests:
    """Test every pair of models by every metric on the studies of `panel`.

    One set of resamples serves all metrics and models, so differences are paired. `key`
    names the group: a group's numbers do not depend on which others there are. Neither the order
    of the studies nor the names of their ids change a number.
    """
    panel = canonical(panel)
    units = units_of(panel.clusters, len(panel.study_ids))
    n_units = int(units.max()) + 1
    pairs = np.triu_indices(len(panel.models), k=1)
    n_draws = how.draws.count(n_units)
    draws = bootstrap_weights(generator(how.seed, "bootstrap", key), n_units, n_draws)
    weights = np.concatenate([np.ones((1, n_units)), *draws])
    by_flips = [m for m in panel.metrics if m.kind != "rate" or panel.is_clustered]
    p_values = _flip_p_values(panel, by_flips, units, pairs, generator(how.seed, "flips", key), how)
    tests: list[tuple[str, PairTest]] = []
    shares: dict[str, tuple[RankShares | None, ...]] = {}
    for metric in panel.metrics:
        scored = ~np.isnan(panel.values[metric.name])
        both = scored[:, pairs[0]] & scored[:, pairs[1]]
        every = _resampled(panel, metric, slice(None), scored, units, weights)
        first, second = (_resampled(panel, metric, side, both, units, weights) for side in pairs)
        is_equal = round_mantissa(first) == round_mantissa(second)
        differences = np.where(is_equal, 0.0, first - second)
        for pair, (a, b) in enumerate(np.transpose(pairs).tolist()):
            rows = both[:, pair]
            test = PairTest(a, b, int(rows.sum()), n_different(units[rows]))
            if metric.name in p_values:
                test = _by_flips(test, differences[:, pair], float(p_values[metric.name][pair]))
            else:
                test = _by_discordance(test, *panel.values[metric.name][rows][:, [a, b]].T == 1)
            tests.append((metric.name, test))
        may_lack = metric.kind in ("inverse", "ratio")
        is_undefined = may_lack and np.isnan(every[:, scored.any(axis=0)]).any()
        shares[metric.name] = (None,) * len(panel.models)
        if not is_undefined and n_different(units[scored.any(axis=1)]) > 1:
            shares[metric.name] = rank_shares(every[1:], higher=metric.higher_is_better)
    by_metric: dict[str, tuple[PairTest, ...]] = {metric.name: () for metric in panel.metrics}
    for (name, test), p_holm in zip(tests, holm([test.p for _, test in tests]), strict=True):
        by_metric[name] += (replace(test, p_holm=p_holm),)
    return GroupTests(by_metric, shares)


def _resampled(
    panel: ScoreMatrix,
    metric: Metric,
    models: Codes | slice,
    among: Bools,
    units: Codes,
    weights: Values,
) -> Values:
    """Return the figures of models, or of the sides of pairs, resamples by models.

    They are of the studies that are `among` those of the model, or pair. NaN is not defined.
    """
    values = panel.values[metric.name]
    grids = (values, panel.per.get(metric.name, np.ones_like(values)))
    top, under = (
        weights @ unit_sums(np.where(among, grid[:, models], 0.0), units) for grid in grids
    )
    figures: Values = np.divide(top, under, out=np.full_like(top, np.nan), where=under > 0)
    if metric.kind == "inverse":
        return np.divide(1, figures, out=np.full_like(figures, np.nan), where=figures > 0)
    return figures


def _by_flips(test: PairTest, differences: Values, p: float) -> PairTest:
    if np.isnan(differences[0]):
        return test
    # Without the resamples that have no reciprocal the others would look surer.
    low, high, _ = interval(differences[1:], test.n_units, most=0)
    known = p if test.n_units > 1 else None
    return replace(test, difference=float(differences[0]), low=low, high=high, p=known)


def _by_discordance(test: PairTest, first: Bools, second: Bools) -> PairTest:
    test = replace(test, method="mcnemar mid-p")
    if not test.n:
        return test
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    ends = rate_difference(test.n, b, c) if test.n_units >= LEAST_UNITS else (None, None)
    p = mcnemar(b, c) if test.n_units > 1 else None
    return replace(test, difference=(b - c) / test.n, low=ends[0], high=ends[1], p=p)


def mcnemar(b: int, c: int) -> float:
    """Return McNemar's mid-p value of two models' rates.

    b and c count the studies, scored for both, that one model alone counts. Two-sided
    mid-p = 2 P(X < min(b, c)) + P(X = min(b, c)) with X binomial(b + c, 1/2), and where b is c
    1 - P(X = b) / 2; 1 where b + c is 0 [Fagerland, Lydersen and Laake 2013].
    """
    # Takes a quarter of a second to import (`scipy.stats` three), for those who compare only.
    from scipy.special import bdtr

    n, least = b + c, min(b, c)
    if n == 0:
        return 1.0
    # 2 P(X < least) + P(X = least) = P(X <= least) + P(X <= least - 1)
    below = float(bdtr(least - 1, n, 0.5)) if least else 0.0
    up_to = float(bdtr(least, n, 0.5))
    return 1 - (up_to - below) / 2 if b == c else min(1.0, up_to + below)


def rate_difference(n: int, b: int, c: int) -> tuple[float, float]:
    """Return the 95% interval of a difference (b - c) / n of paired rates.

    Wald's with half a study more in each cell [Agresti and Min 2005]: where few studies differ a
    bootstrap of them is far too narrow.
    """
    n += 2
    difference = (b - c) / n
    half = Z_95 * math.sqrt(b + c + 1 - (b - c) ** 2 / n) / n
    return max(difference - half, -1.0), min(difference + half, 1.0)


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


def _flip_p_values(
    panel: ScoreMatrix,
    metrics: Sequence[Metric],
    units: Codes,
    pairs: Pairs,
    rng: np.random.Generator,
    how: Resampling,
) -> dict[str, Values]:
    """Return (1 + flips with at least the observed difference) / (1 + flips), which is never 0
    [Phipson and Smyth 2010]. The statistic is the sum of the differences; of a reciprocal
    it is that of its mean, whose null hypothesis is the same, and of a ratio the sums of
    numerator - R x denominator, where R is the ratio over all models: for two models whose labels
    are exchangeable its expected difference is 0, for any R.
    """
    columns, least = [], []
    for metric in metrics:
        values = panel.values[metric.name]
        if (per := panel.per.get(metric.name)) is not None:
            under = np.nansum(per)
            values = values - (np.nansum(values) / under if under else 0.0) * per
        first, second = (values[:, side] for side in pairs)
        columns.append(unit_sums(first - second, units))
        # Sums in another order must count as equal.
        near = ROUNDING * np.nansum(np.abs(first) + np.abs(second), axis=0)
        least.append(np.abs(columns[-1].sum(axis=0)) - near)
    if not metrics or not len(pairs[0]):
        return {metric.name: np.empty(0) for metric in metrics}
    differences, observed = np.hstack(columns), np.concatenate(least)
    reached = np.zeros(len(observed))
    for signs in sign_flips(rng, len(differences), how.flips):
        reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    by_metric = np.split((1 + reached) / (1 + how.flips), len(metrics))
    return {metric.name: p for metric, p in zip(metrics, by_metric, strict=True)}
