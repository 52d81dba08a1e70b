"""How many readers an interval of their agreement with a judge takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.stats.agreement import correlation_measure, detection_measure
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    FEWER_RESAMPLES,
    Z_95,
    Draws,
    Values,
    draw_resamples,
    generator,
    student,
)
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
    least_units,
    width,
)
from judge.text import counted
from judge.validating.raters import RatedStudies, align_raters, open_raters

READERS = (3, 5, 10, 20)
"""Numbers of readers that a plan compares, beside those of the pilot."""


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
