"""Where to look first."""

from __future__ import annotations

from typing import Any

import pandas as pd

from judge.rubrics import Rubric
from judge.types import Category


def worst_rows(table: pd.DataFrame, rubric: Rubric, n: int) -> list[dict[str, Any]]:
    """Return the `n` worst annotated studies, most significant errors first.

    Ties go by the rubric's scores, then by errors in all, then by the table's order. Each
    row has `categories`, the letters of its errors.
    """
    scored = table[table["outcome"] == "annotated"]
    keys = {"n_significant": False}
    keys |= {score.name: score.higher_is_better for score in rubric.scores}
    keys |= {"n_insignificant": False}
    rows = scored.sort_values(list(keys), ascending=list(keys.values()), kind="stable").head(n)
    return [
        {
            **{str(key): None if pd.isna(value) else value for key, value in row.items()},
            "categories": _letters(row, rubric),
        }
        for row in rows.to_dict("records")
    ]


def _letters(row: dict[Any, Any], rubric: Rubric) -> str:
    return "".join(
        category
        for category in Category
        if any(row[f"{level.name}_{category}"] for level in rubric.levels)
    )
