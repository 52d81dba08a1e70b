"""Intervals of a paired difference that a claim of "no worse by more than a margin" can rest on.

Such a claim is made where the interval excludes the margin, so an interval that is too narrow makes
it wrongly. Rates have the score interval of paired proportions [Tango 1998]; other figures, and
rates of patients with several studies, a studentised bootstrap [Efron and Tibshirani 1993, chapter
12], which follows skewed differences where the percentiles of a plain bootstrap do not.
`bench/bench_intervals.py non_inferiority` simulates how often a run that is worse by exactly the
margin passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import (
    MOST_UNDEFINED,
    Z_95,
    Draws,
    Values,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.statistic import Statistic

LEAST_UNITS = 50
"""Of fewer patients, or studies, nothing is claimed."""

_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class DifferenceInterval:
    """The 95% interval of a difference, the first figure less the second, or why there is none."""

    low: float | None = None
    high: float | None = None
    reason: str = ""


def difference_interval(
    panel: ScoreMatrix, metric: Metric, draws: Draws
) -> DifferenceInterval:
    """Return the interval of the first model's figure less the second's.

    It is of the studies with a value for both. There is none for fewer than 50 patients or studies,
    and where too few of them differ.
    """
    values = panel.values[metric.name][:, :2]
    per = panel.per.get(metric.name, np.ones_like(values))[:, :2]
    both = ~np.isnan(values).any(axis=1)
    n = int(both.sum())
    clusters = (
        panel.clusters[both]
        if panel.is_clustered and panel.clusters is not None
        else None
    )
    units = units_of(clusters, n)
    n_units = int(units.max()) + 1 if n else 0
    word = "studies" if clusters is None else "patients"
    if n_units < LEAST_UNITS:
        few = f"it needs {LEAST_UNITS} {word} scored in both runs, there are {n_units}"
        return DifferenceInterval(reason=few)
    if metric.is_share and n_units == n:
        first, second = values[both].T == 1
        b, c = int((first & ~second).sum()), int((second & ~first).sum())
        return DifferenceInterval(*tango(n, b, c))
    columns = np.column_stack(
        [values[both, 0], per[both, 0], values[both, 1], per[both, 1]]
    )
    return studentised(unit_sums(columns, units), metric.statistic, draws)


def tango(n: int, b: int, c: int, z: float = Z_95) -> tuple[float, float]:
    """Return the 95% score interval of a difference (b - c) / n of paired proportions [Tango 1998].

    `b` and `c` count the pairs, of `n`, in which the first alone, and the second alone, says yes.
    Its ends are the differences that a score test does not reject at z: their standard error is
    that of the likeliest shares with this difference.
    """

    def statistic(difference: float) -> float:
        linear = difference * (2 * n - b + c) - b - c
        root = math.sqrt(linear**2 + 8 * n * c * difference * (1 - difference))
        only_second = (root - linear) / (4 * n)
        variance = n * (2 * only_second + difference * (1 - difference))
        if variance <= 0:
            return math.inf if b - c > n * difference else -math.inf
        return (b - c - n * difference) / math.sqrt(variance)

    observed = (b - c) / n
    low = _crossing(statistic, z, -1.0, observed) if b - c > -n else -1.0
    high = _crossing(statistic, -z, observed, 1.0) if b - c < n else 1.0
    return low, high


def _crossing(
    statistic: Callable[[float], float], level: float, low: float, high: float
) -> float:
    """Return where a statistic that falls from `low` to `high` has the value `level`."""
    for _ in range(60):
        middle = (low + high) / 2
        if statistic(middle) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def studentised(sums: Values, statistic: Statistic, draws: Draws) -> DifferenceInterval:
    """Return the 95% interval of a difference of two figures by a studentised bootstrap.

    `sums` has a row for each patient or study: numerator and denominator of the first figure, then
    of the second. For each resample t is the difference less the observed one, over the standard
    error of the resample by linearisation; the interval is the observed difference less the 97.5%
    and the 2.5% point of t, each times the observed standard error. Resamples in which nothing
    differs are left out up to 1%.
    """
    different, counts = np.unique(sums, axis=0, return_counts=True)
    n = len(sums)
    as_it_is = _difference(different, counts[None].astype(float), statistic)
    if as_it_is is None:
        return DifferenceInterval(reason=f"a {statistic.kind} has no such interval")
    observed, error = as_it_is
    if not math.isfinite(observed[0]):
        return DifferenceInterval(reason="a figure has no value")
    if not error[0] > 1e-12:
        return DifferenceInterval(reason="no study differs, which is no interval")
    rng = np.random.default_rng([draws.seed, n])
    total = draws.count(n)
    at_once = max(1, _CHUNK // len(different))
    parts = []
    for start in range(0, total, at_once):
        size = min(at_once, total - start)
        weights = rng.multinomial(n, counts / n, size=size).astype(float)
        drawn = _difference(different, weights, statistic)
        assert drawn is not None
        resampled, errors = drawn
        moved = resampled - observed[0]
        parts.append(
            np.divide(moved, errors, out=np.full(size, np.nan), where=errors > 1e-12)
        )
    t = np.concatenate(parts)
    known = t[np.isfinite(t)]
    if len(known) < (1 - MOST_UNDEFINED) * total:
        return DifferenceInterval(reason="too few studies differ for an interval")
    lowest, highest = np.quantile(known, (0.025, 0.975)).tolist()
    return DifferenceInterval(
        observed[0] - highest * error[0], observed[0] - lowest * error[0]
    )


def _difference(
    rows: Values, weights: Values, statistic: Statistic
) -> tuple[Values, Values] | None:
    """Return the difference of two figures and its standard error, for each row of weights.

    None for a statistic that is no function of sums.
    """
    n = weights.sum(axis=1)
    totals = weights @ rows
    figures, influences = [], []
    for top, under in ((0, 1), (2, 3)):
        below = np.where(totals[:, under] > 0, totals[:, under], np.nan)
        ratio = totals[:, top] / below
        apart = (rows[:, top] - ratio[:, None] * rows[:, under]) / below[:, None]
        linear = statistic.linearised(ratio, apart)
        if linear is None:
            return None
        figures.append(linear[0])
        influences.append(linear[1])
    squares = (influences[0] - influences[1]) ** 2
    variance = n / (n - 1) * (weights * squares).sum(axis=1)
    return figures[0] - figures[1], np.sqrt(variance)
