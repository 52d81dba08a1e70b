"""Readings made on the page, in a file beside the run that was read.

`readings.jsonl` has a line for each save: everything that a reader has marked in a study at that
time. The last line of a reader and a study counts; the lines before it are its history.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.readers import journal
from judge.rubrics.contract import Rubric
from judge.sentences import sentences
from judge.types import Edit, Item, Side

FILE = "readings.jsonl"
NEW, BEGUN, DONE, NOT_JUDGED = "new", "begun", "done", "not judged"
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class MarkedItem:
    """One thing that a reader marked: an item of the rubric and its place in a report.

    `start` and `end` are offsets in Unicode code points into the report that `side` names; None
    for an item that was marked without words.
    """

    kind: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    side: Side | None = None
    start: int | None = None
    end: int | None = None
    edit: Edit | None = None

    def item(self) -> Item:
        """Return it as an item of an annotation."""
        return Item(self.kind, self.text, self.labels, self.side, edit=self.edit)


@dataclass(frozen=True, slots=True)
class PageReading:
    """Everything that a reader has marked in a study, as of one save.

    A reading with `done` False is unfinished and counts for nothing. `done` without items means
    "no errors", unless `cannot_judge` has the reader's reason for judging nothing. `texts` is the
    digest of the reports that were read. `seconds` is the time that the study was in view, None
    where it was not measured.
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
        return NOT_JUDGED if self.cannot_judge else DONE


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
    journal.append(run / FILE, reading)


def read(run: Path) -> list[PageReading]:
    """Return all readings beside a run in the order of their saves, none where there is no file."""
    return journal.read(run / FILE, PageReading)


def current(run: Path) -> dict[tuple[str, str], PageReading]:
    """Return `latest` of a run's readings, read again when the file has changed."""
    return latest(journal.read_again(run / FILE, PageReading))


def latest(readings: Iterable[PageReading]) -> dict[tuple[str, str], PageReading]:
    """Return the last reading of each reader and study, by these, finished or not."""
    return {(reading.reader, reading.study_id): reading for reading in readings}


def find_fault(reading: PageReading, rubric: Rubric, record: Mapping[str, Any]) -> str | None:
    """Return why a reading cannot be one of a run's study, in a few words; None where it can."""
    if reading.study_id != record["study_id"] or reading.texts not in ("", texts_digest(record)):
        return "other reports were read than this run has"
    for item in reading.items:
        if fault := rubric.item_fault(item.kind, item.labels):
            return fault
        if rubric.tally and item.kind == rubric.tally.kind:
            # Without one of them it would be in a total and in no row of the table.
            for facet in (rubric.tally.rows, rubric.tally.columns):
                if not item.labels.get(facet):
                    return f"one {rubric.kind(item.kind).label} has no {rubric.facet(facet).label}"
        end = len(record[item.side]) if item.side else 0
        if item.start is not None and not 0 <= item.start < (item.end or 0) <= end:
            return f"the marked words are outside the {item.side or 'report'}"
        if item.edit and not _fits(item.edit, rubric, record["candidate"]):
            return f"a correction ({item.edit.kind}) fits none of the candidate's lines"
    edits = [item.edit for item in reading.items if item.edit and item.edit.kind != "insert"]
    if len({edit.line for edit in edits}) < len(edits):
        return "a line is corrected twice"
    return None


def _fits(edit: Edit, rubric: Rubric, candidate: str) -> bool:
    if rubric.editor is None or bool(edit.corrected.strip()) == (edit.kind == "delete"):
        return False
    n = len(sentences(candidate)) + (edit.kind == "insert")
    return edit.kind == "insert" if edit.line is None else 0 <= edit.line < n


def why_unreadable(rubric: Rubric) -> str | None:
    """Return why the runs of a rubric cannot be read on the page, None where they can."""
    if rubric.tally is None:
        return f"{rubric.title} has no table of items that a reader could mark"
    return None


def texts_digest(record: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits over the two reports of a record."""
    texts = json.dumps([record["reference"], record["candidate"]])
    return hashlib.sha256(texts.encode()).hexdigest()[:_DIGITS]
