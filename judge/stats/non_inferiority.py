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
    pairs = paired_studies(panel, metric)
    if pairs.n_units < LEAST_UNITS:
        few = (
            f"it needs {LEAST_UNITS} {pairs.unit_words} scored in both runs, there are "
            f"{pairs.n_units}"
        )
        return DifferenceInterval(reason=few)
    if pairs.is_by_study:
        b, c = pairs.discordant
        low, high = tango(pairs.n, b, c)
        return DifferenceInterval(low, high)
    return studentised(pairs.sums, metric.statistic, draws)


@dataclass(frozen=True, kw_only=True)
class PairedStudies:
    """The studies with a value for both of two models, for a paired difference.

    `values` are those of the two, studies by two. `sums` has a row for each patient or study:
    numerator and denominator of the first figure, then of the second.
    """

    values: Values
    sums: Values
    is_share: bool
    has_patients: bool

    @property
    def n(self) -> int:
        """The number of studies."""
        return len(self.values)

    @property
    def n_units(self) -> int:
        """The number of patients, or of studies where they are independent."""
        return len(self.sums)

    @property
    def unit_words(self) -> str:
        """What is independent, in words."""
        if self.has_patients:
            return "patients"
        return "studies"

    @property
    def is_by_study(self) -> bool:
        """Whether the figures are rates of independent studies, compared by their pairs."""
        return self.is_share and self.n_units == self.n

    @property
    def discordant(self) -> tuple[int, int]:
        """How many studies the first model alone, and the second alone, counts."""
        first_yes, second_yes = self.values.T == 1
        b = int((first_yes & ~second_yes).sum())
        c = int((second_yes & ~first_yes).sum())
        return b, c


def paired_studies(panel: ScoreMatrix, metric: Metric) -> PairedStudies:
    """Return the studies of the first two models of a panel that have a value for both."""
    values = panel.values[metric.name][:, :2]
    per = panel.per.get(metric.name, np.ones_like(values))[:, :2]
    both = ~np.isnan(values).any(axis=1)
    first, second = values[both].T
    first_per, second_per = per[both].T
    clusters = None
    if panel.is_clustered and panel.clusters is not None:
        clusters = panel.clusters[both]
    units = units_of(clusters, int(both.sum()))
    columns = np.column_stack([first, first_per, second, second_per])
    return PairedStudies(
        values=values[both],
        sums=unit_sums(columns, units),
        is_share=metric.is_share,
        has_patients=clusters is not None,
    )


def tango(n: float, b: float, c: float, z: float = Z_95) -> tuple[float, float]:
    """Return the 95% score interval of a difference (b - c) / n of paired proportions [Tango 1998].

    `b` and `c` count the pairs, of `n`, in which the first alone, and the second alone, says yes.
    Of weighted pairs they are those that these are worth, which may be no whole numbers.
    Its ends are the differences that a score test does not reject at z: their standard error is
    that of the likeliest shares with this difference.
    """

    def statistic(difference: float) -> float:
        return tango_statistic(difference, n, b, c)

    observed = (b - c) / n
    # Where every pair differs one way the interval reaches the end of what is possible.
    low, high = -1.0, 1.0
    if b - c > -n:
        low = _crossing(statistic, z, -1.0, observed)
    if b - c < n:
        high = _crossing(statistic, -z, observed, 1.0)
    return low, high


def tango_statistic(difference: float, n: float, b: float, c: float) -> float:
    """Return the score statistic of a difference of paired proportions [Tango 1998].

    It is the excess of the observed difference (b - c) / n over `difference`, in standard errors
    under the likeliest shares that have this difference.
    """
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
    as_it_is = difference_and_error(different, counts[None].astype(float), statistic)
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
        drawn = difference_and_error(different, weights, statistic)
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


def difference_and_error(
    rows: Values, weights: Values, statistic: Statistic
) -> tuple[Values, Values] | None:
    """Return the difference of two figures and its standard error, for each row of weights.

    `rows` are as in `studentised`, `weights` resamples by rows. The error is by linearisation.
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
