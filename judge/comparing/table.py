"""What a comparison needs of one run's table, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from judge import rubrics
from judge.comparing.names import NamedRun
from judge.stats.estimate import summed
from judge.stats.metric import Metric, rubric_metrics
from judge.stats.panel import Counts, Values
from judge.stats.tally import cuts
from judge.studies.names import as_text
from judge.types import JudgeError


@dataclass(frozen=True)
class RunTable:
    """A run's studies in columns: its metrics, ids, values by metric (NaN: not scored), what ratios
    are divided by, the counts of its tally by studies, further fields."""

    metrics: tuple[Metric, ...]
    study_ids: tuple[str, ...]
    outcomes: NDArray[np.str_]
    values: Mapping[str, Values]
    per: Mapping[str, Values]
    tally: Counts
    fields: Mapping[str, list[object]]
    n_inferred: int

    def on(self, study_ids: tuple[str, ...]) -> RunTable:
        """Return the table of these studies alone, in this order."""
        row_of = {study_id: row for row, study_id in enumerate(self.study_ids)}
        rows = np.array([row_of[study_id] for study_id in study_ids], dtype=np.intp)
        return replace(
            self,
            study_ids=study_ids,
            outcomes=self.outcomes[rows],
            values={name: column[rows] for name, column in self.values.items()},
            per={name: column[rows] for name, column in self.per.items()},
            tally=self.tally[:, rows],
            fields={name: [column[row] for row in rows] for name, column in self.fields.items()},
        )


def read_table(named: NamedRun, fields: Sequence[str]) -> RunTable:
    """Read the columns that a comparison needs; of `fields`, those that the studies have.

    Raises `JudgeError` as `Run.columns` does.
    """
    # A reader may have categories beside the rubric's: they are compared in its totals. What is
    # said of several judges is another thing than of one.
    rubric = named.run.rubric if named.run.combined else rubrics.load(named.rubric)
    metrics, tally = rubric_metrics(rubric), list(cuts(rubric).values())
    measures = dict.fromkeys(name for one in metrics for name in (*one.measures, *one.per))
    measures |= dict.fromkeys(tally)
    own = {"study_class", *named.run.manifest["fields"]}
    there = [name for name in fields if name in own]
    table = named.run.columns(list(measures), there)
    outcomes = np.array(table["outcome"].to_pylist(), dtype=np.str_)

    def columns(names: Sequence[str]) -> list[Values]:
        return [table[name].to_numpy(zero_copy_only=False).astype(float) for name in names]

    values, per = {}, {}
    for metric in metrics:
        found = summed(columns(metric.measures), sizes=metric.kind == "rate")
        if metric.per:
            under = summed(columns(metric.per))
            found = np.where(np.isnan(under), np.nan, found)
            per[metric.name] = np.where(np.isnan(found), np.nan, under)
        if metric.kind == "rate":
            found = np.where(np.isnan(found), np.nan, found == 0)
        values[metric.name] = found
    return RunTable(
        metrics,
        tuple(table["study_id"].to_pylist()),
        outcomes,
        values,
        per,
        _tally(table, tally),
        {name: table[name].to_pylist() for name in there if name in table.column_names},
        int(pc.sum(table["class_inferred"]).as_py() or 0),
    )


def _tally(table: pa.Table, names: Sequence[str]) -> Counts:
    found = np.empty((len(names), table.num_rows), np.float32)
    for row, name in zip(found, names, strict=True):
        row[:] = table[name].to_numpy(zero_copy_only=False)
    return found


def merged_field(
    name: str, tables: Sequence[tuple[str, RunTable]], remedy: str | None
) -> tuple[tuple[object, ...] | None, str | None]:
    """Return a field's value for each study, from runs that have the field.

    `tables` are what messages call the runs, and their tables of the same studies. None where
    there are no runs. Values are the same where they read the same, as 3 and "3" from files of
    two forms do. Where runs disagree about a study, a field with a `remedy` raises
    `JudgeError`; another is left out, and the text returned beside it says so.
    """
    columns = [(shown, table.fields[name]) for shown, table in tables]
    for shown, column in columns[1:]:
        first_shown, first = columns[0]
        if column == first:
            continue
        differing = [i for i, value in enumerate(column) if _text(value) != _text(first[i])]
        if not differing:
            continue
        text = (
            f"{first_shown} and {shown} disagree about {name!r} of {len(differing):,} studies, "
            f"{tables[0][1].study_ids[differing[0]]!r} among them"
        )
        if remedy:
            raise JudgeError(f"{text}; {remedy}")
        return None, f"{text}: it is left out"
    return (tuple(columns[0][1]) if columns else None), None


def _text(value: object) -> str | None:
    return None if value is None else as_text(value)
