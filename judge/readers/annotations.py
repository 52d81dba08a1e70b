"""Readers' files, the errors that readers wrote down in them, and the runs made of these."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from judge import jsonio, rubrics
from judge.plugins import version
from judge.rubrics.categories import CATEGORY, ERROR, INSIGNIFICANT, SIGNIFICANT
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import REFERENCE, restrict
from judge.rubrics.green import MATCHED, matched_item
from judge.running.folder import ANOTHER, Run, atomic_folder, entries_of
from judge.running.records import SampleRead, StudyResult, adapter
from judge.running.session import with_classes, write_run
from judge.signature import Signature, safe_name, studies_digest
from judge.stats.table import DEFAULT_BY, reserved_names
from judge.studies.columns import model_of, normalise_name, one_type, rename_reserved
from judge.studies.load import decode, read_content, read_delimited
from judge.studies.sections import Section
from judge.studies.study_set import InputFile, StudySet, first_ids
from judge.types import (
    Annotated,
    Annotation,
    Edit,
    Item,
    JudgeError,
    Outcome,
    Side,
    Study,
    Unparsed,
)

CODES = tuple(label.name for label in CATEGORY.labels)
"""The six categories in their order."""
CANNOT_JUDGE = "the reader cannot judge it"
NO_REPORTS = "the reports are not in the reader's files"
NO_MATCHED = "the readers marked no matched findings"
NO_CATEGORY = "the readers gave no category"
NO_EDIT = "the readers corrected no lines"
GREEN: Final = "green"
FINERADSCORE: Final = "fineradscore"
_GRADED_BY = {GREEN: "significance", FINERADSCORE: "severity"}

Key = tuple[str, str]
"""A reader and a study id."""


class FaultError(Exception):
    """A row that contradicts itself or another one; the message has the row and the reason."""


SIGNIFICANCE = {
    **dict.fromkeys(("significant", "true", "yes", "1"), SIGNIFICANT),
    **dict.fromkeys(("insignificant", "false", "no", "0"), INSIGNIFICANT),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by column: stripped text, or None for an empty cell."""

    place: str
    cells: Mapping[str, str | None]

    def __getitem__(self, name: str) -> str | None:
        return self.cells.get(name)

    def ids(self, *names: str) -> tuple[str, ...]:
        """Return the cells that identify a reading; raises `JudgeError` where one is blank."""
        if blank := [name for name in names if self[name] is None]:
            raise JudgeError(f"{self.place}: {blank[0]} is blank; write it into every row")
        return tuple(str(self[name]) for name in names)

    def needed(self, name: str) -> str:
        """Return a cell; raises `FaultError` if it is blank."""
        if (text := self[name]) is None:
            raise self.fault(f"{name} is blank")
        return text

    def count(self, name: str) -> int:
        """Return a cell as a whole number from 0 to 999; raises `FaultError` for anything else."""
        text = self.needed(name)
        if (whole := re.fullmatch(r"([0-9]{1,3})(?:\.0*)?", text)) is None:
            raise self.fault(f"{name} is {text[:40]!r}; it must be a whole number from 0 to 999")
        return int(whole[1])

    def choice(self, name: str, choices: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the choice named in a cell; raises `FaultError` for an unknown one."""
        text = self.needed(name)
        if normalise_name(text) not in choices:
            raise self.fault(f"{name} is {text[:40]!r}; it must be one of {', '.join(choices)}")
        return choices[normalise_name(text)]

    def fault(self, why: str) -> FaultError:
        """Return an error with the row and the reason."""
        return FaultError(f"{self.place}: {why}")


@dataclass(frozen=True, slots=True)
class File:
    """An annotation file: the columns of a table, or the value of a JSON text and its keys."""

    name: str
    sha256: str
    columns: Mapping[str, Sequence[str | None]]
    data: Any = None

    def __len__(self) -> int:
        return len(self.data or next(iter(self.columns.values()), ()))

    def has(self, *columns: str) -> bool:
        """Return whether it has these columns or keys."""
        return {*columns} <= {*self.columns}

    def rows(self) -> Iterator[Row]:
        """Yield the rows; the header is row 1."""
        for number, cells in enumerate(zip(*self.columns.values(), strict=True), start=2):
            texts = [cell.strip() or None if cell else None for cell in cells]
            place = f"{self.name}, row {number}"
            yield Row(place, dict(zip(self.columns, texts, strict=True)))


def open_file(source: str) -> File:
    """Read a CSV, TSV or JSON file; raises `JudgeError` for anything else."""
    content = read_content(source)
    text = decode(content)
    if text.lstrip()[:1] not in ("{", "["):
        return File(content.name, content.sha256, read_delimited(content.name, text))
    try:
        data = jsonio.read(text)
    except jsonio.JsonError as error:
        raise JudgeError(f"{content.name} cannot be read as JSON: {error}") from error
    first = data[0] if isinstance(data, list) and data else data
    keys = first if isinstance(first, dict) else {}
    return File(content.name, content.sha256, dict.fromkeys(keys, ()), data)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader said of one study; `study.fields` has the reader's own values too.

    `cannot_judge` is the reason of a reader who could not judge the study.
    """

    study: Study
    annotation: Annotation
    cannot_judge: str = ""

    @property
    def outcome(self) -> Outcome:
        """The study's outcome in the run of the reader."""
        if self.cannot_judge:
            return Unparsed(CANNOT_JUDGE, self.cannot_judge)
        return Annotated(self.annotation)


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of one reader, in the order of the studies.

    `lacks` and `own_categories` are as in `judge.rubrics.derived.restrict`. `source` is the file
    with the candidates, `class_source` where the study classes come from, None for classes that are
    to be inferred. `left_out` has the reason for each study that could not be read.
    """

    reader: str
    rubric: str
    readings: Sequence[Reading]
    lacks: Mapping[str, str] = field(default_factory=dict)
    own_categories: Sequence[str] = ()
    section: Section = "report"
    source: str | None = None
    notes: tuple[str, ...] = ()
    class_source: str | None = None
    sample: SampleRead | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AnnotationTable:
    """What a layout's files say: the items by reader and study, and the studies.

    `categories` are those of the files. `studies` has the reports by id, `fields` a reader's values
    of a study, `left_out` the reason why a study cannot be read, with the reader "" for all.
    """

    rubric: Literal["green", "fineradscore"]
    lacks: Mapping[str, str] = field(default_factory=dict)
    section: Section = "report"
    source: str | None = None
    items: dict[Key, list[Item]] = field(default_factory=dict)
    categories: dict[str, None] = field(default_factory=dict)
    studies: dict[str, Study] = field(default_factory=dict)
    fields: dict[Key, dict[str, object]] = field(default_factory=dict)
    left_out: dict[Key, str] = field(default_factory=dict)

    def add(
        self,
        key: Key,
        category: str | None = None,
        level: str | None = None,
        *,
        text: str = "",
        count: int = 1,
        side: Side | None = None,
        edit: Edit | None = None,
    ) -> None:
        """Add `count` errors, or matched findings; a count of 0 means that the study was read.

        `category` is one of `CODES`, `MATCHED`, another name, or several of these with a comma;
        `level` is one of the rubric's scale; `side` is the report from which the words are.
        """
        if category == MATCHED:
            item = matched_item(text)
        else:
            labels: dict[str, tuple[str, ...]] = {_GRADED_BY[self.rubric]: (str(level),)}
            if category:
                labels[CATEGORY.name] = tuple(category.split(","))
                self.categories |= dict.fromkeys(labels[CATEGORY.name])
            item = Item(ERROR, text, labels, side=side, edit=edit)
        self.items.setdefault(key, []).extend([item] * count)

    @contextmanager
    def checking(self, reader: str, study_id: str) -> Iterator[None]:
        """Leave the study of a reader out if a `FaultError` is raised inside."""
        try:
            yield
        except FaultError as fault:
            self.leave_out(reader, study_id, str(fault))

    def leave_out(self, reader: str, study_id: str, why: str) -> None:
        """Leave a study out, for all readers if `reader` is ""; the first reason is kept."""
        self.left_out.setdefault((reader, study_id), why)

    def describe(self, study_id: str, place: str, **values: object) -> None:
        """Set reports and fields of a study; empty values are skipped.

        A study with different values in two rows is left out for everyone.
        """
        study = self.studies.get(study_id, Study(study_id, "", ""))
        texts = ("reference", "candidate", "study_class")
        for name, value in values.items():
            known = getattr(study, name) if name in texts else study.fields.get(name)
            if value in (None, "", known):
                continue
            if known not in (None, ""):
                self.leave_out("", study_id, f"{place}: {name} differs from an earlier row")
            elif name in texts:
                study = replace(study, **{name: str(value)})  # type: ignore[arg-type]
            else:
                study = replace(study, fields={**study.fields, name: value})
        self.studies[study_id] = study

    def readings(self) -> list[Readings]:
        """Return the readings of each reader; raises `JudgeError` if there are none."""
        left_out: dict[str, dict[str, str]] = defaultdict(dict)
        for reader, study_id in dict.fromkeys((*self.items, *self.left_out)):
            why = self.left_out.get((reader, study_id)) or self.left_out.get(("", study_id))
            if why and reader:
                left_out[reader][study_id] = why
                self.items.pop((reader, study_id), None)
        if not self.items:
            why = next(iter(self.left_out.values()), "every score is blank")
            raise JudgeError(f"the files have no usable reading: {why}")
        readers = sorted({reader for reader, _ in self.items})
        has_references = all(study.reference for study in self.studies.values())
        unread = tuple(
            f"no study of reader {reader!r} could be read: {next(iter(faults.values()))}"
            for reader, faults in left_out.items()
            if reader not in readers
        )
        return [
            Readings(
                reader,
                self.rubric,
                [
                    self._reading(reader, study)
                    for study_id, study in self.studies.items()
                    if (reader, study_id) in self.items
                ],
                {**self.lacks, **({} if has_references else {REFERENCE: NO_REPORTS})},
                [name for name in self.categories if name not in CODES],
                self.section,
                self.source,
                unread,
                left_out=left_out.get(reader, {}),
            )
            for reader in readers
        ]

    def _reading(self, reader: str, study: Study) -> Reading:
        key = (reader, study.study_id)
        values = {**study.fields, **self.fields.get(key, {})}
        annotation = Annotation(tuple(self.items[key]), str(values.pop("comment", "")))
        return Reading(replace(study, fields=values), annotation)


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
