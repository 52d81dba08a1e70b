"""RadEval's values of single studies, from JSON: what `RadEval(..., per_sample=True)` returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from judge.metrics import Scored
from judge.stats.metric import KNOWN, Metric, off_scale, radeval_column, scale_of
from judge.studies.load import decode, read_content, read_json
from judge.types import JudgeError

_IDS = "study_id"
_MOST = 1e12


def read_results(path: Path, study_ids: Sequence[str]) -> list[Scored]:
    """Return each of the file's metrics with a value a study, in the order of `study_ids`.

    RadEval keeps no ids; a list `study_id` in the file joins by them. null and NaN are no value. A
    column that is the same number as one here has its name, all others `radeval_` before theirs.
    """
    content = read_content(str(path))
    found, *others = read_json(content.name, decode(content))
    if others or not isinstance(found, dict) or not found.keys() - {_IDS}:
        raise JudgeError(f"{path} is no object of lists, one for each metric")
    for key, values in found.items():
        if not key.strip():
            raise JudgeError(f"{path} has values of a metric without a name ({key!r}); name it")
        if not isinstance(values, list):
            raise JudgeError(
                f"{path} has no list of values for {key!r}; ask with RadEval(..., per_sample=True)"
            )
        if len(values) != len(study_ids):
            raise JudgeError(
                f"{path} has {len(values):,} values of {key!r} for {len(study_ids):,} studies"
            )
    order = _order(path, found.pop(_IDS, None), study_ids)
    return [_scored(path, key, [values[at] for at in order]) for key, values in found.items()]


def _order(path: Path, ids: list[object] | None, study_ids: Sequence[str]) -> list[int]:
    if ids is None:
        return list(range(len(study_ids)))
    place = {str(one): at for at, one in enumerate(ids)}
    if lacking := [one for one in study_ids if one not in place]:
        raise JudgeError(f"{path} has no study {lacking[0]!r}; it lacks {len(lacking):,} studies")
    return [place[one] for one in study_ids]


def _scored(path: Path, key: str, values: Sequence[object]) -> Scored:
    name = radeval_column(key)
    metric = KNOWN.get(name)
    if metric is None:  # whether more is better is said where it is compared
        label = f"{key} (RadEval)"
        metric = Metric(name, label, "mean", True, label, True)  # noqa: FBT003 - two directions
    numbers = tuple(_number(path, key, value) for value in values)
    if (off := off_scale(metric, numbers)) is not None:
        raise JudgeError(f"{path} has {off:g} for {key!r}, which goes {scale_of(metric)}")
    return Scored(metric, numbers)


def _number(path: Path, key: str, value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST:
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    raise JudgeError(f"{path} has {str(value)[:40]!r} among the values of {key!r}")
