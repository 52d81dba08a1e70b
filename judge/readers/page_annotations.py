"""Readings made on the page of a run, in the form of the other layouts: a run for each reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from judge.readers import annotation_store as store
from judge.readers.annotation_store import PageReading
from judge.readers.annotations import Reading, Readings
from judge.readers.sample import kept_sample, read_of
from judge.rubrics.derived import EDIT, REFERENCE
from judge.running.folder import Run
from judge.running.records import study_of
from judge.studies.study_set import InputFile
from judge.text import counted
from judge.types import Annotation, JudgeError

LAYOUT = "readings"
"""The name of this layout, as `judge import` takes it."""
SECONDS = "reading_seconds"
"""The field of a study with the time that its reading took."""


def finished(run: Run, reader: str | None = None) -> tuple[list[Readings], tuple[InputFile, ...]]:
    """Return the finished readings beside a run, of all readers or one, and the files read.

    They are a random sample where the studies that were read are the first of the sample that is
    kept with the run. Raises `JudgeError` where there are none, and for the first reading that
    does not fit its study.
    """
    if why := store.why_unreadable(run.rubric):
        raise JudgeError(f"{run.path} has no readings: {why}")
    path = run.path / store.FILE
    saves = store.read(run.path)
    last = {
        key: reading
        for key, reading in store.latest(saves).items()
        if reading.done and reader in (None, reading.reader)
    }
    if not last:
        raise JudgeError(f"{path} has no finished reading" + (f" of {reader!r}" if reader else ""))
    records = {record["study_id"]: record for record in run.records()}
    for reading in last.values():
        record = records.get(reading.study_id)
        fault = "the run has no such study"
        if record is None or (fault := store.find_fault(reading, run.rubric, record) or ""):
            raise JudgeError(
                f"{path}: the reading of study {reading.study_id!r} by {reading.reader!r} does "
                f"not fit this run: {fault}; remove the line with id {reading.id}"
            )
    inputs = [
        InputFile(file["path"], file["role"], file["sha256"], file.get("n_records", 0))
        for file in run.manifest["inputs"]
    ]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    inputs.append(InputFile(str(path), "readings", digest, len(saves)))
    by_reader = [
        _readings(
            run,
            name,
            [
                _reading(record, last[name, study_id])
                for study_id, record in records.items()
                if (name, study_id) in last
            ],
        )
        for name in sorted({name for name, _ in last})
    ]
    return by_reader, tuple(inputs)


def _reading(record: dict[str, object], reading: PageReading) -> Reading:
    study = study_of(record)
    if reading.seconds is not None:
        study = replace(study, fields={**study.fields, SECONDS: reading.seconds})
    annotation = Annotation(tuple(item.item() for item in reading.items), reading.comment)
    return Reading(study, annotation, reading.cannot_judge)


def _readings(run: Run, reader: str, readings: Sequence[Reading]) -> Readings:
    sample, notes = kept_sample(run), []
    read = (
        read_of(run, sample, {reading.study.study_id for reading in readings}) if sample else None
    )
    if sample and not read:
        n = counted(len(readings), "study is", "studies are")
        notes.append(f"no random sample: the {n} not the first that were drawn")
    if n_unjudged := sum(bool(reading.cannot_judge) for reading in readings):
        unjudged = counted(n_unjudged, "study", "studies")
        notes.append(f"the reader could not judge {unjudged}: figures are of the rest")
    return Readings(
        reader,
        run.rubric.name,
        readings,
        _lacks(run, readings),
        run.reading["own"] if run.reading else (),
        section=run.manifest["section"],
        notes=tuple(notes),
        class_source=run.manifest.get("class_source") or "none",
        sample=read,
    )


def _lacks(run: Run, readings: Sequence[Reading]) -> dict[str, str]:
    """Return what the reader was asked for and did not give, each with the reason.

    A kind of items that is not graded, such as matched findings, is lacking where a judged study
    has no mark at all: a report in which nothing is wrong must not count as one in which nothing
    matches.
    """
    rubric, earlier = run.rubric, run.reading
    lacks = {}
    if earlier and REFERENCE in earlier["lacks"]:
        lacks[REFERENCE] = earlier["lacks"][REFERENCE]
    judged = [reading.annotation for reading in readings if not reading.cannot_judge]
    items = [item for annotation in judged for item in annotation.items]
    marked = {item.kind for item in items}
    n_bare = sum(not annotation.items for annotation in judged)
    for kind in rubric.kinds:
        if kind.graded_by is None and (n_bare or kind.name not in marked):
            where = f" in {n_bare} of {len(judged)} studies" if kind.name in marked else ""
            lacks[kind.name] = f"the reader marked no {kind.plural}{where}"
    graded = {kind.name for kind in rubric.graded}
    if rubric.editor and any(item.edit is None for item in items if item.kind in graded):
        lacks[EDIT] = "not every error has its line corrected"
    return lacks
