"""Kendall's tau-b, Spearman's and Pearson's correlation, in every resample at once.

Studies with the same two values are one cell, whose weight in a resample is the sum of its
studies'; the three correlations are functions of the weights of the cells. Nothing is approximated.
With them comes the preference accuracy: (right + ties of x / 2) / pairs that y does not tie, which
is (1 + d) / 2 for Somers' d of x given y [Somers 1962].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.intervals import Bools, Codes, Resamples, Values, unit_sums
from judge.stats.metric import MINUS
from judge.stats.scores import ScoreMatrix

METHODS = ("kendall", "spearman", "pearson")
ACCURACY = "preference_accuracy"
"""The share of the pairs of studies that y orders which x orders alike, ties of x by half."""

FIGURES = (*METHODS, ACCURACY)

LEAST_STUDIES = 3
"""Any two studies that differ have a correlation of 1 or -1, which says nothing."""

_DIGITS = 12
"""Values are equal where they are to so many digits of the largest: 0.1 + 0.2 equals 0.3."""

_PAIRS_AT_ONCE = 2_000_000


def round_to_largest(values: Values) -> Values:
    """Return `values` to twelve digits of the largest, so that equal sums are equal."""
    known = np.abs(values[np.isfinite(values)])
    largest = float(known.max()) if len(known) else 0.0
    if largest == 0:
        return values
    rounded: Values = np.round(values / largest, _DIGITS)
    # -0.0 and 0.0 are one value.
    return np.where(rounded == 0, 0.0, rounded) * largest


def undefined_estimate(known: Bools, reason: str | None) -> Estimate:
    """Return an estimate without a value, with the reason."""
    return Estimate(n=int(known.sum()), n_undefined=int((~known).sum()), reason=reason)


@dataclass(frozen=True)
class CorrelationDraws:
    """The correlations of two columns over the studies that are `known`.

    `figures` is resamples by `FIGURES`, the studies as they are first; NaN where a resample has no
    correlation. It is None where the studies as they are have none, and `reason` says why.
    """

    known: Bools
    figures: Values | None
    reason: str | None

    def estimate(self, method: str, resamples: Resamples) -> Estimate:
        """Return one of the correlations, with its interval or a reason why it has none."""
        if self.reason is not None or self.figures is None:
            return undefined_estimate(self.known, self.reason)
        return resamples.estimate(self.figures[:, FIGURES.index(method)], self.known)

    def plain(self, resamples: Resamples) -> dict[str, Any]:
        """Return the estimates by method as JSON's types, and the number of studies."""
        figures = {
            method: self.estimate(method, resamples).plain() for method in METHODS
        }
        return {"n": int(self.known.sum()), **figures}


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
    elif single := [
        name for name, v in zip(names, (x, y), strict=True) if v.min() == v.max()
    ]:
        reason = (
            f"{single[0]} never varies"
            if len(single) == 1
            else "neither of the two varies"
        )
    if reason is not None:
        return CorrelationDraws(known, None, reason)
    cells, cell_of_study = np.unique(np.stack([x, y]), axis=1, return_inverse=True)
    weights = _cell_weights(resamples, resamples.units[known], cell_of_study.ravel())
    return CorrelationDraws(known, _of_cells(cells[0], cells[1], weights), None)


def _cell_weights(resamples: Resamples, units: Codes, cell_of_study: Codes) -> Values:
    """Return the weight of each cell in each resample, cells by resamples."""
    order = np.argsort(cell_of_study, kind="stable")
    starts = np.flatnonzero(np.diff(cell_of_study[order], prepend=-1))
    return np.asarray(
        np.add.reduceat(resamples.weights.T[units[order]], starts, axis=0)
    )


def _of_cells(x: Values, y: Values, weights: Values) -> Values:
    """Return resamples by `FIGURES` from the two values of each cell, and cells by resamples."""
    size = weights.shape[1]
    above, ranks, x_ranks, y_ranks = np.zeros((4, size))
    at_once = max(1, _PAIRS_AT_ONCE // len(x))
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        x_signs, y_signs = (np.sign(values[rows, None] - values) for values in (x, y))
        above += _dot(weights[rows], (x_signs * y_signs) @ weights)
        # Twice a rank less the mean rank is the weight below less that above.
        x_rank, y_rank = x_signs @ weights, y_signs @ weights
        ranks += _dot(weights[rows], x_rank, y_rank)
        x_ranks += _dot(weights[rows], x_rank, x_rank)
        y_ranks += _dot(weights[rows], y_rank, y_rank)
    n = weights.sum(axis=0)
    levels = (unit_sums(weights, np.unique(v, return_inverse=True)[1]) for v in (x, y))
    x_untied, y_untied = (n**2 - _dot(level, level) for level in levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        # About their means: sums of squares lose digits where values are far from 0.
        x, y = (
            values[:, None] - values @ weights / n
            for values in (x - x.mean(), y - y.mean())
        )
        products, x_spread, y_spread = (
            _dot(weights, *two) for two in ((x, y), (x, x), (y, y))
        )
        kendall = above / np.sqrt(x_untied * y_untied)
        # Half of one and Somers' d of x, given y: ties of x count by half.
        accuracy = (1 + above / y_untied) / 2
        spearman = ranks / np.sqrt(x_ranks * y_ranks)
        pearson = products / np.sqrt(x_spread * y_spread)
    figures = np.stack([kendall, spearman, pearson, accuracy], axis=1)
    figures[(x_untied == 0) | (y_untied == 0)] = np.nan
    return np.asarray(np.clip(figures, -1.0, 1.0))


def _dot(*columns: Values) -> Values:
    rows = ",".join(["ij"] * len(columns))
    return np.asarray(np.einsum(f"{rows}->j", *columns))


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
        panel.study_values(metric.name).ravel()
        * (1 if metric.study_higher_is_better else -1)
        for metric in metrics
    ]
    known = ~np.isnan(columns)
    n = known.astype(int) @ known.T.astype(int)
    signs = ("" if metric.study_higher_is_better else f"{MINUS} " for metric in metrics)
    return Correlations(
        tuple(metric.name for metric in metrics),
        tuple(
            sign + metric.study_label
            for sign, metric in zip(signs, metrics, strict=True)
        ),
        tuple(map(tuple, n.tolist())),
        *(
            correlation(columns, method)
            for method in ("pearson", "spearman", "kendall")
        ),
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
    return tuple(map(_known, clipped))


def _known(row: Values) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in row)
