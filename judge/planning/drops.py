"""What a paired comparison takes: a claim of no drop, and the interval of a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from judge.comparing.gate import filled_panel
from judge.planning.pilot import Pilot, amounts
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    bootstrap_weights,
    generator,
    student,
    wilson_ends,
)
from judge.stats.metric import Metric
from judge.stats.non_inferiority import (
    LEAST_UNITS,
    PairedStudies,
    difference_and_error,
    difference_interval,
    paired_studies,
)
from judge.stats.power import (
    USUAL_END,
    LowerEnd,
    lower_end,
    normal_power,
    tango_power,
    units_for_power,
)
from judge.stats.sample_size import (
    CAUTION,
    LEAST_OF_EACH,
    LEAST_PILOT,
    MOST,
    UNKNOWN,
    Need,
    least_units,
)
from judge.stats.significance import rate_difference
from judge.text import counted
from judge.types import JudgeError

_RESAMPLES = 1_000
_Z_CAUTION = 1.2815515655446004
"""The 90% point of the standard normal distribution."""


@dataclass(frozen=True, kw_only=True)
class PairedRow:
    """What a paired comparison takes of one metric.

    `pilot` is the difference of the pilot, RUN's figure less OTHER's, on `n` studies that both have
    scored, of `n_units` patients or studies. `variation` is the share of these studies on which the
    two differ, or of other figures than rates the standard deviation of the differences.
    """

    metric: Metric
    pilot: Estimate
    n: int
    n_units: int
    variation: float | None
    studies: Need = UNKNOWN
    patients: Need | None = None
    dollars: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class DropRow(PairedRow):
    """What a claim of "no worse by more than the margin" takes.

    `power_at_half` is the chance that it still passes with the planned studies if RUN is worse by
    half the margin than was assumed.
    """

    power_at_half: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Variation:
    """How much the pairs of a pilot differ, so that more is better.

    Of rates of independent studies `first` and `second` are the numbers of pairs that the first
    run alone, and the second alone, counts; else `error` is the standard error of the difference.
    `cautious` is what the discordance, or the error, is multiplied with at its upper 90% limit.
    """

    pairs: PairedStudies
    value: float
    error: float
    first: int
    second: int
    cautious: float


def drop_rows(
    pilot: Pilot, *, margin: float, power: float, difference: float
) -> list[DropRow]:
    """Return for each metric how many studies a non-inferiority check of `judge gate` takes.

    `difference` is the true difference that is assumed, RUN's figure less OTHER's. A study without
    a score counts at its worst, as in the gate. Raises `JudgeError` for a difference other than 0
    of several metrics, which have different units.
    """
    if difference and len(pilot.metrics) > 1:
        names = ", ".join(metric.name for metric in pilot.metrics)
        raise JudgeError(
            f"--difference is in the units of one metric, and {len(pilot.metrics)} are planned: "
            f"choose one of {names} with --metric"
        )
    rows = []
    for metric in pilot.metrics:
        assumed = difference
        if not metric.higher_is_better:
            assumed = -difference
        rows.append(_drop_row(pilot, metric, margin, power, assumed))
    return rows


def difference_rows(pilot: Pilot, wanted: float) -> list[PairedRow]:
    """Return for each metric how many studies an interval of the difference takes."""
    return [_difference_row(pilot, metric, wanted) for metric in pilot.metrics]


def _variation(pilot: Pilot, metric: Metric) -> tuple[PairedRow, _Variation | None]:
    """Return the row of a metric with its pilot, and how much the pairs differ, None if unknown."""
    pairs = paired_studies(pilot.panel, metric)
    row = PairedRow(
        metric=metric,
        pilot=Estimate(),
        n=pairs.n,
        n_units=pairs.n_units,
        variation=None,
    )
    if pairs.n_units < LEAST_PILOT:
        one, several = pilot.unit_words
        there = counted(pairs.n_units, one, several)
        reason = f"the pilot has both figures for {there}, and {LEAST_PILOT} are needed"
        return replace(row, reason=reason), None
    found = difference_and_error(
        pairs.sums, np.ones((1, pairs.n_units)), metric.statistic
    )
    if found is None or not np.isfinite(found[0]).all():
        reason = "its differences have no standard error to plan by"
        return replace(row, reason=reason), None
    value, error = float(found[0][0]), float(found[1][0])
    ends = difference_interval(pilot.panel, metric, pilot.draws)
    estimate = Estimate(value=value, low=ends.low, high=ends.high)
    row = replace(row, pilot=estimate)
    first = second = 0
    if pairs.is_share:
        first, second = pairs.discordant
        if not metric.higher_is_better:
            first, second = second, first
        row = replace(row, variation=(first + second) / pairs.n)
        if first + second < LEAST_OF_EACH:
            differ = counted(first + second, "study", "studies")
            reason = f"the two differ on {differ}, and {LEAST_OF_EACH} are needed"
            return replace(row, reason=reason), None
    else:
        row = replace(row, variation=error * math.sqrt(pairs.n_units))
    if not error > 0:
        return replace(row, reason="the two do not differ on any study"), None
    return row, _Variation(
        pairs=pairs,
        value=value if metric.higher_is_better else -value,
        error=error,
        first=first,
        second=second,
        cautious=_cautious(pilot, metric, pairs, error, first + second),
    )


def _cautious(
    pilot: Pilot, metric: Metric, pairs: PairedStudies, error: float, differing: int
) -> float:
    """Return what the variation is multiplied with to be at its upper 90% limit."""
    if pairs.is_by_study:
        share = differing / pairs.n
        _, high = wilson_ends(share, pairs.n, _Z_CAUTION)
        return high / share
    rng = generator(pilot.draws.seed, "plan", {"difference": metric.name})
    errors = []
    for weights in bootstrap_weights(rng, pairs.n_units, _RESAMPLES):
        found = difference_and_error(pairs.sums, weights, metric.statistic)
        assert found is not None
        errors.append(found[1])
    # A resample's variance is too small by the share (n - 1) / n.
    inflation = math.sqrt(pairs.n_units / (pairs.n_units - 1))
    upper = float(np.nanquantile(np.concatenate(errors), CAUTION)) * inflation
    return max(1.0, upper / error)


def _drop_row(
    pilot: Pilot, metric: Metric, margin: float, power: float, assumed: float
) -> DropRow:
    row, variation = _variation(pilot, metric)
    drop = DropRow(**vars(row))
    if variation is None:
        return drop
    worst = _at_worst(pilot, metric)
    if worst is None:
        why = "with studies without a score the gate does not decide this figure"
        return replace(drop, reason=why)
    if variation.pairs.is_by_study:
        share = (variation.first + variation.second) / variation.pairs.n
        if abs(assumed) > share:
            why = (
                f"the two differ on {share:.1%} of the studies, which allows no difference of "
                f"{assumed:+g}"
            )
            return replace(drop, reason=why)
    test = _Test(metric, variation, worst, margin, assumed)
    if test.room <= 0:
        return replace(drop, reason=test.why_never(pilot))
    # The gate claims nothing of fewer than 50 that are scored in both runs.
    least = math.ceil(LEAST_UNITS * worst.n_units / variation.pairs.n_units)
    if not variation.pairs.is_by_study:
        about = units_for_power(lambda n: test.power(n, 1.0), power, least)
        rng = generator(pilot.draws.seed, "plan", {"power": metric.name})
        test = replace(test, end=test.end_with(about or MOST, rng))
    units = Need(
        units_for_power(lambda n: test.power(n, 1.0), power, least),
        units_for_power(lambda n: test.power(n, variation.cautious), power, least),
    )
    at_half = None
    if units.n is not None:
        half = replace(test, assumed=assumed - margin / 2)
        at_half = half.power(units.n, 1.0)
    planned = amounts(pilot, units, worst.n_units)
    return replace(
        drop,
        power_at_half=at_half,
        studies=planned.studies,
        patients=planned.patients,
        dollars=planned.dollars,
    )


def _at_worst(pilot: Pilot, metric: Metric) -> PairedStudies | None:
    """Return the pairs with studies without a score at their worst for RUN; None without an end."""
    unread = pilot.is_unread
    if not unread.any():
        return paired_studies(pilot.panel, metric)
    run_at_low = metric.study_higher_is_better
    at_low = {0: run_at_low, 1: not run_at_low}
    filled = filled_panel(pilot.panel, metric, unread, at_low)
    if filled is None:
        return None
    return paired_studies(filled, metric)


@dataclass(frozen=True)
class _Test:
    """The gate's check of a metric: a difference that is better where it is more."""

    metric: Metric
    variation: _Variation
    worst: PairedStudies
    margin: float
    assumed: float
    end: LowerEnd = USUAL_END

    @cached_property
    def _worst_figure(self) -> tuple[float, float]:
        """The difference with the studies without a score at their worst, and its error."""
        found = difference_and_error(
            self.worst.sums, np.ones((1, self.worst.n_units)), self.metric.statistic
        )
        assert found is not None
        value, error = float(found[0][0]), float(found[1][0])
        if not self.metric.higher_is_better:
            value = -value
        return value, error

    @property
    def shift(self) -> float:
        """What the studies without a score add to the difference at their worst."""
        value, _ = self._worst_figure
        return value - self.variation.value * self._share_read

    @property
    def _share_read(self) -> float:
        return self.variation.pairs.n / self.worst.n

    @property
    def room(self) -> float:
        """How far the true difference, at the worst, is above the margin."""
        return self.assumed * self._share_read + self.shift + self.margin

    def why_never(self, pilot: Pilot) -> str:
        """Return why no number of studies is enough."""
        if self.assumed + self.margin <= 0:
            return "the assumed difference is a drop of the margin or more"
        n = int(pilot.is_unread.any(axis=1).sum())
        return (
            f"{n:,} of {pilot.n_studies:,} studies have no score in one of the runs; at their "
            f"worst they lower the difference by {-self.shift:.3f}, so that no number of studies "
            "passes"
        )

    def end_with(self, n_units: int, rng: np.random.Generator) -> LowerEnd:
        """Return where the lower end of the interval of so many units lies."""
        return lower_end(
            self.worst.sums,
            self.metric.statistic,
            n_units,
            rng,
            higher_is_better=self.metric.higher_is_better,
        )

    def power(self, n_units: int, cautious: float) -> float:
        """Return the chance to pass with so many units; `cautious` multiplies the variation."""
        if not self.variation.pairs.is_by_study:
            _, error = self._worst_figure
            return normal_power(
                n_units,
                room=self.room,
                error=error * cautious,
                pilot_units=self.worst.n_units,
                end=self.end,
            )
        n_read = self.variation.pairs.n
        first, second = self.worst.discordant
        if not self.metric.higher_is_better:
            first, second = second, first
        share = min(
            1.0, (self.variation.first + self.variation.second) / n_read * cautious
        )
        # The pairs that differ are split so that the difference is the assumed one.
        assumed = float(np.clip(self.assumed, -share, share))
        only_first = n_read * (share + assumed) / 2 + first - self.variation.first
        only_second = n_read * (share - assumed) / 2 + second - self.variation.second
        n = self.worst.n
        return tango_power(n_units, only_first / n, only_second / n, self.margin)


def _difference_row(pilot: Pilot, metric: Metric, wanted: float) -> PairedRow:
    row, variation = _variation(pilot, metric)
    if variation is None:
        return row
    n_pilot = variation.pairs.n_units

    def units(cautious: float) -> int | None:
        def width_of(n_units: int) -> float:
            if not variation.pairs.is_by_study:
                scale = math.sqrt(n_pilot / n_units) * cautious
                return 2 * student(max(1, n_units - 1)) * variation.error * scale
            b = variation.first / n_pilot * n_units * cautious
            c = variation.second / n_pilot * n_units * cautious
            low, high = rate_difference(n_units, b, c)
            return high - low

        return least_units(width_of, wanted, n_pilot)

    need = Need(units(1.0), units(variation.cautious))
    planned = amounts(pilot, need, n_pilot)
    return replace(
        row,
        studies=planned.studies,
        patients=planned.patients,
        dollars=planned.dollars,
    )
