"""A run's table of studies, read column by column and held against the run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric
from judge.rubrics.numbers import Measure
from judge.running.files import open_file
from judge.stats.table import FIXED, FIXED_TEXTS, OUTCOMES
from judge.types import Annotated, Failed, JudgeError, Unparsed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

_ANEW = "judge rescore writes it anew"
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
    table cannot be read, lacks a column, has other studies than the run's summary counts, a scored
    one without a number that it must have or with one that it cannot have, or one that was not
    scored with some.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    whole = [*FIXED, *(measure.name for measure in rubric.measures)]
    wanted = list(dict.fromkeys([*_ALWAYS, *(whole if names is None else names)]))
    try:
        with open_file(path) as opened:
            file = pq.ParquetFile(opened, page_checksum_verification=True)
            there = file.schema_arrow.names
            if missing := [name for name in wanted if name not in there]:
                raise JudgeError(f"{path} lacks {', '.join(missing)}; {_ANEW}")
            asked = [name for name in dict.fromkeys([*wanted, *optional]) if name in there]
            table = file.read(columns=None if names is None else asked)
    except (pa.ArrowException, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise JudgeError(f"cannot read {path}: {why}; {_ANEW}") from error
    known = [name for name in wanted if name in whole]
    fault = _wrong_studies(table, summary)
    if table.num_rows and not fault:  # a column of nothing has no type
        fault = _wrong_type(table, known)
        measures = [measure for measure in rubric.measures if measure.name in known]
        is_scored = pc.equal(table["outcome"], OUTCOMES[Annotated]).to_numpy()
        faults = (_wrong_numbers(table[one.name], is_scored, one) for one in measures)
        fault = fault or next(filter(None, faults), None)
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
        what, checks = "numbers", [kinds.is_integer, kinds.is_floating, kinds.is_null]
        if name == "class_inferred":
            what, checks = "truth values", [kinds.is_boolean]
        elif name in FIXED_TEXTS:
            what, checks = "text", [kinds.is_string, kinds.is_large_string, kinds.is_null]
        if not any(check(kind) for check in checks):
            return f"holds no {what} in {name}"
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


def _wrong_numbers(
    values: pa.ChunkedArray, is_scored: NDArray[np.bool_], measure: Measure
) -> str | None:
    import numpy as np

    column = values.to_numpy(zero_copy_only=False).astype(float)  # none: NaN
    if not np.isnan(column[~is_scored]).all():
        return f"holds a number in {measure.name} of a study that was not scored"
    of_scored = column[is_scored]
    if measure.undefined is not None:
        of_scored = of_scored[~np.isnan(of_scored)]
    low, high = measure.scale
    is_right = np.isfinite(of_scored)
    is_right &= low is None or of_scored >= low
    is_right &= high is None or of_scored <= high
    is_right &= not measure.is_whole or of_scored % 1 == 0
    if not is_right.all():
        return f"lacks a number in {measure.name} of a scored study, or holds one off its scale"
    return None
