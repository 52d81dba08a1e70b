"""Stress tests of judges in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.results.result import Result
from judge.stress.report import RunLike, StressFigures, stress_figures
from judge.tables.document import Document
from judge.tables.stress import stress_document


@dataclass(frozen=True, repr=False)
class StressReport(StressFigures, Result):
    """The figures of a stress test: all but those of stability of the `first` of its repeats."""

    def document(self, *, complete: bool = False) -> Document:
        """Return what is printed of it; `complete` has every reading that was changed."""
        return stress_document(self.data, complete=complete)


def stress_report(runs: RunLike | Sequence[RunLike]) -> StressReport:
    """Return the figures of the runs of one judge over candidates with known errors.

    `runs` are its repeats, or a folder of `judge stress`, which has all of them. Raises
    `JudgeError` for runs that are not repeats of one judge over the same candidates.
    """
    figures = stress_figures(runs)
    return StressReport(figures.first, figures.data)
