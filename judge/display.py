"""Results that print themselves in Python as their command does, and as a table in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from judge.tables.document import Document


class Displayed:
    """A result with printed tables: `print` shows the first, `frame` returns any of them."""

    def __str__(self) -> str:
        from judge.tables.terminal import as_text

        return as_text(_document(self))

    def _repr_html_(self) -> str:
        document = _document(self)
        table = document.tables[0]
        head = "".join(f"<th>{escape(label)}</th>" for label in table.head)
        rows = [
            "".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.texts
        ]
        body = "".join(f"<tr>{row}</tr>" for row in (head, *rows))
        lines = (*document.notes, *(line for _, line in document.signatures))
        notes = "".join(f"<p>{escape(line)}</p>" for line in lines)
        return f"<h4>{escape(document.title)}</h4><table>{body}</table>{notes}"

    def frame(self, table: str = "") -> pd.DataFrame:
        """Return a table of the result, by default the first, as `--format csv` prints it.

        A figure `x` has its 95% interval in `x_low` and `x_high`, and `x_k` of `x_n` it rests on.

        Raises:
            JudgeError: For a table that the result has not; the message has the names.

        """
        from judge.tables.forms import as_frame

        return as_frame(_document(self, complete=True), table)


def _document(result: Displayed, *, complete: bool = False) -> Document:
    """Return what is printed of a result; `complete` has all groups, for DataFrames."""
    from judge.comparing.leaderboard import Leaderboard
    from judge.comparing.recurring import Recurring
    from judge.running.folder import Rates, Run
    from judge.stress.report import StressReport
    from judge.tables import comparison, recurring, run, stress, validation
    from judge.validating.validation import Validation

    match result:
        case Run():
            return run.run_document(result.summary(), result.rubric, complete=complete)
        case Rates():
            return run.run_document(result.summary, result.rubric, complete=complete)
        case Leaderboard():
            return comparison.comparison_document(result.comparison, complete=complete)
        case Recurring():
            return recurring.recurring_document(result, complete=complete)
        case Validation():
            return validation.validation_document(result.data)
        case StressReport():
            return stress.stress_document(result.data)
    raise TypeError(f"no document of {type(result).__name__}")
