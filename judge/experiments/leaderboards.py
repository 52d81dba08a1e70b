"""The leaderboards of an experiment: one for each data set, section and judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRuns, compare_runs
from judge.experiments.execution import FinishedRun
from judge.stats.significance import Comparison, Resampling, Track
from judge.types import JudgeError


@dataclass(frozen=True, kw_only=True)
class ExperimentBoard:
    """The comparison of the models on one data set and section, by one judge and all rubrics.

    `data` and `section` are empty where the experiment names none.
    """

    data: str
    section: str
    judge: str
    compared: ComparedRuns
    comparison: Comparison

    @property
    def title(self) -> str:
        """What it is of, such as `iu, findings, gpt-6-luna`."""
        return ", ".join(filter(None, (self.data, self.section, self.judge)))


def experiment_boards(
    finished: Iterable[FinishedRun],
    how: Resampling | None,
    *,
    by: Sequence[str] = (),
    sort: str | None = None,
    track: Track = lambda tested, _n: tested,
) -> tuple[list[ExperimentBoard], list[str]]:
    """Return the leaderboards of the finished runs, and why some could not be made.

    Where studies were left out, models are compared on those that all of them have.
    """
    parts: dict[tuple[str, str, str], list[FinishedRun]] = {}
    for run in finished:
        parts.setdefault(run.planned.compared, []).append(run)
    boards = []
    faults = []
    for (data, section, judge), runs in parts.items():
        chosen = [
            RunChoice(run.path, run.planned.name, run.planned.model) for run in runs
        ]
        try:
            compared, comparison = compare_runs(
                chosen,
                how,
                sort=sort,
                by=by,
                common=any(run.summary.omitted for run in runs),
                track=track,
            )
        except JudgeError as error:
            title = ", ".join(filter(None, (data, section, judge)))
            faults.append(f"no leaderboard of {title}: {error}")
            continue
        boards.append(
            ExperimentBoard(
                data=data,
                section=section,
                judge=judge,
                compared=compared,
                comparison=comparison,
            )
        )
    return boards, faults
