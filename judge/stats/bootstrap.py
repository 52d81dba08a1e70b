"""Figures and differences of figures on studies that are drawn again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.metric import Metric
from judge.stats.panel import Panel, Values
from judge.stats.ranks import rounding_of
from judge.stats.resample import ModelPairs, Sums, bootstrap_weights, sums_of


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
    lack: NDArray[np.bool_]
    first_lacks: NDArray[np.bool_]
    second_lacks: NDArray[np.bool_]

    def lacking(self, pairs: ModelPairs) -> tuple[int, ...]:
        """Return the models that lack a reciprocal anywhere, by number."""
        found = [np.flatnonzero(self.lack)]
        found += [pairs.first[self.first_lacks], pairs.second[self.second_lacks]]
        return tuple(map(int, np.unique(np.concatenate(found))))


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
                parts[metric].append(_Part(first - second, figures, n, lack, *in_pairs))
    return {metric: _joined(parts[metric], panel, metric) for metric in metrics}


@dataclass(frozen=True)
class _Part:
    """What some resamples say of one metric, as in `Resampled`; `n` is resamples by pairs."""

    differences: Values
    figures: Values
    n: Values
    lack: NDArray[np.bool_]
    first_lacks: NDArray[np.bool_]
    second_lacks: NDArray[np.bool_]


def _joined(parts: Sequence[_Part], panel: Panel, metric: Metric) -> Resampled:
    observed, *resampled = parts
    return Resampled(
        np.concatenate([part.differences for part in resampled]),
        np.concatenate([part.figures for part in resampled]),
        observed.differences[0],
        observed.n[0],
        rounding_of(panel.of_study(metric.name), is_inverse=metric.kind == "inverse"),
        np.any([part.lack for part in parts], axis=0),
        np.any([part.first_lacks for part in parts], axis=0),
        np.any([part.second_lacks for part in parts], axis=0),
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


def _lacks(metric: Metric, figures: Values, counts: Values) -> NDArray[np.bool_]:
    """Whether any row of a column has studies, but no reciprocal of their mean, or no ratio."""
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
