"""What is to be known of the runs that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from judge import rubrics
from judge.comparing.checks import ComparedRun
from judge.comparing.names import NamedRun


def judge_notes(runs: Sequence[NamedRun]) -> list[str]:
    """Say once of each judge with a note what is to be known of its numbers."""
    titles: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        judge, title = run.run.manifest["judge"], rubrics.load(run.rubric).title
        if judge["note"]:
            judged = titles.setdefault((judge["name"], judge["note"]), [])
            judged += [] if title in judged else [title]
    return [f"{' and '.join(t)}: judged by {name}, {note}" for (name, note), t in titles.items()]


def unjudged(runs: Sequence[ComparedRun]) -> list[str]:
    """Say which models have no run of a rubric that others have."""
    judged = {(run.model, run.rubric) for run in runs}
    models = dict.fromkeys(run.model for run in runs)
    lacking = {
        rubric: [model for model in models if (model, rubric) not in judged]
        for rubric in dict.fromkeys(run.rubric for run in runs)
    }
    return [
        f"no run of {rubric} is of {', '.join(them)}" for rubric, them in lacking.items() if them
    ]
