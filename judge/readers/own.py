"""Readings made on the page of a run, as those of any layout: what becomes a run of each reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.readers import kept
from judge.readers.kept import KeptReading
from judge.readers.readings import Reading, Readings
from judge.readers.sample import Sample, kept_sample, read_in_turn
from judge.report.words import counted
from judge.rubrics.reading import EDIT, REFERENCE
from judge.running.folder import Run
from judge.running.records import SampleRead, study_of
from judge.studies.study_set import InputFile, first_ids
from judge.types import Annotated, Annotation, JudgeError

LAYOUT = "readings"
"""What stands where an imported run has the layout of its files."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The finished readings of one reader, and those that were begun or left out, by study."""

    readings: Readings
    begun: tuple[str, ...]
    left_out: tuple[str, ...]


def finished(
    run: Run, reader: str | None = None, *, also_undrawn: bool = False
) -> tuple[dict[str, Finished], list[InputFile]]:
    """Return the finished readings beside a run by reader, or those of one, in the run's order.

    Beside them are the files that the studies came from, and that of the readings.
    Where a sample is kept with the run, readings of other studies are left out unless they are
    wanted; where any is in, the readings are of no sample. Nor are they where a study was passed
    over. Lacking, though it was asked for, is a kind of items that is not graded, such as matched
    findings, where the reader marked none, or left a study without any mark: a report in which
    nothing is wrong must not count as one in which nothing matches. So are edits where an error
    has none.

    Raises `JudgeError` where there are none, for a reader who made none, and for the first reading
    that cannot be one of the run's study.
    """
    if why := kept.unreadable(run.rubric):
        raise JudgeError(f"{run.path} has no readings: {why}")
    readings, digest = kept.read_with_digest(run.path)
    last = kept.latest(readings)
    if not last:
        raise JudgeError(
            f"nobody has read studies of {run.path}: it has no {kept.FILE}. Readings are made on "
            "the pages of judge serve"
        )
    readers = sorted({name for name, _ in last})
    if reader is not None and reader not in readers:
        raise JudgeError(f"no readings of {reader!r}; there are those of {', '.join(readers)}")
    wanted = [name for name in readers if reader in (None, name)]
    done = {key: one for key, one in last.items() if one.done and one.reader in wanted}
    sample = kept_sample(run)
    queue = None if sample is None or also_undrawn else frozenset(sample.order)
    found = {name: list[Reading]() for name in wanted}
    for name, study_id, reading in _in_order(run, done):
        if queue is None or study_id in queue:
            found[name].append(reading)
    inputs = [
        InputFile(one["path"], one["role"], one["sha256"], one.get("n_records", 0))
        for one in run.manifest["inputs"]
    ]
    inputs.append(InputFile(str(run.path / kept.FILE), "readings", digest, len(readings)))
    return {
        name: Finished(
            _readings(run, name, found[name], sample),
            tuple(one.study_id for one in last.values() if one.reader == name and not one.done),
            tuple(s for r, s in done if r == name and queue is not None and s not in queue),
        )
        for name in wanted
    }, inputs


def _in_order(
    run: Run, done: Mapping[tuple[str, str], KeptReading]
) -> list[tuple[str, str, Reading]]:
    by_study: dict[str, list[KeptReading]] = {}
    for (_, study_id), one in done.items():
        by_study.setdefault(study_id, []).append(one)
    found = []
    for record in run.records() if by_study else ():
        for one in by_study.pop(record["study_id"], ()):
            if why := kept.fault(one, run.rubric, record):
                raise _wrong(run, one, why)
            annotation = Annotation(tuple(item.item() for item in one.items), one.comment)
            found.append(
                (one.reader, one.study_id, Reading(study_of(record), Annotated(annotation)))
            )
    for one, *_ in by_study.values():
        raise _wrong(run, one, "the run has no such study")
    return found


def _wrong(run: Run, one: KeptReading, why: str) -> JudgeError:
    return JudgeError(
        f"{run.path / kept.FILE}: the reading of study {one.study_id!r} by {one.reader!r} cannot "
        f"be one of this run: {why}. Read the study again, or take the line with id {one.id} out"
    )


def _readings(run: Run, reader: str, found: Sequence[Reading], sample: Sample | None) -> Readings:
    used = run.reading
    drawn, notes = (None, []) if sample is None else _drawn(run, sample, found)
    return Readings(
        run.rubric.name,
        {reader: found},
        _lacks(run, found),
        used["own"] if used else (),
        section=run.manifest["section"],
        notes=tuple(notes),
        class_source=run.manifest.get("class_source") or "none",
        sample=drawn,
    )


def _drawn(
    run: Run, sample: Sample, found: Sequence[Reading]
) -> tuple[SampleRead | None, list[str]]:
    """Return how the studies that were read were drawn; None, with why, where not at random."""
    read = {one.study.study_id for one in found}
    if undrawn := sorted(read - {*sample.order}):
        told = counted(len(undrawn), "study was", "studies were")
        return None, [f"no random sample: {told} not drawn ({first_ids(undrawn)})"]
    strata, passed = read_in_turn(run, sample, read)
    if passed:
        told = counted(len(passed), "study was", "studies were")
        return None, [f"no random sample: {told} passed over and not read ({first_ids(passed)})"]
    return {
        "seed": sample.seed,
        "by": [*sample.by],
        "strata": [
            {"key": {**one.key}, "n_studies": one.n_studies, "n_drawn": one.n_drawn}
            for one in strata
        ],
    }, []


def _lacks(run: Run, found: Sequence[Reading]) -> dict[str, str]:
    rubric, used = run.rubric, run.reading
    lacks = {REFERENCE: used["lacks"][REFERENCE]} if used and REFERENCE in used["lacks"] else {}
    by_study = [one.outcome.annotation.items for one in found if isinstance(one.outcome, Annotated)]
    items = [item for of_study in by_study for item in of_study]
    marked = {item.kind for item in items}
    n_bare = sum(not of_study for of_study in by_study)
    for kind in rubric.kinds:
        if kind.graded_by is None and (n_bare or kind.name not in marked):
            where = f" in {n_bare} of {len(found)} studies" if kind.name in marked else ""
            lacks[kind.name] = f"the reader marked no {kind.plural}{where}"
    graded = {kind.name for kind in rubric.graded}
    if rubric.editor and any(item.edit is None for item in items if item.kind in graded):
        lacks[EDIT] = "not every error has its line corrected"
    return lacks
