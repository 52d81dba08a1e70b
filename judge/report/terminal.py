"""Tables of text within the width of a terminal; no letter is lost, however narrow it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from judge.report.tables import Table
from judge.report.words import harmless

Line = tuple[str, bool]
"""A line and whether it is bold."""

_LEAD = 2
_WIDE, _NARROW = 3, 2
"""Characters between two columns, where there is room and where there is not."""
_FOLD = 12
"""What a name may be broken to before the numbers beside it are."""
_LEAST = 24
"""Below this even a row of its own for each number would break it."""

# An interval, a count of studies, a number with its sign before it, or a word; a word may also
# break at a slash.
_PIECE = re.compile(r"\[[-+.\d]+, [-+.\d]+\]|\(n \d+\)|[±<] \S+|[^\s/]*/(?=[A-Za-z]{3})|\S+")
_WORD = re.compile(r"[^\s/]*/(?=[A-Za-z]{3})|\S+")


def drawn(table: Table, width: int) -> list[Line]:
    """Return a table as lines of at most `width` characters, without trailing spaces.

    Where a row does not fit in one line, its cells take several; numbers stay whole, and
    words for as long as there is room. Where even that is too wide, each cell of a row gets
    a line of its own behind the name of its column.
    """
    room = max(width, _LEAST)
    head = [_one_line(cell) for cell in table.head]
    rows = [[_one_line(cell) for cell in row] for row in table.rows]
    lines: list[Line] = [(line, True) for line in _wrapped(_one_line(table.title), room)]
    lines.append(("", False))
    fitting = _widths(head, rows, table.n_left, room)
    if fitting is None:
        lines += [(line, False) for line in _stacked(head, rows, table.n_left, room)]
    else:
        widths, gap = fitting
        length = sum(widths) + gap * (len(widths) - 1)
        lines += [(line, True) for line in _row(head, widths, gap, table.n_left)]
        # As far beyond the text as before it.
        lines.append((" " + "─" * min(length + 2, room - 1), False))
        lines += [(line, False) for row in rows for line in _row(row, widths, gap, table.n_left)]
    lines.append(("", False))
    return [(part.rstrip(), bold) for line, bold in lines for part in _chopped(line, width)]


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", " ").replace("\t", " ")


def _longest(cells: Sequence[str], piece: re.Pattern[str]) -> int:
    return max((cell_len(found) for cell in cells for found in piece.findall(cell)), default=1)


def _widths(
    head: Sequence[str], rows: Sequence[Sequence[str]], n_left: int, width: int
) -> tuple[list[int], int] | None:
    """Return the width of each column and of the gaps; None where the columns do not fit.

    Each column has at least its longest piece; what is left goes to the columns that lack
    fewest characters to stand in one line.
    """
    columns = list(zip(head, *rows, strict=True))
    whole = [max(1, *map(cell_len, cells)) for cells in columns]
    pieces = [_longest(cells, _PIECE) for cells in columns]
    words = [_longest(cells, _WORD) for cells in columns]

    def folded(least: Sequence[int]) -> list[int]:
        return [min(n, _FOLD) if at < n_left else n for at, n in enumerate(least)]

    for least, gap in (
        (pieces, _WIDE),
        (pieces, _NARROW),
        (folded(pieces), _NARROW),
        (folded(words), _NARROW),
    ):
        room = width - _LEAD - gap * (len(columns) - 1)
        if sum(least) <= room:
            return _widened(_widened(least, pieces, room), whole, room), gap
    return None


def _widened(widths: Sequence[int], goal: Sequence[int], room: int) -> list[int]:
    """Return the widths brought to `goal` as far as `room` allows, those that lack least first."""
    found, spare = list(widths), room - sum(widths)
    for at in sorted(range(len(found)), key=lambda at: goal[at] - found[at]):
        more = max(0, min(goal[at] - found[at], spare))
        found[at] += more
        spare -= more
    return found


def _row(cells: Sequence[str], widths: Sequence[int], gap: int, n_left: int) -> list[str]:
    """Return a row on as many lines as its longest cell takes."""
    columns = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for at in range(max(map(len, columns))):
        line = " " * _LEAD
        for number, (column, width) in enumerate(zip(columns, widths, strict=True)):
            text = column[at] if at < len(column) else ""
            blank = " " * (width - cell_len(text))
            line += (text + blank if number < n_left else blank + text) + " " * gap
        lines.append(line.rstrip())
    return lines


def _stacked(
    head: Sequence[str], rows: Sequence[Sequence[str]], n_left: int, width: int
) -> list[str]:
    """Return each cell behind the name of its column, an empty line between two rows."""
    numbers = _longest([cell for row in rows for cell in row[n_left:]], _WORD)
    room = width - _LEAD - _NARROW
    first = max(1, min(max(map(cell_len, head)), room - numbers))
    lines = []
    for at, row in enumerate(rows):
        lines += [""] if at else []
        for pair in zip(head, row, strict=True):
            lines += _row(pair, (first, room - first), _NARROW, n_left=2)
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width`, broken between pieces, else inside them."""
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    line, end = "", 0
    for found in _PIECE.finditer(text):
        space = " " if found.start() > end and line else ""
        end = found.end()
        if cell_len(line + space + found.group()) <= width:
            line += space + found.group()
            continue
        words = [found.group()] if cell_len(found.group()) <= width else found.group().split()
        parts = [part for word in words for part in _chopped(word, width)]
        lines += [*([line] if line else []), *parts[:-1]]
        line = parts[-1]
    return [*lines, line]


def _chopped(text: str, width: int) -> list[str]:
    return [text] if cell_len(text) <= width else chop_cells(text, max(width, 2))
