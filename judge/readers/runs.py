"""Readings as runs: a folder a reader, all of them or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from judge import rubrics
from judge.plugins import version
from judge.readers.annotations import Reading, Readings
from judge.report.words import counted
from judge.rubrics.contract import Rubric
from judge.rubrics.reading import as_read
from judge.running.folder import ANOTHER, MANIFEST, Run, entries_of, folder_at_once, writing
from judge.running.records import FORMAT, Judged, adapter
from judge.running.run import versions, with_classes
from judge.signature import Signature, safe_name, studies_digest
from judge.stats.table import DEFAULT_BY, check_fields, reserved_names, summarise
from judge.studies.names import Section, model_of, renamed, tidy_column
from judge.studies.study_set import InputFile, StudySet, first_ids
from judge.types import Annotated, Annotation, JudgeError

READER = "reader:"
"""What the name of a judge who is a reader begins with."""
NOTE = "a reader's annotations"
UNREADABLE = "unreadable"
"""Why studies are left out whose rows in a reader's file contradict themselves."""
_DIGITS = 8


def write_runs(
    layout: str,
    found: Sequence[Readings],
    inputs: Sequence[InputFile],
    out: Path,
    *,
    model: str | None = None,
    section: Section | None = None,
    by: Sequence[str] = DEFAULT_BY,
    arguments: Mapping[str, object] | None = None,
) -> list[Run]:
    """Write the run of each reader below `out`, all of them at once.

    Each reader is in one of the `found`, with those who used the rubric in the same way. `out` may
    be new, empty, or hold the same runs, which then stay as they are. `model` is by default the
    field `model` where that is one for all, else what the file of the candidates is named after.
    Raises `JudgeError` for an `out` that holds anything else, and for an unknown field in `by`.
    """
    runs: dict[str, _ReaderRun] = {}
    for readings in found:
        rubric = as_read(rubrics.load(readings.rubric), readings.lacks, readings.own)
        for reader, said in readings.by_reader.items():
            left_out = readings.left_out.get(reader, {})
            studies = _study_set(said, readings, inputs, rubric, model, section, left_out)
            with_class = _with_classes(studies, readings.class_source)
            runs[reader] = _ReaderRun(reader, layout, readings, rubric, *with_class)
    folders = _folders(runs)
    there = {reader: out / folder for reader, folder in folders.items()}
    expected = {there[reader]: (run.signature, run.studies.model) for reader, run in runs.items()}
    if _is_free(out, expected):
        with folder_at_once(out) as place:
            for reader, run in runs.items():
                run.write(place / folders[reader], by, arguments or {})
    return [Run(path) for path in there.values()]


def _with_classes(studies: StudySet, source: str | None) -> tuple[StudySet, str]:
    if source is not None:
        return studies, source
    return with_classes(studies) if any(studies.references) else (studies, "none")


def _is_free(out: Path, expected: Mapping[Path, tuple[str, str | None]]) -> bool:
    """Whether runs are to be written to `out`; False where it holds just these already.

    `expected` are the signature and the model of each.
    """
    entries = entries_of(out)
    if not entries:
        return True
    if entries != {path.name for path in expected}:
        raise JudgeError(f"{out} holds something else than these readers' runs; {ANOTHER}")
    for path, (signature, model) in expected.items():
        found = Run(path) if (path / MANIFEST).is_file() else None
        if not found or (found.signature, found.manifest["model"]) != (signature, model):
            raise JudgeError(f"{path} holds another run; {ANOTHER}")
    return False


def _folders(readers: Mapping[str, object]) -> dict[str, str]:
    """Return a name of a folder for each reader; raises where two would have the same."""
    found: dict[str, str] = {}
    for reader in readers:
        name = "reader-" + safe_name(reader, 60, keeps="._")
        for other, taken in found.items():
            if taken.casefold() == name.casefold():
                raise JudgeError(
                    f"the readers {other!r} and {reader!r} would share the folder {name}; are they "
                    "one? Write the name in one way, or in two that differ in letters or digits"
                )
        found[reader] = name
    return found


def _study_set(
    found: Sequence[Reading],
    readings: Readings,
    inputs: Sequence[InputFile],
    rubric: Rubric,
    model: str | None,
    section: Section | None,
    left_out: Mapping[str, str],
) -> StudySet:
    studies = [one.study for one in found]
    names = dict.fromkeys(name for one in studies for name in one.fields)
    columns = {name: tidy_column([one.fields.get(name) for one in studies]) for name in names}
    columns = {name: column for name, column in columns.items() if set(column) != {None}}
    kept = renamed(columns, reserved_names(rubric))
    models = {str(value) for value in columns.get("model", ()) if value is not None}
    if not models and readings.source:
        models = {model_of(readings.source) or ""}
    references = tuple(one.reference for one in studies)
    return StudySet(
        study_ids=tuple(one.study_id for one in studies),
        references=references,
        candidates=tuple(one.candidate for one in studies),
        study_classes=tuple(one.study_class for one in studies),
        class_inferred=tuple(one.class_inferred for one in studies),
        full_references=references,
        section=section or readings.section,
        fields=kept,
        class_field="study_class" if any(one.study_class for one in studies) else None,
        model=model or (models.pop() if len(models) == 1 else None) or None,
        inputs=tuple(inputs),
        notes=(*readings.notes, *_renames(columns, kept)),
        omitted={UNREADABLE: len(left_out)} if left_out else {},
        omitted_ids={UNREADABLE: tuple(left_out)} if left_out else {},
    )


def _renames(columns: Mapping[str, object], kept: Mapping[str, object]) -> list[str]:
    pairs = zip(columns, kept, strict=True)
    return [f"the field {old} is kept as {new}" for old, new in pairs if old != new]


@dataclass
class _ReaderRun:
    reader: str
    layout: str
    readings: Readings
    rubric: Rubric
    studies: StudySet
    class_source: str

    @cached_property
    def version(self) -> str:
        said = [
            [one.study.study_id, "Annotated", _plain(one)]
            for one in self.readings.by_reader[self.reader]
        ]
        whole = [said, sorted(self.readings.lacks), [*self.readings.own]]
        whole += [self.readings.sample] if self.readings.sample else []
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        return f"{READER}{self.reader}+{digest[:_DIGITS]}"

    @cached_property
    def signature(self) -> str:
        """As of a run of a judge; the layout stands where the prompt would."""
        studies = self.studies
        parts = (
            f"{self.rubric.name}:{self.rubric.version}",
            f"judge:{self.version}",
            f"layout:{self.layout}",
            f"section:{studies.section}",
            f"class:{self.class_source}",
            f"omitted:{sum(studies.omitted.values())}",
            f"studies:{studies_digest(studies)}",
            f"version:{version()}",
        )
        return str(Signature(parts))

    def write(self, path: Path, by: Sequence[str], arguments: Mapping[str, object]) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        studies, readings = self.studies, self.readings
        made_by = {
            "signature": self.signature,
            "rubric": self.rubric.name,
            "model": studies.model,
            "judge": {"name": f"{READER}{self.reader}", "version": self.version, "note": NOTE},
            "prompt": None,
            "section": studies.section,
            "class_source": self.class_source,
            "omitted": dict(studies.omitted),
            "notes": [*studies.notes, *self._notes()],
            "reading": {
                "layout": self.layout,
                "lacks": dict(readings.lacks),
                "own": list(readings.own),
                **({"sample": readings.sample} if readings.sample else {}),
            },
            "reply_modes": {},
        }
        with writing(path, self.rubric, list(studies.fields)) as writer:
            check_fields(by, writer.columns)
            for at, (study, one) in enumerate(
                zip(studies, readings.by_reader[self.reader], strict=True)
            ):
                measures = self.rubric.measured(one.annotation, study)
                writer.add(Judged(at, study, Annotated(one.annotation), measures, None))
            table = writer.table()
            manifest = {
                "format": FORMAT,
                **made_by,
                "arguments": dict(arguments),
                "inputs": [asdict(file) for file in studies.inputs],
                "fields": list(studies.fields),
                "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
                "started": now,
                "finished": now,
                "versions": versions(),
            }
            writer.finish(table, {**made_by, **summarise(table, self.rubric, by)}, manifest)

    def _notes(self) -> list[str]:
        notes = []
        for why in dict.fromkeys(self.readings.lacks.values()):
            of = [one for one in self.rubric.measures if one.undefined == why]
            told = [
                one.label for one in of if one.counts is None or len(one.counts.labels) < _CODED
            ]
            if n := len(of) - len(told):
                told.append(counted(n, "count by category", "counts by category"))
            if told:
                verb = "is" if len(told) == 1 else "are"
                notes.append(f"{_all(told)} {verb} undefined: {why}")
        if left_out := self.readings.left_out.get(self.reader):
            study_id, why = next(iter(left_out.items()))
            studies = counted(len(left_out), "study", "studies")
            ids = first_ids([*left_out])
            notes.append(f"{studies} left out for contradictory rows ({ids}); {study_id}: {why}")
        return notes


_CODED = 2
"""Labels of the items that a count by category counts: a level and the category."""


def _all(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _plain(one: Reading) -> object:
    return adapter(Annotation).dump_python(one.annotation, mode="json")
