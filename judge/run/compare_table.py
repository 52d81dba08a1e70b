"""What a comparison needs of one run's table, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from judge.rubrics import Rubric
from judge.run.compare_names import NamedRun
from judge.run.folder import TABLE_PARQUET
from judge.stats.metric import rubric_metrics
from judge.stats.panel import Values
from judge.types import JudgeError


@dataclass(frozen=True)
class RunTable:
    """A run's studies in columns: ids, values by metric (NaN: not scored), further fields."""

    study_ids: tuple[str, ...]
    values: Mapping[str, Values]
    fields: Mapping[str, list[object]]
    n_inferred: int


def read_table(named: NamedRun, rubric: Rubric, fields: Sequence[str]) -> RunTable:
    """Read the columns that a comparison needs; of `fields`, those that the run has."""
    where = f"the {TABLE_PARQUET} of {named.shown}"
    try:
        file = pq.ParquetFile(named.run.path / TABLE_PARQUET)
        there = [name for name in fields if name in file.schema_arrow.names]
        scores = [score.name for score in rubric.scores]
        counts = ["n_significant", "n_insignificant", "n_actionable"]
        names = ["study_id", "outcome", "class_inferred", *scores, *counts, *there]
        table = file.read(columns=list(dict.fromkeys(names)))
    except (pa.ArrowException, OSError) as error:
        raise JudgeError(f"cannot read {where}: {error}") from error
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise JudgeError(f"{where} lacks {', '.join(missing)}; judge rescore writes it anew")
    scored = pc.equal(table["outcome"], "annotated").to_numpy(zero_copy_only=False)

    def numbers(name: str) -> Values:
        column: Values = table[name].to_numpy(zero_copy_only=False).astype(float)
        return np.where(scored, column, np.nan)

    significant = numbers("n_significant")
    by_what = {
        "errors": lambda: significant + numbers("n_insignificant"),
        "no_significant_error": lambda: _none_of(significant),
        "no_actionable_error": lambda: _none_of(numbers("n_actionable")),
    }
    columns = iter(scores)
    values = {
        metric.name: numbers(next(columns)) if metric.what == "score" else by_what[metric.what]()
        for metric in rubric_metrics(rubric)
    }
    return RunTable(
        tuple(map(str, table["study_id"].to_pylist())),
        values,
        {name: table[name].to_pylist() for name in there},
        int(pc.sum(table["class_inferred"]).as_py() or 0),
    )


def _none_of(counts: Values) -> Values:
    return np.where(np.isnan(counts), np.nan, counts == 0)


def aligned(table: RunTable, study_ids: Sequence[str]) -> NDArray[np.intp]:
    """Return the row of each study in a run's table."""
    if table.study_ids == study_ids:
        return np.arange(len(study_ids))
    row_of = {study_id: row for row, study_id in enumerate(table.study_ids)}
    return np.array([row_of[study_id] for study_id in study_ids], dtype=np.intp)


def merged_field(
    name: str, tables: Sequence[tuple[str, RunTable, NDArray[np.intp]]], *, is_needed: bool
) -> tuple[tuple[object, ...] | None, str | None]:
    """Return a field's value for each study, from runs that have the field.

    `tables` are their paths, tables, and the rows of the studies. None where there are no
    runs. Where runs disagree about a study, a field that `is_needed` raises `JudgeError`;
    another is left out, and the text returned beside it says so.
    """
    columns = [(path, [table.fields[name][row] for row in at]) for path, table, at in tables]
    for path, column in columns[1:]:
        first_path, first = columns[0]
        if column == first:
            continue
        differing = [i for i, value in enumerate(column) if value != first[i]]
        _, table, at = tables[0]
        text = (
            f"{first_path} and {path} disagree about {name!r} of {len(differing):,} studies, "
            f"{table.study_ids[at[differing[0]]]!r} among them"
        )
        if is_needed:
            raise JudgeError(f"{text}; judge both with the same references")
        return None, f"{text}: it is left out"
    return (tuple(columns[0][1]) if columns else None), None
