"""What a command prints: facts, notes and typed tables, whatever writes them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import groupby
from typing import Any

from judge.stats.estimate import Estimate
from judge.tables.kinds import Kind, Printed, p_value, printed
from judge.text import NOTHING, number, percent
from judge.types import JudgeError

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ShownEstimate:
    """An estimate in a cell that is printed in a `kind` of its own, or with a `note` behind it."""

    estimate: Estimate
    kind: Kind | None = None
    note: str = ""

    def printed(self, kind: Kind = Kind.NUMBER, digits: int = 3) -> Printed:
        """Return the estimate as it is printed, by `kind` where it has none of its own."""
        return printed(self.estimate, self.kind or kind, digits)


Cell = str | int | float | Estimate | ShownEstimate | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its `name` in CSV, and its `label`, by default the name.

    `digits` are the decimals of its numbers. `better` says which of its figures are better, `high`
    or `low`, empty where none is. Columns beside each other with the same `block` have it as a
    heading of their own above their labels.
    """

    name: str
    label: str | None = None
    _: KW_ONLY
    kind: Kind = Kind.TEXT
    digits: int = 3
    better: str = ""
    block: str = ""

    @property
    def heading(self) -> str:
        """What stands above it, with its block in brackets."""
        heading = self.heading_in_block
        if self.block and self.block not in heading:
            return f"{heading} ({self.block})"
        return heading

    @property
    def heading_in_block(self) -> str:
        """What stands above it where the heading of its block is printed above that."""
        if self.label is None:
            return self.name
        return self.label


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `name` is what --table calls it, and `note` is printed below it."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""

    @property
    def head(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return tuple(column.heading for column in self.columns)

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """The headings above the columns' own, each with the number of its columns.

        The heading of columns without a block is empty. The list is empty without any block.
        """
        blocks = []
        for block, columns in groupby(self.columns, key=lambda column: column.block):
            blocks.append((block, len(list(columns))))
        if not any(block for block, _ in blocks):
            return []
        return blocks

    @property
    def n_left(self) -> int:
        """How many columns at the left hold text and ranks; numbers follow."""
        for index, column in enumerate(self.columns):
            if column.block or column.kind not in (Kind.TEXT, Kind.RANK):
                return index
        return len(self.columns)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as they are printed; ranks that models share have an equals sign."""
        by_column = []
        for index, column in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            texts = [cell_text(cell, column) for cell in cells]
            if column.kind is Kind.RANK:
                texts = _shared_ranks(texts)
            by_column.append(texts)
        return list(zip(*by_column, strict=True))

    def plain(self) -> dict[str, Any]:
        """Return the printed table as JSON's types, for a page."""
        return {
            "title": self.title,
            "head": self.head,
            "rows": self.texts,
            "note": self.note,
            "n_left": self.n_left,
        }


def _shared_ranks(texts: Sequence[str]) -> list[str]:
    """Return ranks with an equals sign where several models have one."""
    counts = Counter(texts)
    ranks = []
    for text in texts:
        is_shared = text != NOTHING and counts[text] > 1
        if is_shared:
            ranks.append(f"{text}=")
        else:
            ranks.append(text)
    return ranks


def table_of(
    name: str,
    title: str,
    head: Sequence[Column],
    entries: Iterable[Mapping[str, Any]],
    note: str = "",
) -> Table:
    """Return a table of what entries have under the columns' names, figures also as JSON."""
    names = [column.name for column in head]
    rows = [_row(entry, names) for entry in entries]
    return Table(name, title, head, rows, note)


def _row(entry: Mapping[str, Any], names: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(_as_cell(entry[name]) for name in names)


def _as_cell(value: Any) -> Cell:  # noqa: ANN401
    cell: Cell = value
    if isinstance(value, Mapping):
        cell = Estimate.read(value)
    return cell


def field_columns(fields: Sequence[str], columns: Collection[Column]) -> list[Column]:
    """Return columns for the user's fields beside others; one whose name is taken gets `by_`."""
    taken = {"row", "n_studies", "signature"}
    for column in columns:
        # A figure has these columns in CSV.
        for end in ("", "_low", "_high", "_k", "_n", "_why"):
            taken.add(f"{column.name}{end}")
    shown = []
    for field in fields:
        name = field
        if field in taken:
            name = f"by_{field}"
        shown.append(Column(name, field))
    return shown


@dataclass(frozen=True, slots=True)
class Document:
    """What a command prints: facts and notes, tables, and signatures."""

    title: str = ""
    facts: Sequence[Fact] = ()
    notes: tuple[str, ...] = ()
    tables: Sequence[Table] = ()
    signatures: tuple[Fact, ...] = ()

    @property
    def head(self) -> list[Fact]:
        """The facts, then the notes."""
        notes = [("note", note) for note in self.notes]
        return [*self.facts, *notes]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables, each once."""
        return tuple(dict.fromkeys(table.name for table in self.tables))

    def with_empty(self, names: Iterable[str]) -> Document:
        """Return the document with a table without rows for each name that it has no table of."""
        tables = list(self.tables)
        for name in names:
            if name not in self.names:
                title = name.replace("_", " ").capitalize()
                tables.append(Table(name, title, [Column(name)], []))
        return replace(self, tables=tuple(tables))

    def only(self, names: Collection[str]) -> Document:
        """Return the tables of these names alone; raises `JudgeError` for another name."""
        for name in names:
            if name not in self.names:
                there = ", ".join(self.names) or "none"
                raise JudgeError(
                    f"--table {name}: there is no such table here; there are: {there}"
                )
        tables = [table for table in self.tables if table.name in names]
        return replace(self, tables=tuple(tables))


def definitions(named: Iterable[tuple[str, str | None]]) -> str:
    """Return the definitions of figures, for the note of a table."""
    return "; ".join(f"{label}: {text}" for label, text in named if text)


def cell_text(cell: Cell, column: Column) -> str:
    """Return a cell as it is printed."""
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Estimate):
        cell = ShownEstimate(cell)
    if isinstance(cell, ShownEstimate):
        text = cell.printed(column.kind, column.digits)
        parts = (text.figure, text.brackets, cell.note)
        return " ".join(filter(None, parts))
    if column.kind is Kind.SHARE:
        return percent(cell)
    if column.kind is Kind.P:
        return p_value(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return number(cell, column.digits)
