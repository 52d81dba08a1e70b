"""What readers said of a run, as plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.report.tables import Table
from judge.report.words import number, rate
from judge.types import Category


def review_tables(measured: Mapping[str, Any]) -> list[Table]:
    """Return the judge's precision by category and, for each two readers, their agreement."""
    both = zip(measured["precision"], measured["finding_precision"], strict=True)
    rows = [(_name(row["category"]), rate(row), rate(finding)) for row, finding in both]
    readers = ", ".join(measured["readers"]) or "nobody"
    title = (
        f"{measured['n_reviewed_errors']} errors of {measured['n_studies']} studies, reviewed by "
        f"{readers}; {measured['missed']} missed errors added, {measured['stale']} reviews stale"
    )
    found = [Table(title, ("category", "precision", "finding precision"), tuple(rows))]
    if measured["kappa"]:
        pairs = tuple(
            (
                " and ".join(pair["readers"]),
                str(pair["n"]),
                str(pair["agreed"]),
                number(pair["kappa"]),
            )
            for pair in measured["kappa"]
        )
        head = ("readers", "errors of both", "agreed", "Cohen's kappa")
        found.append(Table("Agreement", head, pairs))
    return found


def _name(category: str) -> str:
    return "all" if category == "all" else f"({category}) {Category(category).label}"
