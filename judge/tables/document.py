"""What a command prints: facts, notes and typed tables, whatever writes them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge.text import NOTHING, number, percent
from judge.types import JudgeError

Kind = str
"""How the cells of a column are printed.

`text`, `rank` and `count` as they are, `p` as a p-value, `number` 0.712 [0.690, 0.734], `short`
0.12 or 12.3, `share` 71.0% [65.5, 76.0], `rate` the same after 201/283, `per_study` 12 (0.800),
`difference` +0.256 [+0.089, +0.487], `points` the same in percentage points, `range` 1 to 3,
`fraction` 2/3.
"""
Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval, `k` of `n`, or `why` it has none; `kind` as of a column."""

    value: float | None
    low: float | None = None
    high: float | None = None
    k: int | None = None
    n: int | None = None
    why: str = ""
    note: str = ""
    kind: Kind | None = None

    @classmethod
    def read(
        cls, data: Mapping[str, Any], kind: Kind | None = None, note: str = ""
    ) -> Estimate:
        """Return the estimate that a summary or a report holds as JSON."""
        value = next(data[name] for name in ("value", "rate", "mean") if name in data)
        ends = data.get("low"), data.get("high"), data.get("k"), data.get("n")
        return cls(value, *ends, why=data.get("reason") or "", note=note, kind=kind)


Cell = str | int | float | Estimate | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its `name` in CSV, its `label`, and which figures are `better` (high or low)."""

    name: str
    label: str
    kind: Kind = "text"
    digits: int = 3
    better: str = ""


def columns(*specs: str | Column) -> list[Column]:
    """Return columns by name, or `name|label` and `name|label|kind`."""
    head = []
    for spec in specs:
        if isinstance(spec, str):
            name, label, kind = [*spec.split("|"), "", ""][:3]
            spec = Column(name, label or name, kind or "text")
        head.append(spec)
    return head


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
        return tuple(column.label for column in self.columns)

    @property
    def n_left(self) -> int:
        """How many columns at the left hold text and ranks; numbers follow."""
        kinds = [column.kind for column in self.columns]
        is_number = [kind not in ("text", "rank") for kind in kinds]
        return is_number.index(True) if True in is_number else len(kinds)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as they are printed; ranks that models share have an equals sign."""
        printed = []
        for index, column in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            texts = [cell_text(cell, column) for cell in cells]
            if column.kind == "rank":
                counts = Counter(texts)
                texts = [
                    f"{t}=" if counts[t] > 1 and t != NOTHING else t for t in texts
                ]
            printed.append(texts)
        return list(zip(*printed, strict=True))

    def plain(self) -> dict[str, Any]:
        """Return the printed table as JSON's types, for a page."""
        texts = {
            "title": self.title,
            "head": self.head,
            "rows": self.texts,
            "note": self.note,
        }
        return {**texts, "n_left": self.n_left}


def table_of(
    name: str,
    title: str,
    head: Sequence[str | Column],
    entries: Iterable[Mapping[str, Any]],
    note: str = "",
) -> Table:
    """Return a table of what entries have under the columns' names, figures also as JSON."""
    shown = columns(*head)
    rows = [
        tuple(_as_cell(entry[column.name]) for column in shown) for entry in entries
    ]
    return Table(name, title, shown, rows, note)


def _as_cell(value: Any) -> Cell:  # noqa: ANN401
    return Estimate.read(value) if isinstance(value, Mapping) else value


def field_columns(fields: Sequence[str], columns: Collection[Column]) -> list[Column]:
    """Return columns for the user's fields beside others; one whose name is taken gets `by_`."""
    ends = ("", "_low", "_high", "_k", "_n", "_why")
    taken = {
        "row",
        "n_studies",
        "signature",
        *(c.name + end for c in columns for end in ends),
    }
    return [Column(f"by_{name}" if name in taken else name, name) for name in fields]


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
        return [*self.facts, *(("note", note) for note in self.notes)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables, each once."""
        return tuple(dict.fromkeys(table.name for table in self.tables))

    def only(self, names: Collection[str]) -> Document:
        """Return the tables of these names alone; raises `JudgeError` for another name."""
        for name in names:
            if name not in self.names:
                there = ", ".join(self.names) or "none"
                raise JudgeError(
                    f"--table {name}: there is no such table here; there are: {there}"
                )
        return replace(
            self, tables=tuple(table for table in self.tables if table.name in names)
        )


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
        figure, interval = estimate_texts(cell, column.kind, column.digits)
        return " ".join(filter(None, (figure, interval, cell.note)))
    if column.kind == "share":
        return percent(cell)
    if column.kind == "p":
        return p_value(cell)
    return f"{cell:,}" if isinstance(cell, int) else number(cell, column.digits)


def estimate_texts(
    estimate: Estimate, kind: Kind = "number", digits: int = 3
) -> tuple[str, str]:
    """Return a figure and its interval as they are printed; an interval that is lacking is ""."""
    kind = estimate.kind or kind
    value, low, high = estimate.value, estimate.low, estimate.high
    counts = f"{estimate.k}/{estimate.n}"
    if kind == "fraction":
        return counts, ""
    if value is None:
        return f"{counts} {NOTHING}" if kind == "rate" else NOTHING, ""
    if kind == "per_study":
        return f"{estimate.k} ({number(value, digits)})", ""
    if kind == "short":
        return f"{value:,.1f}" if value >= 10 else f"{value:.2g}", ""
    if kind == "range":
        return f"{low} to {high}", ""
    scale, digits = (100, 1) if kind in ("points", "share", "rate") else (1, digits)
    form = signed if kind in ("difference", "points") else number
    figure, *ends = (
        form(scale * end, digits) for end in (value, low, high) if end is not None
    )
    units = {
        "points": f"{figure} points",
        "share": f"{figure}%",
        "rate": f"{counts} {figure}%",
    }
    return units.get(kind, figure), f"[{', '.join(ends)}]" if len(ends) > 1 else ""


def p_value(value: float | None) -> str:
    """Return a p-value; below 0.001 it says just that."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that is rounded to 0 has none."""
    text = f"{value:+z.{digits}f}"
    return text.lstrip("+") if float(text) == 0 else text
