"""The built-in judge's rules: findings, negation, sides, severity and change, as data and code.

A baseline for when no model is at hand, never to be reported as GREEN or FineRadScore.
"""

from judge.backends.lexicon.data import load
from judge.backends.lexicon.judge import compare
from judge.backends.lexicon.reports import (
    changed_findings,
    named_findings,
    study_class,
    unfamiliar_reason,
)

__all__ = [
    "changed_findings",
    "compare",
    "load",
    "named_findings",
    "study_class",
    "unfamiliar_reason",
]
