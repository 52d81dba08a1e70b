"""Experiments in Python: the runs and the leaderboards of a matrix of candidates and judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from judge.experiments.execution import ExperimentRunner
from judge.experiments.leaderboards import ExperimentBoard, experiment_boards
from judge.results.comparison import Leaderboard
from judge.results.result import Result
from judge.results.run import Run
from judge.stats.significance import Resampling
from judge.tables.document import Document
from judge.tables.experiment import boards_document, models_document
from judge.tables.forms import as_frame
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, repr=False)
class ExperimentResult(Result):
    """The runs of an experiment and its leaderboards; `print` shows all models.

    `runs` has each run by the name of its folder, in the order of the experiment; `failed` says of
    each run that could not be judged why. `leaderboards` has one for each data set, section and
    judge, such as "north, findings, gpt-6-luna", with all rubrics in it.
    """

    path: Path
    runs: Mapping[str, Run]
    failed: Mapping[str, str]
    boards: Sequence[ExperimentBoard]
    notes: tuple[str, ...]

    def document(self, *, complete: bool = False) -> Document:
        """Return what is printed of it; `complete` has all groups, metrics and pairs."""
        if complete:
            document = boards_document(self.boards)
        else:
            document = models_document(self.boards)
        return replace(document, notes=(*self.notes, *document.notes))

    @cached_property
    def leaderboards(self) -> dict[str, Leaderboard]:
        """The comparisons of models by what each is of."""
        return {board.title: Leaderboard(board.comparison) for board in self.boards}

    @property
    def leaderboard(self) -> Leaderboard:
        """The only comparison; raises `JudgeError` where there are several, or none."""
        if len(self.boards) != 1:
            names = "; ".join(self.leaderboards) or "none"
            raise JudgeError(
                f"there are several leaderboards, or none: choose one of leaderboards ({names})"
            )
        return next(iter(self.leaderboards.values()))

    def frame(self, table: str = "leaderboard") -> pd.DataFrame:
        """Return a table of all leaderboards together, as `judge run --format csv` prints it.

        `data`, `section` and `judge` say what a row is of. The tables are leaderboard, errors,
        tests, ranks and correlations; raises `JudgeError` for another name.
        """
        return as_frame(boards_document(self.boards), table)


def result_of(
    runner: ExperimentRunner, tests: Resampling | None, sort: str | None
) -> ExperimentResult:
    """Return what became of the runs of an experiment; prints nothing."""
    plan = runner.plan
    boards, faults = experiment_boards(
        runner.in_order, tests, by=plan.source.experiment.by or (), sort=sort
    )
    failed = {end.planned.name: end.why for end in runner.failed}
    not_judged = [f"{name} was not judged: {why}" for name, why in failed.items()]
    notes = (*plan.matrix.notes, *runner.notes, *not_judged, *faults)
    runs = {end.planned.name: Run.open(end.path) for end in runner.in_order}
    return ExperimentResult(
        path=plan.folder, runs=runs, failed=failed, boards=boards, notes=notes
    )
