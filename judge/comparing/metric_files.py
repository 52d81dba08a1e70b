"""Files of metrics: one row a study (and model), one column a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.metrics import added
from judge.metrics.pooled import COLUMNS
from judge.stats.intervals import Values
from judge.stats.metric import Metric, metric_for_column
from judge.studies.columns import NamedFields
from judge.studies.load import load, to_id
from judge.types import JudgeError

_ID, _MODEL = "study_id", "model"
_MISSING = ("", "NaN", "nan", "NA", "null", "None")
_MOST = 1e12
"""Beyond this a value is no measurement, and its square no number."""
_INDEX = ("column_1", "Unnamed: 0", "__index_level_0__")
"""An index without a name: of CSV, of CSV read by pandas and written again, of Parquet."""


@dataclass(frozen=True)
class MetricFile:
    """A file of metrics: for each row the model (None: the file names none) and the study.

    `columns` has each metric with one value per row, NaN where there is none; `names` are what
    the file calls them. `notes` say what was odd about the file.
    """

    path: str
    sha256: str
    models: tuple[str | None, ...]
    study_ids: tuple[str, ...]
    columns: tuple[tuple[Metric, Values], ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]

    def on(
        self, study_ids: Sequence[str], models: Sequence[str]
    ) -> tuple[dict[Metric, Values], int]:
        """Return each metric's values, studies by models, and how many rows are not used.

        NaN is a study without a value. Raises `JudgeError` where the file names no model and
        there are several, or where nothing in it is about these models and studies.
        """
        if None in self.models and len(models) > 1:
            raise JudgeError(
                f"{self.path} does not say which model it is about; add a column 'model' with "
                f"their names here: {', '.join(models)}"
            )
        number_of: dict[str | None, int] = {name: index for index, name in enumerate(models)}
        if self.models[0] is None:
            number_of = {None: 0}
        studies = pd.Index(study_ids).get_indexer(pd.Index(self.study_ids))
        columns = np.array([number_of.get(name, -1) for name in self.models])
        rows = np.flatnonzero((studies >= 0) & (columns >= 0))
        if not len(rows):
            raise JudgeError(
                f"nothing in {self.path} is about these runs: it has the study "
                f"{self.study_ids[0]!r} of {self.models[0] or 'no model'}, and they have "
                f"{study_ids[0]!r} of {', '.join(models)}"
            )
        grids = {}
        for metric, column in self.columns:
            grids[metric] = np.full((len(study_ids), len(models)), np.nan)
            grids[metric][studies[rows], columns[rows]] = column[rows]
        return grids, len(self.study_ids) - len(rows)


def read_metrics(path: str, *, higher: Sequence[str] = (), lower: Sequence[str] = ()) -> MetricFile:
    """Read a file with `study_id`, perhaps `model`, and one column per metric.

    It has any form that files of reports have. An empty cell, null or NaN is a study without the
    metric. `higher` and `lower` give the direction of columns whose name does not tell. Raises
    `JudgeError` for a file that cannot be read, a column that is no metric or of unknown
    direction, and a study (of a model) that is there twice.
    """
    table = load(path, "metrics", NamedFields(_ID))
    study_ids = list(table.index)
    columns = {name: list(table[name]) for name in table.columns if name not in _INDEX}
    notes = []
    if counts := columns.keys() & COLUMNS:
        columns = {name: column for name, column in columns.items() if name not in counts}
        notes.append(
            f"{path} has the counts of corpus BLEU or F1-CheXbert, which judge metrics prints: "
            "they are figures of a set of studies and are not compared"
        )
    models: tuple[str | None, ...] = (None,) * len(study_ids)
    if _MODEL in columns:
        models = tuple(to_id(value) for value in columns.pop(_MODEL))
        if None in models:
            raise JudgeError(
                f"{path}: record {models.index(None) + 1} of {len(models)} has no text or number "
                f"in {_MODEL!r}; every record needs one"
            )
    if not columns:
        raise JudgeError(f"{path} holds no metric{' of single studies' if counts else ''}")
    keys = pd.Series(zip(models, study_ids, strict=True))
    if keys.duplicated().any():
        model, study_id = keys[keys.duplicated()].iloc[0]
        about = f" of the model {model!r}" if model else ""
        raise JudgeError(f"{path} has the study {study_id!r}{about} twice; keep one row")
    # First: of a column of texts the direction is no question.
    values = {name: _numbers(path, name, cells, study_ids) for name, cells in columns.items()}
    metrics = _metrics(path, columns, higher, lower)
    for name, metric in metrics.items():
        known = values[name][~np.isnan(values[name])]
        if metric.scale and not np.allclose(known, np.clip(known, *metric.scale)):
            raise JudgeError(
                f"the column {name!r} of {path} is read as {metric.study_label}, and has values "
                f"beyond its scale {metric.scale}: mend it, or give the column another name"
            )
    return MetricFile(
        path,
        table.attrs["file"].sha256,
        models,
        tuple(study_ids),
        tuple((metric, values[name]) for name, metric in metrics.items()),
        tuple(columns),
        tuple(notes),
    )


def read_files(
    paths: Sequence[str], *, higher: Sequence[str] = (), lower: Sequence[str] = ()
) -> list[MetricFile]:
    """Read files as `read_metrics` does; raises too for a direction of a column that none has."""
    files = [read_metrics(path, higher=higher, lower=lower) for path in paths]
    names = list(dict.fromkeys(name for file in files for name in file.names))
    for name in set(higher).intersection(lower):
        raise JudgeError(f"{name!r} is given to both --higher-is-better and --lower-is-better")
    for name in (*higher, *lower):
        if name not in names:
            raise JudgeError(
                f"--higher-is-better or --lower-is-better {name}: no file of --metrics has that "
                f"column; they have: {', '.join(map(repr, names)) or 'none'}"
            )
    return files


def _metrics(
    path: str, columns: Mapping[str, object], higher: Sequence[str], lower: Sequence[str]
) -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    for name in columns:
        metric = metric_for_column(name, higher=higher, lower=lower) or added(name)
        if metric is None:
            raise JudgeError(
                f"whether more is better is unknown of {name!r} in {path}; say "
                "--higher-is-better NAME or --lower-is-better NAME"
            )
        if metric in metrics.values():
            raise JudgeError(f"{path} has {name!r} and another column for one metric; keep one")
        metrics[name] = metric
    return metrics


def _numbers(path: str, name: str, values: Sequence[object], study_ids: Sequence[str]) -> Values:
    cells = pd.Series(list(values), dtype=object).map(
        lambda cell: None if isinstance(cell, str) and cell.strip() in _MISSING else cell
    )
    is_text = cells.map(lambda cell: isinstance(cell, bool) or "_" in str(cell))
    numbers = pd.to_numeric(cells.where(~is_text, "no number"), errors="coerce").astype(float)
    wrong = cells.notna() & ~(numbers.abs() <= _MOST)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise JudgeError(
            f"the column {name!r} of {path} is no metric: it holds {str(cells[row])[:40]!r} for "
            f"the study {study_ids[row]!r} (row {row + 1} of {len(cells)}); keep columns of "
            f"numbers within {_MOST:g}"
        )
    return np.asarray(numbers, dtype=np.float64)
