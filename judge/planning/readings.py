"""What radiologists have to read: for a corrected figure, and for agreement with a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.planning.pilot import Pilot
from judge.running.folder import RunFolder
from judge.stats.agreement import correlation_measure, detection_measure
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    FEWER_RESAMPLES,
    Z_95,
    Draws,
    Values,
    draw_resamples,
    generator,
    n_different,
    student,
)
from judge.stats.metric import Metric
from judge.stats.prediction_powered import corrected
from judge.stats.rater_figures import (
    LEAST_READERS,
    Measure,
    RaterFigures,
    rater_figures,
)
from judge.stats.sample_size import (
    CAUTION,
    LARGEST_SAMPLE,
    LEAST_PILOT,
    UNKNOWN,
    Need,
    Sample,
    least_units,
    units_for_width,
    width,
)
from judge.stats.statistic import OfMean
from judge.text import counted
from judge.validating.bias_correction import ReadFigure, ReadStudies, read_studies
from judge.validating.raters import RatedStudies, align_raters, open_raters

READERS = (3, 5, 10, 20)
"""Numbers of readers that a plan compares, beside those of the pilot."""

_JUDGED_TO_RANK = 2_000
"""Judged studies with which the resamples of a pilot are ordered by their widths."""


@dataclass(frozen=True, kw_only=True)
class ReadingsRow:
    """What a corrected figure of a width takes, with `n_judged` studies that the judge scored.

    `pilot` is the corrected figure of the pilot, of `n_read` readings. `correlation` is that of
    judge and readers over the studies that were read, None where one never varies. `readings` are
    studies that are read, drawn at random; `alone` those that readings without a judge would take.
    `least_width` is the width if all judged studies are read.
    """

    metric: Metric
    pilot: Estimate
    n_read: int
    correlation: float | None
    n_judged: int
    readings: Need = UNKNOWN
    alone: Need = UNKNOWN
    least_width: float | None = None
    reason: str = ""


def readings_rows(
    pilot: Pilot, read: ReadStudies, wanted: float, n_judged: int | None
) -> list[ReadingsRow]:
    """Return for each metric how many readings a corrected figure of the `wanted` width takes."""
    rows = []
    for metric in pilot.metrics:
        figure = read.figures.get(metric.statistic.name)
        if figure is None:
            name = metric.statistic.name
            reason = read.why_not.get(name, "only means and rates are corrected")
            rows.append(_unknown(metric, n_judged or pilot.n_studies, reason))
            continue
        rows.append(_readings_row(pilot, metric, figure, read, wanted, n_judged))
    return rows


def _unknown(metric: Metric, n_judged: int, reason: str) -> ReadingsRow:
    return ReadingsRow(
        metric=metric,
        pilot=Estimate(n=0),
        n_read=0,
        correlation=None,
        n_judged=n_judged,
        reason=reason,
    )


@dataclass(frozen=True)
class Correction:
    """A corrected figure of `n_judged` studies like `all_judged`, of which a sample is read.

    The columns of the sample are the readers' and the judge's value. More than 50,000 unread
    studies are taken for 50,000, which makes the interval a little wider.
    """

    statistic: OfMean
    all_judged: Sample
    n_judged: int

    def estimate(self, read: Sample, _draws: Draws) -> Estimate:
        """Return the corrected figure with its interval."""
        n_unread = min(max(0, self.n_judged - read.n), LARGEST_SAMPLE)
        by_readers, by_judge = read.values.T
        patients = read.clusters
        judge = by_judge
        if n_unread:
            per_unit = self.all_judged.n / self.all_judged.n_units
            unread = self.all_judged.like_it(max(1, round(n_unread / per_unit)))
            judge = np.concatenate([by_judge, unread.values[:, 0]])
            if patients is not None:
                patients = np.concatenate([patients, read.n_units + unread.units])
        readers = np.full(len(judge), np.nan)
        readers[: read.n] = by_readers
        found = corrected(judge, readers, self.statistic, patients=patients)
        return Estimate(
            value=found.value, low=found.low, high=found.high, reason=found.why_not
        )

    def alone(self, read: Sample, _draws: Draws) -> Estimate:
        """Return the figure of the readings alone."""
        found = corrected(
            read.values[:, 1], read.values[:, 0], self.statistic, patients=read.clusters
        )
        return found.labels or Estimate(reason=found.why_not)


def _readings_row(
    pilot: Pilot,
    metric: Metric,
    figure: ReadFigure,
    read: ReadStudies,
    wanted: float,
    n_judged: int | None,
) -> ReadingsRow:
    is_judged = ~np.isnan(figure.judge)
    is_read = is_judged & ~np.isnan(figure.readers)
    clusters = clusters_read = None
    if pilot.clusters is not None and read.patients is not None:
        clusters = read.patients[is_judged]
        clusters_read = read.patients[is_read]
    n_read = int(is_read.sum())
    n = n_judged or int(is_judged.sum())
    row = replace(_unknown(metric, n, ""), n_read=n_read)
    columns = np.column_stack([figure.readers[is_read], figure.judge[is_read]])
    n_units = n_read
    if clusters_read is not None:
        n_units = n_different(clusters_read)
    if n_units < LEAST_PILOT:
        one, several = pilot.unit_words
        there = counted(n_units, one, several)
        why = f"unknown: {there} were read, and {LEAST_PILOT} are needed"
        return replace(row, reason=why)
    # Strata that were read more often count less.
    n_all = np.bincount(read.strata[is_judged])
    n_of_read = np.bincount(read.strata[is_read], minlength=len(n_all))
    weights = (n_all / np.maximum(n_of_read, 1))[read.strata[is_read]]
    sample = Sample.of(columns, clusters_read, weights)
    correction = Correction(
        figure.statistic, Sample.of(figure.judge[is_judged][:, None], clusters), n
    )
    estimate = corrected(
        figure.judge,
        figure.readers,
        figure.statistic,
        strata=read.strata,
        patients=read.patients,
    )
    row = replace(
        row,
        pilot=Estimate(
            n=n_read, value=estimate.value, low=estimate.low, high=estimate.high
        ),
        correlation=_correlation(columns, weights),
    )
    per_unit = sample.n / sample.n_units
    most = max(2, int(n / per_unit))
    rng = generator(pilot.draws.seed, "plan", {"readings": metric.name})
    few_judged = replace(correction, n_judged=min(n, _JUDGED_TO_RANK))
    units = units_for_width(
        sample,
        correction.estimate,
        wanted,
        pilot.draws,
        rng,
        most=min(most, LARGEST_SAMPLE),
        ranked_by=few_judged.estimate,
    )
    alone = units_for_width(sample, correction.alone, wanted, pilot.draws, rng)
    all_read = correction.alone(sample.like_it(most), pilot.draws)
    row = replace(
        row,
        readings=units.times(per_unit),
        alone=alone.times(per_unit),
        least_width=width(all_read),
    )
    if units.n is None:
        why = (
            f"{n:,} judged studies are too few: with all of them read the interval would be "
            f"{width(all_read):.3f} wide"
        )
        return replace(row, reason=why)
    return row


def _correlation(columns: Values, weights: Values) -> float | None:
    """Return the weighted correlation of readers and judge, None where one never varies."""
    if (np.ptp(columns, axis=0) == 0).any():
        return None
    covariance = np.cov(columns.T, aweights=weights)
    return float(covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1]))


@dataclass(frozen=True, kw_only=True)
class ReadersRow:
    """What an interval of the agreement of a judge with readers takes.

    `pilot` is the agreement with the pilot's own interval, for the readers as they are. `readers`
    is a number of readers, None where the interval is for the pilot's readers alone; `studies` are
    those that each of them reads, `readings` all together. `share_of_readers` is the part of the
    pilot's variance that the choice of the readers has, None where it is unknown.
    """

    figure: str
    pilot: Estimate
    share_of_readers: float | None = None
    readers: int | None = None
    studies: Need = UNKNOWN
    readings: Need = UNKNOWN
    reason: str = ""


def readers_rows(
    run: RunChoice,
    readers: Sequence[RunChoice],
    wanted: float,
    *,
    patient_field: str | None,
    draws: Draws,
) -> list[ReadersRow]:
    """Return what an interval of the agreement takes, by number of readers.

    The figures are those of `judge validate`: Kendall's tau-b of a count of errors, and the share
    of studies on which judge and readers say the same of whether there is such an error.
    """
    judges = open_raters([run], readers=False)
    humans = open_raters(readers, readers=True)
    studies = align_raters(judges, humans, (), patient_field)
    rows = []
    for name, measure, values in _measures(studies, draws):
        found = rater_figures(
            measure, values, 1, random_readers=len(humans) >= LEAST_READERS
        )
        own = [row for row in found if row.rater == 0]
        # As a reader's figure is made, where there are two readers or more.
        label, figure = name
        rows += _rows_of(own[-1], figure, label, len(humans), wanted)
    return rows


def _measures(
    studies: RatedStudies, draws: Draws
) -> list[tuple[tuple[str, str], Measure, Values]]:
    """Return the figures of agreement: label and name, what measures it, and the values."""
    n = len(studies.study_ids)
    rng = generator(draws.seed, "validation", {})
    resamples = draw_resamples(
        studies.clusters, n, rng, draws.resamples or FEWER_RESAMPLES
    )
    found: list[tuple[tuple[str, str], Measure, Values]] = []
    for quantity in studies.quantities:
        values = studies.values[quantity.name]
        if quantity.category or np.isnan(values[:, 1:]).all():
            continue
        if quantity.is_level:
            label = f"Kendall's tau-b of {quantity.label}"
            found.append(((label, "kendall"), correlation_measure(resamples), values))
            clean = np.where(np.isnan(values), np.nan, values == 0)
            label = f"agreement on no {quantity.label.removesuffix('s')}"
            found.append(((label, "agreement"), detection_measure(resamples), clean))
    return found


def _rows_of(
    row: RaterFigures, figure: str, label: str, n_readers: int, wanted: float
) -> list[ReadersRow]:
    fixed = replace(row, without=None).estimate(figure)
    found = ReadersRow(figure=label, pilot=fixed)
    n_units = len(np.unique(row.figures.units[row.figures.known]))
    if n_units < LEAST_PILOT:
        there = counted(n_units, "study or patient", "studies or patients")
        why = f"unknown: {there} were read, and {LEAST_PILOT} are needed"
        return [replace(found, reason=why)]
    if not math.isfinite(width(fixed)):
        why = fixed.reason or "it has no interval"
        return [replace(found, reason=f"unknown: {why}")]
    spread = _Spread.of(row, figure, fixed, n_units, n_readers)
    per_unit = int(row.figures.known.sum()) / n_units
    rows = [replace(found, **spread.amounts(None, wanted, per_unit))]
    if row.without is None:
        has = "one reader" if n_readers == 1 else f"{n_readers} readers"
        why = f"unknown for other readers: the pilot has {has}, and {LEAST_READERS} are needed"
        return [*rows, replace(found, reason=why)]
    rows[0] = replace(rows[0], share_of_readers=spread.share_of_readers)
    for number in sorted({n_readers, *READERS}):
        amounts = spread.amounts(number, wanted, per_unit)
        of_number = replace(rows[0], **amounts)
        if of_number.studies.n is None:
            why = f"{number} readers are too few, however many studies they read"
            of_number = replace(of_number, reason=why)
        rows.append(of_number)
    return rows


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """The variances of an agreement over studies and over readers, in the pilot.

    The cautious factors are the variances' upper 90% limits over the variances, as of samples of
    a normal distribution.
    """

    fixed: float
    over_studies: float
    over_readers: float
    n_units: int
    n_readers: int

    @classmethod
    def of(
        cls,
        row: RaterFigures,
        figure: str,
        fixed: Estimate,
        n_units: int,
        n_readers: int,
    ) -> _Spread:
        over_readers = 0.0
        if row.without is not None:
            without = np.array([one[figure] for one in row.without])
            squares = float(((without - without.mean()) ** 2).sum())
            over_readers = (n_readers - 1) / n_readers * squares
        return cls(
            fixed=width(fixed),
            over_studies=float(np.nanvar(row.figures.draws[figure][1:])),
            over_readers=over_readers,
            n_units=n_units,
            n_readers=n_readers,
        )

    @property
    def share_of_readers(self) -> float:
        """The share of the readers' variance in both."""
        return self.over_readers / (self.over_readers + self.over_studies)

    def amounts(
        self, readers: int | None, wanted: float, per_unit: float
    ) -> dict[str, Any]:
        """Return the studies and readings of a number of readers; None are the pilot's own."""
        need = Need(
            self._units(readers, wanted, cautious=False),
            self._units(readers, wanted, cautious=True),
        )
        studies = need.times(per_unit)
        return {
            "readers": readers,
            "studies": studies,
            "readings": studies.times(readers or self.n_readers),
        }

    def _units(
        self, readers: int | None, wanted: float, *, cautious: bool
    ) -> int | None:
        more_studies = more_readers = 1.0
        if cautious:
            more_studies = _upper(self.n_units - 1)
            more_readers = _upper(self.n_readers - 1)

        def width_of(n_units: int) -> float:
            # As percentiles of a bootstrap of so many units are.
            narrowed = _percentile_factor(n_units) / _percentile_factor(self.n_units)
            scale = self.n_units / n_units
            fixed = self.fixed * math.sqrt(scale * more_studies) * narrowed
            if readers is None:
                return fixed
            studies = self.over_studies * scale * more_studies
            of_readers = self.over_readers * self.n_readers / readers * more_readers
            return fixed * _widened(studies, of_readers, readers)

        # The readers' part does not fall with the studies: no width is extrapolated.
        return least_units(width_of, wanted, self.n_units, LARGEST_SAMPLE)


def _upper(freedom: int) -> float:
    """Return a variance's upper 90% limit over the variance, of so many degrees of freedom."""
    from scipy.special import chdtri

    if freedom < 1:
        return 1.0
    # The point that chi-square exceeds with a chance of 90%.
    return float(freedom / chdtri(freedom, CAUTION))


def _percentile_factor(n_units: int) -> float:
    if n_units < 2:
        return math.inf
    return math.sqrt(n_units / (n_units - 1)) * student(n_units - 1)


def _widened(over_studies: float, over_readers: float, readers: int) -> float:
    """Return what an interval over studies is widened by for the choice of readers [`two_way`]."""
    from scipy.special import stdtrit

    if over_readers <= 0:
        return 1.0
    total = over_studies + over_readers
    freedom = (readers - 1) * (total / over_readers) ** 2
    t = float(stdtrit(freedom, 0.975))
    return math.sqrt(total / over_studies) * t / Z_95


def read_for(
    run: RunChoice,
    readers: Sequence[RunChoice],
    *,
    at_random: bool,
    patient_field: str | None,
) -> ReadStudies:
    """Return the readings of a run; raises as `read_studies` does."""
    return read_studies(
        RunFolder.open(run.path),
        readers,
        at_random=at_random,
        patient_field=patient_field,
    )
