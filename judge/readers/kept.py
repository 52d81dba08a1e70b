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
    path = run / FILE
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    return [one for at, line in enumerate(lines, 1) if (one := _reading(path, at, line))]


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
    for item in reading.items:
        if wrong := rubric.item_fault(item.kind, item.labels):
            return wrong
        if rubric.tally and item.kind == rubric.tally.kind:
            # Without one of them it would be in a total and in no row of the table.
            for facet in (rubric.tally.rows, rubric.tally.columns):
                if not item.labels.get(facet):
                    return f"one {rubric.kind(item.kind).label} has no {rubric.facet(facet).label}"
        end = len(record[item.side]) if item.side else 0
        if item.start is not None and not 0 <= item.start < (item.end or 0) <= end:
            return f"the marked words lie outside the {item.side or 'report'}"
        if item.edit and not _fits(item.edit, rubric, record["candidate"]):
            return f"a correction ({item.edit.kind}) fits none of the candidate's lines"
    changed = [one.edit.line for one in reading.items if one.edit and one.edit.kind != "insert"]
    return "a line is corrected twice" if len({*changed}) < len(changed) else None


def _fits(edit: Edit, rubric: Rubric, candidate: str) -> bool:
    if rubric.editor is None or bool(edit.corrected.strip()) == (edit.kind == "delete"):
        return False
    n = len(sentences(candidate)) + (edit.kind == "insert")
    return edit.kind == "insert" if edit.line is None else 0 <= edit.line < n


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
