"""Runs that are chosen, the models that they are about, and runs aligned on studies."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.files import folders_with
from judge.run_files.manifest import MANIFEST
from judge.run_files.study_record import ANNOTATIONS
from judge.running.folder import RunFolder
from judge.signature import digests
from judge.stats.intervals import Values
from judge.stats.summary import OUTCOMES, patient_numbers
from judge.studies.columns import FIELD_NAMES, as_text, model_of
from judge.types import JudgeError, Scored

SIDES = ("references", "candidates")
_AXES_IN_WORDS = {"data": "data sets", "section": "sections", "judge": "judges"}
_ROLES = {"references": "refs", "candidates": "preds"}


@dataclass(frozen=True)
class AlignedRuns:
    """Named runs and the studies they are aligned on; `rows` are -1 where a run lacks one."""

    runs: tuple[RunFolder, ...]
    names: tuple[str, ...]
    study_ids: tuple[str, ...]
    rows: tuple[NDArray[np.intp], ...]

    def columns(self, run: int, names: Iterable[str]) -> dict[str, list[Any]]:
        """Return columns of a run's table, one value a study; None where it has none."""
        wanted = list(names)
        table = self.runs[run].columns(wanted)
        rows = self.rows[run].tolist()
        columns = {}
        for name in wanted:
            # Row -1, of a study that the run lacks, is the last.
            cells = [*table[name].to_pylist(), None]
            columns[name] = [cells[row] for row in rows]
        return columns

    def numbers(self, run: int, names: Iterable[str]) -> dict[str, Values]:
        """Return columns of numbers, one value a study; NaN where a run has none."""
        columns = self.columns(run, dict.fromkeys(names))
        return {name: np.array(column, float) for name, column in columns.items()}

    @cached_property
    def outcomes(self) -> NDArray[np.object_]:
        """How each study ended in each run, studies by runs; None where a run lacks it."""
        n_runs = len(self.runs)
        columns = []
        for run in range(n_runs):
            columns.append(self.columns(run, ["outcome"])["outcome"])
        by_run = np.array(columns, object).reshape(n_runs, len(self.study_ids))
        return by_run.T

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Which studies each run has scored, studies by runs."""
        return np.equal(self.outcomes, OUTCOMES[Scored]).astype(bool)

    def field(self, name: str, remedy: str = "") -> tuple[list[object] | None, str]:
        """Return a field's values, None without it or where runs disagree, and a note of that."""
        having = [run for run in range(len(self.runs)) if name in self._fields(run)]
        if not having:
            return None, ""
        merged: list[object] = [None] * len(self.study_ids)
        for run in having:
            column = self.columns(run, [name])[name]
            for row, value in enumerate(column):
                known = merged[row]
                if known is None:
                    merged[row] = value
                elif value is not None and _differ(known, value):
                    text = (
                        f"{self.names[run]} and another run disagree about {name!r} of the study "
                        f"{self.study_ids[row]!r}"
                    )
                    if remedy:
                        raise JudgeError(f"{text}; {remedy}")
                    return None, f"{text}: it is left out"
        return merged, ""

    def _fields(self, run: int) -> set[str]:
        return {"study_class", *self.runs[run].manifest.fields}

    def patients(
        self, patient_field: str | None = None
    ) -> tuple[str, NDArray[np.intp]] | None:
        """Return the field that names the patients and each study's patient by number, or None."""
        if patient_field == "none":
            return None
        fields: set[str] = set()
        for run in range(len(self.runs)):
            fields |= self._fields(run)
        if patient_field is None:
            usual = FIELD_NAMES["patient"]
            name = next((name for name in usual if name in fields), None)
            if name is None:
                return None
        elif patient_field in fields:
            name = patient_field
        else:
            raise JudgeError(
                f"no run has the field {patient_field!r} that --patient-field names"
            )
        remedy = "judge them again, or set it aside: --patient-field none"
        column, _ = self.field(name, remedy)
        return name, patient_numbers(column or ())

    def differing_texts(self, side: str) -> list[tuple[str, str, list[str]]]:
        """Return two runs and the studies whose `references`, or `candidates`, differ."""
        known: dict[str, tuple[bytes, str]] = {}
        differing: dict[tuple[str, str], list[str]] = {}
        files = [_file(run, side) for run in self.runs]
        # Runs of one file have the same texts: their records need not be read.
        if files[0] and len(set(files)) == 1:
            return []
        study_ids = np.array(self.study_ids, object)
        for index, (name, rows) in enumerate(zip(self.names, self.rows, strict=True)):
            if files[index] and files[index] in files[:index]:
                continue
            wanted = set(study_ids[rows >= 0].tolist())
            records = self.runs[index].records(of_any_version=True)
            texts = digests(records, wanted)
            missing = wanted - texts.keys()
            if missing:
                raise JudgeError(
                    f"the {ANNOTATIONS} of {name} lacks {len(missing):,} studies, "
                    f"{min(missing)!r} among them; judge them again"
                )
            for study_id, sides in sorted(texts.items()):
                text = sides[SIDES.index(side)]
                if text is None:
                    continue
                before, other = known.setdefault(study_id, (text, name))
                if before != text:
                    differing.setdefault((other, name), []).append(study_id)
        return [(first, second, ids) for (first, second), ids in differing.items()]

    def records(
        self, run: int, study_ids: Collection[str]
    ) -> dict[str, dict[str, Any]]:
        """Return the records of some studies, by study id."""
        wanted = set(study_ids)
        if not wanted:
            return {}
        records = {}
        for record in self.runs[run].records():
            study_id = record["study_id"]
            if study_id in wanted:
                records[study_id] = record
        return records


def _differ(known: object, value: object) -> bool:
    """Return whether two runs say different things: 1 and "1" are the same."""
    return value != known and as_text(value) != as_text(known)


def align(
    runs: Sequence[tuple[str, RunFolder]],
    choose: Callable[..., Collection[str]] = set.intersection,
) -> AlignedRuns:
    """Align named runs on the studies that all have, or that `choose` makes of their ids."""
    ids = [run.columns([])["study_id"].to_pylist() for _, run in runs]
    study_ids = tuple(sorted(choose(*map(set, ids))))
    rows = []
    for ids_of_run in ids:
        row_of = {study_id: row for row, study_id in enumerate(ids_of_run)}
        rows_of_run = [row_of.get(study_id, -1) for study_id in study_ids]
        rows.append(np.array(rows_of_run, np.intp))
    return AlignedRuns(
        runs=tuple(run for _, run in runs),
        names=tuple(name for name, _ in runs),
        study_ids=study_ids,
        rows=tuple(rows),
    )


def _file(run: RunFolder, side: str) -> object:
    """Return what decides a run's texts of one side: file, section, columns; None if unknown."""
    file = run.manifest.input_of(_ROLES[side])
    settings = run.manifest.settings
    section = run.manifest.section
    # How a reader's reports were read from their file is not in the reader's run.
    if file is None or run.reading is not None:
        return None
    if settings is None:
        return (file.sha256, section)
    columns = settings.columns
    of_side = {"references": columns.reference, "candidates": columns.candidate}
    return (file.sha256, section, columns.id, of_side[side])


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


COMPARED_AXES = ("model", "rubric")
"""What the runs of an experiment may differ in that are compared with each other."""


def choices_of(
    arguments: Iterable[str], axes: Collection[str] = COMPARED_AXES
) -> list[RunChoice]:
    """Return the runs that a command's arguments name; an experiment's folder is its runs.

    Raises `JudgeError` as `choice`, and where runs of one experiment differ on other axes of its
    matrix than `axes`.
    """
    chosen = []
    for argument in arguments:
        chosen += _runs_of_experiment(choice(argument), axes)
    return chosen


def _runs_of_experiment(folder: RunChoice, axes: Collection[str]) -> list[RunChoice]:
    """Return the runs in an experiment's folder; of any other folder, what was given."""
    path = folder.path
    if folder.model is not None or os.path.lexists(path / MANIFEST):
        return [folder]
    runs = []
    names: dict[str, dict[str, None]] = {}
    for run_folder in folders_with(path, MANIFEST):
        entry = RunFolder.open(run_folder).manifest.experiment
        if entry is None:
            continue
        runs.append(RunChoice(run_folder, str(run_folder), entry.model))
        for axis in ("data", "section", "judge"):
            names.setdefault(axis, {})[getattr(entry, axis)] = None
    for axis, values in names.items():
        if len(values) > 1 and axis not in axes:
            several = ", ".join(value or "none named" for value in values)
            raise JudgeError(
                f"{folder.shown} has runs of several {_AXES_IN_WORDS[axis]} ({several}), which "
                f"are not compared with each other: name those of one, or print the leaderboard "
                "of each with judge run"
            )
    return runs or [folder]


OneRun = RunFolder | str | Path
"""A run, opened or by its folder."""
Runs = OneRun | Sequence[OneRun] | Mapping[str, OneRun]
"""Runs as Python gives them: one or several, opened or by folder, or by the names of models."""


def choices(runs: Runs) -> list[RunChoice]:
    """Return the runs of a Python call; raises `JudgeError` for an object that is no run."""
    if isinstance(runs, RunFolder | str | Path):
        runs = [runs]
    named: Iterable[tuple[str | None, OneRun]]
    if isinstance(runs, Mapping):
        named = runs.items()
    else:
        named = ((None, run) for run in runs)
    chosen = []
    for name, run in named:
        if not isinstance(run, RunFolder | str | Path):
            raise JudgeError(
                f"{run!r:.60} is not a run; give runs, or their folders, one by one"
            )
        if isinstance(run, RunFolder):
            path = run.path
        else:
            path = Path(run)
        chosen.append(RunChoice(path, str(path), name))
    return chosen


def model_of_run(run: RunFolder) -> str:
    """Return the model of a run that the user did not name; the last resort is its folder."""
    return known_model(run) or run.path.name


def known_model(run: RunFolder) -> str | None:
    """Return the model of a run: of its manifest, its field `model`, or its file's name."""
    if run.manifest.model:
        return run.manifest.model
    if "model" in run.manifest.fields:
        values = run.columns(["model"])["model"].unique().to_pylist()
        # A field of several values is that of several models, and names none.
        if len(values) == 1 and values[0] not in (None, ""):
            return str(values[0])
    file = run.manifest.input_of("preds")
    if file is None:
        return None
    return model_of(file.path)
