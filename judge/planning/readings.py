"""What radiologists have to read: for a corrected figure, and for agreement with a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.planning.pilot import Pilot
from judge.running.folder import RunFolder
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Draws,
    Values,
    generator,
    n_different,
)
from judge.stats.metric import Metric
from judge.stats.prediction_powered import corrected
from judge.stats.sample_size import (
    LARGEST_SAMPLE,
    LEAST_PILOT,
    UNKNOWN,
    Need,
    Sample,
    units_for_width,
    width,
)
from judge.stats.statistic import OfMean
from judge.text import counted
from judge.validating.bias_correction import ReadFigure, ReadStudies, read_studies

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
