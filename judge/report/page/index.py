"""The studies of a run in columns: what its page filters, sorts and lists them by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judge.report.overview import cell, field_names
from judge.rubrics import Rubric
from judge.stats.table import codes, worst_order

if TYPE_CHECKING:
    import pandas as pd


def index(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the columns by name and the order of the rows, the worst study's first.

    A column holds a value a study, in the order of the table, as `cell` gives it. The codes
    of a study's items stand under the plural of their facet, such as `categories`.
    """
    names = ["study_id", "study_class", "outcome", "reason"]
    names += [measure.name for measure in rubric.measures if measure.role != "check"]
    names += field_names(table, rubric)
    columns: dict[str, list[Any]] = {
        name: [cell(v) for v in table[name].tolist()] for name in names
    }
    if rubric.codes:
        columns[rubric.codes.plural] = list(codes(table, rubric))
    return {"order": worst_order(table, rubric), "columns": columns}
