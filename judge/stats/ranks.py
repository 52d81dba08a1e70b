"""Ranks of figures, where those that rounding alone sets apart are equal, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Values = NDArray[np.float64]

ROUNDING = 1e-12
"""How far apart equal sums of floating-point numbers may come out, as a share of their size."""


def rounding_of(values: _Values, *, is_inverse: bool) -> _Values:
    """Return for each model how far rounding may move its figure; 0 without a figure.

    `values` is studies by models, NaN where a study was not scored. The sum of 0.4 and 0.2 is
    not twice 0.3 to the last bit: such a difference goes with the size of the values, not with
    that of their sum, which may be near 0.
    """
    n = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    size: _Values = ROUNDING * np.nansum(np.abs(values), axis=0) / n
    if not is_inverse:
        return size
    means = np.nansum(values, axis=0) / n
    found: _Values = np.divide(size, means**2, out=np.zeros_like(size), where=means > 0)
    return found


def without_rounding(value: float, rounding: float) -> float:
    """Return `value`, or 0 where it is no more than rounding."""
    return 0.0 if abs(value) <= rounding else value


def ranks_with_ties(
    figures: _Values, rounding: _Values, *, higher: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return in each row how many figures are better than each one, and how many equal it.

    `figures` is rows by models, without NaN; each equals itself. `rounding` is one a model.
    Neighbours in order that are no further apart than the larger rounding of the two are
    equal, and so is what a chain of such neighbours joins.
    """
    rows, m = figures.shape
    falling = figures if higher else -figures
    order = np.argsort(-falling, axis=1, kind="stable")
    ordered, near = np.take_along_axis(falling, order, axis=1), rounding[order]
    with np.errstate(invalid="ignore"):  # two at infinity are equal
        apart = ordered[:, :-1] - ordered[:, 1:] > np.maximum(near[:, :-1], near[:, 1:])
    edge = np.ones((rows, 1), dtype=bool)
    here = np.arange(m)
    first = np.maximum.accumulate(np.where(np.hstack([edge, apart]), here, 0), axis=1)
    ends = np.where(np.hstack([apart, edge]), here, m)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    better, equal = np.empty_like(order), np.empty_like(order)
    np.put_along_axis(better, order, first, axis=1)
    np.put_along_axis(equal, order, last - first + 1, axis=1)
    return better, equal


def ranks_of(
    values: Sequence[float | None], rounding: _Values, *, higher: bool
) -> list[int | None]:
    """Return the rank of each value, 1 for the best; equal ones share the better rank."""
    known = [index for index, value in enumerate(values) if value is not None]
    figures = np.array([[values[index] for index in known]], dtype=float)
    better, _ = ranks_with_ties(figures, rounding[known], higher=higher)
    found: list[int | None] = [None] * len(values)
    for index, n in zip(known, better[0], strict=True):
        found[index] = int(n) + 1
    return found


_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class RankShares:
    """How often a model came out first, second, ... over the resamples; the shares add up to 1.

    `low` and `high` are the ends of the 95% interval of its rank: in at least 2.5% of the
    resamples it came out at `low` or before, and in at least 2.5% at `high` or after. Models
    that tie share their ranks evenly: two that tie for the first are each half first, half
    second.
    """

    shares: tuple[float, ...]
    low: int
    high: int


def rank_shares(
    figures: _Values, rounding: _Values, *, higher: bool
) -> tuple[RankShares | None, ...]:
    """Return the shares of each model from `figures`, resamples by models.

    Figures that are no further apart than the `rounding` of their models tie. A model without a
    figure in a resample is last there. A model without any is None and takes no rank.
    """
    known: NDArray[np.bool_] = np.count_nonzero(~np.isnan(figures), axis=0) > 0
    worst = -np.inf if higher else np.inf
    values = np.where(np.isnan(figures), worst, figures)[:, known]
    m = values.shape[1]
    better, tied = ranks_with_ties(values, rounding[known], higher=higher)
    shares = np.zeros((m, m))
    for rank in range(m):
        shared = (better <= rank) & (rank < better + tied)
        shares[:, rank] = np.where(shared, 1 / tied, 0.0).mean(axis=0)
    found = iter(shares)
    return tuple(_shares(next(found)) if is_known else None for is_known in known)


def _shares(shares: _Values) -> RankShares:
    def tail(in_order: _Values) -> int:
        return int(np.searchsorted(np.cumsum(in_order), _TAIL - 1e-12))

    low, high = tail(shares) + 1, len(shares) - tail(shares[::-1])
    return RankShares(tuple(map(float, shares)), low, high)
