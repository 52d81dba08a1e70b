"""Readings made on the pages of a run, as those of any layout: a run of each reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from judge.readers import kept
from judge.readers.annotations import Reading, Readings
from judge.readers.sample import kept_sample, read_of
from judge.rubrics.derived import EDIT, REFERENCE
from judge.running.folder import Run
from judge.running.records import study_of
from judge.studies.study_set import InputFile
from judge.text import counted
from judge.types import Annotation, JudgeError

LAYOUT = "readings"
"""What stands where an imported run has the layout of its files."""


def finished(run: Run, reader: str | None = None) -> tuple[list[Readings], tuple[InputFile, ...]]:
    """Return the finished readings beside a run by reader, or those of one, and the files.

    They are a random sample where the studies that were read are the first of the sample that is
    kept with the run. Raises `JudgeError` where there are none, and for the first reading that
    cannot be one of the run's study.
    """
    if why := kept.unreadable(run.rubric):
        raise JudgeError(f"{run.path} has no readings: {why}")
    path = run.path / kept.FILE
    readings = kept.read(run.path)
    last = {
        (one.reader, one.study_id): one
        for one in kept.latest(readings).values()
        if one.done and reader in (None, one.reader)
    }
    if not last:
        raise JudgeError(f"{path} has no finished reading" + (f" of {reader!r}" if reader else ""))
    records = {record["study_id"]: record for record in run.records()}
    for one in last.values():
        record = records.get(one.study_id)
        why = kept.fault(one, run.rubric, record) if record else "the run has no such study"
        if why:
            raise JudgeError(
                f"{path}: the reading of study {one.study_id!r} by {one.reader!r} cannot be one "
                f"of this run: {why}; take the line with id {one.id} out"
            )
    inputs = [
        InputFile(one["path"], one["role"], one["sha256"], one.get("n_records", 0))
        for one in run.manifest["inputs"]
    ]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    inputs.append(InputFile(str(path), "readings", digest, len(readings)))
    found = []
    for name in sorted({name for name, _ in last}):
        said = [
            Reading(
                study_of(record),
                Annotation(tuple(item.item() for item in its.items), its.comment),
            )
            for study_id, record in records.items()
            if (its := last.get((name, study_id)))
        ]
        found.append(_readings(run, name, said))
    return found, tuple(inputs)


def _readings(run: Run, reader: str, said: Sequence[Reading]) -> Readings:
    sample, notes = kept_sample(run), []
    drawn = read_of(run, sample, {one.study.study_id for one in said}) if sample else None
    if sample and not drawn:
        n = counted(len(said), "study is", "studies are")
        notes.append(f"no random sample: the {n} not the first that were drawn")
    return Readings(
        reader,
        run.rubric.name,
        said,
        _lacks(run, said),
        run.reading["own"] if run.reading else (),
        section=run.manifest["section"],
        notes=tuple(notes),
        class_source=run.manifest.get("class_source") or "none",
        sample=drawn,
    )


def _lacks(run: Run, said: Sequence[Reading]) -> dict[str, str]:
    """Return what a reader was asked for and did not give, each with the reason.

    A kind of items that is not graded, such as matched findings, is lacking where a study has no
    mark at all: a report in which nothing is wrong must not count as one in which nothing matches.
    """
    rubric, used = run.rubric, run.reading
    lacks = {REFERENCE: used["lacks"][REFERENCE]} if used and REFERENCE in used["lacks"] else {}
    items = [item for one in said for item in one.annotation.items]
    marked = {item.kind for item in items}
    n_bare = sum(not one.annotation.items for one in said)
    for kind in rubric.kinds:
        if kind.graded_by is None and (n_bare or kind.name not in marked):
            where = f" in {n_bare} of {len(said)} studies" if kind.name in marked else ""
            lacks[kind.name] = f"the reader marked no {kind.plural}{where}"
    graded = {kind.name for kind in rubric.graded}
    if rubric.editor and any(item.edit is None for item in items if item.kind in graded):
        lacks[EDIT] = "not every error has its line corrected"
    return lacks
