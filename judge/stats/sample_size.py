"""How many studies an interval of a width needs, and how many a claim of no drop, from a pilot.

The width is that of the very function which prints the interval, of a sample of another size that
is like the pilot: its patients, in an order of their values, are taken evenly as often as needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Codes,
    Draws,
    Values,
    clustered_error,
    n_different,
    unit_sums,
    units_of,
)
from judge.stats.statistic import Statistic

MOST = 1_000_000
"""Of more patients, or studies, it is said that they are more."""

LARGEST_SAMPLE = 50_000
"""A larger sample is not made: from here on a width falls as the root of the number rises."""

LEAST_PILOT = 30
"""Patients, or studies, below which a pilot plans nothing."""

LEAST_OF_EACH = 5
"""Studies that a rate needs on either side, and pairs that differ: of fewer it plans nothing."""

CAUTION = 0.9
"""The share of resamples of the pilot for which the cautious number is planned."""

_RESAMPLES = 400
_FEW_DRAWS = 300
"""Draws of a bootstrap within a bootstrap, which only orders the pilot's resamples."""

WidthOf = Callable[[int], float]
"""Returns the width of the interval of so many patients or studies, infinite without one."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The studies of a pilot that have a figure.

    `values` has a row per study: what the figure is made of. `units` numbers each study's patient
    from 0 without gaps, `weights` says how many studies of all a unit stands for.
    """

    values: Values
    units: Codes
    weights: Values

    @classmethod
    def of(
        cls, values: Values, clusters: Codes | None, weights: Values | None = None
    ) -> Sample:
        """Return the sample of studies; `clusters` are patients, None where there are none.

        A patient has the sum of the `weights` of the studies over their number.
        """
        units = units_of(clusters, len(values))
        n_units = n_different(units)
        by_unit = np.ones(n_units)
        if weights is not None:
            by_unit = np.bincount(units, weights) / np.bincount(units)
        return cls(values=values, units=units, weights=by_unit)

    @property
    def n(self) -> int:
        """The number of studies."""
        return len(self.values)

    @property
    def n_units(self) -> int:
        """The number of patients, or of studies where they are independent."""
        return len(self.weights)

    def like_it(self, n_units: int) -> Sample:
        """Return a sample of so many units in which each kind of the pilot's has its share.

        The units are ordered by their sums and taken at even steps of their weights.
        """
        sizes = np.bincount(self.units)
        sums = unit_sums(self.values, self.units)
        order = np.lexsort([sizes, *sums.T[::-1]])
        reached = np.cumsum(self.weights[order])
        steps = (np.arange(n_units) + 0.5) / n_units * reached[-1]
        places = np.minimum(np.searchsorted(reached, steps), self.n_units - 1)
        return self._taken(order[places])

    def resample(self, rng: np.random.Generator) -> Sample:
        """Return as many units, drawn with replacement."""
        return self._taken(rng.integers(0, self.n_units, self.n_units))

    def _taken(self, units: Codes) -> Sample:
        rows = np.argsort(self.units, kind="stable")
        sizes = np.bincount(self.units)
        starts = np.cumsum(sizes) - sizes
        sizes_taken = sizes[units]
        new_units = np.repeat(np.arange(len(units)), sizes_taken)
        ends = np.cumsum(sizes_taken)
        within = np.arange(ends[-1]) - np.repeat(ends - sizes_taken, sizes_taken)
        taken = rows[np.repeat(starts[units], sizes_taken) + within]
        return Sample(
            values=self.values[taken],
            units=new_units,
            weights=np.ones(len(units)),
        )

    @property
    def clusters(self) -> Codes | None:
        """The patients' numbers as an interval takes them, None where studies are independent."""
        if self.n_units == self.n:
            return None
        return self.units


EstimateOf = Callable[[Sample, Draws], Estimate]
"""Returns the figure of a sample with the interval that is printed of it."""


def estimate_by(statistic: Statistic) -> EstimateOf:
    """Return what makes the estimate of a statistic of a sample's columns: values, and what per."""

    def estimate(sample: Sample, draws: Draws) -> Estimate:
        values, per = sample.values[:, 0], None
        if sample.values.shape[1] > 1:
            per = sample.values[:, 1]
        return statistic.estimate(values, per, sample.clusters, draws)

    return estimate


def width(estimate: Estimate) -> float:
    """Return the whole width of an interval, the upper end less the lower; infinite without one."""
    if estimate.low is None or estimate.high is None:
        return math.inf
    return estimate.high - estimate.low


@dataclass(frozen=True, slots=True)
class Need:
    """How many units are needed: by the pilot's variance, and by its upper 90% limit.

    None is more than `MOST`, or than there can be.
    """

    n: int | None = None
    cautious: int | None = None

    def times(self, factor: float) -> Need:
        """Return the numbers of something of which a unit has so many, rounded up."""
        return Need(_times(self.n, factor), _times(self.cautious, factor))


UNKNOWN = Need()


def _times(n: int | None, factor: float) -> int | None:
    if n is None:
        return None
    # A product that is whole but for rounding is not rounded up.
    return math.ceil(n * factor - 1e-9)


def units_for_width(
    sample: Sample,
    estimate_of: EstimateOf,
    wanted: float,
    draws: Draws,
    rng: np.random.Generator,
    most: int = MOST,
    ranked_by: EstimateOf | None = None,
) -> Need:
    """Return how many units like the pilot's give an interval of at most the `wanted` width.

    The cautious number is that of the resample of the pilot's units which 90% of the resamples are
    no wider than, by `ranked_by`, a quicker estimate, where one is given. Numbers beyond `most` are
    None.
    """
    few = Draws(draws.seed, _FEW_DRAWS)
    resamples = [sample.resample(rng) for _ in range(_RESAMPLES)]
    rank_of = ranked_by or estimate_of
    widths = [width(rank_of(one, few)) for one in resamples]
    place = int(CAUTION * len(resamples))
    cautious = resamples[int(np.argsort(widths, kind="stable")[place])]

    def units_of_sample(of: Sample) -> int | None:
        def width_of(n_units: int) -> float:
            return width(estimate_of(of.like_it(n_units), draws))

        return least_units(width_of, wanted, of.n_units, most)

    n = units_of_sample(sample)
    more = units_of_sample(cautious)
    if n is None or more is None:
        return Need(n, None)
    # The variance of a resample is too small by the share (n - 1) / n.
    inflated = math.ceil(more * sample.n_units / (sample.n_units - 1))
    if inflated > most:
        return Need(n, None)
    return Need(n, max(n, inflated))


def least_units(
    width_of: WidthOf, wanted: float, start: int, most: int = MOST
) -> int | None:
    """Return the least number of units whose interval is no wider than `wanted`.

    `start` is where the search begins. None where it is more than `most`.
    """
    largest = min(most, LARGEST_SAMPLE)
    low, high = 1, min(max(2, start), largest)
    while width_of(high) > wanted:
        if high >= largest:
            return _beyond(width_of(largest), wanted, largest, most)
        low, high = high, min(2 * high, largest)
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(middle) > wanted:
            low = middle
        else:
            high = middle
    return high


def _beyond(found: float, wanted: float, largest: int, most: int) -> int | None:
    """Return the number from the width of the largest sample, which falls as the root of it."""
    if not math.isfinite(found):
        return None
    n = math.ceil(largest * (found / wanted) ** 2)
    if n > most:
        return None
    return n


def clustering(values: Values, clusters: Codes | None) -> tuple[float, float | None]:
    """Return the design effect of a mean of values, and their intra-cluster correlation.

    The design effect is the clustered variance of the mean over that of independent studies [Kish
    1965]; the correlation is (design effect - 1) / (k - 1) with k = sum of squares of the patients'
    numbers of studies over the number of studies. It is None where no patient has several studies.
    """
    n = len(values)
    if clusters is None or n_different(clusters) == n:
        return 1.0, None
    independent = values.var(ddof=1) / n
    if not independent > 0:
        return 1.0, None
    error, _ = clustered_error(values, clusters)
    design_effect = float(error**2 / independent)
    sizes = np.bincount(clusters)
    k = float((sizes**2).sum() / n)
    return design_effect, (design_effect - 1) / (k - 1)
