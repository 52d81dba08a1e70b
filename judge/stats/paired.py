"""Whether two models differ on the same studies.

Means: an interval of the difference from the paired bootstrap, and a p-value by a sign-flip
permutation test: the sign of each patient's difference is flipped at random [Noreen 1989]. Its null
hypothesis is that the differences are symmetric about 0; a studentised statistic would order the
flips alike, since flips leave the squares as they are. Rates: the interval of Agresti and Min and
McNemar's test with the mid-p value, or the same as means where a patient has several studies.

All of it is made of additive sums alone: what models score on a resample are weights times sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Z_95
from judge.stats.metric import Metric
from judge.stats.panel import (
    ROUNDING,
    Panel,
    RankShares,
    Values,
    rank_shares,
    rounding_of,
    without_rounding,
)
from judge.stats.resample import (
    LEAST_UNITS,
    MOST_UNDEFINED,
    bootstrap_weights,
    generator,
    percentiles,
    sign_flips,
    tails,
    unit_sums,
    units_of,
)

Method = Literal["sign-flip permutation test", "mcnemar mid-p"]
SIGN_FLIP: Method = "sign-flip permutation test"
ALPHA = 0.05
_UNDEFINED = ("inverse", "ratio")
"""The kinds of figures that a set of scored studies may not have."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """The test of one pair of models, `a` before `b` in the panel.

    `n` counts the studies that were scored for both, of `n_units` patients (or studies), and
    `difference` is a's figure less b's on those. `low` and `high` are its 95% bootstrap interval,
    None for fewer than ten units, and where the figure is a reciprocal that some resample has not.
    `p_holm` is `p` corrected for all tests of its family; both are None for fewer than two units.
    """

    a: int
    b: int
    n: int
    n_units: int
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

    @property
    def contradicts(self) -> bool:
        """Whether the interval excludes 0 and the p-value is above 0.05, or the other way."""
        if self.low is None or self.high is None or self.p is None:
            return False
        return (self.low > 0 or self.high < 0) != (self.p < ALPHA)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often to resample and from which seed, and which tests are corrected together.

    `family` is `table`, all metrics and pairs of one group of studies, or `metric`, the pairs of
    one metric and group. In a table the metric `primary`, chosen before the numbers were seen, is
    a family of its own.
    """

    seed: int = 20_260_101
    resamples: int = 1_000
    flips: int = 10_000
    family: Literal["table", "metric"] = "table"
    primary: str | None = None

    def families(self, metrics: Iterable[str]) -> list[list[str]]:
        """Return the metrics whose tests are corrected together."""
        if self.family == "metric":
            return [[metric] for metric in metrics]
        parts: dict[bool, list[str]] = {}
        for metric in metrics:
            parts.setdefault(metric == self.primary, []).append(metric)
        return [*parts.values()]


@dataclass(frozen=True)
class Tested:
    """All tests of one group of studies: for each metric the pairs, and how sure the ranks are.

    The rank shares are None for fewer than two units, and where a reciprocal is lacking in some
    resample: `no_reciprocal` has the models, by number, of whom it is.
    """

    pairs: Mapping[str, tuple[PairTest, ...]]
    rank_shares: Mapping[str, tuple[RankShares | None, ...]]
    no_reciprocal: Mapping[str, tuple[int, ...]]


class ModelPairs:
    """Every pair of models: the number of the first and of the second, the first before."""

    def __init__(self, n_models: int) -> None:
        self.n_models = n_models
        self.first, self.second = np.triu_indices(n_models, k=1)

    def positions(self, model: int) -> tuple[slice, NDArray[np.intp]]:
        """Return the positions of the pairs whose first, and whose second, the model is."""
        before = model * (2 * self.n_models - model - 1) // 2
        others = np.arange(model)
        as_second = others * (2 * self.n_models - others - 1) // 2 + model - others - 1
        return slice(before, before + self.n_models - model - 1), as_second


def compare_pairs(panel: Panel, key: Mapping[str, object], how: Resampling) -> Tested:
    """Test every pair of models by every metric on the studies of `panel`.

    One set of resamples serves all metrics and models, so differences are paired. `key`
    names the group: a group's numbers do not depend on which others there are.
    """
    units = units_of(panel.clusters, len(panel.study_ids))
    pairs = ModelPairs(len(panel.models))
    blocks = _blocks(panel, panel.metrics, units)
    weights = bootstrap_weights(
        generator(how.seed, "bootstrap", key), int(units.max()) + 1, how.resamples
    )
    drawn = _bootstrap(panel, blocks, pairs, weights)
    by_flips = [m for m in panel.metrics if m.kind != "rate" or panel.is_clustered]
    p_values = _flip_p_values(_blocks(_linear(panel), by_flips, units), pairs, units, key, how)
    n_units = {
        metric: n_of_pair
        for block in blocks
        for n_of_pair in [_n_units(panel.values[block.metrics[0].name], units, pairs)]
        for metric in block.metrics
    }
    found: dict[str, list[PairTest]] = {}
    shares, no_reciprocal = {}, {}
    for metric in panel.metrics:
        values, resampled = panel.values[metric.name], drawn[metric]
        method: Method = SIGN_FLIP if metric in by_flips else "mcnemar mid-p"
        p = p_values[metric] if metric in p_values else mcnemar(values, pairs)
        share = tails(n_units[metric])
        ends = (
            (
                percentiles(resampled.differences, share),
                percentiles(resampled.differences, 1 - share),
            )
            if metric in by_flips
            else rate_difference(values, pairs)
        )
        found[metric.name] = _tests(metric, resampled, pairs, n_units[metric], ends, p, method)
        no_reciprocal[metric.name] = lacking = _lacking(metric, resampled, values)
        scored = np.unique(units[~np.isnan(values).all(axis=1)])
        shares[metric.name] = (
            rank_shares(resampled.figures, resampled.rounding, higher=metric.higher_is_better)
            if len(scored) > 1 and not lacking
            else (None,) * len(panel.models)
        )
    for family in how.families(found):
        corrected = iter(holm([test.p for name in family for test in found[name]]))
        for name in family:
            found[name] = [replace(test, p_holm=next(corrected)) for test in found[name]]
    return Tested({name: tuple(of) for name, of in found.items()}, shares, no_reciprocal)


def _n_units(values: Values, units: NDArray[np.intp], pairs: ModelPairs) -> NDArray[np.intp]:
    scored = ~np.isnan(values)
    if scored.all():
        return np.full(len(pairs.first), len(np.unique(units)), dtype=np.intp)
    of_pairs = zip(pairs.first, pairs.second, strict=True)
    counts = [len(np.unique(units[scored[:, a] & scored[:, b]])) for a, b in of_pairs]
    return np.array(counts, dtype=np.intp)


def _lacking(metric: Metric, drawn: _Resampled, values: Values) -> tuple[int, ...]:
    """Return the scored models whose reciprocal, or ratio, is not defined in all resamples."""
    if metric.kind not in _UNDEFINED:
        return ()
    is_scored = ~np.isnan(values).all(axis=0)
    return tuple(np.flatnonzero(is_scored & np.isnan(drawn.figures).any(axis=0)).tolist())


def _tests(
    metric: Metric,
    drawn: _Resampled,
    pairs: ModelPairs,
    n_units: NDArray[np.intp],
    ends: tuple[Values, Values],
    p: Values,
    method: Method,
) -> list[PairTest]:
    low, high = ends
    # Without the resamples that have no reciprocal the others would look surer.
    most = 0 if metric.kind in _UNDEFINED else MOST_UNDEFINED
    has_interval = (n_units >= LEAST_UNITS) & (low < high)
    has_interval &= np.isnan(drawn.differences).mean(axis=0) <= most
    tests = []
    for pair, (a, b) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        near = float(max(drawn.rounding[a], drawn.rounding[b]))
        difference, *shown = (
            None if np.isnan(end[pair]) else without_rounding(float(end[pair]), near)
            for end in (drawn.observed, low, high)
        )
        low_end, high_end = shown if has_interval[pair] and difference is not None else (None, None)
        of_pair = float(p[pair]) if n_units[pair] > 1 and difference is not None else None
        n, m = round(float(drawn.n[pair])), int(n_units[pair])
        figures = (n, m, difference, low_end, high_end, of_pair, None)
        tests.append(PairTest(int(a), int(b), *figures, method))
    return tests


def _discordant(values: Values, pairs: ModelPairs) -> tuple[Values, Values, Values]:
    """Return how many studies are scored for both of a pair, and where one model alone has a 1."""
    scored = (~np.isnan(values)).astype(float)
    ones = np.nan_to_num(values)
    alone = np.rint(ones.T @ scored - ones.T @ ones)
    n = (scored.T @ scored)[pairs.first, pairs.second]
    return n, alone[pairs.first, pairs.second], alone[pairs.second, pairs.first]


def mcnemar(values: Values, pairs: ModelPairs) -> Values:
    """Return McNemar's mid-p value of each pair of models, from 0/1 values.

    b and c count the studies, scored for both, where one model alone has a 1. Two-sided
    mid-p = 2 P(X < min(b, c)) + P(X = min(b, c)) with X binomial(b + c, 1/2), and where b is c
    1 - P(X = b) / 2; 1 where b + c is 0 [Fagerland, Lydersen and Laake 2013].
    """
    # Takes a quarter of a second to import (`scipy.stats` three), for those who compare only.
    from scipy.special import bdtr

    _, b, c = _discordant(values, pairs)
    n, least = (b + c).astype(int), np.minimum(b, c).astype(int)
    # 2 P(X < least) + P(X = least) = P(X <= least) + P(X <= least - 1)
    below = np.where(least > 0, bdtr(np.maximum(least - 1, 0), n, 0.5), 0.0)
    up_to = bdtr(least, n, 0.5)
    mid_p = np.where(b == c, 1 - (up_to - below) / 2, up_to + below)
    return np.asarray(np.where(n == 0, 1.0, np.minimum(mid_p, 1.0)))


def rate_difference(values: Values, pairs: ModelPairs) -> tuple[Values, Values]:
    """Return the ends of the 95% interval of each difference of paired rates, from 0/1 values.

    Wald's with half a study more in each cell [Agresti and Min 2005]: where few studies differ a
    bootstrap of them is far too narrow.
    """
    n, b, c = _discordant(values, pairs)
    n = n + 2
    difference = (b - c) / n
    half = Z_95 * np.sqrt(b + c + 1 - (b - c) ** 2 / n) / n
    return np.maximum(difference - half, -1.0), np.minimum(difference + half, 1.0)


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
    blocks: Sequence[_Block],
    pairs: ModelPairs,
    units: NDArray[np.intp],
    key: Mapping[str, object],
    how: Resampling,
) -> dict[Metric, Values]:
    """Return (1 + flips with at least the observed difference) / (1 + flips), which is never 0
    [Phipson and Smyth 2010]. The statistic is the sum of the differences; of a reciprocal
    it is that of its mean, whose null hypothesis is the same.
    """

    def difference(block: _Block, weights: Values) -> Values:
        one, other, _ = block.common(weights, pairs)
        one -= other
        return one

    n_units = int(units.max()) + 1
    observed, reached = [], []
    for block in blocks:
        # Sums in another order must count as equal, whatever the other models' values are.
        size = ROUNDING * np.abs(block.totals).sum(axis=0)
        near = size[:, pairs.first] + size[:, pairs.second]
        observed.append(np.abs(difference(block, np.ones((1, n_units)))[0]) - near)
        reached.append(np.zeros(observed[-1].shape))
    rng = generator(how.seed, "flips", key)
    for signs in sign_flips(rng, n_units, how.flips if blocks else 0):
        for block, least, count in zip(blocks, observed, reached, strict=True):
            count += (np.abs(difference(block, signs)) >= least).sum(axis=0)
    return {
        metric: (1 + count[column]) / (1 + how.flips)
        for block, count in zip(blocks, reached, strict=True)
        for column, metric in enumerate(block.metrics)
    }


def _linear(panel: Panel) -> Panel:
    """Return the panel with each ratio's values less what they would be at the ratio of all.

    A ratio is no sum over studies. Of two models whose labels are exchangeable the sum of
    `value - R per` is the same but for chance, whatever R.
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


@dataclass(frozen=True)
class _Block:
    """The sums, for each unit, of metrics that were scored for the same studies.

    `totals` is units by rows by models: the sums of the metrics' values, then what ratios are
    divided by (`per` has their rows). `counts`, units by models, is how many studies were scored.
    `lost` has, for each model, the units with a study that was not scored for it, and the same
    sums of just those studies: what pairs with that model must leave out.
    """

    metrics: tuple[Metric, ...]
    per: Mapping[Metric, int]
    totals: Values
    counts: Values
    lost: tuple[tuple[NDArray[np.intp], Values, Values], ...]

    def common(self, weights: Values, pairs: ModelPairs) -> tuple[Values, Values, Values]:
        """Return weighted sums and counts on the studies that were scored for both of a pair.

        First the sums of the first model, then those of the second, resamples by rows by pairs;
        last the counts, resamples by pairs.
        """
        totals, n = _weighted(weights, self.totals), (weights @ self.counts)[:, pairs.first]
        one, other = totals[:, :, pairs.first], totals[:, :, pairs.second]
        for model, (units, lost_totals, lost_counts) in enumerate(self.lost):
            if len(units):
                drawn, (as_first, as_second) = weights[:, units], pairs.positions(model)
                lost = _weighted(drawn, lost_totals)
                other[:, :, as_first] -= lost[:, :, pairs.second[as_first]]
                one[:, :, as_second] -= lost[:, :, pairs.first[as_second]]
                n[:, as_second] -= (drawn @ lost_counts)[:, pairs.first[as_second]]
        return one, other, n


def _weighted(weights: Values, totals: Values) -> Values:
    units, rows, models = totals.shape
    return (weights @ totals.reshape(units, rows * models)).reshape(len(weights), rows, models)


def _blocks(panel: Panel, metrics: Sequence[Metric], units: NDArray[np.intp]) -> list[_Block]:
    together: dict[bytes, list[Metric]] = {}
    for metric in metrics:
        mask = np.packbits(np.isnan(panel.values[metric.name])).tobytes()
        together.setdefault(mask, []).append(metric)
    found = []
    for block in together.values():
        ratios = [metric for metric in block if metric.name in panel.per]
        grids = [panel.values[m.name] for m in block] + [panel.per[m.name] for m in ratios]
        values = np.stack(grids, axis=1)
        scored = ~np.isnan(values[:, 0])
        values[~np.broadcast_to(scored[:, None], values.shape)] = 0.0
        lost = []
        for column in scored.T:
            rows = np.flatnonzero(~column)
            touched, unit = np.unique(units[rows], return_inverse=True)
            sums = unit_sums(values[rows], unit), unit_sums(scored[rows].astype(float), unit)
            lost.append((touched, *sums))
        per = {metric: len(block) + at for at, metric in enumerate(ratios)}
        totals, counts = unit_sums(values, units), unit_sums(scored.astype(float), units)
        found.append(_Block(tuple(block), per, totals, counts, tuple(lost)))
    return found


@dataclass(frozen=True)
class _Resampled:
    """What the bootstrap says of one metric.

    `differences` is resamples by pairs, `figures` resamples by models; `observed` and `n`,
    one a pair, are the difference and the number of studies as they are. NaN is a figure that is
    not defined. `rounding`, one a model, is how far rounding may move a figure.
    """

    differences: Values
    figures: Values
    observed: Values
    n: Values
    rounding: Values


def _bootstrap(
    panel: Panel, blocks: Sequence[_Block], pairs: ModelPairs, weights: Iterator[Values]
) -> dict[Metric, _Resampled]:
    metrics = [metric for block in blocks for metric in block.metrics]
    least = {m: rounding_of(panel.of_study(m.name), is_inverse=False) for m in metrics}
    parts: dict[Metric, list[tuple[Values, Values, Values]]] = {metric: [] for metric in metrics}
    # The first row is the studies as they are.
    once = np.ones((1, len(blocks[0].counts) if blocks else 0))
    for drawn in (once, *weights):
        for block in blocks:
            one, other, n = block.common(drawn, pairs)
            own, own_n = _weighted(drawn, block.totals), drawn @ block.counts
            for column, metric in enumerate(block.metrics):
                near = least[metric]
                first, second, figures = (
                    _figures(
                        metric,
                        totals[:, column],
                        totals[:, block.per[metric]] if metric in block.per else counts,
                        near[models],
                    )
                    for totals, counts, models in (
                        (one, n, pairs.first),
                        (other, n, pairs.second),
                        (own, own_n, slice(None)),
                    )
                )
                parts[metric].append((first - second, figures, n))
    joined = {}
    for metric in metrics:
        differences, figures, n = (
            np.concatenate(part) for part in zip(*parts[metric], strict=True)
        )
        rounding = rounding_of(panel.of_study(metric.name), is_inverse=metric.kind == "inverse")
        joined[metric] = _Resampled(differences[1:], figures[1:], differences[0], n[0], rounding)
    return joined


def _figures(metric: Metric, totals: Values, under: Values, least: Values) -> Values:
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(under > 0, totals / under, np.nan)
        if metric.kind == "inverse":  # a mean that is not above its rounding has no reciprocal
            return np.where(means > least, 1 / means, np.nan)
    return means


def few_flips(tested: Sequence[Tested], how: Resampling) -> str | None:
    """Return a note where Holm's correction leaves no test by flips below 0.05."""
    families = [
        [test for metric in family for test in result.pairs[metric]]
        for result in tested
        for family in how.families(result.pairs)
    ]
    counts = [sum(t.p is not None and t.method == SIGN_FLIP for t in tests) for tests in families]
    n = max(counts, default=0)
    if n / (1 + how.flips) < ALPHA:
        return None
    return (
        f"{how.flips:,} flips are too few for {n:,} tests: none by sign flips can be significant "
        f"after Holm's correction; --flips {round(n / ALPHA)} would do"
    )
