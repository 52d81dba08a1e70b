"""The built-in judge's rules: findings, negation, sides, severity and change, as data and code.

A baseline for when no model is at hand, never to be reported as GREEN or FineRadScore.
"""

from judge.backends.lexicon.data import Lexicon, load
from judge.backends.lexicon.judge import compare
from judge.backends.lexicon.reading import changed, named, study_class, unfamiliar

__all__ = ["Lexicon", "changed", "compare", "load", "named", "study_class", "unfamiliar"]
