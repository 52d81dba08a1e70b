"""Where to look first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judge.rubrics import Rubric
from judge.types import Category

if TYPE_CHECKING:
    import pandas as pd


def worst_order(table: pd.DataFrame, rubric: Rubric) -> list[int]:
    """Return the places in `table` of all studies, the worst annotated one first.

    Most significant errors first; ties go by the rubric's scores, then by errors in all,
    then by the table's order. Studies without an annotation come last, unparsed before failed.
    """
    keys: dict[str, bool] = {"_outcome": True, "n_significant": False}
    keys |= {score.name: score.higher_is_better for score in rubric.scores}
    keys |= {"n_insignificant": False}
    ranks = table["outcome"].map({"annotated": 0, "unparsed": 1, "failed": 2})
    rows = table.assign(_outcome=ranks).reset_index(drop=True)
    rows = rows.sort_values(list(keys), ascending=list(keys.values()), kind="stable")
    return [int(place) for place in rows.index]


def worst_rows(table: pd.DataFrame, rubric: Rubric, n: int) -> list[dict[str, Any]]:
    """Return the `n` worst annotated studies, in the order of `worst_order`.

    Each row has `categories`, the letters of its errors.
    """
    import pandas as pd

    rows = table.iloc[worst_order(table, rubric)]
    rows = rows[rows["outcome"] == "annotated"].head(n)
    return [
        {
            **{str(key): None if pd.isna(value) else value for key, value in row.items()},
            "categories": letters,
        }
        for row, letters in zip(rows.to_dict("records"), categories(rows, rubric), strict=True)
    ]


def categories(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the letters of each study's errors, empty for a study that has none or no score."""
    letters = [""] * len(table)
    for category in Category:
        has = (table[[f"{level.name}_{category}" for level in rubric.levels]].fillna(0) > 0).any(
            axis=1
        )
        letters = [
            before + category if here else before for before, here in zip(letters, has, strict=True)
        ]
    return letters
