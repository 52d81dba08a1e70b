"""GREEN: errors in six categories, clinically significant or not, and the findings that match.

The score of a study is matched findings / (matched findings + clinically significant
errors), and 0 when nothing matched [Ostmeier et al. 2024].
"""

from __future__ import annotations

from judge.rubrics import Level, Rubric, Score
from judge.rubrics.green.layout import INSIGNIFICANT, SIGNIFICANT
from judge.rubrics.green.parse import parse
from judge.rubrics.green.render import render
from judge.rubrics.green.score import from_comparison, score

RUBRIC = Rubric(
    name="green",
    version=1,
    title="GREEN",
    summary="Judge reports by GREEN: errors in six categories, significant or not.",
    levels=(
        Level(SIGNIFICANT, "clinically significant", significant=True, actionable=None),
        Level(INSIGNIFICANT, "clinically insignificant", significant=False, actionable=None),
    ),
    scores=(Score("green", "GREEN", higher_is_better=True),),
    has_matched=True,
    prompt="green",
    parse=parse,
    render=render,
    score=score,
    from_comparison=from_comparison,
)
