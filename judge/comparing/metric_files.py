"""Files of metrics: one row a study (and model), one column a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.metrics import added
from judge.metrics.pooled import COLUMNS
from judge.stats.intervals import Values
from judge.stats.metric import Metric, metric_for_column
from judge.studies.columns import NamedFields
from judge.studies.load import load, to_id
from judge.text import without_guard
from judge.types import JudgeError

_ID, _MODEL = "study_id", "model"
_MISSING = ("", "NaN", "nan", "NA", "null", "None")
_MOST = 1e12  # beyond this a value is no measurement, and its square no number
_INDEX = (
    "column_1",
    "Unnamed: 0",
    "__index_level_0__",
)  # without a name, in CSV or Parquet


@dataclass(frozen=True)
class MetricFile:
    """A file of metrics: a row's model, None if unnamed, its study, and each metric's values."""

    path: str
    sha256: str
    models: tuple[str | None, ...]
    study_ids: tuple[str, ...]
    columns: tuple[tuple[Metric, Values], ...]

    def on(
        self, study_ids: Sequence[str], models: Sequence[str]
    ) -> dict[Metric, Values]:
        """Return each metric's values, studies by models; raises `JudgeError` for none."""
        if None in self.models and len(models) > 1:
            raise JudgeError(
                f"{self.path} does not say which model it is about; add a column 'model' with "
                f"their names here: {', '.join(models)}"
            )
        column_of_model: dict[str | None, int] = {
            name: index for index, name in enumerate(models)
        }
        # Where there is one model only, a row need not say which.
        column_of_model[None] = 0
        model_columns = [column_of_model.get(name, -1) for name in self.models]
        columns = np.array(model_columns)
        studies = pd.Index(study_ids).get_indexer(pd.Index(self.study_ids))
        is_about_these = (studies >= 0) & (columns >= 0)
        rows = np.flatnonzero(is_about_these)
        if not len(rows):
            raise JudgeError(
                f"nothing in {self.path} is about these runs: it has the study "
                f"{self.study_ids[0]!r:.80} of {self.models[0] or 'no model'!s:.80}, and they have "
                f"{study_ids[0]!r} of {', '.join(models)}"
            )
        grids = {}
        for metric, column in self.columns:
            grid = np.full((len(study_ids), len(models)), np.nan)
            grid[studies[rows], columns[rows]] = column[rows]
            grids[metric] = grid
        return grids


def read_files(
    paths: Sequence[str], *, higher: Sequence[str] = (), lower: Sequence[str] = ()
) -> list[MetricFile]:
    """Read files as `read_metrics` does."""
    for name in set(higher).intersection(lower):
        raise JudgeError(
            f"{name!r} is given to both --higher-is-better and --lower-is-better"
        )
    return [read_metrics(path, higher=higher, lower=lower) for path in paths]


def read_metrics(
    path: str, *, higher: Sequence[str] = (), lower: Sequence[str] = ()
) -> MetricFile:
    """Read a file with `study_id`, perhaps `model`, and one column per metric.

    `higher` and `lower` give the direction of columns whose name does not tell. The counts of a
    set's figures, which `judge metrics` writes beside, are no metrics of single studies. Raises
    `JudgeError` for a column that is no metric or of unknown direction, and a study that is twice.
    """
    read = load(path, "metrics", NamedFields(id=_ID))
    table = read.frame
    study_ids = list(table.index)
    models = _models(path, table)
    names = [name for name in table.columns if name not in (_MODEL, *_INDEX, *COLUMNS)]
    if not names:
        raise JudgeError(f"{path} holds no metric of single studies")
    keys = pd.DataFrame({"model": models, "study": study_ids})
    if keys.duplicated().any():
        model, study_id = keys[keys.duplicated()].iloc[0]
        about = ""
        if model:
            about = f" of the model {model!r}"
        raise JudgeError(
            f"{path} has the study {study_id!r}{about} twice; keep one row"
        )
    columns: dict[Metric, Values] = {}
    for name in names:
        values = _numbers(path, name, list(table[name]), study_ids)
        metric = metric_for_column(name, higher=higher, lower=lower) or added(name)
        if metric is None:
            raise JudgeError(
                f"whether more is better is unknown of {name!r} in {path}; say "
                "--higher-is-better NAME or --lower-is-better NAME"
            )
        if metric in columns:
            raise JudgeError(
                f"{path} has {name!r} and another column for one metric; keep one"
            )
        known = values[~np.isnan(values)]
        scale = metric.statistic.scale
        if scale and not np.allclose(known, np.clip(known, *scale)):
            raise JudgeError(
                f"the column {name!r} of {path} is read as {metric.study_label}, and has values "
                f"beyond its scale {scale}: mend it, or give the column another name"
            )
        columns[metric] = values
    sha256 = ""
    if read.file:
        sha256 = read.file.sha256
    return MetricFile(
        path=path,
        sha256=sha256,
        models=tuple(models),
        study_ids=tuple(study_ids),
        columns=tuple(columns.items()),
    )


def _models(path: str, table: pd.DataFrame) -> pd.Series:
    """Return the model of each record, None where the file does not say; raises for some only."""
    if _MODEL not in table:
        return pd.Series([None] * len(table), dtype=object)
    names = []
    for value in table[_MODEL]:
        name = to_id(value)
        if name is not None:
            # As judge metrics prints them.
            name = without_guard(name)
        names.append(name)
    models = pd.Series(names, dtype=object)
    is_missing = models.isna()
    if is_missing.any():
        raise JudgeError(
            f"{path}: record {is_missing.argmax() + 1} of {len(models)} has no text or "
            f"number in {_MODEL!r}; every record needs one"
        )
    return models


def _numbers(
    path: str, name: str, values: Sequence[object], study_ids: Sequence[str]
) -> Values:
    """Return a column's numbers, NaN where a cell is empty; raises `JudgeError` for others."""
    cells = pd.Series(list(values), dtype=object).map(_without_missing)
    is_text = cells.map(_is_no_number)
    checked = cells.where(~is_text, "no number")
    numbers = pd.to_numeric(checked, errors="coerce").astype(float)
    is_number = numbers.abs() <= _MOST
    wrong = cells.notna() & ~is_number
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise JudgeError(
            f"the column {name!r} of {path} is no metric: it holds {str(cells[row])[:40]!r} for "
            f"the study {study_ids[row]!r} (row {row + 1} of {len(cells)}); keep columns of "
            f"numbers within {_MOST:g}"
        )
    return np.asarray(numbers, dtype=np.float64)


def _without_missing(cell: object) -> object:
    if isinstance(cell, str) and cell.strip() in _MISSING:
        return None
    return cell


def _is_no_number(cell: object) -> bool:
    """Return whether pandas would take for a number what is none, as True or 1_000."""
    if isinstance(cell, bool):
        return True
    if isinstance(cell, int) and abs(cell) > _MOST:
        # pandas would overflow.
        return True
    return "_" in str(cell)
