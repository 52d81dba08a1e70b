"""Documents on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from judge.tables.document import Document, Table
from judge.text import harmless

# Text in a pipe is wrapped for whoever reads it; a line of a table is one line there.
_PIPE_WIDTH, _PIPE_TABLE_WIDTH = 160, 2000
# An interval, a count of studies, a number with its sign before it, or a word.
_PIECE = re.compile(r"\[[^\]]*\]|\([^)]*\)|[±<] \S+|\S+")


def terminal(pipe_width: int = _PIPE_WIDTH) -> Console:
    """Return the terminal, or a wide page without colour where output is piped."""
    width: int | None = pipe_width
    if sys.stdout.isatty():
        width = None
    return Console(
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
    )


def as_lines(document: Document) -> list[str]:
    """Return the lines that a terminal shows of a document."""
    lines: list[str] = []
    if document.head:
        facts = Grid.grid(padding=(0, 2))
        for name, value in document.head:
            label = Text(name, style="bold")
            facts.add_row(label, Text(harmless(value)))
        lines += shown(facts, terminal())
        lines.append("")
    # A table may be wider than a terminal, which then breaks its lines, not its cells.
    width = terminal(_PIPE_TABLE_WIDTH).width
    page = Console(width=_PIPE_TABLE_WIDTH)
    for table in document.tables:
        lines += shown(_table(table, width), page)
    longest = max((len(name) for name, _ in document.signatures), default=0)
    for name, line in document.signatures:
        lines.append(f"{name:{longest}}  {harmless(line)}")
    return lines


def as_text(document: Document) -> str:
    """Return a document in short: its title, its notes, its first table and the signature."""
    first_table = document.tables[:1]
    short = replace(document, facts=(), tables=first_table)
    lines = [document.title, "", *as_lines(short)]
    return "\n".join(lines)


def shown(renderable: RenderableType, out: Console) -> list[str]:
    """Return the lines of what rich draws, without spaces at their ends."""
    with out.capture() as captured:
        out.print(renderable)
    text = captured.get().removesuffix("\n")
    return [line.rstrip() for line in text.split("\n")]


def _one_line(cell: str) -> str:
    text = harmless(cell)
    return text.replace("\n", " ").replace("\t", " ")


def _in_pieces(cell: str) -> str:
    return "\n".join(_PIECE.findall(cell))


def _block_headings(table: Table) -> list[str]:
    """Return what stands above each column's own heading: its block, above the first of it."""
    headings = [""] * len(table.columns)
    first = 0
    for block, n in table.blocks:
        headings[first] = _one_line(block)
        first += n
    return headings


def _under_blocks(above: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the columns' headings with those of their blocks on one line above all of them."""
    n_lines = max(label.count("\n") for label in labels)
    headings = []
    for block, label in zip(above, labels, strict=True):
        gap = "\n" * (n_lines - label.count("\n") + 1)
        headings.append(f"{block}{gap}{label}")
    return headings


def _table(table: Table, width: int) -> RenderableType:
    """Return a table; in a row that is too wide numbers take several lines, each whole."""
    n_left = table.n_left
    head = [column.heading_in_block for column in table.columns]
    above = _block_headings(table)
    rows = [list(map(_one_line, row)) for row in (head, *table.texts)]
    total = 0
    for block, *column in zip(above, *rows, strict=True):
        # A space before the cell, and one of the box between two columns.
        total += max(map(cell_len, (block, *column))) + 2
    if total > width:
        rows = [[*row[:n_left], *map(_in_pieces, row[n_left:])] for row in rows]
    if table.blocks:
        rows[0] = _under_blocks(above, rows[0])
    grid = Grid(
        box=box.SIMPLE,
        show_edge=False,
        padding=(0, 0, 0, 1),
        header_style="bold",
    )
    head, *body = rows
    for name in head[:n_left]:
        grid.add_column(Text(name), justify="left")
    for name in head[n_left:]:
        grid.add_column(Text(name), justify="right")
    for row in body:
        grid.add_row(*map(Text, row))
    title = Text(harmless(table.title), "bold")
    parts: list[RenderableType] = [title, Padding(grid, (1, 0, 1, 1))]
    if table.note:
        parts.append(Text(harmless(table.note), "dim"))
        parts.append("")
    return Group(*parts)
