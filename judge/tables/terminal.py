"""Tables on a terminal."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from judge.tables.document import Document, Fact, Table
from judge.text import harmless

# Text in a pipe is wrapped for whoever reads it; a line of a table is one line there.
PIPE_WIDTH, _PIPE_TABLE_WIDTH = 160, 2000
# A name may be broken to so many characters before the numbers beside it are.
_FOLD = 12
# An interval, a count of studies, a number with its sign before it, or a word.
_PIECE = re.compile(r"\[[^\]]*\]|\([^)]*\)|[±<] \S+|\S+")


def terminal(pipe_width: int = PIPE_WIDTH) -> Console:
    """Return the terminal, or a wide page without colour where output is piped."""
    width = None if sys.stdout.isatty() else pipe_width
    return Console(width=width, highlight=False, markup=False, emoji=False)


def as_lines(document: Document) -> list[str]:
    """Return the lines that a terminal shows of a document."""
    lines: list[str] = []
    if document.head:
        lines += [*shown(facts_grid(document.head), terminal()), ""]
    out = terminal(_PIPE_TABLE_WIDTH)
    for table in document.tables:
        lines += shown(table_grid(table, out.width), out)
    for remark in document.remarks:
        lines += [harmless(remark), ""]
    width = max((len(name) for name, _ in document.signatures), default=0)
    lines += [f"{name:{width}}  {harmless(line)}" for name, line in document.signatures]
    return lines


def as_text(document: Document, width: int = PIPE_WIDTH) -> str:
    """Return a short plain text of a document: its title, its first table and the signature."""
    out = Console(width=width, file=io.StringIO(), highlight=False, markup=False, emoji=False)
    tables = [
        line for table in document.tables[:1] for line in shown(table_grid(table, width), out)
    ]
    notes = [f"note: {note}" for note in document.notes]
    return "\n".join(
        [document.title, "", *tables, *notes, *(line for _, line in document.signatures)]
    )


def shown(renderable: RenderableType, out: Console) -> list[str]:
    """Return the lines of what rich draws, without spaces at their ends."""
    with out.capture() as captured:
        out.print(renderable)
    return [line.rstrip() for line in captured.get().removesuffix("\n").split("\n")]


def facts_grid(facts: Iterable[Fact]) -> Grid:
    """Return names and values in two columns."""
    grid = Grid.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name, style="bold"), Text(harmless(value)))
    return grid


def table_grid(table: Table, width: int) -> RenderableType:
    """Return a table for a terminal of `width` characters, its text never read as markup.

    Where a row does not fit in one line, its cells take several, and numbers stay whole. Where even
    that is too wide, each cell of a row gets a line of its own after the name of its column.
    """
    head, *rows = [
        [harmless(cell).replace("\n", " ").replace("\t", " ") for cell in row]
        for row in (table.head, *table.texts)
    ]
    title = Text(harmless(table.title), "bold", overflow="fold")
    note: list[RenderableType] = []
    if table.note:
        note = [Text(harmless(table.note), "dim", overflow="fold"), ""]
    columns = list(zip(head, *rows, strict=True))
    whole = list(map(_longest, columns))
    widths = [_longest([piece for cell in column for piece in _pieces(cell)]) for column in columns]
    widths[: table.n_left] = [min(_FOLD, name) for name in widths[: table.n_left]]
    gap = 3 if sum(whole) + 3 * len(head) <= width else 2
    spare = width - gap * len(head) - sum(widths)
    if spare < 0:
        records = ["\n".join(map("{}: {}".format, head, row)) for row in rows]
        return Group(title, "", Text("\n\n".join(records), overflow="fold"), "", *note)
    grid = Grid(box=box.SIMPLE, show_edge=False, padding=(0, gap - 2, 0, 1), header_style="bold")
    for index, name in enumerate(head):
        more = min(spare, whole[index] - widths[index])  # the names at the left first
        spare -= more
        widths[index] += more
        justify: JustifyMethod = "left" if index < table.n_left else "right"
        grid.add_column(Text(name), width=widths[index], justify=justify, overflow="fold")
    for row in rows:
        cells = [
            cell
            if index < table.n_left or _longest([cell]) <= widths[index]
            else "\n".join(_pieces(cell))
            for index, cell in enumerate(row)
        ]
        grid.add_row(*map(Text, cells))
    return Group(title, Padding(grid, (1, 0, 1, 1)), *note)


def _pieces(cell: str) -> list[str]:
    return _PIECE.findall(cell)


def _longest(parts: Sequence[str]) -> int:
    return max(map(cell_len, parts), default=1)
