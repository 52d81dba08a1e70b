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
_NO_ERROR = 1e-12
"""A standard error of so little is rounding: nothing differs."""


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
    first, second = values[both].T
    first_per, second_per = per[both].T
    n = int(both.sum())
    clusters = None
    word = "studies"
    if panel.is_clustered and panel.clusters is not None:
        clusters = panel.clusters[both]
        word = "patients"
    units = units_of(clusters, n)
    n_units = 0
    if n:
        n_units = int(units.max()) + 1
    if n_units < LEAST_UNITS:
        few = f"it needs {LEAST_UNITS} {word} scored in both runs, there are {n_units}"
        return DifferenceInterval(reason=few)
    if metric.is_share and n_units == n:
        first_yes, second_yes = first == 1, second == 1
        b = int((first_yes & ~second_yes).sum())
        c = int((second_yes & ~first_yes).sum())
        low, high = tango(n, b, c)
        return DifferenceInterval(low, high)
    columns = np.column_stack([first, first_per, second, second_per])
    sums = unit_sums(columns, units)
    return studentised(sums, metric.statistic, draws)


def tango(n: float, b: float, c: float, z: float = Z_95) -> tuple[float, float]:
    """Return the 95% score interval of a difference (b - c) / n of paired proportions [Tango 1998].

    `b` and `c` count the pairs, of `n`, in which the first alone, and the second alone, says yes.
    Of weighted pairs they are those that these are worth, which may be no whole numbers.
    Its ends are the differences that a score test does not reject at z: their standard error is
    that of the likeliest shares with this difference.
    """

    def statistic(difference: float) -> float:
        # The likeliest share of `c` solves 2n q² + linear q - c difference (1 - difference) = 0.
        linear = difference * (2 * n - b + c) - b - c
        discriminant = linear**2 + 8 * n * c * difference * (1 - difference)
        root = math.sqrt(discriminant)
        only_second = (root - linear) / (4 * n)
        variance = n * (2 * only_second + difference * (1 - difference))
        excess = b - c - n * difference
        if variance > 0:
            return excess / math.sqrt(variance)
        if b - c > n * difference:
            return math.inf
        return -math.inf

    observed = (b - c) / n
    # Where every pair differs one way the interval reaches the end of what is possible.
    low, high = -1.0, 1.0
    if b - c > -n:
        low = _crossing(statistic, z, -1.0, observed)
    if b - c < n:
        high = _crossing(statistic, -z, observed, 1.0)
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
    (observed,), (error,) = as_it_is
    if not math.isfinite(observed):
        return DifferenceInterval(reason="a figure has no value")
    if not error > _NO_ERROR:
        return DifferenceInterval(reason="no study differs, which is no interval")
    rng = np.random.default_rng([draws.seed, n])
    chances = counts / n
    total = draws.count(n)
    at_once = max(1, _CHUNK // len(different))
    t_values = []
    for start in range(0, total, at_once):
        size = min(at_once, total - start)
        weights = rng.multinomial(n, chances, size=size).astype(float)
        drawn = _difference(different, weights, statistic)
        assert drawn is not None
        differences, errors = drawn
        undefined = np.full(size, np.nan)
        has_error = errors > _NO_ERROR
        t = np.divide(differences - observed, errors, out=undefined, where=has_error)
        t_values.append(t)
    every_t = np.concatenate(t_values)
    known = every_t[np.isfinite(every_t)]
    if len(known) < (1 - MOST_UNDEFINED) * total:
        return DifferenceInterval(reason="too few studies differ for an interval")
    least_t, greatest_t = np.quantile(known, (0.025, 0.975)).tolist()
    # The upper point of t gives the lower end: what was drawn too high lies below.
    low = observed - greatest_t * error
    high = observed - least_t * error
    return DifferenceInterval(low, high)


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
        numerators, denominators = rows[:, top], rows[:, under]
        numerator, denominator = totals[:, top], totals[:, under]
        denominator = np.where(denominator > 0, denominator, np.nan)
        ratio = numerator / denominator
        residuals = numerators - ratio[:, None] * denominators
        influence = residuals / denominator[:, None]
        linear = statistic.linearised(ratio, influence)
        if linear is None:
            return None
        figure, influence_on_figure = linear
        figures.append(figure)
        influences.append(influence_on_figure)
    squares = (influences[0] - influences[1]) ** 2
    variance = n / (n - 1) * (weights * squares).sum(axis=1)
    difference = figures[0] - figures[1]
    return difference, np.sqrt(variance)
