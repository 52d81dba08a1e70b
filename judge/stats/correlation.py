"""Kendall's tau-b, Spearman's and Pearson's correlation, in every resample at once.

Studies with the same two values are one cell, whose weight in a resample is the sum of its
studies'; the three correlations are functions of the weights of the cells. Nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judge.stats.bootstrap import IN_CACHE, Bools, Resamples, slices
from judge.stats.intervals import Codes, Estimate, Values
from judge.stats.metric import MINUS
from judge.stats.scores import ScoreMatrix

METHODS = ("kendall", "spearman", "pearson")

LEAST_STUDIES = 3
"""Any two studies that differ have a correlation of 1 or -1, which says nothing."""

_DIGITS = 12
"""Values are equal where they are to so many digits of the largest: 0.1 + 0.2 equals 0.3."""

_AT_ONCE = 10_000_000
"""How many weights there are at a time, by cells and resamples."""


def round_to_largest(values: Values) -> Values:
    """Return `values` to twelve digits of the largest, so that equal sums are equal."""
    known = np.abs(values[np.isfinite(values)])
    largest = float(known.max()) if len(known) else 0.0
    if largest == 0:
        return values
    rounded: Values = np.round(values / largest, _DIGITS)
    # -0.0 and 0.0 are one value.
    return np.where(rounded == 0, 0.0, rounded) * largest


def undefined_estimate(known: Bools, reason: str) -> Estimate:
    """Return an estimate without a value, with the reason."""
    return Estimate(int(known.sum()), None, None, None, int((~known).sum()), reason=reason)


@dataclass(frozen=True)
class CorrelationDraws:
    """The correlations of two columns over the studies that are `known`.

    `figures` is resamples by `METHODS`, the studies as they are first; NaN where a resample has no
    correlation. Where the studies as they are have none, `reason` says why.
    """

    known: Bools
    figures: Values
    reason: str | None

    def estimate(self, method: str, resamples: Resamples) -> Estimate:
        """Return one of the correlations, with its interval or a reason why it has none."""
        if self.reason is not None:
            return undefined_estimate(self.known, self.reason)
        return resamples.estimate(self.figures[:, METHODS.index(method)], self.known)


def correlate(
    x: Values, y: Values, resamples: Resamples, names: tuple[str, str] = ("x", "y")
) -> CorrelationDraws:
    """Return the correlations of `x` and `y` over the studies where both have a value.

    Fewer than three studies have none, nor has a variable (`names` says which) with one value only.
    """
    known = ~(np.isnan(x) | np.isnan(y))
    n = int(known.sum())
    x, y = round_to_largest(x[known]), round_to_largest(y[known])
    reason = None
    if n < LEAST_STUDIES:
        reason = f"a correlation needs {LEAST_STUDIES} studies, {n} have both values"
    elif single := [name for name, v in zip(names, (x, y), strict=True) if v.min() == v.max()]:
        reason = f"{single[0]} never varies" if len(single) == 1 else "neither of the two varies"
    if reason is not None:
        undefined = np.full((resamples.weights.shape[1], len(METHODS)), np.nan)
        return CorrelationDraws(known, undefined, reason)
    figures = _Cells(x, y).figures(resamples.units[known], resamples.weights)
    return CorrelationDraws(known, np.concatenate(list(figures)), None)


class _Cells:
    """The different pairs of values, by the second and then the first, which has fewer values.

    `x_levels` and `y_levels` are the different values, in order; `x` and `y` the number of each
    cell's; `cell_of_study` the number of each study's cell.
    """

    def __init__(self, x: Values, y: Values) -> None:
        x_levels, x_codes = np.unique(x, return_inverse=True)
        y_levels, y_codes = np.unique(y, return_inverse=True)
        # About their mean: sums of squares lose digits where values are far from 0.
        x_levels, y_levels = x_levels - x.mean(), y_levels - y.mean()
        if len(x_levels) > len(y_levels):
            x_levels, x_codes, y_levels, y_codes = y_levels, y_codes, x_levels, x_codes
        self.x_levels, self.y_levels = x_levels, y_levels
        pairs, self.cell_of_study = np.unique(
            y_codes * len(x_levels) + x_codes, return_inverse=True
        )
        self.y, self.x = np.divmod(pairs, len(x_levels))

    def figures(self, units: Codes, weights: NDArray[np.float32]) -> Iterator[Values]:
        # Takes a tenth of a second to import, for those who validate only.
        from scipy.sparse import csr_array

        n_cells = len(self.x)
        ones = np.ones(len(units), dtype=np.float32)
        adding = csr_array((ones, (self.cell_of_study, units)), shape=(n_cells, len(weights)))
        for block in slices(weights.shape[1], max(1, _AT_ONCE // n_cells)):
            # Whole numbers below 2 ** 24 are exact as float32.
            by_cell = adding @ weights[:, block]
            concordance = self._concordance(by_cell)
            # The other sums are quickest where they stay in the processor's cache.
            for part in slices(by_cell.shape[1], max(1, IN_CACHE // n_cells)):
                yield self._figures(by_cell[:, part].astype(float), concordance[part])

    def _figures(self, weights: Values, concordance: Values) -> Values:
        starts = np.searchsorted(self.y, np.arange(len(self.y_levels)))
        in_order = np.argsort(self.x, kind="stable")
        x_starts = np.searchsorted(self.x[in_order], np.arange(len(self.x_levels)))
        x_weights = np.add.reduceat(weights[in_order], x_starts, axis=0)
        y_weights = np.add.reduceat(weights, starts, axis=0)
        n = y_weights.sum(axis=0)
        untied_x, untied_y = ((n**2 - _dot(level, level)) / 2 for level in (x_weights, y_weights))
        is_defined = (untied_x > 0) & (untied_y > 0)

        x_ranks, y_ranks = _centred_ranks(x_weights, n), _centred_ranks(y_weights, n)
        ranked = _dot(weights, x_ranks[self.x], y_ranks[self.y])
        rank_spread = _dot(x_weights, x_ranks, x_ranks) * _dot(y_weights, y_ranks, y_ranks)

        x_sum, y_sum = self.x_levels @ x_weights, self.y_levels @ y_weights
        products = (self.x_levels[self.x] * self.y_levels[self.y]) @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            x_spread = self.x_levels**2 @ x_weights - x_sum**2 / n
            y_spread = self.y_levels**2 @ y_weights - y_sum**2 / n
            kendall = concordance / np.sqrt(untied_x * untied_y)
            spearman = ranked / np.sqrt(rank_spread)
            pearson = (products - x_sum * y_sum / n) / np.sqrt(x_spread * y_spread)
        figures = np.stack([kendall, spearman, pearson], axis=1)
        figures[~is_defined] = np.nan
        return np.asarray(np.clip(figures, -1.0, 1.0))

    def _concordance(self, weights: Values) -> Values:
        """Return the concordant less the discordant pairs of studies, one number a resample."""
        at_level = np.zeros((len(self.x_levels), weights.shape[1]))
        total = np.zeros(weights.shape[1])
        ends = np.append(np.flatnonzero(np.diff(self.y)) + 1, len(self.y))
        for cells in np.split(np.arange(len(self.y)), ends[:-1]):
            x, rows = self.x[cells], weights[cells].astype(float)
            up_to = np.cumsum(at_level, axis=0)
            # Twice the weight up to x, less that beside, less all: below less above.
            total += ((2 * up_to[x] - at_level[x] - up_to[-1]) * rows).sum(axis=0)
            at_level[x] += rows
        return total


def _dot(*columns: Values) -> Values:
    rows = ",".join(["ij"] * len(columns))
    return np.asarray(np.einsum(f"{rows}->j", *columns))


def _centred_ranks(by_level: Values, n: Values) -> Values:
    ranks: Values = np.cumsum(by_level, axis=0) - by_level / 2 - n / 2
    return ranks


Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Correlations:
    """The correlation of each pair of metrics, metrics by metrics.

    `labels` have a minus where values were negated. `n` counts the pairs of a study and
    a model that have both values. A cell is None where there are fewer than two, or one of the
    metrics has one value only.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    n: tuple[tuple[int, ...], ...]
    pearson: Matrix
    spearman: Matrix
    kendall: Matrix


def correlations(panel: ScoreMatrix) -> Correlations:
    """Return how the scores agree over all studies and models together.

    Takes the rubrics' scores and the metrics that came from files, study by study. Where
    less is better the values are negated, so that agreement is positive.
    """
    metrics = [metric for metric in panel.metrics if metric.what in ("score", "other")]
    columns = [
        panel.study_values(metric.name).ravel() * (1 if metric.study_higher_is_better else -1)
        for metric in metrics
    ]
    known = ~np.isnan(columns)
    n = known.astype(int) @ known.T.astype(int)
    signs = ("" if metric.study_higher_is_better else f"{MINUS} " for metric in metrics)
    return Correlations(
        tuple(metric.name for metric in metrics),
        tuple(sign + metric.study_label for sign, metric in zip(signs, metrics, strict=True)),
        tuple(map(tuple, n.tolist())),
        *(correlation(columns, method) for method in ("pearson", "spearman", "kendall")),
    )


def correlation(
    columns: Sequence[Values], method: Literal["pearson", "spearman", "kendall"]
) -> Matrix:
    """Return the correlation of each pair of `columns`, over the rows where both have a value.

    Equal values share their mean rank in Spearman's; Kendall's is tau-b. None where fewer
    than two pairs are known, or one of the two has a single value.
    """
    import pandas as pd

    # Values that differ in the last bit alone are ties.
    table = pd.DataFrame(dict(enumerate(map(round_to_largest, columns))))
    # About their mean, since pandas' sums lose digits where values are far from 0.
    table = table - table.mean() if method == "pearson" else table
    coefficients = table.corr(method=method).to_numpy(copy=True)
    # Kendall's of a column with itself is 1 in pandas, even where the column is constant.
    is_constant = [len(np.unique(column[~np.isnan(column)])) < 2 for column in columns]
    coefficients[is_constant, is_constant] = np.nan
    # One metric may be a multiple of the other: rounding must not step beyond 1.
    clipped = np.clip(coefficients, -1.0, 1.0)
    return tuple(tuple(None if np.isnan(v) else float(v) for v in row) for row in clipped)
