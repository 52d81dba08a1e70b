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
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np

from judge.stats.bootstrap import (
    LEAST_UNITS,
    bootstrap_weights,
    ends,
    generator,
    sign_flips,
    unit_sums,
    units_of,
)
from judge.stats.correlation import Correlations, correlations
from judge.stats.intervals import Z_95, Codes, Values, n_different
from judge.stats.metric import Metric, find
from judge.stats.scores import (
    ROUNDING,
    Group,
    RankShares,
    ScoreMatrix,
    group_cells,
    parts_of,
    rank_shares,
    round_mantissa,
)
from judge.types import JudgeError

Method = Literal["sign-flip permutation test", "mcnemar mid-p"]
SIGN_FLIP: Method = "sign-flip permutation test"
ALPHA = 0.05
_FLIPS_AT_ONCE = 512
"""Flips whose sums stay in the processor's cache."""
Pairs = tuple[Codes, Codes]
"""The number of the first and of the second model of each pair, the first before."""

_UNDEFINED = {
    "inverse": "the mean {study_label} is 0 or less",
    "ratio": "its denominator is 0",
}
"""The kinds of figures that a set of scored studies may not have, and why."""


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

    def family_of(self, metric: str) -> object:
        """Return the key of the family that a metric's tests are corrected in."""
        return metric if self.family == "metric" else metric == self.primary


@dataclass(frozen=True)
class GroupTests:
    """All tests of one group of studies: for each metric the pairs, and how sure the ranks are.

    The rank shares are None for fewer than two units and for the `undefined` metrics: reciprocals
    and ratios without a value in some resample.
    """

    pairs: Mapping[str, tuple[PairTest, ...]]
    rank_shares: Mapping[str, tuple[RankShares | None, ...]]
    undefined: frozenset[str]


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
        if self.how is None or (n := _largest_family(self.tests[0], self.how)) < 2:
            return ""
        what = "the pairs of models of each metric" if self.how.family == "metric" else "a table"
        primary = self.how.primary
        alone = f"; those of {primary} are corrected by themselves" if primary else ""
        return f"p (Holm) is corrected for all tests of {what}, up to {n:,}{alone}"


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
    groups = tuple(group_cells(part, key) for key, part in parts)
    results: list[GroupTests] = []
    if how:
        # numpy leaves the other threads free while it adds up.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tested = pool.map(lambda part: compare_pairs(part[1], part[0], how), parts)
            results = list(track(tested, len(parts)))
    all_cells = groups[0].cells
    metric = asked or max(
        panel.metrics, key=lambda m: sum(cell.value is not None for cell in all_cells[m.name])
    )
    more = [f"intervals of single figures are by {panel.patient_field}"] * panel.is_clustered
    more += _undefined_notes(panel, groups, results)
    if how:
        more += _test_notes(results, how)
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


def _largest_family(pairs: Mapping[str, Sequence[PairTest]], how: Resampling) -> int:
    counts = Counter(
        how.family_of(name) for name, tests in pairs.items() for test in tests if test.p is not None
    )
    return max(counts.values(), default=0)


def _test_notes(results: Sequence[GroupTests], how: Resampling) -> list[str]:
    tests = [test for result in results for pairs in result.pairs.values() for test in pairs]
    n, notes = _largest_family(results[0].pairs, how), []
    if n / (1 + how.flips) >= ALPHA:
        notes.append(
            f"{how.flips:,} flips are too few for {n:,} tests: none by sign flips can be "
            f"significant after Holm's correction; --flips {round(n / ALPHA)} would do"
        )
    if any(test.p is not None and test.n_units < LEAST_UNITS for test in tests):
        notes.append(
            f"differences of fewer than {LEAST_UNITS} patients or studies have no interval"
        )
    if any(test.contradicts for test in tests):
        notes.append(
            "interval and p value may disagree near 0.05, since they are of two methods; use p"
        )
    return notes


def _undefined_notes(
    panel: ScoreMatrix, groups: Sequence[Group], results: Sequence[GroupTests]
) -> list[str]:
    notes = []
    for metric in panel.metrics:
        cells = zip(*(group.cells[metric.name] for group in groups), strict=True)
        lacking = [
            name
            for name, row in zip(panel.models, cells, strict=True)
            if any(cell.n and cell.value is None for cell in row)
        ]
        if metric.kind in _UNDEFINED and lacking:
            why = _UNDEFINED[metric.kind].format(study_label=metric.study_label)
            where = " in some group" if len(groups) > 1 else ""
            models = ", ".join(lacking)
            notes.append(f"{metric.label} is undefined for {models}{where}: {why}")
        if any(metric.name in result.undefined for result in results):
            notes.append(
                f"{metric.label} is undefined in some resamples: it has no intervals of "
                "differences and no shares of ranks there"
            )
    return notes


def compare_pairs(panel: ScoreMatrix, key: Mapping[str, object], how: Resampling) -> GroupTests:
    """Test every pair of models by every metric on the studies of `panel`.

    One set of resamples serves all metrics and models, so differences are paired. `key`
    names the group: a group's numbers do not depend on which others there are.
    """
    units = units_of(panel.clusters, len(panel.study_ids))
    pairs = np.triu_indices(len(panel.models), k=1)
    by_flips = [m for m in panel.metrics if m.kind != "rate" or panel.is_clustered]
    resamples = _bootstrap(panel, units, pairs, how, key)
    p_values = _flip_p_values(panel, by_flips, units, pairs, how, key)
    tests: dict[str, list[PairTest]] = {}
    shares: dict[str, tuple[RankShares | None, ...]] = {}
    undefined = set()
    for metric in panel.metrics:
        name, values = metric.name, panel.values[metric.name]
        differences, figures = resamples[name]
        scored = ~np.isnan(values)
        both = [scored[:, a] & scored[:, b] for a, b in zip(*pairs, strict=True)]
        n_units = np.array([n_different(units[rows]) for rows in both], np.intp)
        method: Method = SIGN_FLIP if name in p_values else "mcnemar mid-p"
        if name in p_values:
            # Without the resamples that have no reciprocal the others would look surer.
            low, high = ends(differences[1:], n_units, most=0)
            p = p_values[name]
        else:
            low, high = rate_difference(values, pairs)
            low[n_units < LEAST_UNITS] = high[n_units < LEAST_UNITS] = np.nan
            p = mcnemar(values, pairs)
        p = np.where((n_units > 1) & ~np.isnan(differences[0]), p, np.nan)
        n = np.array([rows.sum() for rows in both], np.intp)
        sizes = (column.tolist() for column in (*pairs, n, n_units))
        numbers = map(_known, (differences[0], low, high, p))
        rows = zip(*sizes, *numbers, [None] * len(n), [method] * len(n), strict=True)
        tests[name] = [PairTest(*row) for row in rows]
        if metric.kind in _UNDEFINED and np.isnan(figures[1:, scored.any(axis=0)]).any():
            undefined.add(name)
        has_shares = name not in undefined and n_different(units[scored.any(axis=1)]) > 1
        shares[name] = (
            rank_shares(figures[1:], higher=metric.higher_is_better)
            if has_shares
            else (None,) * len(panel.models)
        )
    for family in {how.family_of(name) for name in tests}:
        names = [name for name in tests if how.family_of(name) == family]
        corrected = iter(holm([test.p for name in names for test in tests[name]]))
        for name in names:
            tests[name] = [replace(test, p_holm=next(corrected)) for test in tests[name]]
    return GroupTests({name: tuple(tests[name]) for name in tests}, shares, frozenset(undefined))


def _known(figures: Values) -> list[float | None]:
    return [None if math.isnan(figure) else figure for figure in figures.tolist()]


def _discordant(values: Values, pairs: Pairs) -> tuple[Values, Values, Values]:
    """Return how many studies are scored for both of a pair, and where one model alone has a 1."""
    scored = (~np.isnan(values)).astype(float)
    ones = np.nan_to_num(values)
    alone = np.rint(ones.T @ scored - ones.T @ ones)
    return (scored.T @ scored)[pairs], alone[pairs], alone.T[pairs]


def mcnemar(values: Values, pairs: Pairs) -> Values:
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


def rate_difference(values: Values, pairs: Pairs) -> tuple[Values, Values]:
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


class PairSums:
    """Sums of values, of all models and of the studies that were scored for both of a pair.

    `grids` are studies by models, NaN where a model was not scored, the same in all. Row 0 of the
    sums counts the scored studies; `rows` has the others by the grids' names. `lost` has, for each
    model, the units with studies that it lacks, and the sums of those studies: pairs with that
    model leave them out.
    """

    def __init__(self, grids: Mapping[str, Values], units: Codes, pairs: Pairs) -> None:
        self.pairs = pairs
        self.rows = {name: row for row, name in enumerate(grids, start=1)}
        lacks = np.isnan(next(iter(grids.values())))
        values = np.stack([(~lacks).astype(float), *grids.values()], axis=1)
        self.totals = unit_sums(values, units)
        self.lost = []
        for model, column in enumerate(lacks.T):
            touched, unit = np.unique(units[column], return_inverse=True)
            if len(touched):
                self.lost.append((model, touched, unit_sums(values[column], unit)))

    def pair_sums(self, weights: Values) -> tuple[Values, Values, Values]:
        """Return the weighted sums of the models, and of the first and the second of each pair.

        They are resamples by rows by models, or pairs.
        """
        first, second = self.pairs
        totals = _weighted(weights, self.totals)
        of_first, of_second = totals[..., first], totals[..., second]
        for model, units, sums in self.lost:
            lost = _weighted(weights[:, units], sums)
            as_first, as_second = np.flatnonzero(first == model), np.flatnonzero(second == model)
            of_second[..., as_first] -= lost[..., second[as_first]]
            of_first[..., as_second] -= lost[..., first[as_second]]
        return totals, of_first, of_second

    def reaching(self, signs: Values, least: Values) -> Values:
        """Count the flips in which the difference of a pair is `least` or more.

        `signs` is flips by units; `least` and the counts are rows by pairs, without the first row.
        """
        n_models = self.totals.shape[2]
        reached = np.zeros(least.shape)
        for start in range(0, len(signs), _FLIPS_AT_ONCE):
            block = signs[start : start + _FLIPS_AT_ONCE]
            # Rows by models by flips: sums of all studies, and of those that a model lacks.
            totals = _flipped(block, self.totals)
            lost = np.zeros((n_models, *totals.shape)) if self.lost else totals[:0]
            for model, units, sums in self.lost:
                lost[model] = _flipped(block[:, units], sums)
            end = 0
            for model in range(n_models - 1):
                others = slice(model + 1, None)
                differences = totals[:, model, None] - totals[:, others]
                if self.lost:
                    differences += lost[model][:, others]
                    differences -= lost[others, :, model].swapaxes(0, 1)
                pairs = slice(end, end := end + n_models - 1 - model)
                np.abs(differences, out=differences)
                reached[:, pairs] += (differences >= least[:, pairs, None]).sum(axis=2)
        return reached


def _flipped(signs: Values, sums: Values) -> Values:
    rows = sums[:, 1:]
    product = signs @ rows.reshape(len(rows), -1)
    return np.ascontiguousarray(product.T).reshape(*rows.shape[1:], len(signs))


def _weighted(weights: Values, sums: Values) -> Values:
    return (weights @ sums.reshape(len(sums), -1)).reshape(len(weights), *sums.shape[1:])


def _pair_sums(grids: Mapping[str, Values], units: Codes, pairs: Pairs) -> list[PairSums]:
    """Return the sums of the grids, those of the same studies together, which is much quicker."""
    together: dict[bytes, dict[str, Values]] = {}
    for name, grid in grids.items():
        together.setdefault(np.packbits(np.isnan(grid)).tobytes(), {})[name] = grid
    return [PairSums(part, units, pairs) for part in together.values()]


def _bootstrap(
    panel: ScoreMatrix,
    units: Codes,
    pairs: Pairs,
    how: Resampling,
    key: Mapping[str, object],
) -> dict[str, tuple[Values, Values]]:
    """Return each metric's differences, resamples by pairs, and figures, resamples by models.

    The first row is the studies as they are. NaN is a figure that is not defined.
    """
    grids = {m.name: panel.values[m.name] for m in panel.metrics}
    denominators = {_denominator(name): grid for name, grid in panel.per.items()}
    blocks = _pair_sums(grids | denominators, units, pairs)
    n = int(units.max()) + 1
    draws = bootstrap_weights(generator(how.seed, "bootstrap", key), n, how.resamples)
    parts: dict[str, list[tuple[Values, Values]]] = {name: [] for name in grids}
    for weights in chain([np.ones((1, n))], draws):
        for block in blocks:
            sums = block.pair_sums(weights)
            for name in block.rows.keys() & grids.keys():
                kind, row = panel.metric(name).kind, block.rows[name]
                under = block.rows.get(_denominator(name), 0)
                figures, first, second = (_figures(kind, s[:, row], s[:, under]) for s in sums)
                equal = round_mantissa(first) == round_mantissa(second)
                parts[name].append((np.where(equal, 0.0, first - second), figures))
    joined = {name: [*map(np.concatenate, zip(*part, strict=True))] for name, part in parts.items()}
    return {name: (differences, figures) for name, (differences, figures) in joined.items()}


def _denominator(name: str) -> str:
    return f"denominator of {name}"


def _figures(kind: str, top: Values, under: Values) -> Values:
    means = np.divide(top, under, out=np.full_like(top, np.nan), where=under > 0)
    if kind == "inverse":
        return np.divide(1, means, out=np.full_like(means, np.nan), where=means > 0)
    return means


def _flip_p_values(
    panel: ScoreMatrix,
    metrics: Sequence[Metric],
    units: Codes,
    pairs: Pairs,
    how: Resampling,
    key: Mapping[str, object],
) -> dict[str, Values]:
    """Return (1 + flips with at least the observed difference) / (1 + flips), which is never 0
    [Phipson and Smyth 2010]. The statistic is the sum of the differences; of a reciprocal
    it is that of its mean, whose null hypothesis is the same, and of a ratio the sums of
    numerator - R x denominator, where R is the ratio over all models: for two models whose labels
    are exchangeable its expected difference is 0, for any R.
    """
    grids = {metric.name: panel.values[metric.name] for metric in metrics}
    for name, per in panel.per.items():
        under = np.nansum(per)
        grids[name] = grids[name] - (np.nansum(grids[name]) / under if under else 0.0) * per

    n = int(units.max()) + 1
    blocks = _pair_sums(grids, units, pairs)
    least, reached = [], []
    for block in blocks:
        # Sums in another order must count as equal, whatever the other models' values are.
        size = ROUNDING * np.abs(block.totals).sum(axis=0)
        near = size[:, pairs[0]] + size[:, pairs[1]]
        _, first, second = block.pair_sums(np.ones((1, n)))
        least.append((np.abs(first[0] - second[0]) - near)[1:])
        reached.append(np.zeros(least[-1].shape))
    for signs in sign_flips(generator(how.seed, "flips", key), n, how.flips if blocks else 0):
        for block, observed, count in zip(blocks, least, reached, strict=True):
            count += block.reaching(signs, observed)
    return {
        name: (1 + count[row - 1]) / (1 + how.flips)
        for block, count in zip(blocks, reached, strict=True)
        for name, row in block.rows.items()
    }
