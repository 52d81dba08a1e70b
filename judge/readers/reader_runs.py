"""The runs of readers: one folder per reader, written all at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from judge import rubrics
from judge.plugins import version
from judge.readers.annotations import Readings
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import restrict
from judge.running.folder import ANOTHER, Run, atomic_folder, entries_of
from judge.running.records import StudyResult, adapter
from judge.running.session import with_classes, write_run
from judge.signature import Signature, safe_name, studies_digest
from judge.stats.table import DEFAULT_BY, reserved_names
from judge.studies.columns import model_of, one_type, rename_reserved
from judge.studies.sections import Section
from judge.studies.study_set import InputFile, StudySet, first_ids
from judge.types import Annotation, JudgeError

READER = "reader:"
"""The first part of a reader's name as a judge."""
NOTE = "a reader's annotations"


def write_runs(
    layout: str,
    readings: Sequence[Readings],
    inputs: Sequence[InputFile],
    out: Path,
    *,
    model: str | None = None,
    section: Section | None = None,
    arguments: Mapping[str, object],
) -> list[Run]:
    """Write the run of each reader below `out`, all of them at once.

    `model` is by default the field `model` where it is the same for all studies, else the name of
    the file with the candidates. Raises `JudgeError` for a folder that is not empty, and for two
    readers with one folder name.
    """
    by_folder = {
        "reader-" + safe_name(reader.reader, 60, keeps="._"): reader for reader in readings
    }
    if len({*map(str.casefold, by_folder)}) < len(readings):
        names = ", ".join(repr(reader.reader) for reader in readings)
        raise JudgeError(f"two of the readers {names} would share a folder; rename one of them")
    if entries_of(out):
        raise JudgeError(f"{out} is not empty; {ANOTHER}")
    with atomic_folder(out) as place:
        for folder, reader in by_folder.items():
            rubric = restrict(rubrics.load(reader.rubric), reader.lacks, reader.own_categories)
            studies = _study_set(reader, inputs, rubric, model, section)
            _write_run(place / folder, layout, reader, studies, rubric, arguments)
    return [Run(out / folder) for folder in by_folder]


def _study_set(
    readings: Readings,
    inputs: Sequence[InputFile],
    rubric: Rubric,
    model: str | None,
    section: Section | None,
) -> StudySet:
    studies = [reading.study for reading in readings.readings]
    names = dict.fromkeys(name for study in studies for name in study.fields)
    columns = {name: one_type([study.fields.get(name) for study in studies]) for name in names}
    columns = {name: column for name, column in columns.items() if set(column) != {None}}
    fields = rename_reserved(columns, reserved_names(rubric))
    pairs = zip(columns, fields, strict=True)
    new_names = [f"the field {old} is kept as {new}" for old, new in pairs if old != new]
    models = {str(value) for value in columns.get("model", ()) if value is not None}
    if not models and readings.source:
        models = {model_of(readings.source) or ""}
    references = tuple(study.reference for study in studies)
    left_out = readings.left_out
    return StudySet(
        study_ids=tuple(study.study_id for study in studies),
        references=references,
        candidates=tuple(study.candidate for study in studies),
        study_classes=tuple(study.study_class for study in studies),
        class_inferred=tuple(study.class_inferred for study in studies),
        full_references=references,
        section=section or readings.section,
        fields=fields,
        class_field="study_class" if any(study.study_class for study in studies) else None,
        model=model or (models.pop() if len(models) == 1 else None) or None,
        inputs=tuple(inputs),
        notes=(*readings.notes, *new_names),
        omitted={"unreadable": len(left_out)} if left_out else {},
        omitted_ids={"unreadable": tuple(left_out)} if left_out else {},
    )


def _write_run(
    path: Path,
    layout: str,
    readings: Readings,
    studies: StudySet,
    rubric: Rubric,
    arguments: Mapping[str, object],
) -> None:
    class_source = readings.class_source
    if class_source is None:
        has_references = any(studies.references)
        studies, class_source = with_classes(studies) if has_references else (studies, "none")
    sample = {"sample": readings.sample} if readings.sample else {}
    name, now = f"{READER}{readings.reader}", datetime.now(UTC).isoformat(timespec="seconds")
    reader_version = f"{name}+{_digest(readings)}"
    # As of a judge's run, with the layout in place of the prompt.
    parts = (
        f"{rubric.name}:{rubric.version}",
        f"judge:{reader_version}",
        f"layout:{layout}",
        f"section:{studies.section}",
        f"class:{class_source}",
        f"omitted:{sum(studies.omitted.values())}",
        f"studies:{studies_digest(studies)}",
        f"version:{version()}",
    )
    lacking = [f"numbers that need it are undefined: {why}" for why in {*readings.lacks.values()}]
    made_by = {
        "signature": str(Signature(parts)),
        "rubric": rubric.name,
        "model": studies.model,
        "judge": {"name": name, "version": reader_version, "note": NOTE},
        "prompt": None,
        "section": studies.section,
        "class_source": class_source,
        "omitted": dict(studies.omitted),
        "notes": [*studies.notes, *sorted(lacking), *_left_out(readings.left_out)],
        "reading": {
            "layout": layout,
            "lacks": dict(readings.lacks),
            "own": list(readings.own_categories),
            **sample,
        },
    }
    manifest = {
        "arguments": dict(arguments),
        "inputs": [asdict(file) for file in studies.inputs],
        "fields": list(studies.fields),
        "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
        "started": now,
        "finished": now,
    }
    results = (
        StudyResult(
            row,
            study,
            reading.outcome,
            None if reading.cannot_judge else rubric.measured(reading.annotation, study),
            None,
        )
        for row, (study, reading) in enumerate(zip(studies, readings.readings, strict=True))
    )
    write_run(path, rubric, results, made_by, manifest, DEFAULT_BY)


def _digest(readings: Readings) -> str:
    annotations = [
        [reading.study.study_id, "Unparsed", reading.cannot_judge]
        if reading.cannot_judge
        else [
            reading.study.study_id,
            "Annotated",
            adapter(Annotation).dump_python(reading.annotation, mode="json"),
        ]
        for reading in readings.readings
    ]
    content = [annotations, sorted(readings.lacks), [*readings.own_categories]]
    content += [readings.sample] if readings.sample else []
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]


def _left_out(left_out: Mapping[str, str]) -> list[str]:
    if not left_out:
        return []
    first = next(iter(left_out))
    ids = f"{len(left_out):,} for contradictory rows ({first_ids([*left_out])})"
    return [f"studies left out: {ids}; {first}: {left_out[first]}"]
