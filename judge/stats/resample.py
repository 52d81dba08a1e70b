"""Resampling studies, by patient where patients are known, from additive sums alone.

A resample is a weight for each patient; what models score on it are weights times sums, so
a thousand resamples of 10,000 studies are one matrix product.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.panel import Values

_CHUNK = 2_500_000
"""How many weights there are at a time (20 MB), by resamples and units."""

_LEAST = 300
"""Units that are reckoned with at least: each resample has a row of pairs of models too."""


def generator(seed: int, purpose: str, key: Mapping[str, object]) -> np.random.Generator:
    """Return the random numbers of one purpose and group: the same whatever else is computed."""
    name = json.dumps([purpose, dict(key)], sort_keys=True, default=str)
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def bootstrap_weights(rng: np.random.Generator, n: int, resamples: int) -> Iterator[Values]:
    """Yield arrays of resamples by `n` units: how often each unit was drawn, with replacement."""
    for size in _sizes(resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)


def sign_flips(rng: np.random.Generator, n: int, flips: int) -> Iterator[Values]:
    """Yield arrays of flips by `n` units: 1 or -1, each with probability one half."""
    for size in _sizes(flips, n):
        bits = np.frombuffer(rng.bytes((size * n + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(bits, count=size * n).reshape(size, n).astype(float) * 2 - 1


def _sizes(total: int, n: int) -> Iterator[int]:
    at_once = max(1, _CHUNK // max(n, _LEAST))
    for start in range(0, total, at_once):
        yield min(at_once, total - start)


@dataclass(frozen=True)
class Sums:
    """The sums, for each unit (a patient, or a study alone), of metrics scored together.

    `totals` is units by metrics by models: the sum of the values; `counts`, units by models,
    how many studies were scored, which the metrics share. `lost` has, for each model, the
    units with a study that was not scored for it, and the same sums of just those studies:
    what pairs with that model must leave out.
    """

    totals: Values
    counts: Values
    lost: tuple[tuple[NDArray[np.intp], Values, Values], ...]

    def own(self, weights: Values) -> tuple[Values, Values]:
        """Return each model's weighted sums and counts on its own studies.

        The sums are resamples by metrics by models, the counts resamples by models.
        """
        return _weighted(weights, self.totals), weights @ self.counts

    def common(self, weights: Values, pairs: ModelPairs) -> tuple[Values, Values, Values]:
        """Return weighted sums and counts on the studies that were scored for both of a pair.

        First the sums of the first model, then those of the second, resamples by metrics by
        pairs; last the counts, resamples by pairs.
        """
        totals, counts = self.own(weights)
        one, other = totals[:, :, pairs.first], totals[:, :, pairs.second]
        n = counts[:, pairs.first]
        for model, (units, lost_totals, lost_counts) in enumerate(self.lost):
            if len(units):
                drawn, (as_first, as_second) = weights[:, units], pairs.positions(model)
                lost = _weighted(drawn, lost_totals)
                other[:, :, as_first] -= lost[:, :, pairs.second[as_first]]
                one[:, :, as_second] -= lost[:, :, pairs.first[as_second]]
                n[:, as_second] -= (drawn @ lost_counts)[:, pairs.first[as_second]]
        return one, other, n

    def difference(self, weights: Values, pairs: ModelPairs) -> Values:
        """Return the first sum of `common` less the second, resamples by metrics by pairs."""
        totals = _weighted(weights, self.totals)
        found: Values = totals[:, :, pairs.first] - totals[:, :, pairs.second]
        for model, (units, lost_totals, _) in enumerate(self.lost):
            if len(units):
                lost = _weighted(weights[:, units], lost_totals)
                as_first, as_second = pairs.positions(model)
                found[:, :, as_first] += lost[:, :, pairs.second[as_first]]
                found[:, :, as_second] -= lost[:, :, pairs.first[as_second]]
        return found


def _weighted(weights: Values, totals: Values) -> Values:
    """Return resamples by metrics by models, in one matrix product."""
    units, metrics, models = totals.shape
    flat = weights @ totals.reshape(units, metrics * models)
    return flat.reshape(len(weights), metrics, models)


@dataclass(frozen=True)
class ModelPairs:
    """Every pair of models: the number of the first and of the second, the first before."""

    n_models: int
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    def positions(self, model: int) -> tuple[slice, NDArray[np.intp]]:
        """Return the positions of the pairs whose first, and whose second, the model is."""
        before = model * (2 * self.n_models - model - 1) // 2
        others = np.arange(model)
        as_second = others * (2 * self.n_models - others - 1) // 2 + model - others - 1
        return slice(before, before + self.n_models - model - 1), as_second


def all_pairs(n_models: int) -> ModelPairs:
    """Return every pair of models, the first before the second."""
    first, second = np.triu_indices(n_models, k=1)
    return ModelPairs(n_models, first, second)


def units_of(clusters: NDArray[np.int64] | None, n_studies: int) -> NDArray[np.intp]:
    """Return the number of each study's unit, counted from 0 without gaps."""
    if clusters is None:
        return np.arange(n_studies)
    return np.unique(clusters, return_inverse=True)[1].astype(np.intp)


def sums_of(values: Values, units: NDArray[np.intp]) -> Sums:
    """Return the sums of `values`, studies by metrics by models, for each unit.

    A study that was not scored for a model (NaN) has none of the metrics.
    """
    scored = ~np.isnan(values[:, 0])
    filled = np.where(scored[:, None], values, 0.0)
    n_units = int(units.max()) + 1 if len(units) else 0
    lost = []
    for column in scored.T:
        rows = np.flatnonzero(~column)
        touched, unit = np.unique(units[rows], return_inverse=True)
        sums = _added(filled[rows], unit, len(touched))
        lost.append((touched, sums, _added(scored[rows].astype(float), unit, len(touched))))
    counts = _added(scored.astype(float), units, n_units)
    return Sums(_added(filled, units, n_units), counts, tuple(lost))


def _added(rows: Values, units: NDArray[np.intp], n_units: int) -> Values:
    total = np.zeros((n_units, *rows.shape[1:]))
    np.add.at(total, units, rows)
    return total
