"""Names for several runs of one model, so that they can be compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from judge.comparing.alignment import RunChoice, model_of_run
from judge.running.folder import RunFolder


@dataclass(frozen=True, slots=True)
class _OpenChoice:
    place: int
    name: str
    run: RunFolder

    @property
    def file(self) -> str:
        """The file of predictions; empty where it is not known."""
        file = self.run.manifest.input_of("preds")
        if file is None:
            return ""
        return PurePath(file.path).name

    @property
    def digest(self) -> str:
        """What the file of predictions held."""
        file = self.run.manifest.input_of("preds")
        if file is None:
            return ""
        return file.sha256

    @property
    def judge(self) -> str:
        return self.run.manifest.judge.name

    @property
    def prompt(self) -> str:
        """The names of its prompts; those with one name are told apart by more."""
        prompts = self.run.manifest.prompts
        return ", ".join(dict.fromkeys(prompt.name for prompt in prompts))


_TELLS_APART: tuple[Callable[[_OpenChoice], str], ...] = (
    lambda run: run.file,
    lambda run: run.judge,
    lambda run: run.prompt,
    lambda run: run.name,
)
"""What a run is named by, the first that tells the runs of a model apart."""


def named_apart(choices: Sequence[RunChoice]) -> list[RunChoice]:
    """Return the choices, in which no two runs of one rubric are of one model.

    A model is a row of a leaderboard: its runs are of different rubrics and of the same file of
    predictions. Where they are not, each run is named after its model and what tells it apart: the
    file of predictions, the judge, the prompt, or else the run's own name. A model that the user
    named stays.
    """
    of_model: dict[str, list[_OpenChoice]] = {}
    for place, choice in enumerate(choices):
        if choice.model is None:
            run = _OpenChoice(place, choice.shown, RunFolder.open(choice.path))
            of_model.setdefault(model_of_run(run.run), []).append(run)
    named = list(choices)
    for model, runs in of_model.items():
        if _is_one_row(runs):
            continue
        for run, label in zip(runs, _labels(runs), strict=True):
            name = f"{model} ({label})"
            named[run.place] = replace(choices[run.place], model=name)
    return named


def _labels(runs: Sequence[_OpenChoice]) -> list[str]:
    labels: list[str] = []
    for tells_apart in _TELLS_APART:
        labels = [tells_apart(run) for run in runs]
        rows: dict[str, list[_OpenChoice]] = {}
        for label, run in zip(labels, runs, strict=True):
            rows.setdefault(label, []).append(run)
        if "" not in rows and all(_is_one_row(row) for row in rows.values()):
            break
    return labels


def _is_one_row(runs: Sequence[_OpenChoice]) -> bool:
    """Return whether runs can be of one model: one run a rubric, of the same predictions."""
    rubrics = {run.run.manifest.rubric for run in runs}
    files = {run.digest for run in runs if run.digest}
    return len(rubrics) == len(runs) and len(files) < 2
