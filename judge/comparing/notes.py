"""What is to be known of the runs that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from judge import rubrics
from judge.comparing.checks import ComparedRun
from judge.comparing.names import NamedRun

_MOST = 5


def judge_notes(runs: Sequence[NamedRun]) -> list[str]:
    """Say once of each judge with a note what is to be known of its numbers."""
    titles: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        judge, title = run.run.manifest["judge"], rubrics.load(run.rubric).title
        if judge["note"]:
            judged = titles.setdefault((judge["name"], judge["note"]), [])
            judged += [] if title in judged else [title]
    return [f"{' and '.join(t)}: judged by {name}, {note}" for (name, note), t in titles.items()]


def left_out(runs: Sequence[ComparedRun]) -> list[str]:
    """Say of which models studies were left out when they were judged, and how many."""
    several = len({run.rubric for run in runs}) > 1
    counted = [
        (run.n_left_out, f"{run.model} {run.n_left_out:,}" + f" ({run.rubric})" * several)
        for run in runs
        if run.n_left_out
    ]
    return [f"studies left out by --allow-missing: {most_of(counted)}"] if counted else []


def not_scored(runs: Sequence[ComparedRun]) -> list[str]:
    """Say of which models studies were not scored, and how many."""
    counted = [
        (lost, f"{run.model} {lost:,} of {run.n_studies:,} ({run.rubric})")
        for run in runs
        if (lost := run.n_studies - run.n_scored)
    ]
    return [f"studies not scored: {most_of(counted)}"] if counted else []


def most_of(counted: Sequence[tuple[int, str]]) -> str:
    """Return the texts, `a 3, b 9`; of more than five those that count most, and how many more."""
    if len(counted) <= _MOST:
        return ", ".join(text for _, text in counted)
    shown = sorted(counted, key=lambda one: -one[0])[:_MOST]
    return ", ".join(text for _, text in shown) + f" and {len(counted) - _MOST} more"


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
