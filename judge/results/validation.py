"""Judges beside readers in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.comparing.alignment import Runs, choices
from judge.comparing.metric_files import read_files
from judge.results.result import Result
from judge.stats.agreement import EXPERTS
from judge.stats.significance import Resampling
from judge.tables.document import Document
from judge.tables.validation import validation_document
from judge.validating.raters import align_raters, open_raters
from judge.validating.validation import compute_validation

_USUAL = Resampling()


@dataclass(frozen=True, repr=False)
class Validation(Result):
    """How far judges agree with readers; `print` shows the judges.

    `data` is the output of `judge validate --format json`, and `frame(NAME)` one of its tables.
    """

    data: dict[str, Any]
    notes: tuple[str, ...]
    signature: str

    def document(self, *, complete: bool = False) -> Document:  # noqa: ARG002
        """Return what is printed of it, which is all there is."""
        return validation_document(self.data)


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
    random_readers: bool = False,
    resampling: Resampling = _USUAL,
) -> Validation:
    """Compare judges with readers of the same reports, as `judge validate` does.

    Args:
        runs: The runs of judges: opened, as folders, or as a mapping from names.
        readers: The runs of readers, in the same forms.
        metrics: Files of further metrics, as in `compare`.
        higher_is_better: Columns of these of which more is better, where the name does not tell.
        lower_is_better: Columns of which less is better.
        epsilon: The epsilon of the alternative-annotator test.
        level: Errors of this level or worse are significant: actionable, urgent, emergent or
            significant; by default each rubric's own.
        patient_field: The field with the patient, as in `compare`.
        random_readers: Intervals cover the choice of the readers too; it needs three. By default
            they hold for these readers.
        resampling: The number of resamples and the seed.

    Raises:
        JudgeError: For runs that cannot be compared.

    """
    files = read_files(
        [*map(str, metrics)], higher=higher_is_better, lower=lower_is_better
    )
    studies = align_raters(
        open_raters(choices(runs), readers=False),
        open_raters(choices(readers), readers=True),
        files,
        patient_field,
        level,
    )
    data = compute_validation(
        studies, resampling, epsilon, random_readers=random_readers
    )
    return Validation(data, tuple(data["notes"]), str(data["signature"]))
