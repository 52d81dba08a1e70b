"""How metrics agree over studies: Pearson, Spearman and Kendall's tau-b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.metric import Metric, turned_label
from judge.stats.panel import Panel, Values

Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Correlations:
    """The correlation of each pair of metrics, metrics by metrics.

    `labels` have a minus where values were turned round. `n` counts the pairs of a study and
    a model that have both values. A cell is None where there are fewer than two, or one of the
    metrics has one value only.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    n: tuple[tuple[int, ...], ...]
    pearson: Matrix
    spearman: Matrix
    kendall: Matrix


def correlations(panel: Panel) -> Correlations:
    """Return how the scores agree over all studies and models together.

    Takes the rubrics' scores and the metrics that came from files, study by study. Where
    less is better the values are turned round, so that agreement is positive.
    """
    metrics = [metric for metric in panel.metrics if metric.what in ("score", "other")]
    columns = [_column(panel.values[metric.name].ravel(), metric) for metric in metrics]
    k = len(metrics)
    n = np.zeros((k, k), dtype=int)
    found: list[list[list[float | None]]] = [[[None] * k for _ in range(k)] for _ in range(3)]
    for i, x in enumerate(columns):
        for j in range(i, k):
            one, other = _together(x, columns[j])
            n[i, j] = n[j, i] = len(one.values)
            for matrix, measure in zip(found, (_pearson, _spearman, _kendall), strict=True):
                matrix[i][j] = matrix[j][i] = measure(one, other)
    return Correlations(
        tuple(metric.name for metric in metrics),
        tuple(turned_label(metric) for metric in metrics),
        tuple(tuple(map(int, row)) for row in n),
        *(_frozen(matrix) for matrix in found),
    )


@dataclass(frozen=True)
class _Column:
    """A metric's known values, where they stand among all, and their dense ranks from 0."""

    known: NDArray[np.bool_]
    values: Values
    dense: NDArray[np.int64]


def _column(values: Values, metric: Metric) -> _Column:
    known = ~np.isnan(values)
    turned = values[known] if metric.study_higher_is_better else -values[known]
    return _Column(known, turned, _dense(turned))


def _together(x: _Column, y: _Column) -> tuple[_Column, _Column]:
    """Return both columns where both are known; the ranks are the slow part, and kept."""
    if np.array_equal(x.known, y.known):
        return x, y
    both = x.known & y.known
    return _part(x, both), _part(y, both)


def _part(column: _Column, known: NDArray[np.bool_]) -> _Column:
    at = known[column.known]
    return _Column(known, column.values[at], _dense(column.dense[at]))


def _of(values: Values) -> _Column:
    return _Column(np.ones(len(values), dtype=bool), values, _dense(values))


def _frozen(matrix: Sequence[Sequence[float | None]]) -> Matrix:
    return tuple(tuple(row) for row in matrix)


def pearson(x: Values, y: Values) -> float | None:
    """Return Pearson's correlation; None for fewer than two values or a constant."""
    return _pearson(_of(x), _of(y))


def spearman(x: Values, y: Values) -> float | None:
    """Return Spearman's rank correlation, ties at their mean rank; None as for `pearson`."""
    return _spearman(_of(x), _of(y))


def kendall(x: Values, y: Values) -> float | None:
    """Return Kendall's tau-b in time n log n [Knight 1966]; None as for `pearson`.

    tau-b = (concordant - discordant) / root of (pairs untied in x times those untied in y).
    """
    return _kendall(_of(x), _of(y))


def _pearson(x: _Column, y: _Column) -> float | None:
    return None if _is_flat(x) or _is_flat(y) else _linear(x.values, y.values)


def _spearman(x: _Column, y: _Column) -> float | None:
    return None if _is_flat(x) or _is_flat(y) else _linear(_ranks(x.dense), _ranks(y.dense))


def _linear(x: Values, y: Values) -> float:
    x, y = _centred(x), _centred(y)
    # One metric may be a multiple of the other: rounding must not step beyond 1.
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _centred(values: Values) -> Values:
    """Return `values`, which are not all equal, less their mean, at most about 1 from it.

    Squares of very small or very large values would vanish or overflow.
    """
    # By a power of 2, which rounds nothing.
    scaled: Values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])
    scaled = scaled - scaled.mean()
    scaled = scaled / np.abs(scaled).max()
    # The first mean was rounded to the size of the values, which may be far beyond their spread.
    centred: Values = scaled - scaled.mean()
    return centred


def _kendall(x: _Column, y: _Column) -> float | None:
    if _is_flat(x) or _is_flat(y):
        return None
    n = len(x.dense)
    pairs = n * (n - 1) // 2
    tied_x, tied_y = _tied_pairs(np.bincount(x.dense)), _tied_pairs(np.bincount(y.dense))
    # Sorted by x, then y, so that pairs tied in x are in order and count as no inversion.
    width = int(y.dense.max()) + 1
    both = np.sort(x.dense * width + y.dense)
    tied_both = _tied_pairs(np.diff(np.flatnonzero(np.diff(both, prepend=-1, append=-1))))
    discordant = _inversions(both % width)
    concordant = pairs - tied_x - tied_y + tied_both - discordant
    return float((concordant - discordant) / ((pairs - tied_x) * (pairs - tied_y)) ** 0.5)


def _is_flat(column: _Column) -> bool:
    return not len(column.dense) or int(column.dense.max()) == 0


def _dense(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each value's number among the distinct ones, from 0."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _ranks(dense: NDArray[np.int64]) -> Values:
    """Return ranks from 1, equal values at the mean of their ranks."""
    counts = np.bincount(dense)
    ranks: Values = (np.cumsum(counts) - (counts - 1) / 2)[dense]
    return ranks


def _tied_pairs(counts: NDArray[np.intp]) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: NDArray[np.int64]) -> int:
    """Return how many pairs stand in falling order; `values` are numbered from 0.

    Bit by bit from the highest: within the values that agree in all higher bits, in their
    original order, each 0 is inverted with the 1s before it. Then the 0s of each such group
    go before its 1s.
    """
    total = 0
    current = values
    places = np.arange(len(values))
    for bit in range(int(values.max()).bit_length() - 1, -1, -1):
        ones = (current >> bit) & 1
        starts = np.flatnonzero(np.diff(current >> (bit + 1), prepend=-1))
        sizes = np.diff(np.append(starts, len(current)))
        before = np.cumsum(ones) - ones
        ones_before = before - np.repeat(before[starts], sizes)
        total += int(ones_before[ones == 0].sum())
        start = np.repeat(starts, sizes)
        zeros = np.repeat(sizes - np.add.reduceat(ones, starts), sizes)
        target = np.where(ones, start + zeros + ones_before, places - ones_before)
        moved = np.empty_like(current)
        moved[target] = current
        current = moved
    return total
