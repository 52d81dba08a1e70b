"""What is said of a set of studies, and of each group of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric
from judge.stats.estimate import estimate
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_BY = ("study_class",)


def summarise(
    table: pd.DataFrame, rubric: Rubric, by: Sequence[str] = DEFAULT_BY
) -> dict[str, Any]:
    """Return everything that is printed of a table of studies, ready for JSON.

    Keys: those of `_block` for all studies (`n_studies`, `n_scored`, `n_unparsed`,
    `n_failed`, `statistics`), `totals` (of each whole measure: how many, and per study that
    has it), `reasons`, `warnings`, and `rates`, a list with one `_block` a group, its fields
    first. Raises `JudgeError` for a field that the table has not.
    """
    return {
        **_block(table, rubric),
        "n_class_inferred": int(table["class_inferred"].sum()),
        "totals": _totals(table, rubric),
        "reasons": _reasons(table),
        "warnings": _warnings(table),
        "by": list(by),
        "rates": rates(table, rubric, by),
    }


def rates(table: pd.DataFrame, rubric: Rubric, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return one object a group of `by`, in the order of its fields: these, then its `_block`.

    A study that lacks a field's value is in the group whose value is None. Raises
    `JudgeError` for a field that the table has not.
    """
    check_fields(by, table.columns)
    names = list(dict.fromkeys(by))
    groups = table.groupby(names, dropna=False, sort=True)
    return [
        {**dict(zip(names, map(_plain, key), strict=True)), **_block(rows, rubric)}
        for key, rows in groups
    ]


def check_fields(by: Sequence[str], columns: Iterable[object]) -> None:
    """Raise `JudgeError` where a table of these columns cannot be grouped by the fields `by`."""
    there = [str(name) for name in columns]
    if not by:
        raise JudgeError("no field to group by; name at least one with --by")
    if unknown := [name for name in by if name not in there]:
        raise JudgeError(
            f"cannot group by {', '.join(map(repr, unknown))}: no such field; "
            f"there are: {', '.join(there)}"
        )


def _block(rows: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Counts of outcomes and the statistics of one set of rows.

    The denominator of every mean and rate is the annotated studies that have its measure.
    """
    scored = rows[rows["outcome"] == "annotated"]
    return {
        "n_studies": len(rows),
        "n_scored": len(scored),
        "n_unparsed": int((rows["outcome"] == "unparsed").sum()),
        "n_failed": int((rows["outcome"] == "failed").sum()),
        "statistics": {one.name: estimate(scored, one).plain() for one in rubric.statistics},
    }


def _totals(table: pd.DataFrame, rubric: Rubric) -> dict[str, dict[str, Any]]:
    scored = table[table["outcome"] == "annotated"]
    known = {one.name: scored[one.name].dropna() for one in rubric.measures if one.is_whole}
    return {
        name: {"n": (n := int(of.sum())), "per_study": n / len(of) if len(of) else None}
        for name, of in known.items()
    }


def _reasons(table: pd.DataFrame) -> dict[str, int]:
    """How many studies ended without an annotation, by outcome and reason."""
    lost = table[table["outcome"] != "annotated"]
    counted = Counter(f"{o}: {r}" for o, r in zip(lost["outcome"], lost["reason"], strict=True))
    return dict(counted.most_common())


def _warnings(table: pd.DataFrame) -> dict[str, int]:
    """How many studies carry each warning."""
    counted = Counter(
        warning for cell in table["warnings"].dropna() for warning in set(cell.split("; "))
    )
    return dict(counted.most_common())


def _plain(value: Any) -> object:  # noqa: ANN401 - a cell of any column
    """Return a cell as Python's own value, which JSON can hold; None for a missing one."""
    import pandas as pd

    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value
