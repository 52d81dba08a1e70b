"""How far several readings of the same things agree: one reader or judge asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.stats.panel import ROUNDING, Values


@dataclass(frozen=True, slots=True)
class Intraclass:
    """An intraclass correlation with its 95% interval; None where it is not defined.

    It is 1 where the readings of each thing are alike and the things differ, which leaves nothing
    to make an interval of.
    """

    value: float | None
    low: float | None
    high: float | None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {"value": self.value, "low": self.low, "high": self.high}


def within_variance(values: Values) -> float | None:
    """Return the mean over things of the variance of their readings, of things by readings.

    The variance of each is the sample's (n - 1). None for no thing, or fewer than two readings.
    """
    if values.shape[0] < 1 or values.shape[1] < 2:
        return None
    return float(values.var(axis=1, ddof=1).mean())


def intraclass(values: Values) -> Intraclass:
    """Return ICC(1, 1) of things by readings, with its F interval [Shrout and Fleiss 1979].

    One-way random effects, a single reading: (BMS - WMS) / (BMS + (k - 1) WMS), with the mean
    squares between and within things; it may be negative. Its interval takes the things for
    independent. None where nothing differs, for fewer than two things or two readings.
    """
    # Takes a quarter of a second to import, for those who ask again only.
    from scipy.special import fdtri

    n, k = values.shape
    within = within_variance(values)
    if n < 2 or within is None:
        return Intraclass(None, None, None)
    means = values.mean(axis=1)
    between = float(k * means.var(ddof=1))
    # Readings that are alike have a variance of 0 but for rounding.
    least = ROUNDING * max(1.0, float(np.square(values).max()))
    if between <= least and within <= least:
        return Intraclass(None, None, None)
    if within <= least:
        return Intraclass(1.0, None, None)

    def of(ratio: float) -> float:
        return float((ratio - 1) / (ratio + k - 1))

    f, down, up = between / within, n - 1, n * (k - 1)
    low, high = f / float(fdtri(down, up, 0.975)), f * float(fdtri(up, down, 0.975))
    return Intraclass(of(f), of(low), of(high))
