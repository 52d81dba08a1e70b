"""Results that print themselves in Python as their command does, and as a table in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class Displayed:
    """A result with printed tables: `print` shows the first, `frame` returns any of them."""

    def __str__(self) -> str:
        from judge.tables import documents

        return documents.as_text(documents.document_of(self))

    def _repr_html_(self) -> str:
        from judge.tables import documents

        return documents.as_html(documents.document_of(self))

    def frame(self, table: str = "") -> pd.DataFrame:
        """Return a table of the result, by default the first, as `--format csv` prints it.

        A figure `x` has its 95% interval in `x_low` and `x_high`, and `x_k` of `x_n` it rests on.

        Raises:
            JudgeError: For a table that the result has not; the message has the names.

        """
        from judge.tables import documents

        return documents.as_frame(documents.document_of(self, complete=True), table)
