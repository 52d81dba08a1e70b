"""A summary in each format that a machine or a page can take."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.report.tables import Table, headline, tables
from judge.report.words import group_value, harmless
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from rich.console import RenderableType


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

    On a narrow terminal a cell takes more lines; no letter is lost, and no number broken.
    """
    from rich.text import Text

    from judge.report.terminal import drawn

    lines = [Text(line, style="bold" if bold else "") for line, bold in drawn(table, width)]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def markdown_table(table: Table) -> str:
    """Return one table as Markdown under a heading."""
    rule = [":--" if at < table.n_left else "--:" for at in range(len(table.head))]
    rows = [[markdown_text(cell) for cell in row] for row in (table.head, *table.rows)]
    lines = ["| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:])]
    return "\n".join([f"## {markdown_text(table.title)}", "", *lines])


# What would end a cell, begin HTML, an entity or a link, or vanish as emphasis or code.
_MARKDOWN = re.compile(
    r"[\\|*`]|(?<!\w)_|_(?!\w)|(?<=\])[(\[]|<(?=[A-Za-z/!?])|&(?=#?\w+;)", re.ASCII
)
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def markdown_text(text: str) -> str:
    """Return text for one line of Markdown: what it says is shown, and nothing is done."""
    line = " ".join(harmless(text).split())
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), line)


def own_columns(fields: Sequence[str], columns: Collection[str]) -> dict[str, str]:
    """Return the column of each field in a CSV that has `columns` of its own.

    A field that is called as one of those stands as `by_` and its name.
    """
    found: dict[str, str] = {}
    for field in dict.fromkeys(fields):
        name = field
        while name in columns or (name != field and name in (*fields, *found.values())):
            name = f"by_{name}"
        found[field] = name
    return found


def _flat(kind: str, row: Mapping[str, Any], by: list[str], rubric: Rubric) -> dict[str, object]:
    figures: dict[str, object] = {
        name: row[name] for name in ("n_studies", "n_scored", "n_unparsed", "n_failed")
    }
    for figure in rubric.figures:
        for key in ("mean", "low", "high"):
            figures[f"{figure.name}_{key}"] = row["scores"][figure.name][key]
    for name in ("no_significant_error", "no_actionable_error"):
        for key in ("k", "n", "rate", "low", "high"):
            figures[f"{name}_{key}"] = row[name][key] if row[name] else None
    columns = own_columns(by, ("row", *figures, "signature"))
    fields = {
        column: "" if kind == "all" else group_value(row[name]) for name, column in columns.items()
    }
    return {"row": kind, **fields, **figures}
