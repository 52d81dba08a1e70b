"""A summary in each format that a machine or a page can take."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from judge.rubrics import Rubric
from judge.stats.table import fields_of, row_name
from judge.tables.run import (
    Table,
    headline,
    run_title,
    signatures,
    tables,
    unread_lines,
)
from judge.text import group_value, harmless


def as_json(data: object) -> str:
    """Return `data` as indented JSON; a number that is no number raises ValueError."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def as_markdown(summary: Mapping[str, Any], rubric: Rubric) -> str:
    """Return the whole summary as Markdown tables, the signature last."""
    parts = [
        Table(run_title(summary, rubric), ("", ""), tuple(headline(summary, rubric)), n_left=2)
    ]
    parts += tables(summary, rubric)
    text = "\n\n".join(markdown_table(table) for table in parts)
    lines = [f"{name.capitalize()}: `{line}`" for name, line in signatures(summary)]
    return "\n\n".join([text, *map(markdown_text, unread_lines(summary, rubric)), *lines])


def rate_rows(summary: Mapping[str, Any], rubric: Rubric) -> list[dict[str, object]]:
    """Return one row a group and a last one for all studies, numbers unrounded.

    The row for all studies has empty group fields; `row` tells it (`all`) from a group
    whose fields are missing (`group`). The signature stands in every row.
    """
    by = fields_of(*summary["by"])
    rows = [_flat(row_name(summary["by"], row), row, by, rubric) for row in summary["rates"]]
    rows.append(_flat("all", summary, by, rubric))
    made_by = {"signature": summary["signature"]}
    if "readings" in summary:
        made_by["corrected_signature"] = summary["readings"]["signature"]
    return [{**row, **made_by} for row in rows]


def as_csv(summary: Mapping[str, Any], rubric: Rubric) -> str:
    """Return the rows of `rate_rows` as CSV."""
    return rows_as_csv(rate_rows(summary, rubric))


def rows_as_csv(rows: Sequence[Mapping[str, object]], head: Sequence[str] = ()) -> str:
    """Return rows as CSV below the names of their columns, which are `head` where none is there."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=rows[0] if rows else head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def markdown_table(table: Table) -> str:
    """Return one table as Markdown under a heading."""
    rule = [":--" if at < table.n_left else "--:" for at in range(len(table.head))]
    rows = [[markdown_text(cell) for cell in row] for row in (table.head, *table.rows)]
    lines = ["| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:])]
    note = ["", f"{markdown_text(table.note)}."] if table.note else []
    return "\n".join([f"## {markdown_text(table.title)}", "", *lines, *note])


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


_CORRECTED = {
    "n": "read",
    "n_studies": "of",
    "value": "corrected",
    **{end: f"corrected_{end}" for end in ("low", "high")},
    **{name: name for name in ("labels", "labels_low", "labels_high")},
    "weight": "weight",
    "worth": "worth",
    "why_not": "not_corrected",
}
"""The columns of what readings correct, after the statistic's name."""


def _flat(kind: str, row: Mapping[str, Any], by: list[str], rubric: Rubric) -> dict[str, object]:
    figures: dict[str, object] = {
        name: row[name] for name in ("n_studies", "n_scored", "n_unparsed", "n_failed")
    }
    may_be_undefined = {one.name for one in rubric.measures if one.undefined is not None}
    for statistic in rubric.shown("groups"):
        found = row["statistics"][statistic.name]
        keys = {"value": statistic.kind, "low": "low", "high": "high", "n_undefined": "undefined"}
        if statistic.kind == "rate":
            keys = {"k": "k", "n": "n", **keys}
        if not may_be_undefined & {*statistic.measures, *statistic.per}:
            del keys["n_undefined"]
        figures |= {f"{statistic.name}_{name}": found[key] for key, name in keys.items()}
    for statistic in rubric.statistics:
        if found := row["statistics"][statistic.name].get("corrected"):
            figures |= {f"{statistic.name}_{_CORRECTED[key]}": found[key] for key in _CORRECTED}
    columns = own_columns(by, ("row", *figures, "signature", "corrected_signature"))
    fields = {
        column: group_value(row[name]) if kind != "all" and name in row else ""
        for name, column in columns.items()
    }
    return {"row": kind, **fields, **figures}
