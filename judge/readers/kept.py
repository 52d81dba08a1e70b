"""Readings made on the page, kept beside the run whose studies were read.

`readings.jsonl` holds one line for each save (`judge.running.folder.append_line`): all that a
reader has marked in a study at that time. The last one counts; those before it are its history.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from judge.rubrics.contract import Rubric
from judge.running.folder import Stamp, append_line, stamp
from judge.running.records import adapter, first_of
from judge.sentences import sentences
from judge.types import Edit, Item, JudgeError, Side

FILE = "readings.jsonl"
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class MarkedItem:
    """One thing that a reader marked: an item of the rubric, and where it stands.

    `start` and `end` are offsets in Unicode code points into the report that `side` names, as
    the run has it; None for what was not marked by its words.
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
class KeptReading:
    """All that a reader has marked in a study, as of one save.

    `done` False is a reading that was begun and not finished: it counts for nothing. No item
    and `done` is "nothing wrong". `texts` is the digest of the reports that were read.
    """

    id: str
    at: str
    reader: str
    study_id: str
    done: bool
    items: tuple[MarkedItem, ...] = ()
    comment: str = ""
    texts: str = ""


def new_reading(
    reader: str,
    record: Mapping[str, Any],
    items: Iterable[MarkedItem] = (),
    *,
    done: bool,
    comment: str = "",
) -> KeptReading:
    """Return a reading, of the study of a run's `record`, that is made now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return KeptReading(
        uuid.uuid4().hex,
        now,
        reader,
        record["study_id"],
        done,
        tuple(items),
        comment,
        digest_of(record),
    )


def append(run: Path, reading: KeptReading) -> None:
    """Write a reading down beside a run; when this returns it is on disk.

    Raises `JudgeError` where the disk takes no more.
    """
    line = json.dumps(asdict(reading), ensure_ascii=False).encode("utf-8", "replace")
    try:
        append_line(run / FILE, line)
    except OSError as error:
        raise JudgeError(f"the reading was not kept: {error.strerror} ({FILE})") from error


def read(run: Path) -> list[KeptReading]:
    """Return every reading beside a run, the first first; none where there is no such file.

    A line that a crash has cut short is passed over: its writer was never told that it is kept.
    Raises `JudgeError` for a line that is whole and no reading.
    """
    return read_with_digest(run)[0]


def read_with_digest(run: Path) -> tuple[list[KeptReading], str]:
    """Return what `read` does, and the SHA-256 of the file that it was read from."""
    try:
        content = (run / FILE).read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise JudgeError(f"cannot read {run / FILE}: {error.strerror}") from error
    found = [_reading(run / FILE, at, line) for at, line in enumerate(content.split(b"\n"), 1)]
    return [one for one in found if one], hashlib.sha256(content).hexdigest()


def current(run: Path) -> Mapping[tuple[str, str], KeptReading]:
    """Return `latest` of a run's readings as they are now, read again when the file changed."""
    # What is appended meanwhile changes the stamp, and is read the next time.
    found = stamp(run / FILE)
    return _latest(run, found) if found else {}


@lru_cache(maxsize=8)
def _latest(run: Path, _stamp: Stamp) -> Mapping[tuple[str, str], KeptReading]:
    return latest(read(run))


def latest(readings: Iterable[KeptReading]) -> dict[tuple[str, str], KeptReading]:
    """Return the last reading of each study by each reader, begun or done."""
    return {(one.reader, one.study_id): one for one in readings}


def fault(reading: KeptReading, rubric: Rubric, record: Mapping[str, Any]) -> str | None:
    """Return why a reading cannot be one of a run's study, in a few words; None where it can."""
    if reading.study_id != record["study_id"] or reading.texts not in ("", digest_of(record)):
        return "other reports were read than this run has"
    faults = (_item_fault(one, rubric, record) for one in reading.items)
    if wrong := next(filter(None, faults), None):
        return wrong
    taken = [one.edit.line for one in reading.items if one.edit and one.edit.kind != "insert"]
    if twice := next((line for line in taken if taken.count(line) > 1), None):
        return f"line {twice} is corrected twice"
    return None


def unreadable(rubric: Rubric) -> str | None:
    """Return why a rubric's runs cannot be read on the page, None where they can."""
    if rubric.tally is None:
        return f"{rubric.title} has no table of items that a reader could mark"
    return None


def digest_of(record: Mapping[str, Any]) -> str:
    """Return what is another for other reports."""
    texts = json.dumps([record["reference"], record["candidate"]])
    return hashlib.sha256(texts.encode()).hexdigest()[:_DIGITS]


def _reading(path: Path, number: int, line: bytes) -> KeptReading | None:
    """Return the reading in a line, None in one that was cut short; raises as `read` does."""
    from pydantic import ValidationError

    try:
        found: KeptReading = adapter(KeptReading).validate_json(line, strict=True)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            return None
        raise JudgeError(
            f"{path} is damaged: in line {number:,}, {first_of(error)}; mend the line, or "
            "take it out, which takes the reading back to the line before of its reader and study"
        ) from error
    return found


def _item_fault(one: MarkedItem, rubric: Rubric, record: Mapping[str, Any]) -> str | None:
    if wrong := rubric.item_fault(one.kind, one.labels):
        return wrong
    if rubric.tally and one.kind == rubric.tally.kind:
        # Without one of them it would be in a total and in no row of the table.
        for facet in (rubric.tally.rows, rubric.tally.columns):
            if not one.labels.get(facet):
                return f"one {rubric.kind(one.kind).label} has no {rubric.facet(facet).label}"
    if (one.start is None) != (one.end is None):
        return "words are marked from one end alone"
    if one.start is not None and one.end is not None:
        if one.side is None:
            return "words are marked in no report"
        if not 0 <= one.start < one.end <= len(record[one.side]):
            return f"the marked words lie outside the {one.side}"
    return _edit_fault(one.edit, rubric, record["candidate"]) if one.edit else None


def _edit_fault(edit: Edit, rubric: Rubric, candidate: str) -> str | None:
    if rubric.editor is None:
        return f"{rubric.title} corrects no lines"
    n = len(sentences(candidate))
    if edit.kind != "insert" and edit.line is None:
        return "a correction names no line"
    if edit.line is not None and not 0 <= edit.line < n + (edit.kind == "insert"):
        return f"there is no line {edit.line} in the candidate, which has {n}"
    if edit.kind == "delete" and edit.corrected:
        return f"line {edit.line} is deleted and has a correction"
    if edit.kind != "delete" and not edit.corrected.strip():
        return "a correction has no text"
    return None
