"""The pilot of a plan: a run, or two runs of the same studies, with what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRun, compare_runs
from judge.comparing.gate import tested_metrics, unread_studies
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    USUAL_DRAWS,
    Bools,
    Codes,
    Draws,
    n_different,
    units_of,
    wilson_ends,
)
from judge.stats.metric import Metric
from judge.stats.sample_size import LEAST_PILOT, MOST, Need, least_units
from judge.stats.scores import ScoreMatrix
from judge.text import counted
from judge.types import JudgeError
from judge.validating.validation import cost_of_run


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """The studies of one run, or of two on the same studies, the planned one first.

    `is_unread` says which studies were not scored, studies by runs. `dollars` is the price of a
    study in all runs of the pilot, None where one has no recorded price.
    """

    panel: ScoreMatrix
    is_unread: Bools
    metrics: tuple[Metric, ...]
    draws: Draws = USUAL_DRAWS
    dollars: float | None = None
    runs: tuple[ComparedRun, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_studies(self) -> int:
        """The number of studies, scored or not."""
        return len(self.panel.study_ids)

    @property
    def is_scored(self) -> Bools:
        """Which studies all runs have scored."""
        return np.asarray(~self.is_unread.any(axis=1))

    @property
    def patient_field(self) -> str | None:
        """The field of the patient, None where no patient has several studies."""
        if self.clusters is None:
            return None
        return self.panel.patient_field

    @property
    def clusters(self) -> Codes | None:
        """The patient of each study, None where no patient has several studies."""
        if self.panel.is_clustered:
            return self.panel.clusters
        return None

    @property
    def unit_words(self) -> tuple[str, str]:
        """What is independent, in words, one and several."""
        if self.clusters is None:
            return "study", "studies"
        return "patient", "patients"

    def n_units(self, rows: Bools) -> int:
        """Return how many patients these studies have, or how many studies they are."""
        if self.clusters is None:
            return int(rows.sum())
        return n_different(units_of(self.clusters[rows], int(rows.sum())))


@dataclass(frozen=True, slots=True)
class Amounts:
    """Studies to judge, scored or not, the patients whose they are, and the price in dollars.

    `patients` is None where studies are independent, `dollars` where no price is known.
    """

    studies: Need
    patients: Need | None
    dollars: float | None


def amounts(pilot: Pilot, units: Need, n_units: int) -> Amounts:
    """Return what so many units take, of which the pilot's studies had `n_units`."""
    studies = units.times(pilot.n_studies / n_units)
    patients = None
    if pilot.clusters is not None:
        patients = units.times(n_different(pilot.clusters) / n_units)
    dollars = None
    if pilot.dollars is not None and studies.n is not None:
        dollars = studies.n * pilot.dollars
    return Amounts(studies, patients, dollars)


def open_pilot(
    choices: Sequence[RunChoice],
    *,
    metrics: Sequence[str],
    common: bool,
    allow: Sequence[str],
    patient_field: str | None,
    draws: Draws,
    width: float | None,
) -> Pilot:
    """Open the runs of a pilot; a second one is of the same studies.

    `metrics` name what is planned; by default it is what a gate checks. Raises `JudgeError` as
    `compare_runs` does, for an unknown metric, and for a pilot of fewer than 30 scored patients or
    studies; `width` then says what is enough for any rate.
    """
    models = ("run", "other")
    chosen = []
    for choice, model in zip(choices, models, strict=False):
        chosen.append(replace(choice, model=model))
    compared, _ = compare_runs(
        chosen,
        None,
        draws=draws,
        common=common,
        allow=allow,
        patient_field=patient_field,
    )
    names = dict.fromkeys(run.rubric for run in compared.runs)
    if len(names) > 1:
        raise JudgeError(
            f"the runs are of {' and '.join(names)}: give two runs of one rubric"
        )
    chosen_metrics, _ = tested_metrics(compared.panel, metrics, {})
    pilot = Pilot(
        panel=compared.panel,
        is_unread=unread_studies(compared),
        metrics=tuple(chosen_metrics),
        draws=draws,
        dollars=_dollars(compared.runs),
        runs=compared.runs,
        notes=compared.notes,
    )
    _check_size(pilot, choices[0].shown, width)
    return pilot


def _check_size(pilot: Pilot, shown: str, width: float | None) -> None:
    n_units = pilot.n_units(pilot.is_scored)
    if n_units >= LEAST_PILOT:
        return
    one, several = pilot.unit_words
    there = counted(n_units, f"scored {one}", f"scored {several}")
    text = (
        f"{shown} has {there}, and a pilot needs {LEAST_PILOT} to tell how much the studies vary: "
        "judge more first"
    )
    if width is not None:
        enough = n_for_any_rate(width)
        if enough is not None:
            text += (
                f"; whatever a rate is, {enough:,} independent studies give it an interval of "
                f"{width:g}"
            )
    raise JudgeError(text)


def n_for_any_rate(width: float) -> int | None:
    """Return how many independent studies give any rate an interval of at most the width.

    That is Wilson's interval of a rate of 50%, the widest. None beyond `MOST`.
    """

    def widest(n: int) -> float:
        low, high = wilson_ends(0.5, n)
        return high - low

    return least_units(widest, width, LEAST_PILOT, MOST)


def _dollars(runs: Sequence[ComparedRun]) -> float | None:
    """Return the price of a study in all runs, None where one of them has no known price."""
    total = 0.0
    for run in runs:
        price = Estimate.read(cost_of_run(run.run)["dollars_per_1000"])
        if price.value is None:
            return None
        total += price.value / 1000
    return total


def known_rows(panel: ScoreMatrix, metric: Metric, model: int = 0) -> Bools:
    """Return which studies have a value of the metric for a model."""
    return np.asarray(~np.isnan(panel.values[metric.name][:, model]))
