"""How sure a place is: what the models' places are when the studies are drawn again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.panel import Values
from judge.stats.places import places

_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class RankShares:
    """How often a model came out first, second, ... over the resamples; the shares add up to 1.

    `low` and `high` are the ends of the 95% interval of its place: in at least 2.5% of the
    resamples it came out at `low` or before, and in at least 2.5% at `high` or after. Models
    that tie share their places evenly: two that tie for the first are each half first, half
    second.
    """

    shares: tuple[float, ...]
    low: int
    high: int


def rank_shares(
    figures: Values, rounding: Values, *, higher: bool
) -> tuple[RankShares | None, ...]:
    """Return the shares of each model from `figures`, resamples by models.

    Figures that are no further apart than the `rounding` of their models tie. A model without a
    figure in a resample is last there. A model without any is None and takes no place.
    """
    known: NDArray[np.bool_] = np.count_nonzero(~np.isnan(figures), axis=0) > 0
    worst = -np.inf if higher else np.inf
    values = np.where(np.isnan(figures), worst, figures)[:, known]
    m = values.shape[1]
    better, tied = places(values, rounding[known], higher=higher)
    shares = np.zeros((m, m))
    for place in range(m):
        shared = (better <= place) & (place < better + tied)
        shares[:, place] = np.where(shared, 1 / tied, 0.0).mean(axis=0)
    found = iter(shares)
    return tuple(_shares(next(found)) if is_known else None for is_known in known)


def _shares(shares: Values) -> RankShares:
    def tail(in_order: Values) -> int:
        return int(np.searchsorted(np.cumsum(in_order), _TAIL - 1e-12))

    low, high = tail(shares) + 1, len(shares) - tail(shares[::-1])
    return RankShares(tuple(map(float, shares)), low, high)
