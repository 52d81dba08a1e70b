"""FineRadScore: corrections of the candidate's lines, each with a severity of four levels.

A study's score is the highest severity of its corrections, 1 where there is none, as in
ReXrank; the sum of the severities, as in the original paper, stands beside it [Huang et al.
2024; ReXrank, Metrics].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from judge.rubrics import Rubric, Score
from judge.rubrics.fineradscore.apply import corrected
from judge.rubrics.fineradscore.comparison import from_comparison
from judge.rubrics.fineradscore.parse import parse
from judge.rubrics.fineradscore.render import render
from judge.rubrics.fineradscore.scale import LEVELS
from judge.rubrics.fineradscore.score import score

if TYPE_CHECKING:
    from pydantic import BaseModel


def _reply_model() -> type[BaseModel]:
    from judge.rubrics.fineradscore.reply import Reply

    return Reply


RUBRIC = Rubric(
    name="fineradscore",
    version=1,
    title="FineRadScore",
    summary="Judge reports by FineRadScore: line-by-line corrections, each with a severity.",
    levels=LEVELS,
    scores=(
        Score(
            "fineradscore",
            "highest severity",
            higher_is_better=False,
            inverse="1/FineRadScore",
        ),
        Score("fineradscore_sum", "severity sum", higher_is_better=False),
    ),
    has_matched=False,
    prompt="fineradscore",
    parse=parse,
    render=render,
    score=score,
    from_comparison=from_comparison,
    reply_model=_reply_model,
    corrected=corrected,
    checks=(
        Score("closeness_candidate", "closeness, candidate", higher_is_better=True),
        Score("closeness_corrected", "closeness, corrected", higher_is_better=True),
    ),
)
