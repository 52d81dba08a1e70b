"""The figures of `judge metrics`: a row a metric, the sections side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.stats.metric import Metric
from judge.stats.scores import Cell
from judge.tables.leaderboard import figure, group_name
from judge.tables.run import Table
from judge.text import NOTHING


@dataclass(frozen=True, slots=True)
class Figures:
    """A group of studies, by its fields' values (none: all studies), and its figures."""

    key: Mapping[str, object]
    cells: tuple[tuple[Metric, Cell], ...]


def metric_table(title: str, sections: Mapping[str, Sequence[Figures]], by: Sequence[str]) -> Table:
    """Return one table: for each group and metric how many studies and the figure, by section.

    A group that a section has no study of has no figure there.
    """
    several = len(sections) > 1
    head = [*(["studies of"] if by else []), "metric"]
    for section in sections:
        head += [f"{section}: studies", section] if several else ["studies", "figure"]
    groups: dict[str, dict[str, Figures]] = {}
    for section, found in sections.items():
        for one in found:
            groups.setdefault(group_name(one.key), {})[section] = one
    rows = []
    for name, of in groups.items():
        for metric in dict.fromkeys(metric for one in of.values() for metric, _ in one.cells):
            row = [*([name] if by else []), metric.label]
            for section in sections:
                cell = dict(of[section].cells).get(metric) if section in of else None
                row += [str(cell.n), figure(cell, metric)] if cell else ["0", NOTHING]
            rows.append(tuple(row))
    return Table(title, tuple(head), tuple(rows), n_left=2 if by else 1)
