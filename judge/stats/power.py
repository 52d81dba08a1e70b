"""The power of a claim that a figure is no worse by more than a margin."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from judge.stats.intervals import Z_95, student
from judge.stats.non_inferiority import tango_statistic
from judge.stats.sample_size import MOST

_TAIL = 7.0
"""Standard deviations of the number of pairs that differ, beyond which nothing is counted."""

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
        return (k == round(n * share)).astype(float)
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


def normal_power(n_units: int, room: float, error: float, pilot_units: int) -> float:
    """Return the chance that an interval of a difference excludes a drop beyond the margin.

    `room` is the true difference plus the margin, `error` the standard error of the difference with
    `pilot_units`. The estimate is taken as normal, the interval as Student's t.
    """
    from scipy.special import ndtr

    error_planned = error * math.sqrt(pilot_units / n_units)
    return float(ndtr(room / error_planned - student(n_units - 1)))


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
