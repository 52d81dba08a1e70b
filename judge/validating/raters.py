"""Judges and readers side by side: whose runs they are, and what each said of which study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.comparing.metric_files import MetricFile
from judge.comparing.names import RunChoice, own_model
from judge.readers.runs import READER
from judge.rubrics.quantities import RATING, Quantity
from judge.running.folder import MANIFEST, Run
from judge.signature import digests
from judge.stats.panel import Values
from judge.studies.names import FIELD_NAMES
from judge.types import JudgeError
from judge.validating.quantities import level_of, level_words, scores_of, shared, values_of

_CANDIDATE_OF = "/"
"""What stands between a study's id and its candidate's where a study has several."""


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

    @cached_property
    def study_ids(self) -> tuple[str, ...]:
        """The studies of the run, in the order of its table."""
        return tuple(self.run.columns([])["study_id"].to_pylist())


def readers_below(chosen: RunChoice) -> list[RunChoice]:
    """Return the runs in a folder that is none itself, as `judge import` leaves it; else the run.

    Raises `JudgeError` where there is none in it.
    """
    if not chosen.path.is_dir() or (chosen.path / MANIFEST).exists():
        return [chosen]
    below = sorted(path.parent for path in chosen.path.glob(f"*/{MANIFEST}"))
    if not below:
        raise JudgeError(f"{chosen.shown} holds no run; judge import makes readers' runs")
    return [RunChoice(path, str(Path(chosen.shown) / path.name), chosen.model) for path in below]


def raters(choices: Sequence[RunChoice], *, readers: bool) -> tuple[Rater, ...]:
    """Open the runs of judges, or of readers, by the names given or their own.

    Raises `JudgeError` for a run of the other kind, the same readings twice, and where two would
    have one name.
    """
    found: dict[str, Rater] = {}
    for chosen in choices:
        run = Run(chosen.path)
        if (run.reading is not None) != readers:
            judge = run.manifest["judge"]["name"]
            raise JudgeError(
                f"{chosen.shown} is a run of the judge {judge}, no reader's; --readers takes the "
                "runs that judge import makes"
                if readers
                else f"{chosen.shown} is the run of a reader; name it after --readers"
            )
        # One reader twice, under two names, would agree with the reader's own word.
        same = next((of for of in found.values() if of.run.signature == run.signature), None)
        if readers and same:
            raise JudgeError(
                f"{same.shown} and {chosen.shown} are the same readings; give one of them"
            )
        name = chosen.model or run.manifest["judge"]["name"].removeprefix(READER)
        if name in found:
            raise JudgeError(
                f"{found[name].shown} and {chosen.shown} are both of {name!r}; name them: "
                f"NAME={chosen.shown}"
            )
        found[name] = Rater(name, chosen.shown, run)
    return tuple(found.values())


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
    None where no patient has several, and `patient_field` too. `candidates_of` has the study that
    a candidate is of, where a study has several. `level` is that of which errors are significant,
    None where each rubric says so itself. `files` are digests of the metrics' files, and how each
    metric is read.
    """

    judges: tuple[Rater, ...]
    readers: tuple[Rater, ...]
    study_ids: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    values: Mapping[str, Values]
    scores: tuple[Score, ...]
    study_classes: tuple[str | None, ...]
    clusters: NDArray[np.int64] | None
    patient_field: str | None
    candidates_of: tuple[str | None, ...]
    level: str | None
    files: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def raters(self) -> tuple[Rater, ...]:
        """All of them, the judges first."""
        return (*self.judges, *self.readers)

    @property
    def significant(self) -> str:
        """What counts as significant: `readers actionable or worse, judge GREEN significant`."""
        sides = {"readers": self.readers, "judge": self.judges}
        words = {
            who: " and ".join(dict.fromkeys(level_words(one.run, self.level) for one in raters))
            for who, raters in sides.items()
        }
        return ", ".join(f"{who} {text}" for who, text in words.items())


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
    study_ids, notes = _studies(judges, readers)
    notes += _check_texts(everyone, set(study_ids))
    level = level_of([rater.run for rater in everyone], level)
    quantities = shared([rater.run for rater in everyone], level)
    if not quantities:
        kinds = ", ".join(dict.fromkeys(rater.run.rubric.title for rater in everyone))
        raise JudgeError(f"{kinds} have no count in common, so there is nothing to compare")
    names = [one.name for one in quantities]
    grids = {name: np.full((len(study_ids), len(everyone)), np.nan) for name in (*names, RATING)}
    scores = []
    for column, rater in enumerate(everyone):
        own_scores = () if rater.is_reader else scores_of(rater.run)
        found = values_of(rater.run, [*names, *(one.name for one in own_scores)], level)
        rows, at = places(rater.study_ids, study_ids)
        for name, grid in grids.items():
            if name in found and (name != RATING or rater.is_reader):
                grid[rows, column] = found[name][at]
        for one in own_scores:
            values = np.full(len(study_ids), np.nan)
            values[rows] = found[one.name][at]
            scores.append(Score(rater.name, one.label, one.higher_is_better, values))
    if not np.isnan(grids[RATING]).all():
        quantities += (Quantity(RATING, "rating", "rating", higher_is_better=True),)
    model = own_model(judges[0].run)  # of all: they are of the same texts
    metric_scores = [
        Score(metric.name, metric.study_label, metric.study_higher_is_better, grid[:, 0])
        for file in metrics
        for metric, grid in file.on(study_ids, (model,))
    ]
    read_as = [f"{one.label} {one.higher_is_better}" for one in metric_scores]
    classes = _field("study_class", everyone, study_ids)
    patient, numbers = _patients(everyone, study_ids, patient_field)
    return RatedStudies(
        tuple(judges),
        tuple(readers),
        study_ids,
        quantities,
        grids,
        (*scores, *metric_scores),
        tuple(None if one is None else str(one) for one in classes),
        numbers,
        patient,
        _candidates_of(readers, study_ids),
        level,
        (*(file.sha256 for file in metrics), *read_as),
        tuple(notes),
    )


def places(
    there: Iterable[str], wanted: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of the wanted studies that are there, and where they are."""
    place_of = {study_id: place for place, study_id in enumerate(there)}
    found = [(row, place_of[one]) for row, one in enumerate(wanted) if one in place_of]
    both = np.array(found, dtype=np.intp).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _studies(
    judges: Sequence[Rater], readers: Sequence[Rater]
) -> tuple[tuple[str, ...], list[str]]:
    judged = set.intersection(*(set(rater.study_ids) for rater in judges))
    read = set().union(*(rater.study_ids for rater in readers))
    both = judged & read
    if not both:
        sizes = ", ".join(f"{one.shown} has {len(one.study_ids):,}" for one in (*judges, *readers))
        raise JudgeError(
            f"no study was both judged and read: {sizes}; judge the reports that were read "
            f"(the first read is {min(read)!r})"
            if read
            else f"nothing was read: {sizes}"
        )
    notes = [
        f"{n:,} studies of {rater.name} were not judged by the others: left out"
        for rater in judges
        if (n := len(set(rater.study_ids) - judged))
    ]
    if n := len(read - judged):
        notes.append(f"{n:,} studies that were read were not judged: left out")
    return tuple(sorted(both)), notes


def records(found: RatedStudies, study_ids: Collection[str]) -> list[dict[str, dict[str, Any]]]:
    """Return what each rater said of some studies, by study id; raises as `Run.records`."""
    return [
        {one["study_id"]: one for one in rater.run.records() if one["study_id"] in study_ids}
        for rater in found.raters
    ]


def _check_texts(everyone: Sequence[Rater], wanted: set[str]) -> list[str]:
    """Raise where two read other texts of a study; return whose texts are not known.

    A text that a run has for none of its studies is not in the reader's files.
    """
    notes = []
    known: tuple[dict[str, tuple[bytes | None, Rater]], ...] = ({}, {})
    whats = ("references", "candidates")
    for rater in everyone:
        found = digests(rater.run.records(of_any_version=True), wanted)
        for side, (what, of) in enumerate(zip(whats, known, strict=True)):
            if all(of_study[side] is None for of_study in found.values()):
                notes.append(f"the {what} are not in {rater.shown}: they could not be checked")
                continue
            differing = []
            for study_id, of_study in found.items():
                if side == 0 and of_study[side] is None:
                    continue  # of a reader who has references of some studies alone
                text, other = of.setdefault(study_id, (of_study[side], rater))
                if text != of_study[side]:
                    differing.append((study_id, other))
            if differing:
                study_id, other = min(differing, key=lambda pair: pair[0])
                raise JudgeError(
                    f"{rater.shown} and {other.shown} have other {what} for {len(differing):,} of "
                    f"{len(found):,} studies, {study_id!r} among them; judge the reports that were "
                    "read (the same --section, and ids that mean the same studies)"
                )
    return notes


def _field(name: str, everyone: Sequence[Rater], study_ids: Sequence[str]) -> list[object]:
    found: list[object] = [None] * len(study_ids)
    for rater in everyone:
        if name != "study_class" and name not in rater.run.manifest["fields"]:
            continue
        column = rater.run.columns([name])[name].to_pylist()
        for row, place in zip(*places(rater.study_ids, study_ids), strict=True):
            if found[row] is None:
                found[row] = column[place]
    return found


def _patients(
    everyone: Sequence[Rater], study_ids: Sequence[str], asked: str | None
) -> tuple[str | None, NDArray[np.int64] | None]:
    """Return the field of the patient and their numbers, None where no patient has several."""
    if asked == "none":
        return None, None
    there = {name for rater in everyone for name in rater.run.manifest["fields"]}
    names = FIELD_NAMES["patient"] if asked is None else (asked,)
    name = next((one for one in names if one in there), None)
    if name is None:
        if asked is not None:
            raise JudgeError(
                f"no run has the field {asked!r}; name the patient with --patient-field"
            )
        return None, None
    column = _field(name, everyone, study_ids)
    numbers = patients(column)
    return (None, None) if len(set(numbers)) == len(numbers) else (name, numbers)


def patients(column: Sequence[object]) -> NDArray[np.int64]:
    """Return a number for each patient; a study without one is a patient of its own."""
    own = [f"study {at}" if one is None else f"of {one}" for at, one in enumerate(column)]
    number_of = {one: number for number, one in enumerate(dict.fromkeys(own))}
    return np.array([number_of[one] for one in own], dtype=np.int64)


def _candidates_of(readers: Sequence[Rater], study_ids: Sequence[str]) -> tuple[str | None, ...]:
    """Return the study of each candidate, None where a study has one candidate alone.

    `judge import` writes several as STUDY/CANDIDATE, with the candidate as the field `model`. The
    patient does not tell: one may have several studies, with ids such as PATIENT/STUDY.
    """
    if not any("model" in rater.run.manifest["fields"] for rater in readers):
        return (None,) * len(study_ids)
    ends = [f"{_CANDIDATE_OF}{model}" for model in _field("model", readers, study_ids)]
    return tuple(
        study_id.removesuffix(end) if study_id.endswith(end) else None
        for study_id, end in zip(study_ids, ends, strict=True)
    )
