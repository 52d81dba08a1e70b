"""The figures of `judge metrics`: a row a metric, the sections side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.stats.metric import Metric
from judge.stats.scores import Cell as Score
from judge.tables.document import Cell, Column, Table
from judge.tables.leaderboard import figure, group_name

Figures = tuple[Mapping[str, object], Sequence[tuple[Metric, Score]]]
"""A group of studies, by its fields' values (none: all studies), and its figures."""


def metric_table(title: str, sections: Mapping[str, Sequence[Figures]], by: Sequence[str]) -> Table:
    """Return one table: for each group and metric how many studies and the figure, by section."""
    columns = [*([Column("group", "studies of")] if by else []), Column("metric", "metric")]
    groups: dict[str, dict[str, dict[Metric, Score]]] = {}
    for section, parts in sections.items():
        names = (f"{section}: studies", section) if len(sections) > 1 else ("studies", "figure")
        columns += [Column(names[0], names[0], "count"), Column(names[1], names[1], "number")]
        for key, cells in parts:
            groups.setdefault(group_name(key), {})[section] = dict(cells)
    rows = []
    for name, by_section in groups.items():
        for metric in dict.fromkeys(metric for cells in by_section.values() for metric in cells):
            row: list[Cell] = [*([name] if by else []), metric.label]
            for section in sections:
                cell = by_section.get(section, {}).get(metric)
                row += [cell.n, figure(cell, metric)] if cell else [0, None]
            rows.append(tuple(row))
    return Table("metrics", title, columns, rows)
