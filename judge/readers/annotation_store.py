"""Readings made on the page, in a file beside the run that was read, and their export as runs.

`readings.jsonl` has a line for each save, and the last one of a reader and a study counts.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.files import append_line, is_there, open_regular
from judge.readers.annotations import Reading, Readings
from judge.readers.sample import Sample, kept_sample, read_of
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import EDIT, REFERENCE
from judge.run_files.checked import adapter, first_of
from judge.running.folder import RunFolder
from judge.running.records import study_of
from judge.sentences import sentences
from judge.studies.input_table import InputFile
from judge.studies.sections import known_section
from judge.text import counted
from judge.types import Annotation, Edit, Item, JudgeError, Side, Study

FILE = "readings.jsonl"
LAYOUT = "readings"
"""The name of this layout, as `judge import` takes it."""
SECONDS = "reading_seconds"
"""The field of a study with the time that its reading took."""
_TORN = ("cut short", "not JSON", "not UTF-8")
NEW, BEGUN, DONE, NOT_JUDGED = "new", "begun", "done", "not judged"


def append_entry(file: Path, entry: Any) -> None:  # noqa: ANN401
    """Append a data class to a journal; when this returns it is on disk."""
    line = json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "replace")
    try:
        append_line(file, line)
    except OSError as error:
        raise JudgeError(
            f"this was not saved in {file.name}: {error.strerror}"
        ) from error


def read_entries(file: Path, form: type) -> tuple[Any, ...]:
    """Return the entries of a journal in the order of their saves; without a file there are none.

    A line that a crash has cut short is skipped: its save was never confirmed.
    """
    from pydantic import ValidationError

    try:
        lines = _bytes_of(file).split(b"\n")
    except OSError as error:
        raise JudgeError(f"cannot read {file}: {error.strerror}") from error
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            # pydantic would take NaN, which no answer of a service can hold.
            jsonio.read(line)
            entries.append(adapter(form).validate_json(line, strict=True))
        except jsonio.JsonError as error:
            if error.reason not in _TORN:
                raise JudgeError(
                    f"{file} is damaged in line {number:,}: {error}"
                ) from error
        except ValidationError as error:
            if error.errors()[0]["type"] != "json_invalid":
                where = f"{file} is damaged in line {number:,}"
                raise JudgeError(
                    f"{where}: {first_of(error)}; remove the line"
                ) from error
    return tuple(entries)


def _bytes_of(file: Path) -> bytes:
    if not is_there(file):
        return b""
    with open_regular(file) as opened:
        return opened.read()


@dataclass(frozen=True, slots=True)
class MarkedItem:
    """An item that a reader marked, with its words' offsets (code points) in the report `side`."""

    kind: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    _: KW_ONLY
    side: Side | None = None
    start: int | None = None
    end: int | None = None
    edit: Edit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """Everything that a reader has marked in a study, as of one save.

    `done` without items means "no errors", unless `cannot_judge` has the reader's reason for
    judging nothing. `seconds` is the time in view, None where it was not measured.
    """

    id: str
    at: str
    reader: str
    study_id: str
    done: bool
    items: tuple[MarkedItem, ...] = ()
    comment: str = ""
    texts: str = ""
    seconds: float | None = None
    cannot_judge: str = ""

    @property
    def state(self) -> str:
        """`BEGUN`, `DONE` or `NOT_JUDGED`."""
        if not self.done:
            return BEGUN
        if self.cannot_judge:
            return NOT_JUDGED
        return DONE


def new_reading(
    reader: str,
    record: Mapping[str, Any],
    items: Iterable[MarkedItem] = (),
    **more: Any,  # noqa: ANN401
) -> PageReading:
    """Return a reading, made now, of the study in a run's `record`; `more` are its other fields."""
    return PageReading(
        id=uuid.uuid4().hex,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        reader=reader,
        study_id=record["study_id"],
        items=tuple(items),
        texts=texts_digest(record),
        **more,
    )


def append(run: Path, reading: PageReading) -> None:
    """Append a reading to the file beside a run; when this returns it is on disk."""
    append_entry(run / FILE, reading)


def read(run: Path) -> list[PageReading]:
    """Return all readings beside a run in the order of their saves, none where there is no file."""
    return [*read_entries(run / FILE, PageReading)]


def current(run: Path) -> dict[tuple[str, str], PageReading]:
    """Return the last reading of each reader and study of a run, by these, finished or not."""
    return {(reading.reader, reading.study_id): reading for reading in read(run)}


def find_fault(
    reading: PageReading, rubric: Rubric, record: Mapping[str, Any]
) -> str | None:
    """Return why a reading cannot be one of a run's study, in a few words; None where it can."""
    are_same_texts = reading.texts in ("", texts_digest(record))
    if reading.study_id != record["study_id"] or not are_same_texts:
        return "other reports were read than this run has"
    for item in reading.items:
        fault = _fault_of_item(item, rubric, record)
        if fault:
            return fault
    edits = [item.edit for item in reading.items if item.edit is not None]
    corrected = [edit.line for edit in edits if edit.kind != "insert"]
    if len({*corrected}) < len(corrected):
        return "a line is corrected twice"
    return None


def _fault_of_item(
    item: MarkedItem, rubric: Rubric, record: Mapping[str, Any]
) -> str | None:
    fault = rubric.item_fault(item.kind, item.labels)
    if fault:
        return fault
    tally = rubric.tally
    if tally and item.kind == tally.kind:
        # Without one of them it would be in a total and in no row of the table.
        for facet in (tally.rows, tally.columns):
            if not item.labels.get(facet):
                return f"one {rubric.kind(item.kind).label} has no {rubric.facet(facet).label}"
    end = 0
    if item.side:
        end = len(record[item.side])
    if item.start is not None and not 0 <= item.start < (item.end or 0) <= end:
        return f"the marked words are outside the {item.side or 'report'}"
    if item.edit and not _fits(item.edit, rubric, record["candidate"]):
        return f"a correction ({item.edit.kind}) fits none of the candidate's lines"
    return None


def _fits(edit: Edit, rubric: Rubric, candidate: str) -> bool:
    """Return whether a correction is of a line of the candidate, and has words if it needs any."""
    has_words = bool(edit.corrected.strip())
    if rubric.editor is None or has_words == (edit.kind == "delete"):
        return False
    if edit.line is None:
        return edit.kind == "insert"
    n_places = len(sentences(candidate))
    if edit.kind == "insert":
        n_places += 1  # at the end
    return 0 <= edit.line < n_places


def why_unreadable(rubric: Rubric) -> str | None:
    """Return why the runs of a rubric cannot be read on the page, None where they can."""
    if rubric.tally is not None:
        return None
    return f"{rubric.title} has no table of items that a reader could mark"


def texts_digest(record: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits over the two reports of a record."""
    texts = json.dumps([record["reference"], record["candidate"]])
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


def finished(
    run: RunFolder, reader: str | None = None
) -> tuple[list[Readings], tuple[InputFile, ...]]:
    """Return the finished readings beside a run, of all readers or one, and the files read."""
    why = why_unreadable(run.rubric)
    if why:
        raise JudgeError(f"{run.path} has no readings: {why}")
    path = run.path / FILE
    last = {
        key: reading
        for key, reading in current(run.path).items()
        if reading.done and reader in (None, reading.reader)
    }
    if not last:
        whose = ""
        if reader:
            whose = f" of {reader!r}"
        raise JudgeError(f"{path} has no finished reading{whose}")
    records = {record["study_id"]: record for record in run.records()}
    for reading in last.values():
        record = records.get(reading.study_id, {"study_id": None})
        fault = find_fault(reading, run.rubric, record)
        if fault:
            which = f"the reading of study {reading.study_id!r} by {reading.reader!r}"
            raise JudgeError(
                f"{path}: {which}: {fault}; remove the line with id {reading.id}"
            )
    inputs = [
        InputFile(file.path, file.role, file.sha256, file.n_records)
        for file in run.manifest.inputs
    ]
    digest = hashlib.sha256(_bytes_of(path)).hexdigest()
    inputs.append(InputFile(str(path), "readings", digest, len(read(run.path))))
    exported = []
    sample = kept_sample(run)
    names = {name for name, _ in last}
    for name in sorted(names):
        readings = []
        for study_id, record in records.items():
            if (name, study_id) in last:
                readings.append(_exported(last[name, study_id], study_of(record)))
        exported.append(_readings(run, sample, name, readings))
    return exported, tuple(inputs)


def _exported(reading: PageReading, study: Study) -> Reading:
    """Return a reading of the page as one of a run, with its time as a field of the study."""
    if reading.seconds is not None:
        study = replace(study, fields={**study.fields, SECONDS: reading.seconds})
    items = tuple(map(_as_item, reading.items))
    annotation = Annotation(items, reading.comment)
    return Reading(study, annotation, reading.cannot_judge)


def _as_item(marked: MarkedItem) -> Item:
    return Item(
        marked.kind,
        marked.text,
        labels=marked.labels,
        side=marked.side,
        edit=marked.edit,
    )


def _readings(
    run: RunFolder, sample: Sample | None, reader: str, readings: Sequence[Reading]
) -> Readings:
    study_ids = {reading.study.study_id for reading in readings}
    drawn = None
    if sample:
        drawn = read_of(run, sample, study_ids)
    notes = []
    if sample and not drawn:
        n = counted(len(readings), "study is", "studies are")
        notes.append(f"no random sample: the {n} not the first that were drawn")
    n_unjudged = sum(bool(reading.cannot_judge) for reading in readings)
    if n_unjudged:
        unjudged = counted(n_unjudged, "study", "studies")
        notes.append(f"the reader could not judge {unjudged}: figures are of the rest")
    own_categories: Sequence[str] = ()
    if run.reading:
        own_categories = run.reading.own
    return Readings(
        reader=reader,
        rubric=run.rubric.name,
        readings=readings,
        lacks=_lacks(run, readings),
        own_categories=own_categories,
        section=known_section(run.manifest.section) or "report",
        notes=tuple(notes),
        class_source=run.manifest.class_source or "none",
        sample=drawn,
    )


def _lacks(run: RunFolder, readings: Sequence[Reading]) -> dict[str, str]:
    """Return what the reader was asked for and did not give, each with the reason.

    A kind that is not graded, such as matched findings, lacks where a judged study has no mark:
    a report in which nothing is wrong must not count as one in which nothing matches.
    """
    rubric, earlier = run.rubric, run.reading
    lacks = {}
    if earlier and REFERENCE in earlier.lacks:
        lacks[REFERENCE] = earlier.lacks[REFERENCE]
    judged = [reading.annotation for reading in readings if not reading.cannot_judge]
    items: list[Item] = []
    for annotation in judged:
        items += annotation.items
    marked = {item.kind for item in items}
    n_bare = sum(not annotation.items for annotation in judged)
    for kind in rubric.kinds:
        if kind.graded_by is None and (n_bare or kind.name not in marked):
            where = ""
            if kind.name in marked:
                where = f" in {n_bare} of {len(judged)} studies"
            lacks[kind.name] = f"the reader marked no {kind.plural}{where}"
    graded = {kind.name for kind in rubric.graded}
    errors = [item for item in items if item.kind in graded]
    if rubric.editor and any(item.edit is None for item in errors):
        lacks[EDIT] = "not every error has its line corrected"
    return lacks


def described(run: Path, sample: Sample) -> dict[str, Any]:
    """Return what was drawn of a run, and how much of it each reader has read, as JSON's types."""
    order = frozenset(sample.order)
    done = [reading for reading in current(run).values() if reading.done]
    readings = [reading for reading in done if reading.study_id in order]
    unjudged = [reading.reader for reading in readings if reading.cannot_judge]
    return {
        "run": str(run),
        "seed": sample.seed,
        "by": [*sample.by],
        "strata": [*sample.strata],
        "n_studies": sum(stratum["n_studies"] for stratum in sample.strata),
        "n_drawn": len(sample.order),
        "order": [*sample.order],
        "read": Counter(reading.reader for reading in readings),
        "not_judged": Counter(unjudged),
    }
