"""Figures beside the floor of harmless changes, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from judge.stats.estimate import Estimate
from judge.stats.summary import row_name
from judge.stress.floor import FloorReport, FloorRow
from judge.tables.document import (
    Cell,
    Column,
    Document,
    ShownEstimate,
    Table,
    field_columns,
)
from judge.tables.kinds import Kind, figure_kind
from judge.text import group_value

_FIGURES = (
    Column("figure", kind=Kind.NUMBER),
    Column("floor", kind=Kind.NUMBER),
    Column("changes", kind=Kind.COUNT),
    Column("references", kind=Kind.COUNT),
    Column("unscored", "not scored", kind=Kind.COUNT),
    Column("corrected", kind=Kind.NUMBER),
)
_NOTE = (
    "floor: the same judge's figure on reworded references, of which equal ones count once; "
    "corrected: a mean less its floor, a share divided by it as if false errors came independently "
    "of true ones; missed errors stay missed"
)
_IMPOSSIBLE = (
    "a corrected figure above 100% or below 0 is not possible: chance is at work, or the floor is "
    "of other reports than these"
)
_IMPOSSIBLE_END = (
    "an end of an interval above 100% or below 0 is not possible either, and not cut off: it says "
    "that there are few studies or changes"
)


def with_floor(
    document: Document,
    report: FloorReport,
    *,
    by: Sequence[str],
    what: Literal["statistic", "metric"] = "statistic",
    complete: bool = False,
) -> Document:
    """Return a document with the table of the floor, what the floor is made of, and its signature.

    `by` are the fields that the rows are grouped by. `complete` is for CSV.
    """
    facts = [*document.facts]
    signatures = [*document.signatures]
    for floor in report.floors:
        facts.append(("floor", floor.text))
        signatures.append(("floor", floor.signature))
    return replace(
        document,
        facts=tuple(facts),
        notes=(*document.notes, *report.notes),
        tables=(*document.tables, floor_table(report, by, what, complete=complete)),
        signatures=tuple(signatures),
    )


def floor_table(
    report: FloorReport,
    by: Sequence[str],
    what: Literal["statistic", "metric"],
    *,
    complete: bool = False,
) -> Table:
    """Return a row for each figure, model and group."""
    fields = list(dict.fromkeys(name for row in report.rows for name in row.group))
    has_models = any(row.model is not None for row in report.rows)
    left = [Column(what)]
    if complete:
        left = [Column("row"), *field_columns(fields, _FIGURES), *left]
    if has_models:
        left.append(Column("model"))
    if not complete:
        left += [Column(field) for field in fields]
    rows = []
    for row in report.rows:
        keys: list[Cell] = []
        if complete:
            keys.append(row_name(by, row.group))
        values = _group_cells(row, fields, complete=complete)
        if complete:
            keys += values
            keys.append(row.name)
        else:
            keys.append(row.label)
        if has_models:
            keys.append(row.model or "")
        if not complete:
            keys += values
        rows.append((*keys, *_figures(row)))
    return Table(
        "floor",
        "Beside harmless changes",
        columns=[*left, *_FIGURES],
        rows=rows,
        note=_note(report.rows),
    )


def _group_cells(row: FloorRow, fields: Sequence[str], *, complete: bool) -> list[Cell]:
    cells: list[Cell] = []
    for field in fields:
        text = ""
        if field in row.group:
            text = group_value(row.group[field])
        cells.append(text)
    if cells and not row.group and not complete:
        cells[0] = "all"
    return cells


def _figures(row: FloorRow) -> list[Cell]:
    kind = figure_kind(is_share=row.statistic.is_share)
    note = ""
    if row.is_impossible:
        note = "(not possible)"
    return [
        ShownEstimate(replace(row.figure, reason=None), kind),
        ShownEstimate(row.floor.value, kind),
        row.floor.value.n,
        row.floor.n_references,
        row.floor.n_unscored,
        ShownEstimate(row.corrected, kind, note),
    ]


def _note(rows: Sequence[FloorRow]) -> str:
    notes = [_NOTE]
    reasons: dict[str, None] = {}
    for row in rows:
        if row.corrected.reason:
            reasons[_reason(row.corrected)] = None
    notes += reasons
    if any(row.is_impossible for row in rows):
        notes.append(_IMPOSSIBLE)
    if any(row.has_impossible_end for row in rows):
        notes.append(_IMPOSSIBLE_END)
    return "; ".join(notes)


def _reason(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"n/a: {estimate.reason}"
    return f"no interval: {estimate.reason}"
