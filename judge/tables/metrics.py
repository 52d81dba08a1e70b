"""The figures of `judge metrics`: a row a metric."""

from __future__ import annotations

from collections.abc import Sequence

from judge.metrics.scored import ScoredReports
from judge.tables.document import Cell, Document, Table, columns
from judge.tables.leaderboard import figure, group_name
from judge.tables.run import class_facts
from judge.text import left_out


def metrics_document(scored: ScoredReports, by: Sequence[str]) -> Document:
    """Return a table of all studies, and one for each grouping with a row a group and metric."""
    studies = scored.studies
    facts = [("section", studies.section), ("studies", f"{len(studies):,}")]
    if studies.omitted:
        facts.append(("left out", left_out(studies.omitted)))
    facts += class_facts(sum(studies.class_inferred), len(studies))
    head = columns("metric", "studies||count", "figure||number")
    tables = []
    for grouping in by or ("",):
        fields = grouping.split(",") if grouping else []
        rows: list[tuple[Cell, ...]] = [
            (
                *([group_name(key)] if fields else []),
                *(metric.label, cell.n, figure(cell, metric)),
            )
            for key, cells in scored.figures(fields)
            for metric, cell in cells
        ]
        left = columns("group|studies of") if fields else []
        title = f"Metrics of {scored.model}"
        tables.append(Table("metrics", title, [*left, *head], rows))
    return Document(facts=facts, tables=tables)
