"""A result that prints itself as its command does, and as a table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING

from judge.tables.document import Document
from judge.tables.forms import as_frame
from judge.tables.terminal import as_text

if TYPE_CHECKING:
    import pandas as pd


class Result(ABC):
    """A result with printed tables: `print` shows the first, `frame` returns any of them."""

    @abstractmethod
    def document(self, *, complete: bool = False) -> Document:
        """Return what is printed of it; `complete` has all groups and counts, as CSV does."""

    def __str__(self) -> str:
        return as_text(self.document())

    def _repr_html_(self) -> str:
        document = self.document()
        table = document.tables[0]
        head = "".join(f"<th>{escape(label)}</th>" for label in table.head)
        rows = [_html_row(row) for row in table.texts]
        body = "".join(f"<tr>{row}</tr>" for row in (head, *rows))
        lines = [*document.notes, *(line for _, line in document.signatures)]
        notes = "".join(f"<p>{escape(line)}</p>" for line in lines)
        return f"<h4>{escape(document.title)}</h4><table>{body}</table>{notes}"

    def frame(self, table: str = "") -> pd.DataFrame:
        """Return a table of the result, by default the first, as `--format csv` prints it.

        A figure `x` has its 95% interval in `x_low` and `x_high`, and `x_k` of `x_n` it rests on.

        Raises:
            JudgeError: For a table that the result has not; the message has the names.

        """
        return as_frame(self.document(complete=True), table)


def _html_row(cells: tuple[str, ...]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)
