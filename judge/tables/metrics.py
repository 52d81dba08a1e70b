"""The figures of `judge metrics`: a row a metric, the sections side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.stats.metric import Metric
from judge.stats.scores import Cell as Score
from judge.tables.document import Cell, Column, Table
from judge.tables.leaderboard import figure, group_name


@dataclass(frozen=True, slots=True)
class Figures:
    """A group of studies, by its fields' values (none: all studies), and its figures."""

    key: Mapping[str, object]
    cells: tuple[tuple[Metric, Score], ...]


def metric_table(title: str, sections: Mapping[str, Sequence[Figures]], by: Sequence[str]) -> Table:
    """Return one table: for each group and metric how many studies and the figure, by section."""
    several = len(sections) > 1
    columns = [Column("group", "studies of")] if by else []
    columns.append(Column("metric", "metric"))
    for section in sections:
        n, value = (f"{section}: studies", section) if several else ("studies", "figure")
        columns += [Column(n, n, "count"), Column(value, value, "number")]
    groups: dict[str, dict[str, Figures]] = {}
    for section, parts in sections.items():
        for part in parts:
            groups.setdefault(group_name(part.key), {})[section] = part
    rows = []
    for name, by_section in groups.items():
        metrics = dict.fromkeys(m for part in by_section.values() for m, _ in part.cells)
        for metric in metrics:
            row: list[Cell] = [*([name] if by else []), metric.label]
            for section in sections:
                cell = (
                    dict(by_section[section].cells).get(metric) if section in by_section else None
                )
                row += [cell.n, figure(cell, metric)] if cell else [0, None]
            rows.append(tuple(row))
    return Table("metrics", title, tuple(columns), tuple(rows))
