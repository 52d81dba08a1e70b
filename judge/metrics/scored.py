"""Metrics of the reports of one model, study by study, and their figures by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from judge.metrics import Scores, compute
from judge.metrics.pooled import pooled_cell
from judge.stats.metric import Metric
from judge.stats.scores import Cell, ScoreMatrix, group_cells, groups_of
from judge.studies import StudySet

_Group = tuple[dict[str, object], tuple[tuple[Metric, Cell], ...]]
"""The values of the fields that a group has, and its figures."""


@dataclass(frozen=True, slots=True)
class ScoredReports:
    """The studies of one model, and their metrics so far."""

    studies: StudySet
    model: str
    scores: list[Scores] = field(default_factory=list)

    @property
    def fields(self) -> dict[str, tuple[object, ...]]:
        """The fields that figures can be grouped by."""
        has_classes = any(name is not None for name in self.studies.study_classes)
        classes = {"study_class": self.studies.study_classes} if has_classes else {}
        return {**classes, **self.studies.fields}

    def compute(self, name: str) -> None:
        """Add a metric; raises `MissingMetricError` where it cannot be computed."""
        self.scores.append(compute(name, self.studies.references, self.studies.candidates))

    def table(self) -> pd.DataFrame:
        """Return the metrics, one row a study."""
        table = pd.DataFrame({"study_id": self.studies.study_ids, "model": self.model})
        return table.assign(**{k: v for scores in self.scores for k, v in scores.columns.items()})

    def figures(self, by: Sequence[str]) -> list[_Group]:
        """Return the figures of all studies, and of each combination of values of the fields."""
        table = self.table()
        metrics = tuple(metric for scores in self.scores for metric in scores.metrics)
        pooled = [figure for scores in self.scores for figure in scores.figures]
        arrays = {name: table[name].to_numpy(float) for name in [*table][2:]}
        values = {metric.name: arrays[metric.name][:, None] for metric in metrics}
        matrix = ScoreMatrix((self.model,), self.studies.study_ids, metrics, values, self.fields)
        row_of = {study_id: row for row, study_id in enumerate(self.studies.study_ids)}
        figures = []
        for key, part in [({}, matrix), *(groups_of(matrix, by) if by else [])]:
            cells = group_cells(part).cells
            rows = [row_of[study_id] for study_id in part.study_ids]
            single = [(metric, cells[metric.name][0]) for metric in metrics]
            sums = [(figure.metric, pooled_cell(figure, arrays, rows)) for figure in pooled]
            figures.append((key, (*single, *sums)))
        return figures
