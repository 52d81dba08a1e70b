"""What an annotation is worth."""

from __future__ import annotations

from collections import Counter

from judge.rubrics.fineradscore.apply import corrected
from judge.rubrics.fineradscore.closeness import closeness
from judge.rubrics.fineradscore.scale import LEVELS, NAMES
from judge.types import Annotation, Category, Study, StudyCounts

_FLOOR = 1


def score(annotation: Annotation, study: Study) -> StudyCounts:
    """Return the study's counts, its two scores, and two figures to check them by.

    `fineradscore`: the highest severity, 1 to 4; 1 where there is no correction [ReXrank].
    `fineradscore_sum`: the sum of severities, 0 where there is none [Huang et al. 2024].
    Significant is severity 3 or 4, actionable 2 or more. `closeness_candidate` and
    `closeness_corrected` tell how near the candidate is to the reference before and after
    the corrections.
    """
    severities = [NAMES.index(error.level) + 1 for error in annotation.errors]
    by_category = {(name, category): 0 for name in NAMES for category in Category}
    for error in annotation.errors:
        for category in error.categories:
            by_category[error.level, category] += 1
    by_level = dict.fromkeys(NAMES, 0) | Counter(error.level for error in annotation.errors)
    significant = sum(by_level[level.name] for level in LEVELS if level.significant)
    return StudyCounts(
        by_level=by_level,
        by_category=by_category,
        n_significant=significant,
        n_insignificant=len(severities) - significant,
        n_actionable=sum(by_level[level.name] for level in LEVELS if level.actionable),
        n_matched=None,
        scores={
            "fineradscore": float(max(severities, default=_FLOOR)),
            "fineradscore_sum": float(sum(severities)),
            "closeness_candidate": closeness(study.candidate, study.reference),
            "closeness_corrected": closeness(corrected(annotation, study), study.reference),
        },
    )
