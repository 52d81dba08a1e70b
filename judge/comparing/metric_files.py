"""Metrics from elsewhere: a table with one row per study (and model), one column per metric."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from judge.metrics import added
from judge.stats.metric import Metric, metric_for_column, off_scale, scale_of
from judge.stats.panel import Values
from judge.stats.pooled import COLUMNS
from judge.studies.load import id_of, load
from judge.studies.names import NamedFields
from judge.types import JudgeError

_ID, _MODEL = "study_id", "model"
_MISSING = ("", "NaN", "nan", "NA", "null", "None")

# `float` would also take 1_0 and the digits of every script.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)

_LEAST, _MOST = 1e-12, 1e12
"""Beyond these a value is no measurement, and its square or reciprocal no number."""

_Places = NDArray[np.intp]

_INDEX = ("column_1", "Unnamed: 0", "__index_level_0__")
"""An index without a name: of CSV, of CSV read by pandas and written again, of Parquet."""


@dataclass(frozen=True)
class MetricFile:
    """A file of metrics: for each row the model (None: the file names none) and the study.

    `columns` has each metric with one value per row, NaN where there is none; `names` are what
    the file calls them, in the same order. `notes` say what was odd about the file.
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
    ) -> Iterator[tuple[Metric, Values]]:
        """Yield each metric with its values, studies by models; NaN where the file has none.

        Raises `JudgeError` where the file names no model and there are several, or where
        nothing in it is about these models and studies.
        """
        kept, cells = self._cells(study_ids, models)
        for metric, column in self.columns:
            grid = np.full((len(study_ids), len(models)), np.nan)
            grid[cells] = column[kept]
            yield metric, grid

    def n_unused(self, study_ids: Sequence[str], models: Sequence[str]) -> int:
        """Return how many rows are about no study or model that is compared."""
        return len(self.study_ids) - len(self._cells(study_ids, models)[0])

    def _cells(
        self, study_ids: Sequence[str], models: Sequence[str]
    ) -> tuple[_Places, tuple[_Places, _Places]]:
        if None in self.models and len(models) > 1:
            raise JudgeError(
                f"{self.path} does not say which model it is about; add a column 'model' with "
                f"their names here: {', '.join(models)}"
            )
        row_of = {study_id: row for row, study_id in enumerate(study_ids)}
        column_of: dict[str | None, int] = {model: column for column, model in enumerate(models)}
        column_of[None] = 0
        rows = np.array([row_of.get(study_id, -1) for study_id in self.study_ids])
        columns = np.array([column_of.get(model, -1) for model in self.models])
        kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        if not len(kept):
            raise JudgeError(
                f"nothing in {self.path} is about these runs: its first study is "
                f"{self.study_ids[0]!r}"
                + (f" of the model {self.models[0]!r}" if self.models[0] else "")
                + f"; the runs have {study_ids[0]!r} of {', '.join(models)}"
            )
        return kept, (rows[kept], columns[kept])


def read_metrics(path: str, *, higher: Sequence[str] = (), lower: Sequence[str] = ()) -> MetricFile:
    """Read a file with `study_id`, perhaps `model`, and one column per metric.

    It has any form that files of reports have (`load`). An empty cell, null or NaN is a
    study without the metric. `higher` and `lower` give the direction of columns whose name does
    not. An index that pandas wrote without a name is passed over, and with a note the counts that
    figures of a set are made of. Raises `JudgeError` for a file
    that cannot be read, a row without a study, a column of text or truth values, one of unknown
    or contradictory direction, a value that is infinite or beyond 1e-12 to 1e12, and a study (of
    a model) that is there twice.
    """
    table = load(path, "metrics", NamedFields(_ID))
    study_ids = list(table.index)
    columns = {name: list(table[name]) for name in table.columns if name not in _INDEX}
    notes = []
    if counts := columns.keys() & COLUMNS:
        columns = {name: column for name, column in columns.items() if name not in counts}
        notes.append(
            f"{path} has the counts of corpus BLEU or F1-CheXbert: judge metrics prints these "
            "figures, which are of a set of studies, and they are not compared"
        )
    models: tuple[str | None, ...] = (None,) * len(study_ids)
    if _MODEL in columns:
        models = _model_names(path, columns.pop(_MODEL))
    if not columns:
        raise JudgeError(f"{path} holds no metric{' of single studies' if counts else ''}")
    _check_once(path, models, study_ids)
    # First: of a column of texts the direction is no question.
    values = {name: _numbers(path, name, cells, study_ids) for name, cells in columns.items()}
    metrics = _metrics(path, columns, higher, lower)
    found = [(metric, values[name]) for name, metric in metrics.items()]
    for (metric, numbers), name in zip(found, metrics, strict=True):
        if (off := off_scale(metric, map(float, numbers))) is not None:
            raise JudgeError(
                f"{path} has {off:g} in the column {name!r}, which is read as {metric.study_label} "
                f"and goes {scale_of(metric)}: mend it, or give the column another name"
            )
    return MetricFile(
        path,
        table.attrs["file"].sha256,
        models,
        tuple(study_ids),
        tuple(found),
        tuple(columns),
        tuple(notes),
    )


def check_directions(
    files: Sequence[MetricFile], higher: Sequence[str], lower: Sequence[str]
) -> None:
    """Raise `JudgeError` for a direction that was given for no file or no column.

    One that contradicts itself is refused where its column is read.
    """
    given = [("--higher-is-better", name) for name in higher]
    given += [("--lower-is-better", name) for name in lower]
    if given and not files:
        option, name = given[0]
        raise JudgeError(f"{option} {name} is about a column of --metrics FILE; give the file too")
    names = list(dict.fromkeys(name for file in files for name in file.names))
    for option, name in given:
        if name not in names:
            raise JudgeError(
                f"{option} {name}: no file of metrics has that column; "
                f"they have: {', '.join(map(repr, names))}"
            )


def _metrics(
    path: str, columns: Mapping[str, object], higher: Sequence[str], lower: Sequence[str]
) -> dict[str, Metric]:
    every = {
        name: metric_for_column(name, higher=higher, lower=lower) or added(name) for name in columns
    }
    found = {name: metric for name, metric in every.items() if metric}
    if unknown := [name for name in every if name not in found]:
        raise JudgeError(
            f"whether more is better is unknown of {', '.join(map(repr, unknown))} in {path}; "
            "say --higher-is-better NAME or --lower-is-better NAME"
        )
    names_of: dict[str, list[str]] = {}
    for name, metric in found.items():
        names_of.setdefault(metric.name, []).append(name)
    for names in names_of.values():
        if len(names) > 1:
            raise JudgeError(
                f"{path} has several columns for one metric: {', '.join(map(repr, names))}; "
                "keep one"
            )
    return found


def _model_names(path: str, values: Sequence[object]) -> tuple[str, ...]:
    found = [id_of(value) for value in values]
    if None in found:
        row = found.index(None)
        what = "no value" if values[row] in (None, "") else repr(values[row])[:40]
        raise JudgeError(
            f"{path}: record {row + 1} of {len(values)} has {what} in {_MODEL!r}; every record "
            "needs a text or a number there"
        )
    return tuple(filter(None, found))


def _check_once(path: str, models: Sequence[str | None], study_ids: Sequence[str]) -> None:
    seen: set[tuple[str | None, str]] = set()
    for key in zip(models, study_ids, strict=True):
        if key in seen:
            of = f" of the model {key[0]!r}" if key[0] else ""
            raise JudgeError(f"{path} has the study {key[1]!r}{of} twice; keep one row")
        seen.add(key)


def _numbers(path: str, name: str, values: Sequence[object], study_ids: Sequence[str]) -> Values:
    found = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None or (isinstance(value, str) and value.strip() in _MISSING):
            continue
        number = _number(value)
        where = f"for the study {study_ids[row]!r} (row {row + 1} of {len(values)})"
        if number is None:
            raise JudgeError(
                f"the column {name!r} of {path} is no metric: it holds {str(value)[:40]!r} "
                f"{where}; keep columns of numbers only"
            )
        if problem := _problem(number):
            raise JudgeError(f"the column {name!r} of {path} {problem} {where}")
        found[row] = number
    return found


def _number(value: object) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return float(value)


def _problem(number: float) -> str | None:
    if math.isinf(number):
        return "is infinite"
    if abs(number) > _MOST:
        return f"holds {number:g}, beyond {_MOST:g},"
    if 0 < abs(number) < _LEAST:
        return f"holds {number:g}, nearer to 0 than {_LEAST:g} (write 0 if that is meant),"
    return None
