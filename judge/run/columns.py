"""A run's table of studies, read column by column and held against the run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.rubrics import Rubric
from judge.stats.table import OUTCOMES, count_columns
from judge.types import Annotated, Failed, JudgeError, Unparsed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ANEW = "judge rescore writes it anew"
_TEXTS = ("study_id", "study_class", "outcome", "reason", "remarks")
_ALWAYS = ("study_id", "outcome", "class_inferred")
_COUNTED = {"n_scored": Annotated, "n_unparsed": Unparsed, "n_failed": Failed}


def read_columns(
    path: Path,
    rubric: Rubric,
    summary: Mapping[str, Any],
    names: Sequence[str] | None = None,
    optional: Sequence[str] = (),
) -> pa.Table:
    """Read the table at `path`: all of it, or the columns `names` and those of `optional` there.

    The ids, the outcomes and `class_inferred` are always read. Raises `JudgeError` where the
    table cannot be read, lacks a column, has other studies than the run's summary counts, a
    scored one without its numbers, or one that was not scored with some.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    scores = [score.name for score in rubric.scores]
    numbers = [*scores, *(check.name for check in rubric.checks), *count_columns(rubric)]
    whole = [*_TEXTS, "class_inferred", *numbers]
    wanted = list(dict.fromkeys([*_ALWAYS, *(whole if names is None else names)]))
    try:
        with path.open("rb") as opened:
            file = pq.ParquetFile(opened, page_checksum_verification=True)
            there = file.schema_arrow.names
            if missing := [name for name in wanted if name not in there]:
                raise JudgeError(f"{path} lacks {', '.join(missing)}; {_ANEW}")
            more = [name for name in optional if name in there and name not in wanted]
            table = file.read(columns=None if names is None else [*wanted, *more])
    except (pa.ArrowException, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise JudgeError(f"cannot read {path}: {why}; {_ANEW}") from error
    known = [name for name in wanted if name in whole]
    required = {*scores, "n_significant", "n_insignificant"}
    required |= {"n_actionable"} if rubric.has_actionable else set()
    fault = _wrong_studies(table, summary)
    if table.num_rows and not fault:  # a column of nothing has no type
        fault = _wrong_type(table, known)
        fault = fault or _wrong_numbers(table, [n for n in known if n in numbers], required)
    if fault:
        raise JudgeError(f"{path} {fault}; {_ANEW}")
    return table


def read_frame(path: Path, rubric: Rubric, summary: Mapping[str, Any]) -> pd.DataFrame:
    """Read all of the table at `path` for pandas; raises `JudgeError` as `read_columns` does."""
    table = read_columns(path, rubric, summary)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (KeyError, TypeError, ValueError) as error:  # what pandas noted of its types
        raise JudgeError(f"cannot read the types in {path}: {error}; {_ANEW}") from error
    if list(frame.columns) != table.column_names:
        raise JudgeError(f"{path} names its columns in two ways; {_ANEW}")
    return frame


def _wrong_type(table: pa.Table, names: Sequence[str]) -> str | None:
    import pyarrow as pa

    kinds = pa.types
    for name in names:
        kind = table.schema.field(name).type
        if name == "class_inferred":
            if not kinds.is_boolean(kind):
                return f"holds no truth values in {name}"
        elif name in _TEXTS:
            if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_null(kind)):
                return f"holds no text in {name}"
        elif not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_null(kind)):
            return f"holds no numbers in {name}"
    return None


def _wrong_studies(table: pa.Table, summary: Mapping[str, Any]) -> str | None:
    import pyarrow.compute as pc

    found = {
        part["values"].as_py(): part["counts"].as_py() for part in pc.value_counts(table["outcome"])
    }
    counts = {"n_studies": table.num_rows}
    counts |= {name: found.pop(OUTCOMES[kind], 0) for name, kind in _COUNTED.items()}
    if found:
        return f"has the outcome {next(iter(found))!r}"
    if differing := [name for name, count in counts.items() if summary[name] != count]:
        return f"has another {differing[0]} than its summary"
    if pc.count_distinct(table["study_id"], mode="all").as_py() < table.num_rows:
        return "repeats a study"
    return None


def _wrong_numbers(table: pa.Table, names: Sequence[str], required: set[str]) -> str | None:
    import numpy as np

    scored = table["outcome"].to_numpy(zero_copy_only=False) == OUTCOMES[Annotated]
    for name in names:
        column = table[name].to_numpy(zero_copy_only=False).astype(float)  # none: NaN
        if not np.isnan(column[~scored]).all():
            return f"holds a number in {name} of a study that was not scored"
        of_scored = column[scored]
        if name not in required:
            of_scored = of_scored[~np.isnan(of_scored)]
        if not (np.isfinite(of_scored) & (of_scored >= 0)).all():
            return f"lacks a number in {name} of a scored study"
    return None
