"""How far several readings of the same things agree: of one reader or judge, or of several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Estimate
from judge.stats.resample import Values, interval, resampled, unit_sums, units_of

ROUNDING = 1e-12


def within_variance(values: Values) -> float | None:
    """Return the mean over things of the variance of their readings, of things by readings.

    The variance of each is the sample's (n - 1). None for no thing, or fewer than two readings.
    """
    if values.shape[0] < 1 or values.shape[1] < 2:
        return None
    return float(values.var(axis=1, ddof=1).mean())


def intraclass(values: Values) -> Estimate:
    """Return ICC(1, 1) of things by readings [Shrout and Fleiss 1979], with a bootstrap interval.

    One-way random effects, a single reading: (BMS - WMS) / (BMS + (k - 1) WMS), with the mean
    squares between and within things; it may be negative. The interval is of things drawn anew:
    that of F is for normal values, and covers 62 to 71% of skewed counts. None where nothing
    differs, for fewer than two things or two readings.
    """
    n, k = values.shape
    if n < 2 or k < 2:
        return Estimate(n, None, None, None)
    means = values.mean(axis=1) - values.mean()
    # Readings that are alike have a variance of 0 but for rounding.
    least = ROUNDING * max(1.0, float(np.square(values).max()))
    sums = np.stack([np.ones(n), means, means**2, values.var(axis=1, ddof=1)], axis=1)

    def icc(drawn: Values) -> Values:
        count, total, squares, inner = drawn.T
        between = k * np.maximum(squares - total**2 / count, 0.0) / (count - 1)
        within = inner / count
        known = np.maximum(between, within) > least
        none = np.full_like(count, np.nan)
        ratios: Values = np.divide(
            between - within, between + (k - 1) * within, out=none, where=known
        )
        return ratios

    value = float(icc(sums.sum(axis=0)[None])[0])
    if np.isnan(value):
        return Estimate(n, None, None, None)
    low, high, reason = interval(resampled(sums, icc), n)
    return Estimate(n, value, low, high, reason=reason)


def krippendorff(values: Values, clusters: NDArray[np.intp] | None = None) -> Estimate:
    """Return Krippendorff's alpha of studies by judges, NaN for no value [Krippendorff 2011].

    For values whose difference has a size, squared; of 0 and 1 it is that for names, too. It is
    1 - observed / expected disagreement: over the pairs of values of a study, and over all pairs
    of values. `n` studies have two values or more; one study has no alpha. The interval is a
    bootstrap of studies, or of patients where `clusters` numbers them. Where all values are alike
    there is nothing to agree about, and no alpha.
    """
    known = ~np.isnan(values)
    m = known.sum(axis=1).astype(float)
    paired = m > 1
    n, m = int(paired.sum()), m[paired]
    if n < 2:
        return Estimate(n, None, None, None, reason="fewer than two studies have two values")
    cells = np.where(known, values, 0)[paired]
    # Far from 0 the sums of squares would lose what the values differ in.
    cells = np.where(known[paired], cells - cells.sum() / m.sum(), 0)
    sums, squares = cells.sum(axis=1), np.square(cells).sum(axis=1)
    within = 2 * (m * squares - sums**2) / (m - 1)
    units = units_of(None if clusters is None else clusters[paired], n)
    parts = unit_sums(np.stack([m, sums, squares, within], axis=1), units)

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
    words = "studies" if clusters is None else "patients"
    low, high, reason = interval(resampled(parts, alpha), len(parts), words)
    return Estimate(n, value, low, high, reason=reason)
