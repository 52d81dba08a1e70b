"""The bootstrap: weights of patients or studies from a seed, and intervals of resampled figures.

A resample is a weight for each unit (a patient, or a study where no patients are known); figures
are functions of weights times sums, so that a thousand resamples of 10,000 studies are one product.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.intervals import Codes, Estimate, Values

Bools = NDArray[np.bool_]

RESAMPLES, SEED = 2000, 20240612
"""Those of single figures, which have no options."""

LEAST_UNITS = 10
"""Of fewer patients, or studies, there are too few different resamples for the ends of 95%."""

MOST_UNDEFINED = 0.01
"""The share of resamples without a figure from which on there is no interval."""

_CHUNK = 2_500_000
"""How many weights there are at a time (20 MB), by resamples and units."""

IN_CACHE = 300_000
"""How many weights of resamples stay in the processor's cache."""

_LEAST = 300
"""Units that are reckoned with at least: each resample has a row of pairs of models too."""


def generator(seed: int, purpose: str, key: Mapping[str, object]) -> np.random.Generator:
    """Return the random numbers of one purpose and group: the same whatever else is computed."""
    name = json.dumps([purpose, dict(key)], sort_keys=True, default=str)
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def units_of(clusters: NDArray[np.intp] | None, n_studies: int) -> Codes:
    """Return the number of each study's unit, counted from 0 without gaps."""
    if clusters is None:
        return np.arange(n_studies)
    return np.unique(clusters, return_inverse=True)[1].astype(np.intp)


def unit_sums(values: Values, units: Codes) -> Values:
    """Return the sums of the rows of each unit; NaN counts as 0."""
    total = np.zeros((int(units.max()) + 1 if len(units) else 0, *values.shape[1:]))
    np.add.at(total, units, np.nan_to_num(values))
    return total


def bootstrap_weights(rng: np.random.Generator, n: int, resamples: int) -> Iterator[Values]:
    """Yield arrays of resamples by `n` units: how often each unit was drawn, with replacement."""
    for size in _sizes(resamples, n):
        units = rng.integers(0, n, size=(size, n))
        units += np.arange(size)[:, None] * n
        yield np.bincount(units.ravel(), minlength=size * n).reshape(size, n).astype(float)


def sign_flips(rng: np.random.Generator, n: int, flips: int) -> Iterator[Values]:
    """Yield arrays of flips by `n` units: 1 or -1, each with probability one half."""
    for size in _sizes(flips, n):
        bits = np.frombuffer(rng.bytes((size * n + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(bits, count=size * n).reshape(size, n).astype(float) * 2 - 1


def _sizes(total: int, n: int) -> Iterator[int]:
    at_once = max(1, _CHUNK // max(n, _LEAST))
    for start in range(0, total, at_once):
        yield min(at_once, total - start)


def tails(n_units: Codes | int) -> Values:
    """Return the share of resamples beyond each end of a 95% interval, by the number of units.

    A percentile interval of few units is too narrow, by the root of n / (n - 1) and as Student's t
    is wider than the normal distribution; further percentiles mend both [Hesterberg 2015]. With
    thousands of units it is 2.5%.
    """
    from scipy.special import ndtr, stdtrit

    n = np.maximum(np.asarray(n_units, float), 2)
    return np.asarray(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.025)))


def percentiles(draws: Values, shares: Values | float) -> Values:
    """Return a quantile of each column, linear between two values; `shares` may be one a column.

    NaN is passed over, so each column has its own number of values; NaN where it has none.
    numpy's own `nanpercentile` does this column by column, a hundred times slower.
    """
    ordered = np.sort(draws, axis=0)  # NaN last
    last = np.maximum((~np.isnan(draws)).sum(axis=0) - 1, 0)
    position = shares * last
    below = np.floor(position).astype(np.intp)
    low, high = (
        np.take_along_axis(ordered, np.minimum(row, last)[None], axis=0)[0]
        for row in (below, below + 1)
    )
    return np.asarray(low + (high - low) * (position - below))


def ends(draws: Values, n_units: Codes, most: float = MOST_UNDEFINED) -> tuple[Values, Values]:
    """Return the ends of the 95% interval of each column of figures, one row a resample.

    NaN for no interval: of fewer than `LEAST_UNITS` units, where more than a share of `most` of the
    resamples have no figure, and where all have the same: a sample without spread does not
    prove that there is none.
    """
    share = tails(n_units)
    low, high = percentiles(draws, share), percentiles(draws, 1 - share)
    undefined = ~np.isfinite(draws)
    none = (np.asarray(n_units) < LEAST_UNITS) | (undefined.mean(axis=0) > most)
    none |= np.isclose(low, high, rtol=1e-9, atol=1e-12)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def interval(
    draws: Values, n_units: int, unit_words: str = "studies", most: float = MOST_UNDEFINED
) -> tuple[float | None, float | None, str | None]:
    """Return the ends of the 95% interval by one figure a resample, or else why there are none."""
    if n_units < LEAST_UNITS:
        return None, None, f"an interval needs {LEAST_UNITS} {unit_words}, there are {n_units}"
    low, high = (float(end[0]) for end in ends(draws[:, None], np.array([n_units]), most))
    if not math.isnan(low):
        return low, high, None
    if np.isfinite(draws).mean() < 1 - most:
        return None, None, "too many resamples have no value, since few studies differ"
    return None, None, "all resamples have the same value, which is no interval"


def resampled(sums: Values, figure: Callable[[Values], Values]) -> Values:
    """Return a figure of sums, with their columns last, in each of 2,000 resamples of units.

    `sums` is units by columns. The draws are the same for the same number of units.
    """
    rng = np.random.default_rng(SEED)
    draws = bootstrap_weights(rng, len(sums), RESAMPLES)
    return np.concatenate([figure(weights @ sums) for weights in draws])


def bootstrap_estimate(
    sums: Values,
    figure: Callable[[Values], Values],
    n: int,
    *,
    missing: str | None = None,
    unit_words: str = "studies",
    most: float = MOST_UNDEFINED,
) -> Estimate:
    """Return the figure of `sums`, units by columns, of `n` studies, with its interval.

    `missing` is the reason where there is no figure.
    """
    value = float(figure(sums.sum(axis=0)[None])[0])
    if math.isnan(value):
        return Estimate(n, None, None, None, reason=missing)
    low, high, reason = interval(resampled(sums, figure), len(sums), unit_words, most)
    return Estimate(n, value, low, high, reason=reason)


@dataclass(frozen=True)
class Resamples:
    """Weights of patients, the same for every quantity that is made of these studies.

    `units` has the number of each study's patient; without patients each study is one. `weights` is
    units by resamples, 1 everywhere in the first column, which is the studies as they are.
    """

    units: Codes
    weights: NDArray[np.float32]
    has_patients: bool

    @property
    def unit_words(self) -> str:
        """What the units are."""
        return "patients" if self.has_patients else "studies"

    def estimate(self, figures: Values, known: Bools) -> Estimate:
        """Return the first of `figures`, one a resample, with its interval or why it has none."""
        n_units = len(np.unique(self.units[known]))
        low, high, reason = interval(figures[1:], n_units, self.unit_words)
        n, n_undefined = int(known.sum()), int((~known).sum())
        return Estimate(n, float(figures[0]), low, high, n_undefined, reason=reason)

    def sums(self, values: Values) -> Values:
        """Return the sum over each resample of `values`, studies by columns; NaN counts as 0."""
        by_unit = unit_sums(values, self.units)
        parts = slices(self.weights.shape[1], max(1, IN_CACHE // max(1, len(by_unit))))
        return np.concatenate([self.weights[:, p].T.astype(float) @ by_unit for p in parts])


def draw_resamples(
    clusters: NDArray[np.intp] | None,
    n_studies: int,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> Resamples:
    """Draw patients, or studies where `clusters` is None, with replacement.

    Give no studies that none of the readers has: they would be drawn too. A thousand resamples of
    10,000 patients take 40 MB.
    """
    units = units_of(clusters, n_studies)
    n_units = int(units.max()) + 1 if n_studies else 0
    weights = np.ones((n_units, resamples + 1), dtype=np.float32)
    first = 1
    for draws in bootstrap_weights(rng, n_units, resamples) if n_units else ():
        weights[:, first : first + len(draws)] = draws.T
        first += len(draws)
    return Resamples(units, weights, has_patients=clusters is not None)


def slices(total: int, at_most: int) -> Iterator[slice]:
    """Yield slices of `at_most` rows that cover `total`, of about equal size."""
    n = -(-total // at_most)
    ends = [total * part // n for part in range(n + 1)]
    yield from map(slice, ends, ends[1:])
