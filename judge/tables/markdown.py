"""Tables as Markdown."""

from __future__ import annotations

import re

from judge.tables.document import Column, Document, Table
from judge.text import capital, harmless

# What would end a cell, begin HTML, an entity or a link, or vanish as emphasis or code.
_MARKUP = re.compile(
    r"[\\|*`]|(?<!\w)_|_(?!\w)|(?<=\])[(\[]|<(?=[A-Za-z/!?])|&(?=#?\w+;)", re.ASCII
)
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def as_markdown(document: Document) -> str:
    """Return the document as Markdown, the signatures last."""
    columns = (Column("fact", ""), Column("value", ""))
    facts = Table("facts", document.title, columns, tuple(document.head))
    tables = [facts, *document.tables] if document.head else document.tables
    return "\n\n".join(
        [
            *map(markdown_table, tables),
            *map(markdown_text, document.remarks),
            *(f"{capital(name)}: `{one_line(line)}`" for name, line in document.signatures),
        ]
    )


def markdown_table(table: Table) -> str:
    """Return a table as Markdown under a heading."""
    rule = [":--" if index < table.n_left else "--:" for index in range(len(table.head))]
    head, *rows = [[markdown_text(cell) for cell in row] for row in (table.head, *table.texts)]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]
    note = ["", f"{markdown_text(table.note)}."] if table.note else []
    return "\n".join([f"## {markdown_text(table.title)}", "", *lines, *note])


def markdown_text(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _MARKUP.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), one_line(text))


def one_line(text: str) -> str:
    """Return text on one line, its control characters made visible."""
    return " ".join(harmless(text).split())
