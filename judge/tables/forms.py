"""Documents as JSON, CSV, DataFrames, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
    """Return rows as CSV; without `columns` those of the first row, and without both no text.

    A text that a spreadsheet would take for a formula has an apostrophe before it, but for ids.
    """
    names = list(columns)
    if not names and rows:
        names = list(rows[0])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(no_formula, names))
    for row in rows:
        cells = []
        for name in names:
            cell = row.get(name, "")
            # By an id files are joined: it stays as it is.
            if name != _ID:
                cell = no_formula(cell)
            cells.append(cell)
        writer.writerow(cells)
    return text.getvalue().rstrip("\n")


def as_frame(document: Document, name: str = "") -> pd.DataFrame:
    """Return the same as a DataFrame."""
    import pandas as pd

    columns, rows = _columns(document, name)
    return pd.DataFrame(rows, columns=columns)


def _columns(document: Document, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return columns and rows of all tables of a name; a figure `x` has `x_low` ... `x_why` too."""
    signatures = {}
    for label, line in document.signatures:
        if label != "signature":
            label = f"{label}_signature"
        signatures[label] = line
    if not name and document.names:
        name = document.names[0]
    tables = document.tables
    if name:
        tables = document.only([name]).tables
    # A dict for its order: tables of one name can have different columns.
    columns: dict[str, None] = {}
    rows = []
    for table in tables:
        parts = _parts(table)
        columns |= dict.fromkeys(parts)
        for row in table.rows:
            cells = {}
            for column, (index, part) in parts.items():
                cells[column] = _part(row[index], part)
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
            if part == "value":
                parts[column.name] = (index, part)
                continue
            values = [_part(cell, part) for cell in cells]
            if any(value not in (None, "") for value in values):
                parts[f"{column.name}_{part}"] = (index, part)
    return parts


def _part(cell: Cell, part: str) -> Any:  # noqa: ANN401
    if isinstance(cell, ShownEstimate):
        cell = cell.estimate
    if isinstance(cell, Estimate):
        return getattr(cell, _PARTS[part])
    if part == "value":
        return cell
    return None


def as_markdown(document: Document) -> str:
    """Return the document as Markdown, the signatures last."""
    parts = []
    if document.head:
        facts = Table(
            name="facts",
            title=document.title,
            columns=(Column("fact", ""), Column("value", "")),
            rows=document.head,
        )
        parts.append(_markdown_table(facts))
    parts += map(_markdown_table, document.tables)
    for name, line in document.signatures:
        parts.append(f"{capital(name)}: {code_span(line)}")
    return "\n\n".join(parts)


def code_span(text: str) -> str:
    """Return text on one line as code in Markdown; backticks in it do not end it."""
    line = _one_line(text)
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    # A backtick beside the fence would lengthen it; one space on both sides is not shown.
    if line.startswith("`") or line.endswith("`"):
        line = f" {line} "
    return f"{fence}{line}{fence}"


def _markdown_table(table: Table) -> str:
    n_right = len(table.head) - table.n_left
    rule = [":--"] * table.n_left + ["--:"] * n_right
    lines = [f"## {_markdown(table.title)}", ""]
    lines.append(_markdown_row(map(_markdown, table.head)))
    lines.append(_markdown_row(rule))
    for row in table.texts:
        lines.append(_markdown_row(map(_markdown, row)))
    if table.note:
        lines.append("")
        lines.append(f"{_markdown(table.note)}.")
    return "\n".join(lines)


def _markdown_row(cells: Iterable[str]) -> str:
    line = " | ".join(cells)
    return f"| {line} |"


def _markdown(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _MARKUP.sub(_escaped, _one_line(text))


def _escaped(match: re.Match[str]) -> str:
    mark = match[0]
    return _ENTITIES.get(mark, f"\\{mark}")


def _one_line(text: str) -> str:
    words = harmless(text).split()
    return " ".join(words)


def as_latex(document: Document) -> str:
    """Return the tables as LaTeX, and the rest as comments."""
    parts = [r"% needs \usepackage{booktabs}"]
    parts += map(_latex_table, document.tables)
    comments = []
    for name, text in (*document.head, *document.signatures):
        comments.append(f"% {name} {_one_line(text)}")
    parts.append("\n".join(comments))
    return "\n\n".join(parts)


def _latex_table(table: Table) -> str:
    n_left = table.n_left
    n_right = len(table.head) - n_left
    best = [_best(table, index) for index in range(len(table.columns))]
    body = []
    for texts, values in zip(table.texts, table.rows, strict=True):
        cells = []
        for index, text in enumerate(texts):
            # A hyphen in a name stays one.
            if index >= n_left:
                text = _NEGATIVE.sub(_MINUS, text)
            cell = latex(text)
            if _value(values[index]) in best[index]:
                cell = rf"\textbf{{{cell}}}"
            cells.append(cell)
        body.append(latex_row(cells))
    head = [latex(label) for label in table.head]
    if table.blocks:
        head = [latex(column.heading_in_block) for column in table.columns]
    return latex_tabular(
        title=table.title,
        columns="l" * n_left + "r" * n_right,
        head=[*_latex_blocks(table), latex_row(head)],
        body=body,
        note=table.note,
    )


def latex_tabular(
    *,
    title: str,
    columns: str,
    head: Sequence[str],
    body: Sequence[str],
    note: str = "",
) -> str:
    """Return rows of LaTeX as a `tabular` with the rules of booktabs.

    `columns` says how each is aligned, as `lrr`. The title before it and the note after it are
    comments, whose text need not be LaTeX.
    """
    lines = [
        f"% {_one_line(title)}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if note:
        lines.append(f"% {_one_line(note)}")
    return "\n".join(lines)


def _latex_blocks(table: Table) -> list[str]:
    """Return the row of the blocks' headings and the rules below them; nothing without blocks."""
    if not table.blocks:
        return []
    cells = []
    rules = []
    first = 1
    for block, n in table.blocks:
        last = first + n - 1
        if block:
            cells.append(rf"\multicolumn{{{n}}}{{c}}{{{latex(block)}}}")
            rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
        else:
            cells += [""] * n
        first = last + 1
    return [latex_row(cells), " ".join(rules)]


def _value(cell: Cell) -> float | None:
    if isinstance(cell, ShownEstimate):
        cell = cell.estimate
    if not isinstance(cell, Estimate) or cell.value is None:
        return None
    # So that equal figures are equal, whatever the order of their sums.
    return round(cell.value, 12)


def _best(table: Table, index: int) -> set[float]:
    """Return the best figure of a column, nothing where none is better."""
    better = table.columns[index].better
    found = [_value(row[index]) for row in table.rows]
    values = [value for value in found if value is not None]
    if not better or not values:
        return set()
    if better == "high":
        return {max(values)}
    return {min(values)}


def latex_row(cells: Sequence[str]) -> str:
    """Return cells of LaTeX as a row of a table."""
    line = " & ".join(cells) + r" \\"
    # What ends the row before would take these as an argument or a star of its own.
    if line.startswith(("[", "*")):
        return "{}" + line
    return line


def latex(text: str) -> str:
    """Return text on one line as LaTeX prints it, letter for letter."""
    parts = _JOINED.split(_one_line(text))
    return "{}".join(part.translate(_LATEX_TABLE) for part in parts)
