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
"""How many weights there are at a time (20 MB), by resamples and units (300 at least)."""


def generator(seed: int, purpose: str, key: Mapping[str, object]) -> np.random.Generator:
    """Return the random numbers of one purpose and group: the same whatever else is computed."""
    name = json.dumps([purpose, dict(key)], sort_keys=True, default=str)
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def units_of(clusters: Codes | None, n_studies: int) -> Codes:
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
    at_once = max(1, _CHUNK // max(n, 300))
    for start in range(0, total, at_once):
        yield min(at_once, total - start)


def tail(n_units: int) -> float:
    """Return the share of resamples beyond each end of a 95% interval, by the number of units.

    A percentile interval of few units is too narrow, by the root of n / (n - 1) and as Student's t
    is wider than the normal distribution; further percentiles mend both [Hesterberg 2015]. With
    thousands of units it is 2.5%.
    """
    from scipy.special import ndtr, stdtrit

    return float(ndtr(math.sqrt(n_units / (n_units - 1)) * stdtrit(n_units - 1, 0.025)))


def interval(
    draws: Values, n_units: int, unit_words: str = "studies", most: float = MOST_UNDEFINED
) -> tuple[float | None, float | None, str | None]:
    """Return the ends of the 95% interval by one figure a resample, or else why there are none.

    There is none of fewer than `LEAST_UNITS` units, where more than a share of `most` of the
    resamples have no figure, and where all have the same: a sample without spread does not prove
    that there is none.
    """
    if n_units < LEAST_UNITS:
        return None, None, f"an interval needs {LEAST_UNITS} {unit_words}, there are {n_units}"
    known = draws[np.isfinite(draws)]
    if len(known) < (1 - most) * len(draws):
        return None, None, "too many resamples have no value, since few studies differ"
    share = tail(n_units)
    low, high = np.quantile(known, (share, 1 - share)).tolist()
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        return None, None, "all resamples have the same value, which is no interval"
    return low, high, None


def bootstrap_estimate(
    sums: Values,
    figure: Callable[[Values], Values],
    n: int,
    *,
    missing: str | None = None,
    unit_words: str = "studies",
    most: float = MOST_UNDEFINED,
) -> Estimate:
    """Return a figure of `sums`, units by columns, of `n` studies, with its interval.

    `figure` is computed of sums with their columns last, in each of 2,000 resamples of units; the
    draws are the same for the same number of units. `missing` is the reason where there is none.
    """
    value = float(figure(sums.sum(axis=0)[None])[0])
    if math.isnan(value):
        return Estimate(n, None, None, None, reason=missing)
    weights = bootstrap_weights(np.random.default_rng(SEED), len(sums), RESAMPLES)
    draws = np.concatenate([figure(part @ sums) for part in weights])
    low, high, reason = interval(draws, len(sums), unit_words, most)
    return Estimate(n, value, low, high, reason=reason)


@dataclass(frozen=True)
class Resamples:
    """Weights of patients, the same for every quantity that is made of these studies.

    `units` has the number of each study's patient; without patients each study is one. `weights` is
    resamples by units, 1 everywhere in the first row, which is the studies as they are.
    """

    units: Codes
    weights: Values
    has_patients: bool

    def estimate(self, figures: Values, known: Bools) -> Estimate:
        """Return the first of `figures`, one a resample, with its interval or why it has none."""
        n_units = len(np.unique(self.units[known]))
        words = "patients" if self.has_patients else "studies"
        low, high, reason = interval(figures[1:], n_units, words)
        n, n_undefined = int(known.sum()), int((~known).sum())
        return Estimate(n, float(figures[0]), low, high, n_undefined, reason=reason)

    def sums(self, values: Values) -> Values:
        """Return the sum over each resample of `values`, studies by columns; NaN counts as 0."""
        return self.weights @ unit_sums(values, self.units)


def draw_resamples(
    clusters: Codes | None, n_studies: int, rng: np.random.Generator, resamples: int = 1000
) -> Resamples:
    """Draw patients, or studies where `clusters` is None, with replacement.

    Give no studies that none of the readers has: they would be drawn too. A thousand resamples of
    10,000 patients take 80 MB.
    """
    units = units_of(clusters, n_studies)
    n_units = int(units.max()) + 1 if n_studies else 0
    draws = bootstrap_weights(rng, n_units, resamples) if n_units else ()
    weights = np.concatenate([np.ones((1, n_units)), *draws])
    return Resamples(units, weights, has_patients=clusters is not None)
