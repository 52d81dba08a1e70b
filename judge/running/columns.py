"""A run's table of studies, read column by column and held against the run's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric
from judge.running.files import open_file
from judge.stats.table import FIXED, OUTCOMES
from judge.types import Annotated, Failed, JudgeError, Unparsed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

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
    table cannot be read, lacks a column, or has other studies than the run's summary counts.
    """
    import pyarrow as pa
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
    if differing := _differing(table, summary):
        raise JudgeError(f"{path} has another {differing} than its summary; {_ANEW}")
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


def _differing(table: pa.Table, summary: Mapping[str, Any]) -> str | None:
    import pyarrow.compute as pc

    found = {
        part["values"].as_py(): part["counts"].as_py() for part in pc.value_counts(table["outcome"])
    }
    counts = {"n_studies": table.num_rows}
    counts |= {name: found.get(OUTCOMES[kind], 0) for name, kind in _COUNTED.items()}
    return next((name for name, count in counts.items() if summary[name] != count), None)
