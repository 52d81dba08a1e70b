"""The document of each result that Python and the commands print."""

from __future__ import annotations

from judge.comparing.leaderboard import Leaderboard, RecurringErrors
from judge.running.folder import Rates, Run
from judge.stress.report import StressReport
from judge.tables.comparison import comparison_document
from judge.tables.data import as_frame
from judge.tables.document import Document
from judge.tables.recurring import recurring_document
from judge.tables.run import run_document
from judge.tables.stress import stress_document
from judge.tables.terminal import as_text
from judge.tables.validation import validation_document
from judge.text import Displayed
from judge.validating.validation import Validation

__all__ = ["as_frame", "as_text", "document_of"]


def document_of(result: Displayed, *, complete: bool = False) -> Document:
    """Return what is printed of a result; `complete` has all groups, for CSV and DataFrames."""
    match result:
        case Run():
            return run_document(result.summary(), result.rubric, complete=complete)
        case Rates():
            return run_document(result.summary, result.rubric, complete=complete)
        case Leaderboard():
            return comparison_document(result.comparison, complete=complete)
        case RecurringErrors():
            return recurring_document(result.recurring, complete=complete)
        case Validation():
            return validation_document(result.data)
        case StressReport():
            return stress_document(result.data)
        case _:
            raise TypeError(f"no document of {type(result).__name__}")
