"""Judges and readers side by side: whose runs they are, and what each said of which study."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.comparing.loaded import SIDES, LoadedRuns, load
from judge.comparing.metric_files import MetricFile
from judge.comparing.names import RunChoice, own_model
from judge.readers.reader_runs import READER
from judge.rubrics.contract import Rubric
from judge.rubrics.quantities import (
    RATING,
    SIGNIFICANT,
    Quantity,
    at_level,
    common_level,
    levels_of,
    quantities_of,
)
from judge.running.folder import MANIFEST, Run
from judge.signature import digests
from judge.stats.panel import Values
from judge.stats.rates import summed
from judge.types import JudgeError


@dataclass(frozen=True)
class Rater:
    """A judge or a reader: the run of what they said, and what they are called here."""

    name: str
    shown: str
    run: Run

    @property
    def is_reader(self) -> bool:
        """Whether it is a radiologist's run."""
        return self.run.reading is not None

    @property
    def lacks(self) -> Mapping[str, str]:
        """What a reader was not asked for, each with the reason."""
        return self.run.reading["lacks"] if self.run.reading else {}

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric as judges use it, whatever a reader was asked for."""
        return rubrics.load(self.run.manifest["rubric"])

    @cached_property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels at which this rater can count errors."""
        return levels_of(self.rubric, self.lacks)


def raters(choices: Sequence[RunChoice], *, readers: bool) -> tuple[Rater, ...]:
    """Open the runs of judges, or of readers, by the names given or their own.

    A folder of readers' runs, as `judge import` leaves it, stands for all of them. Raises
    `JudgeError` for a run of the other kind, the same readings twice, and where two would have one
    name.
    """
    if readers:
        choices = [each for choice in choices for each in _below(choice)]
    opened: dict[str, Rater] = {}
    for choice in choices:
        run = Run(choice.path)
        judge = run.manifest["judge"]["name"]
        if (run.reading is not None) != readers:
            raise JudgeError(
                f"{choice.shown} is a run of the judge {judge}, no reader's; readers' runs are "
                "those that judge import makes"
                if readers
                else f"{choice.shown} is the run of a reader; name it after --readers"
            )
        # One reader twice, under two names, would agree with the reader's own word.
        same = [other.shown for other in opened.values() if other.run.signature == run.signature]
        if readers and same:
            raise JudgeError(f"{same[0]} and {choice.shown} are the same readings; give one")
        name = choice.model or judge.removeprefix(READER)
        if name in opened:
            raise JudgeError(
                f"{opened[name].shown} and {choice.shown} are both of {name!r}; name them: "
                f"NAME={choice.shown}"
            )
        opened[name] = Rater(name, choice.shown, run)
    return tuple(opened.values())


def _below(choice: RunChoice) -> list[RunChoice]:
    if not choice.path.is_dir() or (choice.path / MANIFEST).exists():
        return [choice]
    below = sorted(path.parent for path in choice.path.glob(f"*/{MANIFEST}"))
    if not below:
        raise JudgeError(f"{choice.shown} holds no run; judge import makes readers' runs")
    return [RunChoice(path, str(Path(choice.shown) / path.name), choice.model) for path in below]


@dataclass(frozen=True)
class Score:
    """A number by which a judge, or a file, orders studies, one value a study; NaN: none.

    `judge` is whose it is, of a file's the metric itself.
    """

    judge: str
    label: str
    higher_is_better: bool
    values: Values


@dataclass(frozen=True)
class RatedStudies:
    """What judges and readers said of the studies that all judges have and a reader has read.

    `values` has for each quantity an array of studies by raters, the judges first; NaN is not
    scored, not read, or not asked for. `scores` are the scores of judges and the metrics of
    files, which are held against what readers say. `clusters` numbers the patient of each study;
    None where no patient has several, and `patient_field` too. `level` is that of which errors are
    significant, None where each rubric says so itself. `files` are digests of the metrics' files,
    and how each metric is read.
    """

    judges: tuple[Rater, ...]
    readers: tuple[Rater, ...]
    runs: LoadedRuns
    quantities: tuple[Quantity, ...]
    values: Mapping[str, Values]
    scores: tuple[Score, ...]
    study_classes: tuple[str | None, ...]
    clusters: NDArray[np.intp] | None
    patient_field: str | None
    level: str | None
    files: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def raters(self) -> tuple[Rater, ...]:
        """All of them, the judges first."""
        return (*self.judges, *self.readers)

    @property
    def study_ids(self) -> tuple[str, ...]:
        """The studies, in the order of all that is held of them."""
        return self.runs.study_ids

    @property
    def significant(self) -> str:
        """What counts as significant: `readers actionable or worse, judge GREEN significant`."""
        sides = {"readers": self.readers, "judge": self.judges}
        words = {
            side: " and ".join(dict.fromkeys(_level_words(rater, self.level) for rater in raters))
            for side, raters in sides.items()
        }
        return ", ".join(f"{side} {text}" for side, text in words.items())

    @property
    def candidates_of(self) -> tuple[str | None, ...]:
        """The study that a candidate is of, None where a study has one candidate alone.

        `judge import` writes several as STUDY/CANDIDATE, with the candidate as the field `model`.
        The patient does not tell: one may have several studies, with ids such as PATIENT/STUDY.
        """
        models, _ = self.runs.field("model")
        ends = [f"/{model}" for model in models or [None] * len(self.study_ids)]
        return tuple(
            study_id.removesuffix(end) if study_id.endswith(end) else None
            for study_id, end in zip(self.study_ids, ends, strict=True)
        )


def rated(
    judges: Sequence[Rater],
    readers: Sequence[Rater],
    metrics: Sequence[MetricFile] = (),
    patient_field: str | None = None,
    level: str | None = None,
) -> RatedStudies:
    """Put judges and readers side by side on the studies that all judges have and a reader read.

    Raises `JudgeError` where there is no such study, where the runs are of other texts, where
    nothing that they count is shared, and where a run cannot say which errors are of `level`.
    """
    everyone = (*judges, *readers)
    runs = load(
        [(rater.shown, rater.run) for rater in everyone],
        lambda *ids: set.intersection(*ids[: len(judges)]) & set.union(*ids[len(judges) :]),
    )
    sizes = {rater.shown: len(rater.run.columns([])) for rater in everyone}
    if not runs.study_ids:
        has = ", ".join(f"{shown} has {n:,}" for shown, n in sizes.items())
        raise JudgeError(
            f"no study was both judged and read: {has}; judge the reports that were read"
        )
    notes = [
        f"{n:,} studies of {rater.name} were not both judged by all and read: left out"
        for rater, rows in zip(everyone, runs.rows, strict=True)
        if (n := sizes[rater.shown] - int((rows >= 0).sum()))
    ]
    notes += check_texts(runs)
    level = _level(everyone, level)
    quantities = _shared(everyone, level)
    scores = []
    grids = {one.name: np.full((len(runs.study_ids), len(everyone)), np.nan) for one in quantities}
    grids[RATING] = np.full((len(runs.study_ids), len(everyone)), np.nan)
    for column, rater in enumerate(everyone):
        known = quantities_of(rater.rubric, rater.lacks, level)
        own_scores = () if rater.is_reader else rater.rubric.with_role("score")
        names = [name for one in quantities for name in known[one.name].measures]
        numbers = runs.numbers(column, [*names, *(one.name for one in own_scores)])
        for one in quantities:
            parts = [numbers[name] for name in known[one.name].measures]
            grids[one.name][:, column] = summed(parts)
        scores += [
            Score(rater.name, one.label, one.higher_is_better, numbers[one.name])
            for one in own_scores
        ]
        if rater.is_reader and RATING in rater.run.manifest["fields"]:
            ratings = runs.columns(column, [RATING])[RATING]
            grids[RATING][:, column] = [_number(rating) for rating in ratings]
    if not np.isnan(grids[RATING]).all():
        quantities += (Quantity(RATING, "rating", "rating", higher_is_better=True),)
    metric_scores = [
        Score(metric.name, metric.study_label, metric.study_higher_is_better, grid[:, 0])
        for file in metrics
        for metric, grid in file.on(runs.study_ids, (own_model(judges[0].run),))
    ]
    classes, note = runs.field("study_class")
    patient, clusters = runs.patients(patient_field) or (None, None)
    if clusters is not None and len(set(clusters)) == len(clusters):
        patient, clusters = None, None
    return RatedStudies(
        tuple(judges),
        tuple(readers),
        runs,
        quantities,
        grids,
        (*scores, *metric_scores),
        tuple(str(name) if name else None for name in classes or [None] * len(runs.study_ids)),
        clusters,
        patient,
        level,
        (
            *(file.sha256 for file in metrics),
            *(f"{one.label} {one.higher_is_better}" for one in metric_scores),
        ),
        (*notes, *([note] if note else [])),
    )


def records(studies: RatedStudies, study_ids: Collection[str]) -> list[dict[str, dict[str, Any]]]:
    """Return what each rater said of some studies, by study id; raises as `Run.records`."""
    return [studies.runs.records(at, study_ids) for at in range(len(studies.raters))]


def check_texts(runs: LoadedRuns) -> list[str]:
    """Raise where two runs are of other texts of a study; return whose texts are not known.

    A reader's file may hold no reports; then at least the section must be that of the first run.
    """
    for side in SIDES:
        for earlier, later, ids in runs.differing_texts(side):
            raise JudgeError(
                f"{later} and {earlier} have other {side} for {len(ids):,} studies, {ids[0]!r} "
                "among them; judge the reports that were read, in the same --section"
            )
    notes = []
    first = runs.runs[0].manifest["section"]
    for name, run in zip(runs.names, runs.runs, strict=True):
        texts = digests(run.records(of_any_version=True), set(runs.study_ids)).values()
        missing = [
            side for side, of in zip(SIDES, zip(*texts, strict=True), strict=True) if not any(of)
        ]
        section = run.manifest["section"]
        if "candidates" in missing and section != first:
            raise JudgeError(
                f"{name} is of the section {section} and {runs.names[0]} of {first}; judge what "
                f"was read (--section {section})"
            )
        notes += [f"the {side} are not in {name}: they could not be checked" for side in missing]
    return notes


def _level(everyone: Sequence[Rater], asked: str | None) -> str | None:
    """Return the level of which errors are significant, None where each rubric says so itself."""
    level = asked or common_level(rater.rubric for rater in everyone)
    has_levels = any(rater.levels for rater in everyone)
    for rater in everyone:
        can_say = at_level(rater.rubric, level, rater.lacks) if level else rater.levels
        if not can_say and (level or has_levels):
            raise JudgeError(
                f"{rater.shown} cannot say which errors are {level or SIGNIFICANT}: its levels are "
                f"{', '.join(rater.levels) or 'none'}; choose one that all runs have with --level"
            )
    return level


def _level_words(rater: Rater, level: str | None) -> str:
    if SIGNIFICANT in rater.levels:
        return f"{rater.rubric.title} significant"
    return f"{level or 'urgent'} or worse"


def _shared(everyone: Sequence[Rater], level: str | None) -> tuple[Quantity, ...]:
    """Return the quantities that every rubric has; a score only where it is the same one.

    Categories of a reader's own are in the totals alone.
    """
    first, *others = [quantities_of(rater.rubric, level=level) for rater in everyone]
    shared = tuple(
        one
        for name, one in first.items()
        if all(name in known and (one.kind == "count" or known[name] == one) for known in others)
    )
    if not shared:
        kinds = ", ".join(dict.fromkeys(rater.rubric.title for rater in everyone))
        raise JudgeError(f"{kinds} have no count in common, so there is nothing to compare")
    return shared


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else np.nan  # type: ignore[arg-type]
