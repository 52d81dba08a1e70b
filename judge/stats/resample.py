"""Resampling studies, by patient where patients are known, from additive sums alone.

A resample is a weight for each patient; what models score on it are weights times sums, so
a thousand resamples of 10,000 studies are one matrix product.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.metric import Metric
from judge.stats.panel import Panel, Values, rounding_of

_CHUNK = 2_500_000
"""How many weights there are at a time (20 MB), by resamples and units."""

_LEAST = 300
"""Units that are reckoned with at least: each resample has a row of pairs of models too."""


def generator(seed: int, purpose: str, key: Mapping[str, object]) -> np.random.Generator:
    """Return the random numbers of one purpose and group: the same whatever else is computed."""
    name = json.dumps([purpose, dict(key)], sort_keys=True, default=str)
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def bootstrap_weights(rng: np.random.Generator, n: int, resamples: int) -> Iterator[Values]:
    """Yield arrays of resamples by `n` units: how often each unit was drawn, with replacement."""
    for size in _sizes(resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)


def sign_flips(rng: np.random.Generator, n: int, flips: int) -> Iterator[Values]:
    """Yield arrays of flips by `n` units: 1 or -1, each with probability one half."""
    for size in _sizes(flips, n):
        bits = np.frombuffer(rng.bytes((size * n + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(bits, count=size * n).reshape(size, n).astype(float) * 2 - 1


def _sizes(total: int, n: int) -> Iterator[int]:
    at_once = max(1, _CHUNK // max(n, _LEAST))
    for start in range(0, total, at_once):
        yield min(at_once, total - start)


@dataclass(frozen=True)
class Sums:
    """The sums, for each unit (a patient, or a study alone), of metrics scored together.

    `totals` is units by metrics by models: the sum of the values; `counts`, units by models,
    how many studies were scored, which the metrics share. `lost` has, for each model, the
    units with a study that was not scored for it, and the same sums of just those studies:
    what pairs with that model must leave out.
    """

    totals: Values
    counts: Values
    lost: tuple[tuple[NDArray[np.intp], Values, Values], ...]

    def own(self, weights: Values) -> tuple[Values, Values]:
        """Return each model's weighted sums and counts on its own studies.

        The sums are resamples by metrics by models, the counts resamples by models.
        """
        return _weighted(weights, self.totals), weights @ self.counts

    def common(self, weights: Values, pairs: ModelPairs) -> tuple[Values, Values, Values]:
        """Return weighted sums and counts on the studies that were scored for both of a pair.

        First the sums of the first model, then those of the second, resamples by metrics by
        pairs; last the counts, resamples by pairs.
        """
        totals, counts = self.own(weights)
        one, other = totals[:, :, pairs.first], totals[:, :, pairs.second]
        n = counts[:, pairs.first]
        for model, (units, lost_totals, lost_counts) in enumerate(self.lost):
            if len(units):
                drawn, (as_first, as_second) = weights[:, units], pairs.positions(model)
                lost = _weighted(drawn, lost_totals)
                other[:, :, as_first] -= lost[:, :, pairs.second[as_first]]
                one[:, :, as_second] -= lost[:, :, pairs.first[as_second]]
                n[:, as_second] -= (drawn @ lost_counts)[:, pairs.first[as_second]]
        return one, other, n

    def difference(self, weights: Values, pairs: ModelPairs) -> Values:
        """Return the first sum of `common` less the second, resamples by metrics by pairs."""
        totals = _weighted(weights, self.totals)
        found: Values = totals[:, :, pairs.first] - totals[:, :, pairs.second]
        for model, (units, lost_totals, _) in enumerate(self.lost):
            if len(units):
                lost = _weighted(weights[:, units], lost_totals)
                as_first, as_second = pairs.positions(model)
                found[:, :, as_first] += lost[:, :, pairs.second[as_first]]
                found[:, :, as_second] -= lost[:, :, pairs.first[as_second]]
        return found


def _weighted(weights: Values, totals: Values) -> Values:
    units, metrics, models = totals.shape
    flat = weights @ totals.reshape(units, metrics * models)
    return flat.reshape(len(weights), metrics, models)


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


def units_of(clusters: NDArray[np.int64] | None, n_studies: int) -> NDArray[np.intp]:
    """Return the number of each study's unit, counted from 0 without gaps."""
    if clusters is None:
        return np.arange(n_studies)
    return np.unique(clusters, return_inverse=True)[1].astype(np.intp)


def sums_of(values: Values, units: NDArray[np.intp]) -> Sums:
    """Return the sums of `values`, studies by metrics by models, for each unit.

    A study that was not scored for a model (NaN) has none of the metrics.
    """
    scored = ~np.isnan(values[:, 0])
    filled = np.where(scored[:, None], values, 0.0)
    n_units = int(units.max()) + 1 if len(units) else 0
    lost = []
    for column in scored.T:
        rows = np.flatnonzero(~column)
        touched, unit = np.unique(units[rows], return_inverse=True)
        sums = _added(filled[rows], unit, len(touched))
        lost.append((touched, sums, _added(scored[rows].astype(float), unit, len(touched))))
    counts = _added(scored.astype(float), units, n_units)
    return Sums(_added(filled, units, n_units), counts, tuple(lost))


def _added(rows: Values, units: NDArray[np.intp], n_units: int) -> Values:
    total = np.zeros((n_units, *rows.shape[1:]))
    np.add.at(total, units, rows)
    return total


@dataclass(frozen=True)
class Block:
    """Metrics that were scored for the same studies, as those of one rubric are.

    `per` is the row of the sums that a ratio is divided by; the sums of the metrics come first.
    """

    metrics: tuple[Metric, ...]
    sums: Sums
    per: Mapping[Metric, int]

    def under(self, metric: Metric, totals: Values, counts: Values) -> Values:
        """Return what the totals of a metric are divided by: a sum, or how many studies."""
        return totals[:, self.per[metric]] if metric in self.per else counts


def blocks_of(panel: Panel, metrics: Sequence[Metric], units: NDArray[np.intp]) -> list[Block]:
    """Return the sums of `metrics`, those together that were scored for the same studies."""
    together: dict[bytes, list[Metric]] = {}
    for metric in metrics:
        mask = np.packbits(np.isnan(panel.values[metric.name])).tobytes()
        together.setdefault(mask, []).append(metric)
    found = []
    for block in together.values():
        ratios = [metric for metric in block if metric.name in panel.per]
        grids = [panel.values[m.name] for m in block] + [panel.per[m.name] for m in ratios]
        per = {metric: len(block) + at for at, metric in enumerate(ratios)}
        found.append(Block(tuple(block), sums_of(np.stack(grids, axis=1), units), per))
    return found


_Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Resampled:
    """What the bootstrap says of one metric.

    `differences` is resamples by pairs, `figures` resamples by models; `observed` and `n`,
    one a pair, are the difference and the number of studies as they are. `rounding`, one a
    model, is how far rounding may move a figure. The rest says whose mean has no reciprocal,
    of the studies as they are or of a resample: `lack`, one a model, on the model's own
    studies; `first_lacks` and `second_lacks`, one a pair, on those that were scored for both.
    """

    differences: Values
    figures: Values
    observed: Values
    n: Values
    rounding: Values
    lack: _Bools
    first_lacks: _Bools
    second_lacks: _Bools

    def lacking(self, pairs: ModelPairs) -> tuple[int, ...]:
        """Return the models that lack a reciprocal anywhere, by number."""
        found = [np.flatnonzero(self.lack)]
        found += [pairs.first[self.first_lacks], pairs.second[self.second_lacks]]
        return tuple(map(int, np.unique(np.concatenate(found))))


_Part = tuple[Values, Values, Values, _Bools, _Bools, _Bools]
"""What some resamples say of a metric: differences, figures, n by pairs, and the three lacks."""


def bootstrap(
    panel: Panel,
    blocks: Sequence[Block],
    pairs: ModelPairs,
    rng: np.random.Generator,
    resamples: int,
) -> dict[Metric, Resampled]:
    """Draw the units of `blocks` again, with replacement, and return what each metric says.

    One set of resamples serves all metrics and models, so differences are paired.
    """
    metrics = [metric for block in blocks for metric in block.metrics]
    least = {m: rounding_of(panel.of_study(m.name), is_inverse=False) for m in metrics}
    parts: dict[Metric, list[_Part]] = {metric: [] for metric in metrics}
    n_units = len(blocks[0].sums.counts) if blocks else 0
    # The first row is the studies as they are.
    once = np.ones((1, n_units))
    for weights in (once, *bootstrap_weights(rng, n_units, resamples)):
        for block in blocks:
            one, other, n = block.sums.common(weights, pairs)
            own, own_n = block.sums.own(weights)
            for column, metric in enumerate(block.metrics):
                near = least[metric]
                under = block.under(metric, one, n), block.under(metric, other, n)
                first = _figures(metric, one[:, column], under[0], near[pairs.first])
                second = _figures(metric, other[:, column], under[1], near[pairs.second])
                figures = _figures(metric, own[:, column], block.under(metric, own, own_n), near)
                lack = _lacks(metric, figures, own_n)
                in_pairs = _lacks(metric, first, n), _lacks(metric, second, n)
                parts[metric].append((first - second, figures, n, lack, *in_pairs))
    return {metric: _joined(parts[metric], panel, metric) for metric in metrics}


def _joined(parts: Sequence[_Part], panel: Panel, metric: Metric) -> Resampled:
    differences, figures, n, *lacks = zip(*parts, strict=True)
    return Resampled(
        np.concatenate(differences[1:]),
        np.concatenate(figures[1:]),
        differences[0][0],
        n[0][0],
        rounding_of(panel.of_study(metric.name), is_inverse=metric.kind == "inverse"),
        *(np.any(lack, axis=0) for lack in lacks),
    )


def _figures(metric: Metric, totals: Values, counts: Values, least: Values) -> Values:
    """Return the printed figures, totals divided by `counts`; NaN where these are 0.

    A mean that is not above `least`, its rounding, has no reciprocal: NaN too.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, totals / counts, np.nan)
        if metric.kind == "inverse":
            return np.where(means > least, 1 / means, np.nan)
    return means


def _lacks(metric: Metric, figures: Values, counts: Values) -> _Bools:
    if metric.kind not in ("inverse", "ratio"):
        return np.zeros(figures.shape[1], dtype=bool)
    lack = np.isnan(figures) & (counts > 0)
    return np.asarray(lack.any(axis=0), dtype=bool)


def percentiles(values: Values, shares: Sequence[float]) -> Values:
    """Return the quantiles of each column, linear between two values.

    NaN is passed over, so each column has its own number of values; NaN where it has none.
    numpy's own `nanpercentile` does this column by column, a hundred times slower.
    """
    ordered = np.sort(values, axis=0)  # NaN last
    last = (~np.isnan(values)).sum(axis=0) - 1
    found = []
    for share in shares:
        position = share * np.maximum(last, 0)
        below = np.floor(position).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(last, 0))
        low = np.take_along_axis(ordered, below[None], axis=0)[0]
        high = np.take_along_axis(ordered, above[None], axis=0)[0]
        found.append(low + (high - low) * (position - below))
    return np.array(found)
