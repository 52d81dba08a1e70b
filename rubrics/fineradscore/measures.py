"""The numbers of a study."""

from __future__ import annotations

from collections.abc import Collection

from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.contract import Kind, Measure
from judge.rubrics.counting import count_measures, counted
from judge.rubrics.fineradscore.apply import corrected
from judge.rubrics.fineradscore.closeness import closeness
from judge.rubrics.fineradscore.scale import ACTIONABLE, NAMES, SEVERITY, SIGNIFICANT
from judge.types import Annotation, Measures, Study

_FLOOR = 1

CORRECTION = Kind(ERROR, "error", "errors", (CATEGORY.name, SEVERITY.name), graded_by=SEVERITY.name)
_COUNTS = count_measures(CORRECTION, SEVERITY, CATEGORY)

MEASURES = (
    Measure("fineradscore", "highest severity", (1, 4), role="score"),
    Measure("fineradscore_sum", "severity sum", role="score"),
    Measure(
        "closeness_candidate",
        "word overlap (Dice) before correction",
        (0, 1),
        higher_is_better=True,
        role="check",
    ),
    Measure(
        "closeness_corrected",
        "word overlap (Dice) after correction",
        (0, 1),
        higher_is_better=True,
        role="check",
    ),
    Measure("n_significant", "errors of severity 3 or 4", is_whole=True),
    Measure("n_insignificant", "errors of severity 1 or 2", is_whole=True),
    Measure("n_actionable", "errors of severity 2 or more", is_whole=True),
    *_COUNTS,
)


def measure(annotation: Annotation, study: Study) -> Measures:
    """Return the study's two scores, two numbers to check them by, and its counts.

    `fineradscore`: the highest severity, 1 to 4; 1 where there is no correction [ReXrank].
    `fineradscore_sum`: the sum of severities, 0 where there is none [Huang et al. 2024].
    Significant is severity 3 or 4, actionable 2 or more. `closeness_candidate` and
    `closeness_corrected` tell how near the candidate is to the reference before and after
    the corrections.
    """
    grades = [item.label(SEVERITY.name) for item in annotation.items]
    severities = [NAMES.index(grade) + 1 for grade in grades]

    def among(names: Collection[str]) -> int:
        return sum(grade in names for grade in grades)

    return {
        "fineradscore": float(max(severities, default=_FLOOR)),
        "fineradscore_sum": float(sum(severities)),
        "closeness_candidate": closeness(study.candidate, study.reference),
        "closeness_corrected": closeness(corrected(annotation, study), study.reference),
        "n_significant": among(SIGNIFICANT),
        "n_insignificant": len(grades) - among(SIGNIFICANT),
        "n_actionable": among(ACTIONABLE),
        **counted(annotation, _COUNTS),
    }
