"""A comparison beside the floors of its judges: what each finds in harmless changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from judge import rubrics
from judge.comparing.comparison import ComparedRun, ComparedRuns
from judge.running.folder import RunFolder
from judge.stats.intervals import Draws
from judge.stats.metric import Metric
from judge.stats.scores import Group
from judge.stats.significance import Comparison
from judge.stress.floor import (
    Floor,
    FloorReport,
    FloorRow,
    JudgeFloor,
    floor_row,
    floor_run,
    open_floors,
    shared_note,
)
from judge.text import listed
from judge.types import JudgeError


@dataclass(frozen=True, kw_only=True)
class ComparisonFloor:
    """The floor of each model's judge, by rubric; `shared` has the studies that it was made of.

    A rubric without a floor is in none of both.
    """

    models: tuple[str, ...]
    floors: Mapping[tuple[str, str], JudgeFloor]
    shared: Mapping[str, frozenset[str]]
    draws: Draws

    def of(
        self, metric: Metric, model: int, studies: Collection[str] | None
    ) -> Floor | None:
        """Return the floor of a model's figure on a group of studies, or on all for None.

        None where the metric's rubric has no floor, or the model no run.
        """
        floor = self._floor(metric, model)
        if floor is None:
            return None
        return floor.of(metric.statistic, self._own(floor, studies), self.draws)

    def row(
        self,
        metric: Metric,
        model: int,
        group: Group,
        studies: Collection[str] | None,
    ) -> FloorRow | None:
        """Return a model's figure in a group beside its floor, None as `of` does."""
        floor = self._floor(metric, model)
        if floor is None:
            return None
        row = floor_row(
            floor,
            metric.statistic,
            group.estimates[metric.name][model],
            studies=self._own(floor, studies),
            draws=self.draws,
        )
        return replace(
            row,
            name=metric.name,
            label=metric.label,
            group=group.key,
            model=self.models[model],
        )

    def _floor(self, metric: Metric, model: int) -> JudgeFloor | None:
        if metric.rubric is None:
            return None
        return self.floors.get((metric.rubric, self.models[model]))

    def _own(
        self, floor: JudgeFloor, studies: Collection[str] | None
    ) -> frozenset[str] | None:
        if studies is None:
            return None
        return self.shared[str(floor.run.path)] & frozenset(studies)

    @property
    def distinct(self) -> tuple[JudgeFloor, ...]:
        """Each floor once."""
        by_path = {str(floor.run.path): floor for floor in self.floors.values()}
        return tuple(by_path.values())


def comparison_floor(
    folders: Sequence[str | Path], compared: ComparedRuns, draws: Draws
) -> ComparisonFloor:
    """Return the floors of the judges of compared runs, among the stress tests in `folders`.

    A rubric of which no folder has a run is left without a floor. Raises `JudgeError` where a
    folder has no stress test, where a run's judge has none and others of its rubric have, and where
    there is none at all.
    """
    of_rubrics: dict[str, list[RunFolder]] = {}
    for opened in open_floors(folders):
        of_rubrics.setdefault(opened.manifest.rubric, []).append(opened)
    floors: dict[tuple[str, str], JudgeFloor] = {}
    made: dict[str, JudgeFloor] = {}
    shared: dict[str, frozenset[str]] = {}
    for run in compared.runs:
        if run.rubric not in of_rubrics:
            continue
        test = floor_run(run.run, of_rubrics[run.rubric])
        path = str(test.path)
        if path not in made:
            made[path] = JudgeFloor(test)
            shared[path] = made[path].shared_studies(run.run)
        floors[run.rubric, run.model] = made[path]
    if not floors:
        judged = listed(list(dict.fromkeys(run.rubric for run in compared.runs)))
        raise JudgeError(
            f"the folders of --floor have stress tests by {listed(list(of_rubrics))} alone, and "
            f"the runs are by {judged}: judge stress run REFS --rubric {compared.runs[0].rubric}"
        )
    return ComparisonFloor(
        models=compared.panel.models, floors=floors, shared=shared, draws=draws
    )


def floor_report(
    comparison: Comparison, compared: ComparedRuns, floor: ComparisonFloor
) -> FloorReport:
    """Return every figure of a comparison beside its floor: by group, metric and rank."""
    rows = []
    for group, part in zip(comparison.groups, comparison.parts, strict=True):
        studies = None
        if group.key:
            studies = part.study_ids
        for metric in comparison.panel.metrics:
            for model in comparison.order:
                row = floor.row(metric, model, group, studies)
                if row is not None:
                    rows.append(row)
    notes = []
    for rubric in dict.fromkeys(run.rubric for run in compared.runs):
        notes.append(_cancels(rubric, compared.runs, floor))
    if comparison.by:
        for one in floor.distinct:
            notes.append(shared_note(one, len(floor.shared[str(one.run.path)])))
    return FloorReport(
        rows=tuple(rows),
        floors=floor.distinct,
        notes=tuple(notes),
    )


def _cancels(rubric: str, runs: Sequence[ComparedRun], floor: ComparisonFloor) -> str:
    """Say what the floor does to a difference of two models."""
    title = rubrics.load(rubric).title
    floors = set()
    for run in runs:
        if run.rubric == rubric and (rubric, run.model) in floor.floors:
            floors.add(str(floor.floors[rubric, run.model].run.path))
    if not floors:
        return f"{title}: there is no floor, since no folder of --floor has a stress test by it"
    if len(floors) == 1:
        return (
            f"{title}: all models have one floor, which cancels in differences of means: they are "
            "printed without a correction, and so are the tests"
        )
    return (
        f"{title}: the judges have different floors, which do not cancel: a difference between "
        "models of two judges holds the difference of their floors"
    )
