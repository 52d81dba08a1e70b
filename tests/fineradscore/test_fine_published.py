"""The definitions against the published figures.

ReXrank's challenge prints for a model 1/FineRadScore and the shares of studies without a
significant and without an actionable error: MAIRA-2 on normal studies 0.734 and 91.95%;
MedVersa on abnormal ones 0.396, 43.32% and 11.70%; MAIRA-2 on abnormal ones 0.392, 41.98%
and 10.78%. A study without an actionable error scores 1, one without a significant error
at most 2; what is left must average between 3 and 4.
"""

from __future__ import annotations

from typing import Any

import pytest

from judge import rubrics
from judge.rubrics.categories import error_item
from judge.rubrics.fineradscore.parse import NAMES
from judge.stats.summary import TableBuilder, summarise
from judge.types import Annotation, Category, Edit, Scored, Study

RUBRIC = rubrics.load("fineradscore")
N = 10_000


def summary_of(shares: dict[int, float]) -> dict[str, Any]:
    """The summary of N studies of which such shares have that highest severity (0: no error)."""
    table = TableBuilder(RUBRIC, [])
    study = Study("s", "No effusion.", "Large effusion.", "abnormal")
    for severity, share in shares.items():
        errors = ()
        if severity:
            categories, edit = [Category.FALSE_FINDING], Edit("delete", 0, "")
            errors = (
                error_item(categories, "severity", NAMES[severity - 1], "why", edit),
            )
        annotation = Annotation(errors)
        measures = RUBRIC.measured(annotation, study)
        for _ in range(round(share * N)):
            table.add(study, Scored(annotation), measures)
    return summarise(table.build(), RUBRIC)


ABNORMAL = [
    pytest.param(0.396, 0.4332, 0.1170, 3.13, id="MedVersa"),
    pytest.param(0.392, 0.4198, 0.1078, 3.14, id="MAIRA-2"),
]


@pytest.mark.parametrize(
    ("inverse", "insignificant", "not_actionable", "rest"), ABNORMAL
)
def test_abnormal_studies(
    inverse: float, insignificant: float, not_actionable: float, rest: float
) -> None:
    significant = 1 - insignificant
    mean_rest = (
        1 / inverse - not_actionable - 2 * (insignificant - not_actionable)
    ) / significant
    assert mean_rest == pytest.approx(rest, abs=0.005)
    fourths = (mean_rest - 3) * significant
    shares = {
        0: not_actionable / 2,
        1: not_actionable / 2,
        2: insignificant - not_actionable,
        3: significant - fourths,
        4: fourths,
    }
    assert min(shares.values()) > 0
    found = summary_of(shares)["statistics"]
    assert found["inverse_fineradscore"]["value"] == pytest.approx(inverse, abs=5e-4)
    assert found["no_significant_error"]["value"] == pytest.approx(
        insignificant, abs=1e-3
    )
    assert found["no_actionable_error"]["value"] == pytest.approx(
        not_actionable, abs=1e-3
    )


NORMAL_INVERSE, NORMAL_INSIGNIFICANT = 0.734, 0.9195


def test_normal_studies() -> None:
    mean = 1 / NORMAL_INVERSE
    assert mean == pytest.approx(1.36, abs=0.005)
    thirds = fourths = (1 - NORMAL_INSIGNIFICANT) / 2
    seconds = mean - 1 - 2 * thirds - 3 * fourths
    assert 0 < seconds < NORMAL_INSIGNIFICANT
    ones = NORMAL_INSIGNIFICANT - seconds
    found = summary_of({0: ones - 0.05, 1: 0.05, 2: seconds, 3: thirds, 4: fourths})[
        "statistics"
    ]
    inverse = found["inverse_fineradscore"]
    assert inverse["value"] == pytest.approx(NORMAL_INVERSE, abs=5e-4)
    assert inverse["low"] < NORMAL_INVERSE < inverse["high"]
    assert found["no_significant_error"]["value"] == pytest.approx(
        NORMAL_INSIGNIFICANT, abs=1e-3
    )
