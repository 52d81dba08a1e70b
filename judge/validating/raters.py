"""Judges and readers on the studies that they share, with the counts of each rater."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.comparing.alignment import SIDES, AlignedRuns, RunChoice, align, model_of_run
from judge.comparing.metric_files import MetricFile
from judge.readers.annotations import READER
from judge.rubrics.contract import Rubric
from judge.rubrics.quantities import (
    RATING,
    RATINGS,
    SIGNIFICANT,
    SharedMeasure,
    common_level,
    levels_of,
    measures_at_level,
    quantities_of,
)
from judge.run_files.manifest import MANIFEST
from judge.running.folder import RunFolder
from judge.signature import digests
from judge.stats.intervals import Values
from judge.stats.statistic import sum_of
from judge.types import JudgeError


@dataclass(frozen=True)
class Rater:
    """A judge or a reader, by the run of its annotations."""

    name: str
    shown: str
    run: RunFolder

    @property
    def is_reader(self) -> bool:
        """Whether it is a radiologist's run."""
        return self.run.reading is not None

    @property
    def lacks(self) -> Mapping[str, str]:
        """What a reader was not asked for, each with the reason."""
        if self.run.reading is None:
            return {}
        return self.run.reading.lacks

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric in full, whatever a reader was asked for."""
        return rubrics.load(self.run.manifest.rubric)

    @cached_property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels at which this rater can count errors."""
        return levels_of(self.rubric, self.lacks)


def open_raters(choices: Sequence[RunChoice], *, readers: bool) -> tuple[Rater, ...]:
    """Open the runs of judges, or of readers, by the given names or their own.

    A folder of readers' runs, as `judge readers import` writes it, gives all of them. Raises
    `JudgeError` for a run of the other kind, the same readings twice, and for two raters with one
    name.
    """
    if readers:
        choices = [run for choice in choices for run in _runs_in(choice)]
    opened: dict[str, Rater] = {}
    for choice in choices:
        run = RunFolder.open(choice.path)
        judge = run.manifest.judge.name
        is_reader = run.reading is not None
        if readers and not is_reader:
            raise JudgeError(
                f"{choice.shown} is a run of the judge {judge}, not of a reader"
            )
        if is_reader and not readers:
            raise JudgeError(
                f"{choice.shown} is a reader's run; give it with --readers"
            )
        name = choice.model or judge.removeprefix(READER)
        for other in opened.values():
            # A reader under two names would agree with himself.
            if is_reader and other.run.signature == run.signature:
                raise JudgeError(
                    f"{other.shown} and {choice.shown} are the same readings"
                )
        if name in opened:
            raise JudgeError(
                f"{opened[name].shown} and {choice.shown} are both of {name!r}; name them: "
                f"NAME={choice.shown}"
            )
        opened[name] = Rater(name, choice.shown, run)
    return tuple(opened.values())


def _runs_in(choice: RunChoice) -> list[RunChoice]:
    if not choice.path.is_dir() or (choice.path / MANIFEST).exists():
        return [choice]
    folders = sorted(path.parent for path in choice.path.glob(f"*/{MANIFEST}"))
    if not folders:
        raise JudgeError(
            f"{choice.shown} holds no run; judge readers import makes readers' runs"
        )
    choices = []
    for path in folders:
        shown = str(Path(choice.shown) / path.name)
        choices.append(RunChoice(path, shown, choice.model))
    return choices


@dataclass(frozen=True)
class Score:
    """A score of a judge, or a metric of a file, with a value per study; NaN for none.

    `judge` is the judge's name, for a metric of a file the metric's.
    """

    judge: str
    label: str
    higher_is_better: bool
    values: Values


@dataclass(frozen=True, kw_only=True)
class RatedStudies:
    """Judges and readers on the studies that all judges judged and at least one reader read.

    `values` has by quantity an array of studies by raters, the judges first; NaN for a study that
    is not scored, not read, or not asked for. `scores` are the scores of judges and the metrics of
    files. `severities` are the levels that all raters tell apart, the mildest first, and `grades`
    the number of them that a study's worst error reaches, studies by raters; both are empty where
    there are fewer than two. `references` numbers the reference of each study: several candidates
    of one reference have the same number. `clusters` numbers the patient of each study; it is None,
    like `patient_field`, where no patient has several studies. `level` is the level of significant
    errors, None where each rubric has its own. `files` has digests of the metric files, and the
    direction of each metric.
    """

    judges: tuple[Rater, ...]
    readers: tuple[Rater, ...]
    runs: AlignedRuns
    quantities: tuple[SharedMeasure, ...]
    values: Mapping[str, Values]
    scores: tuple[Score, ...]
    severities: tuple[str, ...]
    grades: Values
    references: NDArray[np.intp]
    study_classes: tuple[str | None, ...]
    clusters: NDArray[np.intp] | None
    patient_field: str | None
    level: str | None
    files: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def raters(self) -> tuple[Rater, ...]:
        """All raters, the judges first."""
        return (*self.judges, *self.readers)

    @property
    def study_ids(self) -> tuple[str, ...]:
        """The ids of the studies, in the order of all arrays."""
        return self.runs.study_ids

    def records(self, study_ids: Collection[str]) -> list[dict[str, dict[str, Any]]]:
        """Return the records of some studies by study id, one dictionary per rater."""
        n_raters = len(self.raters)
        return [self.runs.records(column, study_ids) for column in range(n_raters)]

    @property
    def significant(self) -> str:
        """What counts as significant: `readers actionable or worse, judge GREEN significant`."""
        readers = " and ".join(self._significant_by(self.readers))
        judges = " and ".join(self._significant_by(self.judges))
        return f"readers {readers}, judge {judges}"

    def _significant_by(self, raters: Sequence[Rater]) -> list[str]:
        """Return what counts as significant by some of the raters, each once."""
        names: dict[str, None] = {}
        for rater in raters:
            if SIGNIFICANT in rater.levels:
                names[f"{rater.rubric.title} significant"] = None
            else:
                # A rubric of grades counts from a grade on.
                names[f"{self.level or 'urgent'} or worse"] = None
        return list(names)


def mean_of_readers(values: Values) -> Values:
    """Return the mean of the readers who read each study, NaN where nobody did.

    `values` are studies by readers, NaN for a study that a reader did not read.
    """
    is_read = ~np.isnan(values)
    n_readers = is_read.sum(axis=1)
    totals = np.where(is_read, values, 0).sum(axis=1)
    means = np.full(len(values), np.nan)
    np.divide(totals, n_readers, out=means, where=n_readers > 0)
    return means


def align_raters(
    judges: Sequence[Rater],
    readers: Sequence[Rater],
    metrics: Sequence[MetricFile] = (),
    patient_field: str | None = None,
    level: str | None = None,
) -> RatedStudies:
    """Align judges and readers on the studies that all judges judged and a reader read.

    Raises `JudgeError` where there is no such study, where the runs are of different texts or count
    nothing in common, and where a run cannot tell which errors are of `level`.
    """
    raters = (*judges, *readers)
    n_judges = len(judges)

    def judged_and_read(*ids: set[str]) -> set[str]:
        judged_by_all = set.intersection(*ids[:n_judges])
        read_by_any = set.union(*ids[n_judges:])
        return judged_by_all & read_by_any

    runs = align([(rater.shown, rater.run) for rater in raters], judged_and_read)
    sizes = [len(rater.run.columns([])) for rater in raters]
    if not runs.study_ids:
        having = []
        for rater, size in zip(raters, sizes, strict=True):
            having.append(f"{rater.shown} has {size:,}")
        raise JudgeError(
            f"no study was both judged and read ({', '.join(having)}); judge the reports that "
            "were read"
        )
    notes = []
    for rater, rows, size in zip(raters, runs.rows, sizes, strict=True):
        n_left_out = size - int((rows >= 0).sum())
        if n_left_out:
            notes.append(
                f"{n_left_out:,} studies of {rater.name} are left out: not read, or not judged "
                "by all judges"
            )
    notes += check_texts(runs)
    level = _choose_level(raters, level)
    quantities = _shared(raters, level)
    values = _values(raters, runs, quantities, level)
    if not np.isnan(values[RATING]).all():
        quantities += (RATINGS,)
    of_judges = _judge_scores(judges, runs)
    of_files = _file_scores(metrics, runs, model_of_run(judges[0].run))
    directions = [f"{score.label} {score.higher_is_better}" for score in of_files]
    study_classes: list[str | None] = [None] * len(runs.study_ids)
    classes, note = runs.field("study_class")
    if classes is not None:
        study_classes = [str(name) if name else None for name in classes]
    if note:
        notes.append(note)
    patient, clusters = runs.patients(patient_field) or (None, None)
    references = reference_numbers(runs, clusters)
    if clusters is not None and len(set(clusters)) == len(clusters):
        patient, clusters = None, None
    severities, grades = _grades(raters, runs)
    return RatedStudies(
        judges=tuple(judges),
        readers=tuple(readers),
        runs=runs,
        quantities=quantities,
        values=values,
        scores=(*of_judges, *of_files),
        severities=severities,
        grades=grades,
        references=references,
        study_classes=tuple(study_classes),
        clusters=clusters,
        patient_field=patient,
        level=level,
        files=(*(file.sha256 for file in metrics), *directions),
        notes=tuple(notes),
    )


def _judge_scores(judges: Sequence[Rater], runs: AlignedRuns) -> list[Score]:
    scores = []
    for column, judge in enumerate(judges):
        for measure in judge.rubric.with_role("score"):
            score = Score(
                judge=judge.name,
                label=measure.label,
                higher_is_better=measure.higher_is_better,
                values=runs.numbers(column, [measure.name])[measure.name],
            )
            scores.append(score)
    return scores


def _file_scores(
    files: Sequence[MetricFile], runs: AlignedRuns, model: str
) -> list[Score]:
    """Return the metrics of files, of the one model whose reports were judged."""
    scores = []
    for file in files:
        for metric, grid in file.on(runs.study_ids, (model,)).items():
            score = Score(
                judge=metric.name,
                label=metric.study_label,
                higher_is_better=metric.study_higher_is_better,
                values=grid[:, 0],
            )
            scores.append(score)
    return scores


def _values(
    raters: Sequence[Rater],
    runs: AlignedRuns,
    quantities: Sequence[SharedMeasure],
    level: str | None,
) -> dict[str, Values]:
    """Return each quantity, and the readers' ratings, studies by raters."""
    shape = (len(runs.study_ids), len(raters))
    values = {quantity.name: np.full(shape, np.nan) for quantity in quantities}
    values[RATING] = np.full(shape, np.nan)
    for column, rater in enumerate(raters):
        known = quantities_of(rater.rubric, rater.lacks, level)
        for quantity in quantities:
            numbers = runs.numbers(column, known[quantity.name].made_of)
            values[quantity.name][:, column] = sum_of(numbers, numbers)
        if rater.is_reader and RATING in rater.run.manifest.fields:
            ratings = runs.columns(column, [RATING])[RATING]
            for row, rating in enumerate(ratings):
                # A field may hold anything: a text is no rating, nor is True.
                if type(rating) in (int, float):
                    values[RATING][row, column] = rating
    return values


def reference_numbers(
    runs: AlignedRuns, clusters: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Number the reference of each study.

    Studies are of one reference if their reference texts are the same and their ids differ only
    behind the last slash, as `judge readers import` writes several candidates of a study, or if
    they are of one patient. Where no run has the reference texts the ids decide.
    """
    texts: dict[str, bytes] = {}
    for run in runs.runs:
        missing = {study_id for study_id in runs.study_ids if study_id not in texts}
        if missing:
            known = digests(run.records(of_any_version=True), missing)
            for study_id, sides in known.items():
                reference = sides[SIDES.index("references")]
                if reference is not None:
                    texts[study_id] = reference
    numbers: dict[object, int] = {}
    found = []
    for row, study_id in enumerate(runs.study_ids):
        study, slash, _ = study_id.rpartition("/")
        text = texts.get(study_id)
        key: tuple[object, ...] = (study_id,)
        if slash:
            key = ("study", study, text)
        elif clusters is not None and text is not None:
            key = ("patient", int(clusters[row]), text)
        found.append(numbers.setdefault(key, len(numbers)))
    return np.array(found, np.intp)


def _grades(
    raters: Sequence[Rater], runs: AlignedRuns
) -> tuple[tuple[str, ...], Values]:
    """Return the severities that all raters tell apart, and how many of them a study reaches."""
    shared = []
    for name in raters[0].levels:
        if all(name in rater.levels for rater in raters):
            shared.append(name)
    if len(shared) < 2:
        return (), np.empty((len(runs.study_ids), 0))
    grades = np.zeros((len(runs.study_ids), len(raters)))
    for column, rater in enumerate(raters):
        for name in shared:
            numbers = runs.numbers(column, rater.levels[name])
            # NaN where a study is not scored stays NaN.
            total = sum_of(numbers, numbers)
            grades[:, column] += np.where(np.isnan(total), np.nan, total > 0)
    return tuple(shared), grades


def check_texts(runs: AlignedRuns) -> list[str]:
    """Raise `JudgeError` if runs have different texts of a study; return notes on unknown texts.

    A reader's file may have no reports; then its section must be that of the first run.
    """
    for side in SIDES:
        for earlier, later, ids in runs.differing_texts(side):
            raise JudgeError(
                f"{later} and {earlier} have different {side} in {len(ids):,} studies, such as "
                f"{ids[0]!r}; judge the reports that were read, in the same --section"
            )
    notes = []
    first = runs.runs[0].manifest.section
    study_ids = set(runs.study_ids)
    for name, run in zip(runs.names, runs.runs, strict=True):
        texts = digests(run.records(of_any_version=True), study_ids).values()
        by_side = zip(*texts, strict=True)
        sides = zip(SIDES, by_side, strict=True)
        missing = [side for side, known in sides if not any(known)]
        section = run.manifest.section
        if "candidates" in missing and section != first:
            raise JudgeError(
                f"{name} is of the section {section} and {runs.names[0]} of {first}; judge what "
                f"was read (--section {section})"
            )
        notes += [
            f"the {side} are not in {name}: they could not be checked"
            for side in missing
        ]
    return notes


def _choose_level(raters: Sequence[Rater], level: str | None) -> str | None:
    level = level or common_level(rater.rubric for rater in raters)
    has_levels = any(rater.levels for rater in raters)
    for rater in raters:
        if level:
            can_tell = bool(measures_at_level(rater.rubric, level, rater.lacks))
        else:
            can_tell = bool(rater.levels)
        # Where nobody has levels only all errors are counted, which needs none.
        if not can_tell and (level or has_levels):
            levels = ", ".join(rater.levels) or "none"
            raise JudgeError(
                f"{rater.shown} cannot tell which errors are {level or SIGNIFICANT}, only "
                f"{levels}; choose a level that all runs have (--level)"
            )
    return level


def _shared(raters: Sequence[Rater], level: str | None) -> tuple[SharedMeasure, ...]:
    first, *others = [quantities_of(rater.rubric, level=level) for rater in raters]
    shared = []
    for quantity in first.values():
        same = [known.get(quantity.name) for known in others]
        # Counts are alike whatever the rubric; a score is shared where it is the same.
        is_count = quantity.role == "count"
        if all(one and (is_count or one == quantity) for one in same):
            shared.append(quantity)
    if not shared:
        kinds = ", ".join(dict.fromkeys(rater.rubric.title for rater in raters))
        raise JudgeError(f"{kinds} have no count in common")
    return tuple(shared)
