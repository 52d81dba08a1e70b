"""Documents as JSON, CSV, DataFrames, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.stats.estimate import Estimate
from judge.tables.document import Cell, Column, Document, ShownEstimate, Table
from judge.text import capital, harmless, no_formula

if TYPE_CHECKING:
    import pandas as pd

_ID = "study_id"
_PARTS = {
    "value": "value",
    "low": "low",
    "high": "high",
    "k": "k",
    "n": "n",
    "why": "reason",
}
"""The ends of the names of a figure's columns, and what of the estimate stands there."""
_MINUS = "\N{MINUS SIGN}"
# What would end a cell, begin HTML, an entity or a link, or vanish as emphasis or code.
_MARKUP = re.compile(
    r"[\\|*`]|(?<!\w)_|_(?!\w)|(?<=\])[(\[]|<(?=[A-Za-z/!?])|&(?=#?\w+;)", re.ASCII
)
_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    _MINUS: "$-$",
    # Straight: packages for German make a command of it.
    '"': r"\char34{}",
}
_LATEX_TABLE = str.maketrans(_LATEX)
# Pairs that TeX's fonts join to another sign: dashes, quotes, Spanish marks.
_JOINED = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=[`?!])(?=`)|(?<=,)(?=,)")
_NEGATIVE = re.compile(r"(?<![\w-])-(?=[0-9])")


def as_json(data: object) -> str:
    """Return `data` as indented JSON; NaN raises ValueError."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def as_csv(document: Document, name: str = "") -> str:
    """Return the tables of one name as CSV, unrounded, by default the first."""
    columns, rows = _columns(document, name)
    return rows_as_csv(rows, columns)


def rows_as_csv(
    rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()
) -> str:
    """Return rows as CSV; without `columns` those of the first row.

    A text that a spreadsheet would take for a formula has an apostrophe before it, but for ids.
    """
    names = columns or list(rows[0])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(no_formula, names))
    for row in rows:
        cells = [row.get(name, "") for name in names]
        # By an id files are joined: it stays as it is.
        guarded = [
            cell if name == _ID else no_formula(cell)
            for name, cell in zip(names, cells, strict=True)
        ]
        writer.writerow(guarded)
    return text.getvalue().rstrip("\n")


def as_frame(document: Document, name: str = "") -> pd.DataFrame:
    """Return the same as a DataFrame."""
    import pandas as pd

    columns, rows = _columns(document, name)
    return pd.DataFrame(rows, columns=columns)


def _columns(document: Document, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return columns and rows of all tables of a name; a figure `x` has `x_low` ... `x_why` too."""
    name = name or next(iter(document.names), "")
    signatures = {
        label if label == "signature" else f"{label}_signature": line
        for label, line in document.signatures
    }
    columns: dict[str, None] = {}
    rows = []
    for table in document.tables if not name else document.only([name]).tables:
        parts = _parts(table)
        columns |= dict.fromkeys(parts)
        for row in table.rows:
            cells = {
                name: _part(row[index], part) for name, (index, part) in parts.items()
            }
            rows.append(cells | signatures)
    return [*columns, *signatures], rows


def _parts(table: Table) -> dict[str, tuple[int, str]]:
    """Return the columns of CSV, each with the number of the table's column and its part.

    A part that no row has is left out, but the value.
    """
    parts = {}
    for index, column in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        for part in _PARTS:
            is_there = any(_part(cell, part) not in (None, "") for cell in cells)
            if part == "value":
                parts[column.name] = (index, part)
            elif is_there:
                parts[f"{column.name}_{part}"] = (index, part)
    return parts


def _part(cell: Cell, part: str) -> Any:  # noqa: ANN401
    if isinstance(cell, ShownEstimate):
        cell = cell.estimate
    if isinstance(cell, Estimate):
        return getattr(cell, _PARTS[part])
    return cell if part == "value" else None


def as_markdown(document: Document) -> str:
    """Return the document as Markdown, the signatures last."""
    columns = (Column("fact", ""), Column("value", ""))
    facts = Table("facts", document.title, columns, tuple(document.head))
    tables = [facts, *document.tables] if document.head else document.tables
    lines = [
        f"{capital(name)}: {code_span(line)}" for name, line in document.signatures
    ]
    return "\n\n".join([*map(_markdown_table, tables), *lines])


def code_span(text: str) -> str:
    """Return text on one line as code in Markdown; backticks in it do not end it."""
    line = _one_line(text)
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _markdown_table(table: Table) -> str:
    rule = [
        ":--" if index < table.n_left else "--:" for index in range(len(table.head))
    ]
    head, *rows = [[*map(_markdown, row)] for row in (table.head, *table.texts)]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    note = ["", f"{_markdown(table.note)}."] if table.note else []
    return "\n".join([f"## {_markdown(table.title)}", "", *lines, *note])


def _markdown(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _MARKUP.sub(
        lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), _one_line(text)
    )


def _one_line(text: str) -> str:
    return " ".join(harmless(text).split())


def as_latex(document: Document) -> str:
    """Return the tables as LaTeX, and the rest as comments."""
    lines = [*document.head, *document.signatures]
    comments = [f"% {name} {_one_line(text)}" for name, text in lines]
    tables = map(_latex_table, document.tables)
    return "\n\n".join([r"% needs \usepackage{booktabs}", *tables, "\n".join(comments)])


def _latex_table(table: Table) -> str:
    n_left = table.n_left
    rows = [[latex(cell) for cell in table.head]]
    best = [_best(table, index) for index in range(len(table.columns))]
    for cells, values in zip(table.texts, table.rows, strict=True):
        numbers = (_NEGATIVE.sub(_MINUS, cell) for cell in cells[n_left:])
        row = []
        for index, text in enumerate(map(latex, (*cells[:n_left], *numbers))):
            is_best = _value(values[index]) in best[index]
            row.append(rf"\textbf{{{text}}}" if is_best else text)
        rows.append(row)
    head, *body = map(_latex_row, rows)
    columns = "l" * n_left + "r" * (len(table.head) - n_left)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
    note = [f"% {_one_line(table.note)}"] if table.note else []
    title = f"% {_one_line(table.title)}"
    return "\n".join([title, *lines, r"\bottomrule", r"\end{tabular}", *note])


def _value(cell: Cell) -> float | None:
    if isinstance(cell, ShownEstimate):
        cell = cell.estimate
    if not isinstance(cell, Estimate) or cell.value is None:
        return None
    return round(cell.value, 12)


def _best(table: Table, index: int) -> set[float]:
    """Return the best figure of a column, nothing where none is better."""
    better = table.columns[index].better
    found = [_value(row[index]) for row in table.rows]
    values = [value for value in found if value is not None]
    if not better or not values:
        return set()
    return {max(values) if better == "high" else min(values)}


def _latex_row(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + r" \\"
    # What ends the row before would take these as an argument or a star of its own.
    return "{}" + line if line.startswith(("[", "*")) else line


def latex(text: str) -> str:
    """Return text on one line as LaTeX prints it, letter for letter."""
    apart = _JOINED.split(_one_line(text))
    return "{}".join(part.translate(_LATEX_TABLE) for part in apart)
