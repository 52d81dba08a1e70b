"""A finished run in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from judge.results.result import Result
from judge.run_settings import DEFAULT_BY
from judge.running import folder
from judge.tables.document import Document
from judge.tables.forms import as_frame
from judge.tables.run import run_document

if TYPE_CHECKING:
    import pandas as pd


class Run(folder.RunFolder, Result):
    """A finished run, opened for reading: `Run.open("judge-runs/green-lexicon-1a2b3c4d")`."""

    def document(self, *, complete: bool = False) -> Document:
        """Return what is printed of it; `complete` has all counts in one table of rates."""
        return run_document(self.summary(), self.rubric, complete=complete)

    def rates(self, by: Sequence[str] = DEFAULT_BY) -> pd.DataFrame:
        """Return the rates and figures by group, as `judge rates --format csv` prints them.

        One row a group of the fields `by`, and a last one for all studies (`row` tells which).
        `n_scored` is the denominator of the figures; each has its 95% interval beside it.
        """
        fields = [by] if isinstance(by, str) else by
        summary = self.regrouped(fields)
        return as_frame(run_document(summary, self.rubric, complete=True))
