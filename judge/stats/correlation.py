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
    if not len(known):
        return values
    largest = float(known.max())
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
        column = FIGURES.index(method)
        return resamples.estimate(self.figures[:, column], self.known)

    def plain(self, resamples: Resamples) -> dict[str, Any]:
        """Return the estimates by method as JSON's types, and the number of studies."""
        data: dict[str, Any] = {"n": int(self.known.sum())}
        for method in METHODS:
            data[method] = self.estimate(method, resamples).plain()
        return data


def correlate(
    x: Values, y: Values, resamples: Resamples, names: tuple[str, str] = ("x", "y")
) -> CorrelationDraws:
    """Return the correlations of `x` and `y` over the studies where both have a value.

    Fewer than three studies have none, nor has a variable (`names` says which) with one value only.
    """
    known = ~(np.isnan(x) | np.isnan(y))
    x = round_to_largest(x[known])
    y = round_to_largest(y[known])
    reason = _why_uncorrelated(x, y, names)
    if reason is not None:
        return CorrelationDraws(known, None, reason)
    columns = np.stack([x, y])
    cells, cell_of_study = np.unique(columns, axis=1, return_inverse=True)
    cell_x, cell_y = cells
    units = resamples.units[known]
    weights = _cell_weights(resamples, units, cell_of_study.ravel())
    figures = _of_cells(cell_x, cell_y, weights)
    return CorrelationDraws(known, figures, None)


def _why_uncorrelated(x: Values, y: Values, names: tuple[str, str]) -> str | None:
    """Return why two columns of as many studies have no correlation, None where they have one."""
    n = len(x)
    if n < LEAST_STUDIES:
        return f"a correlation needs {LEAST_STUDIES} studies, {n} have both values"
    x_is_constant = x.min() == x.max()
    y_is_constant = y.min() == y.max()
    if x_is_constant and y_is_constant:
        return "neither of the two varies"
    if x_is_constant:
        return f"{names[0]} never varies"
    if y_is_constant:
        return f"{names[1]} never varies"
    return None


def _cell_weights(resamples: Resamples, units: Codes, cell_of_study: Codes) -> Values:
    """Return the weight of each cell in each resample, cells by resamples."""
    order = np.argsort(cell_of_study, kind="stable")
    cells_in_order = cell_of_study[order]
    starts = np.flatnonzero(np.diff(cells_in_order, prepend=-1))
    units_in_order = units[order]
    study_weights = resamples.weights.T[units_in_order]
    return np.asarray(np.add.reduceat(study_weights, starts, axis=0))


def _of_cells(x: Values, y: Values, weights: Values) -> Values:
    """Return resamples by `FIGURES` from the two values of each cell, and cells by resamples."""
    n_cells, n_resamples = weights.shape
    concordance, ranks, x_ranks, y_ranks = np.zeros((4, n_resamples))
    at_once = max(1, _PAIRS_AT_ONCE // n_cells)
    for start in range(0, n_cells, at_once):
        rows = slice(start, start + at_once)
        row_weights = weights[rows]
        x_signs = np.sign(x[rows, None] - x)
        y_signs = np.sign(y[rows, None] - y)
        # Concordant pairs less discordant ones, each pair twice.
        concordance += _dot(row_weights, (x_signs * y_signs) @ weights)
        # Twice a rank less the mean rank is the weight below less that above.
        x_rank = x_signs @ weights
        y_rank = y_signs @ weights
        ranks += _dot(row_weights, x_rank, y_rank)
        x_ranks += _dot(row_weights, x_rank, x_rank)
        y_ranks += _dot(row_weights, y_rank, y_rank)
    n = weights.sum(axis=0)
    x_untied = _untied_pairs(x, weights)
    y_untied = _untied_pairs(y, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        # About their means: sums of squares lose digits where values are far from 0.
        x_centred = x - x.mean()
        y_centred = y - y.mean()
        x_apart = x_centred[:, None] - x_centred @ weights / n
        y_apart = y_centred[:, None] - y_centred @ weights / n
        products = _dot(weights, x_apart, y_apart)
        x_squares = _dot(weights, x_apart, x_apart)
        y_squares = _dot(weights, y_apart, y_apart)
        kendall = concordance / np.sqrt(x_untied * y_untied)
        # Half of one and Somers' d of x, given y: ties of x count by half.
        somers_d = concordance / y_untied
        accuracy = (1 + somers_d) / 2
        spearman = ranks / np.sqrt(x_ranks * y_ranks)
        pearson = products / np.sqrt(x_squares * y_squares)
    figures = np.stack([kendall, spearman, pearson, accuracy], axis=1)
    # A resample that drew one value only has no correlation, though rounding may leave a spread.
    has_single_value = (x_untied == 0) | (y_untied == 0)
    figures[has_single_value] = np.nan
    return np.asarray(np.clip(figures, -1.0, 1.0))


def _untied_pairs(values: Values, weights: Values) -> Values:
    """Return twice the number of pairs with different values, for each resample."""
    n = weights.sum(axis=0)
    _, level_of_cell = np.unique(values, return_inverse=True)
    levels = unit_sums(weights, level_of_cell)
    untied: Values = n**2 - _dot(levels, levels)
    return untied


def _dot(*columns: Values) -> Values:
    """Return the sums over the cells of the products of columns, cells by resamples."""
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
    names: list[str] = []
    labels: list[str] = []
    columns: list[Values] = []
    for metric in panel.metrics:
        if metric.what not in ("score", "other"):
            continue
        column = panel.study_values(metric.name).ravel()
        label = metric.study_label
        if not metric.study_higher_is_better:
            column = -column
            label = f"{MINUS} {label}"
        names.append(metric.name)
        labels.append(label)
        columns.append(column)
    known = (~np.isnan(columns)).astype(int)
    n = known @ known.T
    return Correlations(
        names=tuple(names),
        labels=tuple(labels),
        n=tuple(map(tuple, n.tolist())),
        pearson=correlation(columns, "pearson"),
        spearman=correlation(columns, "spearman"),
        kendall=correlation(columns, "kendall"),
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
    rounded = [round_to_largest(column) for column in columns]
    table = pd.DataFrame(dict(enumerate(rounded)))
    if method == "pearson":
        # About their mean, since pandas' sums lose digits where values are far from 0.
        table = table - table.mean()
    coefficients = table.corr(method=method).to_numpy(copy=True)
    # Kendall's of a column with itself is 1 in pandas, even where the column is constant.
    is_constant = []
    for column in columns:
        known = column[~np.isnan(column)]
        is_constant.append(len(np.unique(known)) < 2)
    coefficients[is_constant, is_constant] = np.nan
    # One metric may be a multiple of the other: rounding must not step beyond 1.
    clipped = np.clip(coefficients, -1.0, 1.0)
    return tuple(_none_for_nan(row) for row in clipped)


def _none_for_nan(row: Values) -> tuple[float | None, ...]:
    cells: list[float | None] = []
    for value in row.tolist():
        if np.isnan(value):
            cells.append(None)
        else:
            cells.append(value)
    return tuple(cells)
