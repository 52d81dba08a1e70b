"""What is said of a set of studies: scores, errors a study, and rates a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from judge.rubrics import Figure, Rubric
from judge.stats.intervals import Mean, inverse, mean_interval, wilson
from judge.types import Category, JudgeError

DEFAULT_BY = ("study_class",)


def summarise(
    table: pd.DataFrame, rubric: Rubric, by: Sequence[str] = DEFAULT_BY
) -> dict[str, Any]:
    """Return everything that is printed of a table of studies, ready for JSON.

    Keys: those of `_block` for all studies (`n_studies`, `n_scored`, `n_unparsed`,
    `n_failed`, `scores`, ...), `checks` (whether annotations make sense), `errors` (per
    level and category: how many, and per scored study), `levels` (the same per level
    alone), `reasons`, `remarks`, and `rates`, a list with one `_block` a group, its fields
    first. Raises `JudgeError` for a field that the table has not.
    """
    return {
        **_block(table, rubric),
        "n_class_inferred": int(table["class_inferred"].sum()),
        "checks": _checks(table, rubric),
        "errors": _errors(table, rubric),
        "levels": _levels(table, rubric),
        "matched": _matched(table, rubric),
        "reasons": _reasons(table),
        "remarks": _remarks(table),
        "by": list(by),
        "rates": rates(table, rubric, by),
    }


def rates(table: pd.DataFrame, rubric: Rubric, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return one object a group of `by`: the group's fields, then its `_block`.

    A study that lacks a field's value is in the group whose value is None. Raises
    `JudgeError` for a field that the table has not.
    """
    return [{**key, **_block(rows, rubric)} for key, rows in groups(table, by)]


def groups(
    table: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    """Yield each group's fields and its rows, in the order of the fields' values."""
    if not by:
        raise JudgeError("no field to group by; name at least one with --by")
    unknown = [name for name in by if name not in table.columns]
    if unknown:
        raise JudgeError(
            f"cannot group by {', '.join(map(repr, unknown))}: no such field; "
            f"there are: {', '.join(map(str, table.columns))}"
        )
    for key, rows in table.groupby(list(dict.fromkeys(by)), dropna=False, sort=True):
        values = [_plain(value) for value in key]
        yield dict(zip(dict.fromkeys(by), values, strict=True)), rows


def _block(rows: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Counts of outcomes, mean scores and rates of one set of rows.

    The denominator of every mean and rate is `n_scored`, the annotated studies.
    """
    scored = rows[rows["outcome"] == "annotated"]
    return {
        "n_studies": len(rows),
        "n_scored": len(scored),
        "n_unparsed": int((rows["outcome"] == "unparsed").sum()),
        "n_failed": int((rows["outcome"] == "failed").sum()),
        "scores": {figure.name: asdict(_figure(scored, figure)) for figure in rubric.figures},
        "no_significant_error": _none_of(scored["n_significant"]),
        "no_actionable_error": (
            _none_of(scored["n_actionable"]) if rubric.has_actionable else None
        ),
    }


def _figure(scored: pd.DataFrame, figure: Figure) -> Mean:
    mean = _mean(scored, figure.column)
    return inverse(mean) if figure.is_inverse else mean


def _mean(scored: pd.DataFrame, column: str) -> Mean:
    return mean_interval(scored[column].to_numpy(dtype=float).tolist())


def _none_of(counts: pd.Series[Any]) -> dict[str, Any]:
    return asdict(wilson(int((counts == 0).sum()), len(counts)))


def _checks(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Mean over the scored studies of each figure that tells whether annotations make sense."""
    scored = table[table["outcome"] == "annotated"]
    return {check.name: asdict(_mean(scored, check.name)) for check in rubric.checks}


def _errors(table: pd.DataFrame, rubric: Rubric) -> list[dict[str, Any]]:
    """Errors per category and level; one with two categories is counted under both."""
    scored = table[table["outcome"] == "annotated"]
    rows = []
    for category in Category:
        row: dict[str, Any] = {"category": str(category), "label": category.label}
        for level in rubric.levels:
            row[level.name] = _total(scored[f"{level.name}_{category}"])
        rows.append(row)
    return rows


def _levels(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Errors per level, each once whatever its categories."""
    scored = table[table["outcome"] == "annotated"]
    return {level.name: _total(scored[f"n_{level.name}"]) for level in rubric.levels}


def _total(counts: pd.Series[Any]) -> dict[str, Any]:
    """How many in all, and how many a scored study."""
    n = int(counts.sum())
    return {"n": n, "per_study": n / len(counts) if len(counts) else None}


def _matched(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any] | None:
    if not rubric.has_matched:
        return None
    return _total(table.loc[table["outcome"] == "annotated", "n_matched"])


def _reasons(table: pd.DataFrame) -> dict[str, int]:
    """How many studies ended without an annotation, by outcome and reason."""
    lost = table[table["outcome"] != "annotated"]
    counted = Counter(f"{o}: {r}" for o, r in zip(lost["outcome"], lost["reason"], strict=True))
    return dict(counted.most_common())


def _remarks(table: pd.DataFrame) -> dict[str, int]:
    """How many studies carry each remark."""
    counted = Counter(
        remark for cell in table["remarks"].dropna() for remark in set(cell.split("; "))
    )
    return dict(counted.most_common())


def _plain(value: Any) -> object:  # noqa: ANN401 - a cell of any column
    """Return a cell as Python's own value, which JSON can hold; None for a missing one."""
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value
