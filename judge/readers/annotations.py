"""Readers' files, the errors that readers wrote down in them, and the runs made of these."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from judge import jsonio, rubrics
from judge.files import ANOTHER, atomic_folder, entries_of
from judge.plugins import version
from judge.report_sections import WHOLE_REPORT
from judge.rubrics.categories import CATEGORY, ERROR, INSIGNIFICANT, SIGNIFICANT
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import REFERENCE, restrict
from judge.rubrics.green.parse import MATCHED, matched_item
from judge.run_files.checked import adapter
from judge.run_files.entries import JudgeEntry, ReadingEntry, SampleEntry
from judge.run_files.identity import RunIdentity
from judge.run_files.manifest import RunManifest
from judge.run_settings import DEFAULT_BY
from judge.running.folder import RunFolder
from judge.running.records import StudyResult
from judge.running.run import input_entries, with_classes, write_run
from judge.signature import safe_name, studies_digest
from judge.stats.summary import reserved_names
from judge.studies.columns import model_of, normalise_name, one_type, rename_reserved
from judge.studies.input_table import InputFile
from judge.studies.load import decode, read_content, read_delimited
from judge.studies.study_set import StudySet, first_ids
from judge.types import (
    Annotation,
    Edit,
    Item,
    JudgeError,
    Scored,
    Side,
    Study,
    Unparsed,
)

CODES = tuple(label.name for label in CATEGORY.labels)
"""The six categories in their order."""
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
        blank = [name for name in names if self[name] is None]
        if blank:
            raise JudgeError(
                f"{self.place}: {blank[0]} is blank; write it into every row"
            )
        return tuple(str(self[name]) for name in names)

    def needed(self, name: str) -> str:
        """Return a cell; raises `FaultError` if it is blank."""
        text = self[name]
        if text is None:
            raise self.fault(f"{name} is blank")
        return text

    def count(self, name: str) -> int:
        """Return a cell as a whole number from 0 to 999; raises `FaultError` for anything else."""
        text = self.needed(name)
        whole = re.fullmatch(r"([0-9]{1,3})(?:\.0*)?", text)
        if whole is None:
            raise self.fault(
                f"{name} is {text[:40]!r}; it must be a whole number from 0 to 999"
            )
        return int(whole[1])

    def choice(self, name: str, choices: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the choice named in a cell; raises `FaultError` for an unknown one."""
        text = self.needed(name)
        if normalise_name(text) not in choices:
            raise self.fault(
                f"{name} is {text[:40]!r}; it must be one of {', '.join(choices)}"
            )
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

    def rows(self) -> list[Row]:
        """Return the rows; the header is row 1."""
        rows = []
        cells_by_row = zip(*self.columns.values(), strict=True)
        for number, cells in enumerate(cells_by_row, start=2):
            texts = [(cell or "").strip() or None for cell in cells]
            row = dict(zip(self.columns, texts, strict=True))
            rows.append(Row(f"{self.name}, row {number}", row))
        return rows


def open_file(source: str, encoding: str | None = None) -> File:
    """Read a CSV, TSV or JSON file; raises `JudgeError` for anything else."""
    name, content, digest = read_content(source)
    text = decode(name, content, encoding)
    if text.lstrip()[:1] not in ("{", "["):
        return File(name, digest, read_delimited(name, text))
    try:
        data = jsonio.read(text)
    except jsonio.JsonError as error:
        raise JudgeError(f"{name} cannot be read as JSON: {error}") from error
    # The first record of a list has the names of the columns.
    first = data
    if isinstance(data, list) and data:
        first = data[0]
    keys: Iterable[str] = ()
    if isinstance(first, dict):
        keys = first
    return File(name, digest, columns=dict.fromkeys(keys, ()), data=data)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader said of one study, or the reason why the reader could not judge it."""

    study: Study
    annotation: Annotation
    cannot_judge: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """The readings of one reader, in the order of the studies.

    `lacks` and `own_categories` are as in `judge.rubrics.derived.restrict`. `source` is the file
    with the candidates. With `class_source` None the study classes are to be inferred.
    """

    reader: str
    rubric: str
    readings: Sequence[Reading]
    lacks: Mapping[str, str] = field(default_factory=dict)
    own_categories: Sequence[str] = ()
    section: str = WHOLE_REPORT
    source: str | None = None
    notes: tuple[str, ...] = ()
    class_source: str | None = None
    sample: SampleEntry | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class AnnotationTable:
    """What a layout's files say: the items by reader and study, and the studies.

    `left_out` has the reason why a study cannot be read, with the reader "" for all.
    """

    rubric: Literal["green", "fineradscore"]
    lacks: Mapping[str, str] = field(default_factory=dict)
    section: str = WHOLE_REPORT
    source: str | None = None
    items: dict[Key, list[Item]] = field(default_factory=dict)
    categories: dict[str, None] = field(default_factory=dict)
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
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
        """Add `count` errors or matched findings of one category, or of several with a comma.

        A count of 0 means that the study was read.
        """
        if category == MATCHED:
            item = matched_item(text)
        else:
            labels: dict[str, tuple[str, ...]] = {
                _GRADED_BY[self.rubric]: (str(level),)
            }
            if category:
                labels[CATEGORY.name] = tuple(category.split(","))
                self.categories |= dict.fromkeys(labels[CATEGORY.name])
            item = Item(ERROR, text, labels, side=side, edit=edit)
        self.items.setdefault(key, []).extend([item] * count)

    @contextmanager
    def checking(self, key: Key) -> Iterator[None]:
        """Leave the study of a reader out if a `FaultError` is raised inside."""
        try:
            yield
        except FaultError as fault:
            self.left_out.setdefault(key, str(fault))

    def describe(self, study_id: str, place: str, **values: object) -> None:
        """Set reports and fields of a study; one with other values before is left out for all."""
        study = self.studies.setdefault(study_id, {})
        for name, value in values.items():
            if value not in (None, "") and study.setdefault(name, value) != value:
                why = f"{place}: {name} differs from an earlier row"
                self.left_out.setdefault(("", study_id), why)

    def readings(self) -> list[Readings]:
        """Return the readings of each reader; raises `JudgeError` if there are none."""
        left_out = self._leave_out()
        if not self.items:
            why = next(iter(self.left_out.values()), "every score is blank")
            raise JudgeError(f"the files have no usable reading: {why}")
        by_reader: dict[str, list[Reading]] = {key[0]: [] for key in sorted(self.items)}
        for study_id in self.studies:
            for reader, readings in by_reader.items():
                if (reader, study_id) in self.items:
                    readings.append(self._reading(reader, study_id))
        lacks = dict(self.lacks)
        if not all("reference" in described for described in self.studies.values()):
            lacks[REFERENCE] = "the reports are not in the reader's files"
        notes = []
        for reader, faults in left_out.items():
            if reader not in by_reader:
                why = next(iter(faults.values()))
                notes.append(f"no study of reader {reader!r} could be read: {why}")
        return [
            Readings(
                reader=reader,
                rubric=self.rubric,
                readings=readings,
                lacks=lacks,
                own_categories=[name for name in self.categories if name not in CODES],
                section=self.section,
                source=self.source,
                notes=tuple(notes),
                left_out=left_out.get(reader, {}),
            )
            for reader, readings in by_reader.items()
        ]

    def _leave_out(self) -> dict[str, dict[str, str]]:
        """Take out what cannot be read; return the reasons by reader and study."""
        left_out: dict[str, dict[str, str]] = defaultdict(dict)
        for reader, study_id in dict.fromkeys((*self.items, *self.left_out)):
            of_all = self.left_out.get(("", study_id))
            why = self.left_out.get((reader, study_id)) or of_all
            if why and reader:
                left_out[reader][study_id] = why
                self.items.pop((reader, study_id), None)
        return left_out

    def _reading(self, reader: str, study_id: str) -> Reading:
        """Return what a reader said of a study, with the study's reports and fields."""
        values = self.studies[study_id] | self.fields.get((reader, study_id), {})
        reference = str(values.pop("reference", ""))
        candidate = str(values.pop("candidate", ""))
        study_class = values.pop("study_class", None)
        comment = str(values.pop("comment", ""))
        study = Study(study_id, reference, candidate, study_class, fields=values)
        items = tuple(self.items[reader, study_id])
        return Reading(study, Annotation(items, comment))


READER = "reader:"
"""The first part of a reader's name as a judge."""


def write_runs(
    layout: str,
    readings: Sequence[Readings],
    inputs: Sequence[InputFile],
    out: Path,
    *,
    model: str | None = None,
    section: str | None = None,
    is_held_out: bool = False,
) -> list[RunFolder]:
    """Write the run of each reader below `out`, all of them at once.

    `model` is by default the field `model` where it is the same for all studies, else the name of
    the file with the candidates. Runs that are held out are marked: `RunFolder.open` refuses them.
    """
    by_folder = {
        f"reader-{safe_name(one.reader, 60, keeps='._')}": one for one in readings
    }
    if len({*map(str.casefold, by_folder)}) < len(readings):
        names = ", ".join(repr(reader.reader) for reader in readings)
        raise JudgeError(
            f"two of the readers {names} would share a folder; rename one of them"
        )
    if entries_of(out):
        raise JudgeError(f"{out} is not empty; {ANOTHER}")
    with atomic_folder(out) as place:
        for folder, reader in by_folder.items():
            rubric = restrict(
                rubrics.load(reader.rubric), reader.lacks, reader.own_categories
            )
            studies = _study_set(reader, inputs, rubric, model, section)
            _write_run(
                place / folder,
                layout,
                reader,
                studies,
                rubric,
                is_held_out=is_held_out,
            )
    return [RunFolder.open_any(out / folder) for folder in by_folder]


def _study_set(
    readings: Readings,
    inputs: Sequence[InputFile],
    rubric: Rubric,
    model: str | None,
    section: str | None,
) -> StudySet:
    studies = [reading.study for reading in readings.readings]
    names: dict[str, None] = {}
    for study in studies:
        names |= dict.fromkeys(study.fields)
    columns = {}
    for name in names:
        column = one_type([study.fields.get(name) for study in studies])
        if set(column) != {None}:
            columns[name] = column
    fields = rename_reserved(columns, reserved_names(rubric))
    pairs = zip(columns, fields, strict=True)
    renamed = [f"the field {old} is kept as {new}" for old, new in pairs if old != new]
    models = {str(value) for value in columns.get("model", ()) if value is not None}
    if not models and readings.source:
        models = {model_of(readings.source) or ""}
    if not model and len(models) == 1:
        model = models.pop()
    references = tuple(study.reference for study in studies)
    class_field = None
    if any(study.study_class for study in studies):
        class_field = "study_class"
    omitted: dict[str, int] = {}
    omitted_ids: dict[str, tuple[str, ...]] = {}
    if readings.left_out:
        omitted["unreadable"] = len(readings.left_out)
        omitted_ids["unreadable"] = tuple(readings.left_out)
    return StudySet(
        study_ids=tuple(study.study_id for study in studies),
        references=references,
        candidates=tuple(study.candidate for study in studies),
        study_classes=tuple(study.study_class for study in studies),
        class_inferred=tuple(study.class_inferred for study in studies),
        full_references=references,
        section=section or readings.section,
        fields=fields,
        class_field=class_field,
        model=model or None,
        inputs=tuple(inputs),
        notes=(*readings.notes, *renamed),
        omitted=omitted,
        omitted_ids=omitted_ids,
    )


def _write_run(
    path: Path,
    layout: str,
    readings: Readings,
    studies: StudySet,
    rubric: Rubric,
    *,
    is_held_out: bool,
) -> None:
    class_source = readings.class_source
    left_out = readings.left_out
    if class_source is None:
        class_source = "none"
        if any(studies.references):
            studies, class_source = with_classes(studies)
    name = f"{READER}{readings.reader}"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    reader_version = f"{name}+{_digest(readings)}"
    notes = [
        f"numbers that need it are undefined: {why}"
        for why in {*readings.lacks.values()}
    ]
    notes = [*studies.notes, *sorted(notes)]
    for study_id, why in [*left_out.items()][:1]:
        ids = f"{len(left_out):,} ({first_ids([*left_out])})"
        notes.append(
            f"studies left out, since they cannot be read: {ids}; {study_id}: {why}"
        )
    reading = ReadingEntry(
        layout=layout, lacks=dict(readings.lacks), own=list(readings.own_categories)
    )
    if readings.sample is not None:
        reading = reading.model_copy(update={"sample": readings.sample})
    if is_held_out:
        reading = reading.model_copy(update={"held_out": True})
    identity = RunIdentity(
        rubric=rubric.name,
        rubric_version=str(rubric.version),
        judge=JudgeEntry(
            name=name, version=reader_version, note="a reader's annotations"
        ),
        section=studies.section,
        class_source=class_source,
        omitted=dict(studies.omitted),
        studies_digest=studies_digest(studies),
        reading=reading,
        version=version(),
    )
    manifest = RunManifest.of_reader(
        identity,
        model=studies.model,
        notes=notes,
        inputs=input_entries(studies),
        fields=list(studies.fields),
        omitted_ids={why: list(ids) for why, ids in studies.omitted_ids.items()},
        started=now,
        finished=now,
    )
    results = []
    for row, (study, read) in enumerate(zip(studies, readings.readings, strict=True)):
        if read.cannot_judge:
            outcome = Unparsed("the reader cannot judge it", read.cannot_judge)
            results.append(StudyResult(row, study, outcome, None, None))
        else:
            measures = rubric.measured(read.annotation, study)
            results.append(
                StudyResult(row, study, Scored(read.annotation), measures, None)
            )
    write_run(
        path,
        rubric,
        results,
        lambda: manifest,
        fields=manifest.fields,
        by=DEFAULT_BY,
    )


def _digest(readings: Readings) -> str:
    annotations = []
    for reading in readings.readings:
        content = adapter(Annotation).dump_python(reading.annotation, mode="json")
        said = (
            ["Unparsed", reading.cannot_judge]
            if reading.cannot_judge
            else [
                "Annotated",
                content,
            ]  # the word in digests, whatever the class is called
        )
        annotations.append([reading.study.study_id, *said])
    parts = [annotations, sorted(readings.lacks), [*readings.own_categories]]
    if readings.sample is not None:
        parts.append(readings.sample.model_dump(exclude_unset=True))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]
