"""Metrics from elsewhere: a table with one row a study (and model), a column a metric."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from judge.stats.metric import Metric, metric_for_column
from judge.stats.panel import Values
from judge.types import JudgeError

_ID, _MODEL = "study_id", "model"
_MISSING = ("", "NaN", "nan", "NA", "null", "None")


@dataclass(frozen=True)
class MetricFile:
    """A file of metrics: for each row the model (None: the file names none) and the study."""

    path: str
    sha256: str
    models: tuple[str | None, ...]
    study_ids: tuple[str, ...]
    columns: tuple[tuple[Metric, Values], ...]

    def on(
        self, study_ids: Sequence[str], models: Sequence[str]
    ) -> Iterator[tuple[Metric, Values]]:
        """Yield each metric with its values, studies by models; NaN where the file has none.

        Raises `JudgeError` where the file names no model and there are several, or where
        nothing in it is about these models and studies.
        """
        at, cells = self._places(study_ids, models)
        for metric, column in self.columns:
            grid = np.full((len(study_ids), len(models)), np.nan)
            grid[cells] = column[at]
            yield metric, grid

    def n_unused(self, study_ids: Sequence[str], models: Sequence[str]) -> int:
        """Return how many rows are about no study or model that is compared."""
        return len(self.study_ids) - len(self._places(study_ids, models)[0])

    def _places(
        self, study_ids: Sequence[str], models: Sequence[str]
    ) -> tuple[list[int], tuple[list[int], list[int]]]:
        if None in self.models and len(models) > 1:
            raise JudgeError(
                f"{self.path} does not say which model it is about; add a column 'model' with "
                f"their names here: {', '.join(models)}"
            )
        row_of = {study_id: row for row, study_id in enumerate(study_ids)}
        column_of: dict[str | None, int] = {model: at for at, model in enumerate(models)}
        column_of[None] = 0
        at, rows, columns = [], [], []
        for here, (model, study_id) in enumerate(zip(self.models, self.study_ids, strict=True)):
            if study_id in row_of and model in column_of:
                at.append(here)
                rows.append(row_of[study_id])
                columns.append(column_of[model])
        if not at:
            raise JudgeError(
                f"nothing in {self.path} is about these runs: its first study is "
                f"{self.study_ids[0]!r}"
                + (f" of the model {self.models[0]!r}" if self.models[0] else "")
                + f"; the runs have {study_ids[0]!r} of {', '.join(models)}"
            )
        return at, (rows, columns)


def read_metrics(path: str, *, higher: Sequence[str] = (), lower: Sequence[str] = ()) -> MetricFile:
    """Read a CSV or Parquet file with `study_id`, perhaps `model`, and a column a metric.

    An empty cell, null or NaN is a study without the metric. `higher` and `lower` give the
    direction of columns whose name does not. Raises `JudgeError` for a column of text, one
    of unknown direction, an infinite value, and a study (of a model) that is there twice.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    columns = _parquet(path, data) if data[:4] == b"PAR1" else _delimited(path, data)
    if _ID not in columns:
        raise JudgeError(f"{path} has no column {_ID!r}; it has: {', '.join(columns) or 'none'}")
    study_ids = tuple(_text(value) for value in columns.pop(_ID))
    models: tuple[str | None, ...] = (None,) * len(study_ids)
    if _MODEL in columns:
        models = tuple(_text(value) for value in columns.pop(_MODEL))
    if not study_ids or not columns:
        raise JudgeError(f"{path} holds no {'study' if columns else 'metric'}")
    _check_once(path, models, study_ids)
    found, unknown = [], []
    for name, values in columns.items():
        numbers = _numbers(path, name, values, study_ids)
        metric = metric_for_column(name, higher=higher, lower=lower)
        if metric is None:
            unknown.append(name)
        else:
            found.append((metric, numbers))
    if unknown:
        raise JudgeError(
            f"whether more is better is unknown of {', '.join(map(repr, unknown))} in {path}; "
            "say --higher-is-better NAME or --lower-is-better NAME"
        )
    names = [metric.name for metric, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise JudgeError(f"{path} has several columns for {', '.join(twice)}; keep one")
    digest = hashlib.sha256(data).hexdigest()
    return MetricFile(path, digest, models, study_ids, tuple(found))


def _parquet(path: str, data: bytes) -> dict[str, list[object]]:
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise JudgeError(f"{path} is a broken Parquet file: {error}") from error
    return {name: table[name].to_pylist() for name in table.column_names}


def _delimited(path: str, data: bytes) -> dict[str, list[object]]:
    try:
        text = data.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise JudgeError(f"{path} is neither CSV nor Parquet: {error}") from error
    rows = [row for row in rows if row]
    if not rows:
        raise JudgeError(f"{path} is empty")
    head, body = [name.strip() for name in rows[0]], rows[1:]
    if len(set(head)) < len(head):
        raise JudgeError(f"{path} has columns of the same name; rename them")
    for line, row in enumerate(body, start=2):
        if len(row) != len(head):
            raise JudgeError(f"{path}: row {line} has {len(row)} cells, the header {len(head)}")
    return {name: [row[at] for row in body] for at, name in enumerate(head)}


def _text(value: object) -> str:
    # 17.0 is 17: a column of whole numbers with a gap becomes one of floats.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


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
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise JudgeError(
                f"the column {name!r} of {path} is no metric: it holds "
                f"{str(value)[:40]!r} for the study {study_ids[row]!r}; keep columns of "
                "numbers only"
            ) from None
        if math.isinf(number):
            raise JudgeError(
                f"the column {name!r} of {path} is infinite for the study {study_ids[row]!r}"
            )
        found[row] = number
    return found
