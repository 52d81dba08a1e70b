"""The power of a claim that a figure is no worse by more than a margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import Z_95, Draws, Values
from judge.stats.non_inferiority import (
    difference_and_error,
    studentised,
    tango_statistic,
)
from judge.stats.sample_size import MOST
from judge.stats.statistic import Statistic

_TAIL = 7.0
"""Standard deviations of the number of pairs that differ, beyond which nothing is counted."""

_SAMPLES = 200
_DRAWS = 400
_LARGEST_DRAWN = 2_000
"""A larger sample is not drawn: its interval is in as many standard errors."""

PowerOf = Callable[[int], float]
"""Returns the power with so many patients or studies."""


def tango_power(n: int, only_first: float, only_second: float, margin: float) -> float:
    """Return the chance that Tango's interval of n pairs excludes a drop of more than `margin`.

    `only_first` and `only_second` are the shares of pairs in which the first model alone, and the
    second alone, says yes; the drop is the second's rate less the first's. The chance is exact: the
    sum over the numbers of pairs that differ, each binomial, and over those of the first among
    them.
    """
    from scipy.special import bdtrc, gammaln

    share = only_first + only_second
    spread = math.sqrt(n * share * (1 - share))
    fewest = max(0, math.floor(n * share - _TAIL * spread - 1))
    most = min(n, math.ceil(n * share + _TAIL * spread + 1))
    differing = np.arange(fewest, most + 1)
    chances = _binomial(differing, n, share, gammaln)
    needed = np.array([_least_first(n, int(k), margin) for k in differing])
    if not share:
        return float(needed[0] <= 0)
    of_first = only_first / share
    passes = np.ones(len(differing))
    some = needed > 0
    # More than `k` of `k` never happens.
    is_possible = some & (needed <= differing)
    passes[some] = 0.0
    passes[is_possible] = bdtrc(
        needed[is_possible] - 1, differing[is_possible], of_first
    )
    return float(chances @ passes)


def _binomial(
    k: np.ndarray, n: int, share: float, gammaln: Callable[..., np.ndarray]
) -> np.ndarray:
    """Return the chances of k of n."""
    if share <= 0 or share >= 1:
        return np.asarray(k == round(n * share), float)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    logarithm = ways + k * math.log(share) + (n - k) * math.log1p(-share)
    return np.asarray(np.exp(logarithm))


def _least_first(n: int, differing: int, margin: float) -> int:
    """Return how many of the pairs that differ must be the first model's to exclude the margin.

    It is one more than there are where none is enough.
    """

    def excludes(first: int) -> bool:
        return tango_statistic(-margin, n, first, differing - first) >= Z_95

    low, high = -1, differing + 1
    while high - low > 1:
        middle = (low + high) // 2
        if excludes(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class LowerEnd:
    """How far the lower end of an interval lies below its estimate, in true standard errors.

    `distances` are those in some samples. They rise with the estimate by `slope` of an estimate's
    standard error for each of their own. In a share of `undefined` samples there is no interval.
    """

    distances: Values
    slope: float = 0.0
    undefined: float = 0.0

    def passes(self, room: float) -> float:
        """Return the chance that the end is no lower than `room` errors below the true value."""
        from scipy.special import ndtr

        apart = self.distances - self.distances.mean()
        rest = math.sqrt(max(1e-6, 1 - self.slope**2 * float(np.mean(apart**2))))
        chances = ndtr((room - self.distances + self.slope * apart) / rest)
        return float((1 - self.undefined) * np.mean(chances))


USUAL_END = LowerEnd(np.array([Z_95]))
"""That of many studies."""


def lower_end(
    sums: Values,
    statistic: Statistic,
    n_units: int,
    rng: np.random.Generator,
    *,
    higher_is_better: bool,
) -> LowerEnd:
    """Return where the lower end of the studentised interval of so many units lies.

    `sums` are those of the pilot's units, as in `studentised`. From these units 200 samples are
    drawn with replacement, so that skewed differences, and a standard error that itself varies,
    have their part. Where fewer is better the end is the upper one with the opposite sign.
    """
    value, error = _figure_and_error(sums, statistic)
    n_drawn = min(n_units, _LARGEST_DRAWN)
    error_planned = error * math.sqrt(len(sums) / n_drawn)
    estimates, distances = [], []
    for _ in range(_SAMPLES):
        drawn = sums[rng.integers(0, len(sums), n_drawn)]
        seed = int(rng.integers(0, 2**31))
        found = studentised(drawn, statistic, Draws(seed, _DRAWS))
        if found.low is None or found.high is None:
            continue
        estimate, _ = _figure_and_error(drawn, statistic)
        if higher_is_better:
            estimates.append((estimate - value) / error_planned)
            distances.append((estimate - found.low) / error_planned)
        else:
            estimates.append((value - estimate) / error_planned)
            distances.append((found.high - estimate) / error_planned)
    undefined = 1 - len(distances) / _SAMPLES
    if len(distances) < 2:
        return LowerEnd(USUAL_END.distances, undefined=1.0)
    slope = 0.0
    spread = float(np.var(distances, ddof=1))
    if spread > 0:
        slope = float(np.cov(estimates, distances)[0, 1]) / spread
    return LowerEnd(np.array(distances), slope, undefined)


def _figure_and_error(sums: Values, statistic: Statistic) -> tuple[float, float]:
    found = difference_and_error(sums, np.ones((1, len(sums))), statistic)
    if found is None:
        raise ValueError(f"a {statistic.kind} is no function of sums")
    values, errors = found
    return float(values[0]), float(errors[0])


def normal_power(
    n_units: int, *, room: float, error: float, pilot_units: int, end: LowerEnd
) -> float:
    """Return the chance that an interval of a difference excludes a drop beyond the margin.

    `room` is the true difference plus the margin, `error` the standard error of the difference with
    `pilot_units`, `end` where the interval's lower end lies. The estimate is taken as normal.
    """
    error_planned = error * math.sqrt(pilot_units / n_units)
    return end.passes(room / error_planned)


def units_for_power(power_of: PowerOf, wanted: float, least: int) -> int | None:
    """Return the least number of units, `least` or more, that has the power; None beyond `MOST`.

    The power of rates rises in small steps and falls back in between: the number is one from which
    a search by halves found that it is reached.
    """
    if power_of(least) >= wanted:
        return least
    low, high = least, 2 * least
    while power_of(high) < wanted:
        if high >= MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        if power_of(middle) < wanted:
            low = middle
        else:
            high = middle
    return high
