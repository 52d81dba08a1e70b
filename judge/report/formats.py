"""A summary in each format that a machine or a page can take."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.report.tables import Table, headline, tables
from judge.report.words import group_value, harmless
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from rich.console import RenderableType

# Characters between two columns.
_GAP = 3


def as_json(data: object) -> str:
    """Return `data` as indented JSON; a number that is no number raises ValueError."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def as_markdown(summary: Mapping[str, Any], rubric: Rubric) -> str:
    """Return the whole summary as Markdown tables, the signature last."""
    parts = [Table(f"{rubric.title}", ("", ""), tuple(headline(summary, rubric)), n_left=2)]
    parts += tables(summary, rubric)
    text = "\n\n".join(markdown_table(table) for table in parts)
    return f"{text}\n\nSignature: `{summary['signature']}`"


def as_csv(summary: Mapping[str, Any], rubric: Rubric) -> str:
    """Return one row a group and a last one for all studies, numbers unrounded.

    The row for all studies has empty group fields; `row` tells it (`all`) from a group
    whose fields are missing (`group`). The signature stands in every row.
    """
    by = list(summary["by"])
    rows = [_flat("group", row, by, rubric) for row in summary["rates"]]
    rows.append(_flat("all", summary, by, rubric))
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[*rows[0], "signature"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "signature": summary["signature"]} for row in rows)
    return text.getvalue().rstrip("\n")


def as_rich(table: Table, width: int) -> RenderableType:
    """Return a table for a terminal of `width` characters, its text never read as markup.

    On a narrow terminal a cell takes more lines; its words stay whole for as long as
    there is room for the longest of each column.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD
    )
    rows = [[harmless(cell) for cell in row] for row in table.rows]
    columns = list(zip(table.head, *rows, strict=True))
    longest = [max(map(len, " ".join(cells).split()), default=0) for cells in columns]
    fits = sum(longest) + _GAP * len(longest) <= width
    for at, (name, least) in enumerate(zip(table.head, longest, strict=True)):
        drawn.add_column(
            Text(name),
            justify="left" if at < table.n_left else "right",
            overflow="fold",
            min_width=least if fits else None,
        )
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn


def markdown_table(table: Table) -> str:
    """Return one table as Markdown under a heading."""
    rule = [":--" if at < table.n_left else "--:" for at in range(len(table.head))]
    lines = [_markdown_row(row) for row in (table.head, rule, *table.rows)]
    return "\n".join([f"## {table.title}", "", *lines])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _flat(kind: str, row: Mapping[str, Any], by: list[str], rubric: Rubric) -> dict[str, object]:
    flat: dict[str, object] = {"row": kind}
    flat |= {name: "" if kind == "all" else group_value(row[name]) for name in by}
    flat |= {name: row[name] for name in ("n_studies", "n_scored", "n_unparsed", "n_failed")}
    for figure in rubric.figures:
        for key in ("mean", "low", "high"):
            flat[f"{figure.name}_{key}"] = row["scores"][figure.name][key]
    for name in ("no_significant_error", "no_actionable_error"):
        for key in ("k", "n", "rate", "low", "high"):
            flat[f"{name}_{key}"] = row[name][key] if row[name] else None
    return flat
