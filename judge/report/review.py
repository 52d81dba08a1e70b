"""What readers said of a run, as plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.report.tables import Table
from judge.report.words import counted, number, rate
from judge.rubrics.contract import Rubric
from judge.stats.review import ALL


def review_tables(measured: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return the judge's precision by category, and any two readers' agreement."""
    both = zip(measured["precision"], measured["finding_precision"], strict=True)
    rows = [(_name(row["code"], rubric), rate(row), rate(finding)) for row, finding in both]
    readers = ", ".join(measured["readers"]) or "nobody"
    title = (
        f"{counted(measured['n_reviewed_errors'], 'error', 'errors')} of "
        f"{counted(measured['n_studies'], 'study', 'studies')}, reviewed by {readers}; "
        f"{counted(measured['missed'], 'missed error', 'missed errors')} added, "
        f"{counted(measured['stale'], 'review', 'reviews')} stale"
    )
    code = rubric.codes.label if rubric.codes else ""
    found = [Table(title, (code, "precision", "finding precision"), tuple(rows))]
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


def _name(code: str, rubric: Rubric) -> str:
    return rubric.codes.text(code) if rubric.codes and code != ALL else code
