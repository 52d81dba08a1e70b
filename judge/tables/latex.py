"""Tables as LaTeX for the package booktabs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from judge.stats.metric import MINUS
from judge.tables.document import Document, Estimate, Table
from judge.tables.markdown import one_line

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


def as_latex(document: Document) -> str:
    """Return the tables as LaTeX, the best of each column in bold, and the rest as comments."""
    lines = [*document.head, *(("remark", remark) for remark in document.remarks)]
    lines += document.signatures
    comments = [f"% {name} {one_line(text)}" for name, text in lines]
    tables = [latex_table(table) for table in document.tables]
    return "\n\n".join([r"% needs \usepackage{booktabs}", *tables, "\n".join(comments)])


def latex_table(table: Table) -> str:
    """Return a table below its title as a comment."""
    best = [_best(table, index) for index in range(len(table.columns))]
    rows = [
        [
            rf"\textbf{{{text}}}" if row in rows_of_best else text
            for text, rows_of_best in zip(_cells(table, cells), best, strict=True)
        ]
        for row, cells in enumerate(table.texts)
    ]
    columns = "l" * table.n_left + "r" * (len(table.head) - table.n_left)
    head = _row([escaped(cell) for cell in table.head])
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    lines += [*map(_row, rows), r"\bottomrule", r"\end{tabular}"]
    note = [f"% {one_line(table.note)}"] if table.note else []
    return "\n".join([f"% {one_line(table.title)}", *lines, *note])


def _best(table: Table, index: int) -> set[int]:
    """Return the rows whose figure is the best of a column, but for rounding."""
    better = table.columns[index].better
    values = {
        number: cell.value
        for number, row in enumerate(table.rows)
        if isinstance(cell := row[index], Estimate) and cell.value is not None
    }
    if better is None or not values:
        return set()
    best = (max if better == "high" else min)(values.values())
    return {
        number
        for number, value in values.items()
        if math.isclose(value, best, rel_tol=1e-12, abs_tol=1e-12)
    }


def _row(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + r" \\"
    # What ends the row before would take these as an argument or a star of its own.
    return "{}" + line if line.startswith(("[", "*")) else line


def _cells(table: Table, row: Sequence[str]) -> list[str]:
    """Return a row's cells; the minus of a number is a long one."""
    numbers = (_NEGATIVE.sub(MINUS, cell) for cell in row[table.n_left :])
    return [*map(escaped, row[: table.n_left]), *map(escaped, numbers)]


def escaped(text: str) -> str:
    """Return text on one line as LaTeX prints it, letter for letter."""
    apart = _JOINED.split(one_line(text))
    return "{}".join("".join(_LATEX.get(char, char) for char in part) for part in apart)
