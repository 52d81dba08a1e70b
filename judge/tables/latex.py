"""Tables as LaTeX for the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.stats.metric import MINUS
from judge.tables.run import Table
from judge.text import harmless

_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    MINUS: "$-$",
    # Straight: packages for German make a command of it.
    '"': r"\char34{}",
}
# Pairs that TeX's fonts join to another sign: dashes, quotes, Spanish marks.
_JOINED = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=[`?!])(?=`)|(?<=,)(?=,)")
_NEGATIVE = re.compile(r"(?<![\w-])-(?=[0-9])")


def latex_table(table: Table, rows: Sequence[Sequence[str]] | None = None) -> str:
    """Return a table below its title as a comment; `rows` are its cells where they are LaTeX."""
    rows = [latex_cells(table, row) for row in table.rows] if rows is None else rows
    columns = "l" * table.n_left + "r" * (len(table.head) - table.n_left)
    head = _latex_row([escaped(cell) for cell in table.head])
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    lines += [*map(_latex_row, rows), r"\bottomrule", r"\end{tabular}"]
    note = [f"% {one_line(table.note)}"] if table.note else []
    return "\n".join([f"% {one_line(table.title)}", *lines, *note])


def _latex_row(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + r" \\"
    # What ends the row before would take these as an argument or a star of its own.
    return "{}" + line if line.startswith(("[", "*")) else line


def latex_cells(table: Table, row: Sequence[str]) -> list[str]:
    """Return a row's cells; from column `n_left` on they are figures, whose minus is long."""
    figures = (_NEGATIVE.sub(MINUS, cell) for cell in row[table.n_left :])
    return [*map(escaped, row[: table.n_left]), *map(escaped, figures)]


def escaped(text: str) -> str:
    """Return text on one line as LaTeX prints it, letter for letter."""
    apart = _JOINED.split(one_line(text))
    return "{}".join("".join(_LATEX.get(char, char) for char in part) for part in apart)


def one_line(text: str) -> str:
    """Return text on one line, harmless in a comment."""
    return " ".join(harmless(text).split())
