"""The runs of an experiment: its matrix resolved into settings, files and folders."""

from __future__ import annotations

import difflib
import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from judge import rubrics
from judge.experiments.experiment import (
    ONLY_DATA,
    DataSet,
    Experiment,
    ExperimentSource,
)
from judge.run_settings import RunSettings
from judge.signature import safe_name, short_digest
from judge.studies.columns import model_of
from judge.types import JudgeError

AXES = ("data", "model", "section", "rubric", "judge")
"""What the runs of an experiment differ in, in the order of a run's name."""

SessionKey: TypeAlias = tuple[str, str, str | None]
"""What runs have in common that share a session: rubric, judge and modality."""

_JUDGE_LENGTH = 60


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of an experiment: the names on each axis, and what it is asked to do.

    `data` and `section` are empty where the experiment names none. `name` is that of its folder.
    """

    data: str
    model: str
    section: str
    rubric: str
    judge: str
    name: str
    settings: RunSettings

    @property
    def preds(self) -> str:
        """The file with the candidates."""
        assert self.settings.preds is not None
        return self.settings.preds

    @property
    def refs(self) -> str | None:
        """The file with the references, None where the candidates' has them."""
        return self.settings.refs

    @property
    def asked(self) -> SessionKey:
        """The rubric, the judge and the modality, which decides what the prompt shows."""
        return (self.rubric, self.judge, self.settings.modality)

    @property
    def compared(self) -> tuple[str, str, str]:
        """What runs have in common that stand in one leaderboard."""
        return (self.data, self.section, self.judge)

    def on(self, axis: str) -> str:
        """Return its name on an axis."""
        return str(getattr(self, axis))


@dataclass(frozen=True)
class Matrix:
    """The runs of an experiment, in the order in which they are judged, and what to say of them."""

    runs: tuple[PlannedRun, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, list[str]]:
        """The names on each axis, in the order of the experiment."""
        names = {}
        for axis in AXES:
            on_axis = dict.fromkeys(run.on(axis) for run in self.runs)
            names[axis] = list(on_axis)
        return names

    def only(self, wanted: Mapping[str, Sequence[str]]) -> Matrix:
        """Return the runs with one of the `wanted` names on each of the axes that it has.

        Raises `JudgeError` for a name that is not on its axis, and where no run is left.
        """
        known = self.names
        for axis, values in wanted.items():
            _check_on_axis(axis, values, known)
        runs = self.runs
        for axis, values in wanted.items():
            runs = tuple(run for run in runs if run.on(axis) in values)
        if not runs:
            asked = []
            for axis, values in wanted.items():
                asked += [f"{axis}={value}" for value in values]
            raise JudgeError(f"no run of the experiment has all of {', '.join(asked)}")
        return replace(self, runs=runs)


def _check_on_axis(
    axis: str, values: Iterable[str], known: Mapping[str, Sequence[str]]
) -> None:
    if axis not in known:
        raise JudgeError(
            f"--only {axis}: there is no such axis; there are: {', '.join(AXES)}"
        )
    names = known[axis]
    for value in values:
        if value in names:
            continue
        if not any(names):
            raise JudgeError(f"--only {axis}={value}: the experiment names no {axis}")
        near = difflib.get_close_matches(value, names, 1)
        if near:
            hint = f"did you mean {near[0]}?"
        else:
            hint = f"there are: {', '.join(names)}"
        raise JudgeError(
            f"--only {axis}={value}: the experiment has no such {axis}; {hint}"
        )


def resolve(source: ExperimentSource) -> Matrix:
    """Return the runs of an experiment.

    Judges come first, then rubrics, so that a server which is started serves all its runs in one
    piece; then data sets, sections and models. Raises `JudgeError` for a file that there is not, a
    pattern that fits none, and models of one name.
    """
    experiment = source.experiment
    for rubric in experiment.rubrics:
        rubrics.load(rubric)
    files: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    for name, data in experiment.data_sets.items():
        files[name], noted = _candidates(data, name, source.folder)
        notes += noted
    notes += _absent(files)
    runs = [
        _planned(source, places, files[places["data"]][places["model"]])
        for places in _places(experiment, files)
    ]
    return Matrix(tuple(_with_distinct_names(runs)), tuple(notes))


def _places(
    experiment: Experiment, files: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, str]]:
    """Yield the names of each run on the axes, in the order of the runs."""
    for judge in experiment.judges:
        for rubric in experiment.rubrics:
            for data, models in files.items():
                for section in experiment.sections or [""]:
                    for model in models:
                        yield {
                            "data": data,
                            "model": model,
                            "section": section,
                            "rubric": rubric,
                            "judge": judge,
                        }


def _planned(
    source: ExperimentSource, places: dict[str, str], preds: str
) -> PlannedRun:
    experiment = source.experiment
    data = experiment.data_sets[places["data"]]
    choice = experiment.judges[places["judge"]]
    refs = None
    if data.references is not None:
        refs = _path(data.references, source.folder)
    # What is nearer to the run comes later, and counts.
    values: dict[str, Any] = {}
    for part in (
        experiment,
        data,
        experiment.rubrics[places["rubric"]],
        choice,
    ):
        values |= part.given()
    values["references"] = values.pop("several_references", None)
    effort = values.pop("reasoning_effort", None)
    if effort is not None:
        sampling = values.get("sampling") or {}
        values["sampling"] = {**sampling, "reasoning_effort": effort}
    kept = {
        name: value
        for name, value in values.items()
        if name in RunSettings.model_fields and value is not None
    }
    kept |= {
        "rubric": places["rubric"],
        "judge": choice.judge,
        "model": places["model"],
        "section": places["section"] or None,
        "preds": preds,
        "refs": refs,
    }
    kept.pop("candidates", None)
    prompt = kept.get("prompt")
    if prompt is not None:
        kept["prompt"] = _prompt(prompt, source.folder)
    # A file of words for the built-in judge, such as lexicon:words.yaml, is beside the experiment.
    kept["judge"] = _judge(choice.judge, source.folder)
    return PlannedRun(**places, name=_name(places), settings=RunSettings.of(**kept))


def _prompt(prompt: str, folder: Path) -> str:
    """Return the name of a prompt, or its file as a path from here."""
    path = folder / prompt
    return str(path) if path.is_file() else prompt


def _judge(judge: str, folder: Path) -> str:
    kind, _, name = judge.partition(":")
    if kind == "lexicon" and name and (folder / name).is_file():
        return f"{kind}:{folder / name}"
    return judge


def _path(path: str, folder: Path) -> str:
    return str(folder / Path(path).expanduser())


def _name(places: Mapping[str, str]) -> str:
    """Return the name of a run's folder, the same whatever else is in the experiment."""
    longest = {"judge": _JUDGE_LENGTH}
    parts = [safe_name(places[axis], longest.get(axis, 40)) for axis in AXES]
    return "-".join(filter(None, parts))


def _with_distinct_names(runs: Sequence[PlannedRun]) -> Iterator[PlannedRun]:
    """Yield the runs; of those whose folders would have one name each has a digest behind it."""
    counts = Counter(run.name.lower() for run in runs)
    for run in runs:
        if counts[run.name.lower()] > 1:
            digest = short_digest([run.on(axis) for axis in AXES])
            yield replace(run, name=f"{run.name}-{digest}")
        else:
            yield run


def _candidates(
    data: DataSet, name: str, folder: Path
) -> tuple[dict[str, str], list[str]]:
    """Return the files of a data set by the models' names, and what to say of them."""
    where = "candidates" if name == ONLY_DATA else f"data.{name}.candidates"
    if data.references is not None:
        _check_there(
            _path(data.references, folder), where.replace("candidates", "references")
        )
    if isinstance(data.candidates, dict):
        named = {}
        for model, file in data.candidates.items():
            named[model] = _path(file, folder)
            _check_there(named[model], f"{where}.{model}")
        return named, []
    notes: list[str] = []
    files: dict[str, None] = {}
    for pattern in data.candidates:
        for file in _matches(pattern, folder, where):
            if data.references is not None and _is_same(
                file, _path(data.references, folder)
            ):
                notes.append(
                    f"{file} fits {pattern} and has the references: it is no candidate"
                )
            else:
                files[file] = None
    if not files:
        raise JudgeError(f"{where}: no file is left beside the references")
    return _by_model(files, where), notes


def _matches(pattern: str, folder: Path, where: str) -> list[str]:
    """Return the files of a pattern, or the one file that has no pattern in its name."""
    path = _path(pattern, folder)
    if os.path.lexists(path) or not glob.has_magic(pattern):
        _check_there(path, where)
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - as the user wrote it
    if not found:
        raise JudgeError(f"{where}: no file fits {path}")
    return found


def _check_there(path: str, where: str) -> None:
    if path == "-" or path.endswith("/-"):
        raise JudgeError(f"{where}: an experiment reads no standard input; name a file")
    if not os.path.exists(path):  # noqa: PTH110 - not Path: a name may be odd
        raise JudgeError(f"{where}: there is no file {path}")


def _is_same(file: str, other: str) -> bool:
    try:
        return os.path.samefile(file, other)  # noqa: PTH121
    except OSError:
        return False


def _by_model(files: Iterable[str], where: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for file in files:
        model = model_of(file)
        if model is None:
            raise JudgeError(
                f"{where}: {file} is named after no model; name it: {{NAME: {file}}}"
            )
        if model in named:
            raise JudgeError(
                f"{where}: {named[model]} and {file} are both of the model {model!r}; give each "
                f"a name: {{{model}: {named[model]}, NAME: {file}}}"
            )
        named[model] = file
    return named


def _absent(files: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Say which models lack candidates in some of the data sets."""
    every: dict[str, None] = {}
    for models in files.values():
        every |= dict.fromkeys(models)
    for data, models in files.items():
        lacking = [model for model in every if model not in models]
        if lacking:
            yield f"the data set {data} has no candidates of {', '.join(lacking)}"
