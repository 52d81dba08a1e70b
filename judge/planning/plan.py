"""How many studies, candidates, readings and readers a result needs, from a pilot's runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from judge import plugins
from judge.comparing.alignment import RunChoice
from judge.comparing.gate import LEAST_SCORED
from judge.planning.agreements import ReadersRow, readers_rows
from judge.planning.drops import DropRow, PairedRow, difference_rows, drop_rows
from judge.planning.pilot import Pilot, open_pilot
from judge.planning.readings import ReadingsRow, read_for, readings_rows
from judge.planning.widths import (
    CandidatesRow,
    StudiesRow,
    candidates_rows,
    references_of,
    studies_rows,
)
from judge.signature import short_digest, signature_line
from judge.stats.estimate import Estimate
from judge.stats.intervals import USUAL_DRAWS, Draws
from judge.stats.metric import Metric
from judge.stats.sample_size import Need

_UNSURE = 100
"""Scored patients, or studies, below which a pilot's variances are called uncertain."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is planned for; sizes are in the units of the metric.

    `width` is that of a 95% interval, its upper end less its lower one. `margin` is the largest
    drop that a gate allows, `power` the chance to pass it if the true difference, RUN's figure less
    OTHER's, is `difference`. `n_judged` is the number of studies that the judge scores beside the
    readings, by default as many as in the pilot.
    """

    width: float | None = None
    margin: float | None = None
    power: float = 0.8
    difference: float = 0.0
    n_judged: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a goal takes; a table that was not asked for has no rows.

    `scored` is the number of the pilot's studies that all its runs have scored, `n_units` that of
    their patients, or studies. `dollars` is the price of a study. `candidates_reason` says why
    nothing is planned of several candidates.
    """

    goal: Goal
    n_studies: int
    n_scored: int
    n_units: int
    patient_field: str | None
    dollars: float | None
    studies: tuple[StudiesRow, ...] = ()
    candidates: tuple[CandidatesRow, ...] = ()
    candidates_reason: str = ""
    differences: tuple[PairedRow, ...] = ()
    drops: tuple[DropRow, ...] = ()
    readings: tuple[ReadingsRow, ...] = ()
    readers: tuple[ReadersRow, ...] = ()
    notes: tuple[str, ...] = ()
    signature: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the plan as JSON's types."""
        data = _plain(self)
        assert isinstance(data, dict)
        return data


def plan(
    run: RunChoice,
    goal: Goal,
    *,
    against: RunChoice | None = None,
    readers: Sequence[RunChoice] = (),
    metrics: Sequence[str] = (),
    at_random: bool = False,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    draws: Draws = USUAL_DRAWS,
) -> Plan:
    """Plan a result from a pilot: a run, the run of another model on the same studies, readings.

    With a width: the figures of `run`, or with `against` the differences; with `readers` also the
    corrected figures and the agreement. With a margin: the check of `judge gate --non-inferior`.
    `metrics` are by default those that a gate checks.

    Raises `JudgeError` as `open_pilot`, `read_studies` and `drop_rows` do.
    """
    choices = [run]
    if against is not None:
        choices.append(against)
    pilot = open_pilot(
        choices,
        metrics=metrics,
        common=common,
        allow=tuple(allow),
        patient_field=patient_field,
        draws=draws,
        width=goal.width,
    )
    notes = list(pilot.notes)
    tables: dict[str, Any] = {}
    if goal.width is not None and against is not None:
        tables["differences"] = tuple(difference_rows(pilot, goal.width))
    if goal.width is not None and against is None:
        studies = studies_rows(pilot, goal.width)
        candidates, reason = candidates_rows(
            pilot, studies, references_of(pilot), goal.width
        )
        tables["studies"] = tuple(studies)
        tables["candidates"] = tuple(candidates)
        tables["candidates_reason"] = reason
    if goal.margin is not None:
        drops = drop_rows(
            pilot, margin=goal.margin, power=goal.power, difference=goal.difference
        )
        tables["drops"] = tuple(drops)
        notes += _gate_notes(pilot, drops)
    read_parts: tuple[str, ...] = ()
    if goal.width is not None and readers:
        read = read_for(run, readers, at_random=at_random, patient_field=patient_field)
        read_parts = (read.signature,)
        readings = readings_rows(pilot, read, goal.width, goal.n_judged)
        agreement = readers_rows(
            run, readers, goal.width, patient_field=patient_field, draws=draws
        )
        tables["readings"] = tuple(readings)
        tables["readers"] = tuple(agreement)
        notes += read.notes
    is_scored = pilot.is_scored
    n_units = pilot.n_units(is_scored)
    if n_units < _UNSURE:
        notes.append(_unsure(pilot, n_units))
    return Plan(
        goal=goal,
        n_studies=pilot.n_studies,
        n_scored=int(is_scored.sum()),
        n_units=n_units,
        patient_field=pilot.patient_field,
        dollars=pilot.dollars,
        notes=tuple(dict.fromkeys(notes)),
        signature=_signature(pilot, goal, read_parts),
        **tables,
    )


def _unsure(pilot: Pilot, n_units: int) -> str:
    """Say how far a standard deviation of so few values may be off."""
    _, several = pilot.unit_words
    # A variance of n normal values has a standard error of √(2 / (n - 1)) of itself.
    percent = round(100 * 1.96 * math.sqrt(2 / (n_units - 1)))
    return (
        f"a pilot of {n_units} {several} is small: a variance, and so a number of studies, may be "
        f"wrong by {percent}% or more; plan by the cautious numbers"
    )


def _gate_notes(pilot: Pilot, drops: Sequence[DropRow]) -> list[str]:
    notes = []
    share = 1 - pilot.is_unread[:, 0].mean()
    if share < LEAST_SCORED:
        notes.append(
            f"{share:.1%} of the studies of RUN were scored: judge gate also asks for "
            f"{LEAST_SCORED:.0%} (--min scored=SHARE)"
        )
    n_planned = sum(not row.reason for row in drops)
    if n_planned > 1:
        notes.append(
            f"the power is that of each metric by itself: that all {n_planned} pass is less likely"
        )
    return notes


def _signature(pilot: Pilot, goal: Goal, read_parts: Sequence[str]) -> str:
    runs = [run.run.signature for run in pilot.runs]
    parts = [
        "plan:1",
        f"runs:{len(runs)}+{short_digest(runs)}",
        f"studies:{pilot.n_studies}+{short_digest(pilot.panel.study_ids)}",
        f"metrics:{','.join(metric.name for metric in pilot.metrics)}",
    ]
    if read_parts:
        parts.append(f"readings:{short_digest(read_parts)}")
    if goal.width is not None:
        parts.append(f"width:{goal.width:g}")
    if goal.margin is not None:
        parts += [
            f"margin:{goal.margin:g}",
            f"power:{goal.power:g}",
            f"difference:{goal.difference:g}",
        ]
    if goal.n_judged is not None:
        parts.append(f"judged:{goal.n_judged}")
    parts += [
        f"patient:{pilot.panel.patient_field or 'none'}",
        f"resamples:{pilot.draws.resamples or 'usual'}",
        f"seed:{pilot.draws.seed}",
        f"version:{plugins.version()}",
    ]
    return signature_line(parts)


def _plain(value: object) -> Any:  # noqa: ANN401
    """Return a value as JSON's types: a metric by its name, an infinite number as none."""
    if isinstance(value, Metric):
        return value.name
    if isinstance(value, Estimate):
        return value.plain()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Need | Goal | Plan | StudiesRow | CandidatesRow | PairedRow):
        return _fields(value)
    if isinstance(value, ReadingsRow | ReadersRow):
        return _fields(value)
    return value


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
