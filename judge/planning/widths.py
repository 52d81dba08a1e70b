"""What intervals of a width take: of each figure of a run, and with several candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.comparing.alignment import align
from judge.planning.pilot import Pilot, amounts, known_rows, n_for_any_rate
from judge.stats.estimate import Estimate
from judge.stats.intervals import Codes, Values, generator, n_different, units_of
from judge.stats.metric import Metric
from judge.stats.sample_size import (
    LEAST_OF_EACH,
    LEAST_PILOT,
    UNKNOWN,
    Need,
    Sample,
    clustering,
    estimate_by,
    units_for_width,
    width,
)
from judge.text import counted
from judge.validating.raters import reference_numbers

CANDIDATES = (1, 2, 3, 5, 10)
"""Candidates per reference that a plan compares."""


@dataclass(frozen=True, kw_only=True)
class StudiesRow:
    """What an interval of a width takes of one figure.

    `pilot` is the figure with the pilot's own interval, of `n_units` patients or studies.
    `scored` are the studies that must be scored, `studies` those to judge, since some will have no
    score, and `patients` whose they are; None where studies are independent. `dollars` is the price
    of the studies. `reason` says why nothing is planned.
    """

    metric: Metric
    pilot: Estimate
    n_units: int
    design_effect: float
    correlation: float | None
    share_scored: float
    scored: Need = UNKNOWN
    studies: Need = UNKNOWN
    patients: Need | None = None
    dollars: float | None = None
    reason: str = ""


def studies_rows(pilot: Pilot, wanted: float) -> list[StudiesRow]:
    """Return for each metric how many studies an interval of the `wanted` width takes."""
    return [_studies_row(pilot, metric, wanted) for metric in pilot.metrics]


def sample_of(pilot: Pilot, metric: Metric) -> Sample:
    """Return the studies of the first run that have a value of the metric."""
    panel = pilot.panel
    known = known_rows(panel, metric)
    columns = [panel.values[metric.name][known, 0]]
    if metric.name in panel.per:
        columns.append(panel.per[metric.name][known, 0])
    clusters = None
    if pilot.clusters is not None:
        clusters = pilot.clusters[known]
    return Sample.of(np.column_stack(columns), clusters)


def _studies_row(pilot: Pilot, metric: Metric, wanted: float) -> StudiesRow:
    sample = sample_of(pilot, metric)
    estimate_of = estimate_by(metric.statistic)
    estimate = Estimate(n=0)
    design_effect, correlation = 1.0, None
    if sample.n:
        estimate = estimate_of(sample, pilot.draws)
    # What a study adds to a ratio stands in for its value.
    values = _influences(sample)
    if sample.n > 1:
        design_effect, correlation = clustering(values, sample.clusters)
    row = StudiesRow(
        metric=metric,
        pilot=estimate,
        n_units=sample.n_units,
        design_effect=design_effect,
        correlation=correlation,
        share_scored=sample.n / pilot.n_studies,
    )
    reason = _why_not(pilot, metric, sample, wanted)
    if not reason and not math.isfinite(width(estimate)):
        reason = estimate.reason or "the pilot's figure has no interval"
    if reason:
        return replace(row, reason=reason)
    rng = generator(pilot.draws.seed, "plan", {"metric": metric.name})
    units = units_for_width(sample, estimate_of, wanted, pilot.draws, rng)
    planned = amounts(pilot, units, sample.n_units)
    return replace(
        row,
        scored=units.times(sample.n / sample.n_units),
        studies=planned.studies,
        patients=planned.patients,
        dollars=planned.dollars,
    )


def _influences(sample: Sample) -> Values:
    values = sample.values[:, 0]
    if sample.values.shape[1] == 1:
        return values
    per = sample.values[:, 1]
    total = per.sum()
    if not total:
        return values
    influences: Values = values - values.sum() / total * per
    return influences


def _why_not(pilot: Pilot, metric: Metric, sample: Sample, wanted: float) -> str:
    """Return why the pilot cannot tell how much a figure varies, empty where it can."""
    if sample.n_units < LEAST_PILOT:
        one, several = pilot.unit_words
        there = counted(sample.n_units, one, several)
        return f"the pilot has this figure for {there}, and {LEAST_PILOT} are needed"
    if not metric.is_share:
        return ""
    yes = int((sample.values[:, 0] == 1).sum())
    fewer = min(yes, sample.n - yes)
    if fewer >= LEAST_OF_EACH:
        return ""
    text = f"{fewer} of {sample.n:,} studies differ from the others, and {LEAST_OF_EACH} are needed"
    enough = n_for_any_rate(wanted)
    if enough is not None:
        one, several = pilot.unit_words
        text += f"; {counted(enough, one, several)} are enough whatever the rate is"
    return text


@dataclass(frozen=True, kw_only=True)
class CandidatesRow:
    """What an interval of a width takes with `k` candidates for each reference.

    `references` times `k` are the `candidates`. `within` is how many candidates of one reference
    give its own figure that width. `correlation` is that of the candidates of a reference.
    """

    metric: Metric
    k: int
    correlation: float
    references: int
    candidates: int
    within: int


def candidates_rows(
    pilot: Pilot, rows: Sequence[StudiesRow], references: Codes, wanted: float
) -> tuple[list[CandidatesRow], str]:
    """Return what several candidates per reference take, or why the pilot cannot tell.

    `references` numbers the reference of each study, from 0 without gaps. The intervals are those
    of references drawn as patients are: with the correlation r of a
    reference's candidates, k of them are worth k / (1 + (k - 1) r) studies [Kish 1965].
    """
    n_references = n_different(references)
    n_several = int((np.bincount(references) > 1).sum())
    if not n_several:
        return [], "unknown: each reference of the pilot has one candidate"
    found = []
    for row in rows:
        known = known_rows(pilot.panel, row.metric)
        values = sample_of(pilot, row.metric).values
        if row.reason or values.shape[1] > 1 or n_several < LEAST_PILOT:
            continue
        numbers = units_of(references[known], int(known.sum()))
        correlation = within_correlation(values[:, 0], numbers)
        independent = _independent(pilot, row.metric, wanted)
        if independent is None:
            continue
        # Candidates of one reference differ by what is not common to them.
        within = max(2, math.ceil(independent * (1 - correlation)))
        for k in CANDIDATES:
            references_needed = math.ceil(independent * (1 + (k - 1) * correlation) / k)
            found.append(
                CandidatesRow(
                    metric=row.metric,
                    k=k,
                    correlation=correlation,
                    references=references_needed,
                    candidates=k * references_needed,
                    within=within,
                )
            )
    if not found:
        few = (
            f"unknown: {n_several} of {n_references:,} references have several candidates, and "
            f"{LEAST_PILOT} are needed"
        )
        return [], few
    return found, ""


def references_of(pilot: Pilot) -> Codes:
    """Return the number of the reference of each study of the pilot's only run."""
    (run,) = pilot.runs
    aligned = align([(run.shown, run.run)])
    return reference_numbers(aligned, pilot.panel.clusters)


def _independent(pilot: Pilot, metric: Metric, wanted: float) -> int | None:
    """Return how many independent studies an interval of the `wanted` width takes."""
    sample = Sample.of(sample_of(pilot, metric).values, None)
    rng = generator(pilot.draws.seed, "plan", {"candidates": metric.name})
    estimate_of = estimate_by(metric.statistic)
    return units_for_width(sample, estimate_of, wanted, pilot.draws, rng).n


def within_correlation(values: Values, references: Codes) -> float:
    """Return the correlation of the values of one reference, by analysis of variance.

    (MSB - MSW) / (MSB + (k0 - 1) MSW), the mean squares between and within references, with k0 the
    number of candidates per reference corrected for its spread [Donner and Koval 1980]; 0 where it
    is negative.
    """
    n = len(values)
    sizes = np.bincount(references)
    m = len(sizes)
    means = np.bincount(references, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (m - 1)
    within = float(((values - means[references]) ** 2).sum()) / (n - m)
    typical = (n - float((sizes**2).sum()) / n) / (m - 1)
    total = between + (typical - 1) * within
    if total <= 0:
        return 0.0
    return float(np.clip((between - within) / total, 0.0, 1.0))
