"""How far several readings of the same things agree: of one reader or judge, or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.panel import ROUNDING, Values


@dataclass(frozen=True, slots=True)
class Intraclass:
    """An intraclass correlation with its 95% interval; None where it is not defined.

    Where the readings of each thing are alike, or the things are, there is no interval.
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
    if between <= least:
        return Intraclass(-1.0 / (k - 1), None, None)

    def of(ratio: float) -> float:
        return float((ratio - 1) / (ratio + k - 1))

    f, down, up = between / within, n - 1, n * (k - 1)
    low, high = f / float(fdtri(down, up, 0.975)), f * float(fdtri(up, down, 0.975))
    return Intraclass(of(f), of(low), of(high))


_RESAMPLES, _SEED, _CHUNK = 2000, 20261123, 2**22


def krippendorff(values: Values) -> Estimate:
    """Return Krippendorff's alpha of studies by judges, NaN for no value [Krippendorff 2011].

    For values whose difference has a size, squared; of 0 and 1 it is that for names, too. It is
    1 - observed / expected disagreement: over the pairs of values of a study, and over all pairs
    of values. `n` studies have two values or more. The interval is a percentile bootstrap of the
    studies. Where all values are alike there is nothing to agree about, and no alpha.
    """
    known = ~np.isnan(values)
    m = known.sum(axis=1).astype(float)
    paired = m > 1
    n, m = int(paired.sum()), m[paired]
    if not n:
        return Estimate(0, None, None, None, reason="no study has values of two judges")
    given = np.where(known, values, 0)[paired]
    # Far from 0 the sums of squares would lose what the values differ in.
    given = np.where(known[paired], given - given.sum() / m.sum(), 0)
    sums, squares = given.sum(axis=1), np.square(given).sum(axis=1)
    within = 2 * (m * squares - sums**2) / (m - 1)
    parts = np.stack([m, sums, squares, within], axis=1)

    def alpha(drawn: Values) -> Values:
        of, total, square, observed = drawn.T
        expected = 2 * (of * square - total**2) / (of - 1)
        least = ROUNDING * np.maximum(of * square, 1e-300)
        found = np.divide(observed, expected, out=np.full_like(of, np.nan), where=expected > least)
        agreed: Values = 1 - found
        return agreed

    value = float(alpha(parts.sum(axis=0)[None])[0])
    if np.isnan(value):
        return Estimate(n, None, None, None, reason="all values are the same")
    random = np.random.default_rng(_SEED)
    chunk = max(1, _CHUNK // n)
    sizes = [min(chunk, _RESAMPLES - start) for start in range(0, _RESAMPLES, chunk)]
    draws = [random.multinomial(n, np.full(n, 1 / n), size=size) @ parts for size in sizes]
    drawn = alpha(np.concatenate(draws))
    drawn = drawn[~np.isnan(drawn)]
    if n < _FEWEST or len(drawn) < _RESAMPLES / 2:
        return Estimate(n, value, None, None, reason="too few studies differ for an interval")
    low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    if low == high:
        return Estimate(n, value, None, None, reason="all resamples have the same value")
    return Estimate(n, value, low, high)


_FEWEST = 5
"""The studies that a bootstrap of them needs."""
