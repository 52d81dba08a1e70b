"""Runs to open, and the models that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.running.folder import Run
from judge.studies.columns import model_of
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run to open: its folder, its name in messages, and its model where the user named it."""

    path: Path
    shown: str
    model: str | None = None


def choice(argument: str) -> RunChoice:
    """Return the run given as `PATH` or `NAME=PATH`; an existing path may hold an equals sign."""
    name, sign, path = argument.partition("=")
    if not sign or Path(argument).exists():
        return RunChoice(Path(argument), argument)
    if not name.strip() or not path:
        raise JudgeError(f"{argument!r} is neither a run nor NAME=RUN")
    return RunChoice(Path(path), path, name.strip())


Runs = Run | str | Path | Sequence[Run | str | Path] | Mapping[str, Run | str | Path]
"""Runs as Python gives them: one or several, opened or by folder, or by the names of models."""


def choices(runs: Runs) -> list[RunChoice]:
    """Return the runs of a Python call; raises `JudgeError` for an object that is no run."""
    if isinstance(runs, Run | str | Path):
        runs = [runs]
    named = runs.items() if isinstance(runs, Mapping) else ((None, run) for run in runs)
    chosen = []
    for name, run in named:
        if not isinstance(run, Run | str | Path):
            raise JudgeError(f"{run!r:.60} is not a run; give runs, or their folders, one by one")
        path = run.path if isinstance(run, Run) else Path(run)
        chosen.append(RunChoice(path, str(path), name))
    return chosen


def model_of_run(run: Run) -> str:
    """Return the model of a run that the user did not name; the last resort is its folder."""
    return known_model(run) or run.path.name


def known_model(run: Run) -> str | None:
    """Return the model that a run says it is about, None where it does not.

    That is its manifest's `model`, its field `model` where that is the same for all studies, or
    what the predictions' file is named after.
    """
    if model := run.manifest.get("model"):
        return str(model)
    if "model" in run.manifest["fields"]:
        values = run.columns(["model"])["model"].unique().to_pylist()
        if len(values) == 1 and values[0] not in (None, ""):
            return str(values[0])
    file = input_file(run, "preds")
    return model_of(str(file["path"])) if file else None


def input_file(run: Run, role: str) -> dict[str, object] | None:
    """Return the manifest's entry of the run's `refs` or `preds` file, None without one."""
    return next((file for file in run.manifest["inputs"] if file["role"] in (role, "both")), None)
