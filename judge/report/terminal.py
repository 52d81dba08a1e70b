"""Tables for a terminal, drawn by rich; no letter is lost, however narrow it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from judge.report.tables import Table
from judge.report.words import harmless

_WIDE, _NARROW = 3, 2
"""Characters between two columns, where there is room and where there is not."""
_FOLD = 12
"""What a name may be broken to before the numbers beside it are."""
# An interval, a count of studies, a number with its sign before it, or a word.
_PIECE = re.compile(r"\[[^\]]*\]|\([^)]*\)|[±<] \S+|\S+")


def as_rich(table: Table, width: int) -> RenderableType:
    """Return a table for a terminal of `width` characters, its text never read as markup.

    Where a row does not fit in one line, its cells take several; numbers stay whole, and
    names for as long as there is room. Where even that is too wide, each cell of a row gets
    a line of its own after the name of its column.
    """
    head = [_one_line(cell) for cell in table.head]
    rows = [[_one_line(cell) for cell in row] for row in table.rows]
    title = Text(_one_line(table.title), "bold", overflow="fold")
    note = [Text(_one_line(table.note), "dim", overflow="fold"), ""] if table.note else []
    columns = list(zip(head, *rows, strict=True))
    whole = [_longest(cells) for cells in columns]
    pieces = [_longest([p for cell in cells for p in _PIECE.findall(cell)]) for cells in columns]
    words = [_longest([word for cell in cells for word in cell.split()]) for cells in columns]
    for gap, least in (
        (_WIDE, pieces),
        (_NARROW, pieces),
        (_NARROW, _folded(pieces, table.n_left)),
        (_NARROW, _folded(words, table.n_left)),
    ):
        room = width - gap * len(head)
        if sum(least) <= room:
            widths = _widened(_widened(least, pieces, room), whole, room)
            break
    else:
        records = ["\n".join(map("{}: {}".format, head, row)) for row in rows]
        return Group(title, "", Text("\n\n".join(records), overflow="fold"), "", *note)
    grid = Grid(box=box.SIMPLE, show_edge=False, padding=(0, gap - 2, 0, 1), header_style="bold")
    for column, (name, wide) in enumerate(zip(head, widths, strict=True)):
        justify: JustifyMethod = "left" if column < table.n_left else "right"
        grid.add_column(Text(name), width=wide, justify=justify, overflow="fold")
    for row in rows:
        figures = map(_broken, row[table.n_left :], widths[table.n_left :])
        grid.add_row(*map(Text, (*row[: table.n_left], *figures)))
    return Group(title, Padding(grid, (1, 0, 1, 1)), *note)


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", " ").replace("\t", " ")


def _longest(parts: Sequence[str]) -> int:
    return max(map(cell_len, parts), default=1)


def _folded(least: Sequence[int], n_left: int) -> list[int]:
    return [min(n, _FOLD) if column < n_left else n for column, n in enumerate(least)]


def _widened(widths: Sequence[int], goal: Sequence[int], room: int) -> list[int]:
    found = list(widths)
    for column in sorted(range(len(found)), key=lambda column: goal[column] - found[column]):
        found[column] += max(0, min(goal[column] - found[column], room - sum(found)))
    return found


def _broken(cell: str, width: int) -> str:
    return cell if cell_len(cell) <= width else "\n".join(_PIECE.findall(cell))
