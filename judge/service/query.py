"""Which studies of a run are asked for, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from judge.report.overview import cell
from judge.service.opened import OpenRun, encodable
from judge.service.wanted import WORST, Query
from judge.types import Category, JudgeError

_OUTCOMES = ("annotated", "unparsed", "failed")

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def places(run: OpenRun, query: Query) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the places of the studies that match, in the order asked for.

    Raises `JudgeError` for a column, a category, a level or an outcome that the run has not.
    """
    mask = np.ones(run.table.num_rows, bool)
    for condition in _conditions(run, query):
        mask &= condition
    order = _order(run, query)
    found: np.ndarray[Any, np.dtype[np.int64]] = order[mask[order]]
    return found


def _conditions(run: OpenRun, query: Query) -> Iterable[Mask]:
    table = run.table
    if query.study_class is not None:
        yield _equals(table["study_class"], query.study_class, missing="")
    if query.outcome is not None:
        if query.outcome not in _OUTCOMES:
            raise JudgeError(f"no outcome {query.outcome!r}; there are: {', '.join(_OUTCOMES)}")
        yield _equals(table["outcome"], query.outcome)
    if query.category is not None or query.level is not None:
        yield _with_error(run, query.category, query.level)
    for name, value in query.equal:
        yield _equals(_column(table, name), value, missing="")
    for name, value in query.contains:
        yield _contains(_text(_column(table, name)), value)
    for name, number in query.least:
        yield _mask(pc.greater_equal(_numbers(table, name), number))
    for name, number in query.most:
        yield _mask(pc.less_equal(_numbers(table, name), number))
    for word in encodable(query.text).lower().split():
        yield _mask(pc.match_substring(run.texts, word))
    if query.reviewed is not None:
        ids, wanted = query.reviewed
        there = pa.array([encodable(study_id) for study_id in ids], pa.string())
        yield _mask(pc.is_in(_text(table["study_id"]), value_set=there)) == wanted


def _with_error(run: OpenRun, category: str | None, level: str | None) -> Mask:
    """Return which studies have an error of the category, of the level, or of both at once."""
    levels = [known.name for known in run.rubric.levels]
    if level is not None and level not in levels:
        raise JudgeError(f"no level {level!r}; the rubric has: {', '.join(levels)}")
    if category is not None and category not in set(Category):
        raise JudgeError(f"no category {category!r}; there are: {', '.join(Category)}")
    asked = levels if level is None else [level]
    names = [f"n_{name}" if category is None else f"{name}_{category}" for name in asked]
    return _any_positive([run.table[name] for name in names])


def _any_positive(columns: Sequence[pa.ChunkedArray]) -> Mask:
    """Return where at least one of the columns of counts is above 0."""
    found = np.zeros(len(columns[0]) if columns else 0, bool)
    for column in columns:
        found |= _mask(pc.greater(column, 0))
    return found


def _order(run: OpenRun, query: Query) -> np.ndarray[Any, np.dtype[np.int64]]:
    if query.sort == WORST:
        return run.worst[::-1] if query.descending else run.worst
    direction = "descending" if query.descending else "ascending"
    column = _column(run.table, query.sort)
    there = pc.is_valid(column)
    has, lacks = np.flatnonzero(there), np.flatnonzero(~_mask(there))
    by = pa.table({"value": column.filter(there), "row": pa.array(has)})
    try:
        found = pc.sort_indices(by, sort_keys=[("value", direction), ("row", "ascending")])
    except pa.ArrowException as error:
        raise JudgeError(f"the studies cannot be sorted by {query.sort!r}") from error
    return np.concatenate([has[np.asarray(found, np.int64)], lacks])


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        known = ", ".join(table.column_names)
        raise JudgeError(f"no column {name!r}; the studies have: {known}")
    return table[name]


def _numbers(table: pa.Table, name: str) -> pa.ChunkedArray:
    column = _column(table, name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise JudgeError(f"the column {name!r} holds no numbers")
    return column


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text, its values as a page shows them."""
    if pa.types.is_large_string(column.type):
        return column
    if pa.types.is_string(column.type):
        return pc.cast(column, pa.large_string())
    values = [
        None if (shown := cell(value)) is None else str(shown) for value in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(values, pa.large_string())])


def _equals(column: pa.ChunkedArray, value: str, missing: str | None = None) -> Mask:
    text = _text(column)
    if missing is not None:
        text = pc.fill_null(text, missing)
    return _mask(pc.equal(text, pa.scalar(encodable(value), pa.large_string())))


def _contains(text: pa.ChunkedArray, value: str) -> Mask:
    return _mask(pc.match_substring(text, encodable(value), ignore_case=True))


def _mask(condition: pa.ChunkedArray | pa.Array) -> Mask:
    found: Mask = pc.fill_null(condition, fill_value=False).to_numpy(zero_copy_only=False)
    return found
