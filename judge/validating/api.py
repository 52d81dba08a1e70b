"""Validating judges from Python: runs in, DataFrames out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.comparing.metric_files import read_files
from judge.comparing.names import Runs, choices
from judge.display import Displayed
from judge.stats.agreement import EXPERTS
from judge.stats.significance import Resampling
from judge.validating import validation
from judge.validating.raters import rated, raters

_USUAL = Resampling()


@dataclass(frozen=True, repr=False)
class Validation(Displayed):
    """How far judges agree with readers; `print` shows the agreement.

    `data` is what `judge validate --format json` prints, and `frame(NAME)` one of its tables.
    """

    data: dict[str, Any]
    notes: tuple[str, ...]
    signature: str


def validate(
    runs: Runs,
    readers: Runs,
    *,
    metrics: Sequence[str | Path] = (),
    higher_is_better: Sequence[str] = (),
    lower_is_better: Sequence[str] = (),
    epsilon: float = EXPERTS,
    level: str | None = None,
    patient_field: str | None = None,
    resampling: Resampling = _USUAL,
) -> Validation:
    """Hold judges against readers of the same reports, as `judge validate` does.

    `runs` are the judges' and `readers` the readers', opened or by their folders, or by the names
    they are to have. `level` (actionable, urgent, emergent or significant) is the one of which
    errors count as significant. `epsilon` is that of the alternative-annotator test. `metrics`,
    `higher_is_better`, `lower_is_better` and `patient_field` are as in `compare`. Raises
    `JudgeError` as the command does.
    """
    files = read_files([*map(str, metrics)], higher=higher_is_better, lower=lower_is_better)
    studies = rated(
        raters(choices(runs), readers=False),
        raters(choices(readers), readers=True),
        files,
        patient_field,
        level,
    )
    data = validation.validate(studies, resampling, epsilon)
    return Validation(data, tuple(data["notes"]), str(data["signature"]))
