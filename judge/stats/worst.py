"""The worst studies, in the order that the rubric declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric

if TYPE_CHECKING:
    import pandas as pd


def worst_order(table: pd.DataFrame, rubric: Rubric) -> list[int]:
    """Return the rows of `table` of all studies, the worst annotated one first.

    Ties are in the table's order; a study that lacks a measure comes after those that have
    it. Studies without an annotation come last, unparsed before failed.
    """
    keys = {"_outcome": True} | {one.measure: not one.largest_first for one in rubric.worst}
    ranks = table["outcome"].map({"annotated": 0, "unparsed": 1, "failed": 2})
    rows = table.assign(_outcome=ranks).reset_index(drop=True)
    rows = rows.sort_values(list(keys), ascending=list(keys.values()), kind="stable")
    return [int(row) for row in rows.index]


def worst_rows(table: pd.DataFrame, rubric: Rubric, n: int) -> list[dict[str, Any]]:
    """Return the `n` worst annotated studies, in the order of `worst_order`.

    Where the rubric lists codes, each row has them under the plural of their facet.
    """
    import pandas as pd

    rows = table.iloc[worst_order(table, rubric)]
    rows = rows[rows["outcome"] == "annotated"].head(n)
    if rubric.codes:
        rows = rows.assign(**{rubric.codes.plural: codes(rows, rubric)})
    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()}
        for row in rows.to_dict("records")
    ]


def codes(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the labels of the tally's rows that each study's items carry, such as `abd`.

    Names of one letter stand without a space. Empty for a study that has none or no score.
    """
    found: list[list[str]] = [[] for _ in range(len(table))]
    if rubric.tally is None or rubric.codes is None:
        return [""] * len(found)
    labels = rubric.codes.labels
    for label in labels:
        counts = rubric.counting(rubric.tally.kind, {rubric.tally.rows: label.name})
        has = (table[[measure.name for measure in counts]].fillna(0) > 0).any(axis=1)
        for names, here in zip(found, has, strict=True):
            if here:
                names.append(str(label.name))
    between = "" if all(len(label.name) == 1 for label in labels) else ", "
    return [between.join(names) for names in found]
