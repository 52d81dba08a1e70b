"""The blocks of a PDF, each of a kind that evidence.typ knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from judge.tables.document import Table

Block = dict[str, Any]
_LONGEST_TEXT = 20_000
"""Characters of one report, or of one turn of a prompt, that are set; files have the rest."""


def heading(text: str, level: int = 1) -> Block:
    """Return a heading."""
    return {"kind": "heading", "level": level, "text": text}


def paragraph(text: str, kind: str = "text") -> Block:
    """Return a text: `text`, `small`, a `notice`, or `mono`, of a fixed width."""
    return {"kind": kind, "text": text}


def verbatim(text: str) -> Block:
    """Return a text with its lines as they are; one that is too long is cut, which is said."""
    shown = text
    if len(text) > _LONGEST_TEXT:
        left = len(text) - _LONGEST_TEXT
        shown = f"{text[:_LONGEST_TEXT]}\n({left:,} more characters are in the zip)"
    return {"kind": "verbatim", "text": shown}


def fact_rows(rows: Iterable[Sequence[str]]) -> Block:
    """Return names with what is said of them."""
    return {"kind": "facts", "rows": [list(row) for row in rows]}


def table_block(table: Table, wide: Sequence[int] = ()) -> Block:
    """Return a table; the columns `wide` share what room the others leave."""
    return {
        "kind": "table",
        "title": table.title,
        "head": list(table.head),
        "rows": [list(row) for row in table.texts],
        "n_left": table.n_left,
        "wide": list(wide),
        "note": table.note,
    }


def rows_block(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    wide: Sequence[int] = (),
) -> Block:
    """Return a table of texts."""
    return {
        "kind": "table",
        "title": title,
        "head": list(head),
        "rows": [list(row) for row in rows],
        "n_left": len(head),
        "wide": list(wide),
        "note": "",
    }
