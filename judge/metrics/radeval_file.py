"""RadEval's values of single studies, from JSON: what `RadEval(..., per_sample=True)` returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from judge.metrics import Scores
from judge.stats.metric import KNOWN, Metric, off_scale, radeval_column, scale_of
from judge.studies.load import decode, read_content, read_json
from judge.types import JudgeError

_IDS = "study_id"
_MOST = 1e12


def read_results(path: Path, study_ids: Sequence[str]) -> Scores:
    """Return the file's metrics with a value a study, in the order of `study_ids`.

    RadEval keeps no ids; a list `study_id` in the file joins by them. null and NaN are no value. A
    column that is the same number as one here has its name, all others `radeval_` before theirs.
    """
    content = read_content(str(path))
    results, *others = read_json(content.name, decode(content))
    if others or not isinstance(results, dict) or not results.keys() - {_IDS}:
        raise JudgeError(f"{path} is no object of lists, one for each metric")
    for key, values in results.items():
        if not isinstance(values, list) or len(values) != len(study_ids):
            raise JudgeError(
                f"{path} has no list of {len(study_ids):,} values for {key!r}, one a study; ask "
                "with RadEval(..., per_sample=True)"
            )
    place = {str(study_id): row for row, study_id in enumerate(results.pop(_IDS, study_ids))}
    if lacking := [study_id for study_id in study_ids if study_id not in place]:
        raise JudgeError(f"{path} has no study {lacking[0]!r}; it lacks {len(lacking):,} studies")
    rows = [place[study_id] for study_id in study_ids]
    metrics = {key: _metric(key) for key in results}
    columns = {
        metric.name: tuple(_number(path, key, results[key][row], metric) for row in rows)
        for key, metric in metrics.items()
    }
    return Scores(columns, tuple(metrics.values()))


def _metric(key: str) -> Metric:
    name, label = radeval_column(key), f"{key} (RadEval)"
    # Whether more is better is said where an unknown one is compared.
    return KNOWN.get(name) or Metric(name, label, "mean", True, label, True)  # noqa: FBT003


def _number(path: Path, key: str, value: object, metric: Metric) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MOST:
        raise JudgeError(f"{path} has {str(value)[:40]!r} among the values of {key!r}")
    if off_scale(metric, [value]) is not None:
        raise JudgeError(f"{path} has {value:g} for {key!r}, which goes {scale_of(metric)}")
    return float(value)
