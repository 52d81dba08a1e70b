"""What readers say of a run: a file beside it that is only ever appended to.

`reviews.jsonl` holds one event a line (`judge.running.folder.append_line`); a line that a crash has
cut short is passed over. The last event of a reader about the same thing is the one that counts.
"""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args
from unicodedata import normalize

from judge import jsonio
from judge.rubrics.contract import Rubric
from judge.running.folder import Stamp, append_line, stamp
from judge.stats.review import VERDICTS, Verdict, fingerprints, statistics
from judge.study.view import graded_items
from judge.types import JudgeError

FILE = "reviews.jsonl"
MISSED, COMMENT, WITHDRAWN = "missed", "comment", "none"
ReviewVerdict = Literal["right", "wrong", "wrong_severity", "missed", "comment", "none"]
"""What a reader can say of an error or a study: the three verdicts on an error come first."""
# What a spreadsheet takes for a formula, in the form that it makes of fullwidth characters.
_FORMULA = tuple("=+-@\t\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a reader said.

    `error` is the fingerprint of the error it is about, or the `id` of the event by which a
    reader added a missed one; None for a comment on the study and for a missed error that
    is being added. `categories`, `level` and `text` are those of the error at that time.
    """

    id: str
    at: str
    reader: str
    study_id: str
    error: str | None
    verdict: str
    comment: str = ""
    categories: tuple[str, ...] = ()
    level: str | None = None
    text: str = ""

    @property
    def about(self) -> tuple[str, str, str]:
        """Whose word about what this is: a later one about the same takes its place."""
        if self.error is None:
            return (self.reader, self.study_id, self.id if self.verdict == MISSED else "")
        return (self.reader, self.study_id, self.error)


def new_event(reader: str, study_id: str, error: str | None, verdict: str, **more: Any) -> Event:  # noqa: ANN401
    """Return an event that happens now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Event(uuid.uuid4().hex, now, reader, study_id, error, verdict, **more)


def append(run: Path, event: Event) -> None:
    """Write an event down beside a run; when this returns it is on disk.

    Raises `JudgeError` where the disk takes no more.
    """
    try:
        append_line(run / FILE, json.dumps(asdict(event)).encode())
    except OSError as error:
        raise JudgeError(f"the review was not kept: {error.strerror} ({FILE})") from error


def read(run: Path) -> list[Event]:
    """Return every event beside a run, the first first; none where there is no such file.

    Lines that are no event, as a crash leaves them, are passed over.
    """
    try:
        lines = (run / FILE).read_bytes().split(b"\n")
        return [event for line in lines if (event := _event(line)) is not None]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JudgeError(f"cannot read {run / FILE}: {error.strerror}") from error


def current(run: Path) -> tuple[Event, ...]:
    """Return the events of a run that count as they are now, read again when the file changed."""
    # What is appended meanwhile changes the stamp, and is read the next time.
    changed = stamp(run / FILE)
    return _latest(run, changed) if changed else ()


@lru_cache(maxsize=8)
def _latest(run: Path, _stamp: Stamp) -> tuple[Event, ...]:
    return tuple(latest(read(run)))


def latest(events: Iterable[Event]) -> list[Event]:
    """Return the events that count: the last about the same thing, those withdrawn left out."""
    last: dict[tuple[str, str, str], Event] = {}
    for event in events:
        last.pop(event.about, None)
        last[event.about] = event
    return [event for event in last.values() if event.verdict != WITHDRAWN]


def measured(
    events: Iterable[Event], errors_in: Callable[[str], Collection[str]], rubric: Rubric
) -> dict[str, Any]:
    """Return the statistics of the events that count, ready for JSON.

    `errors_in` gives the fingerprints of the errors of a study, none where the run has no
    such study. Reviews of errors that the run no longer has, since it was scored anew, are
    counted in `stale` and nowhere else; `missed` counts the errors that readers added,
    `comments` what they wrote.
    """
    counted = latest(events)
    reviewed = [e for e in counted if e.verdict in VERDICTS and e.error is not None]
    verdicts = [
        Verdict(event.reader, (event.study_id, str(event.error)), event.categories, event.verdict)
        for event in reviewed
        if event.error in errors_in(event.study_id)
    ]
    codes = [label.name for label in rubric.codes.labels] if rubric.codes else []
    missed = [event for event in counted if event.verdict == MISSED]
    figures = statistics(verdicts, codes)
    return {
        **figures,
        "readers": sorted({*figures["readers"], *(event.reader for event in missed)}),
        "missed": len(missed),
        "comments": sum(bool(event.comment) for event in counted),
        "stale": len(reviewed) - len(verdicts),
    }


def errors_of(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Mapping[str, Any]]:
    """Return the graded items of a study's record by their fingerprints, in order."""
    errors = graded_items(record["annotation"], rubric)
    graded_by = {kind.name: kind.graded_by for kind in rubric.graded}
    return dict(zip(fingerprints(errors, graded_by), errors, strict=True))


def as_csv(events: Iterable[Event]) -> str:
    """Return the events that count as CSV, one a row, for a spreadsheet.

    Whoever can review can write `=...`: a text that would be taken for a formula gets an
    apostrophe before it. The reviews as they were written are in `reviews.jsonl`.
    """
    text = io.StringIO()
    names = list(Event.__dataclass_fields__)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for event in latest(events):
        row = {**asdict(event), "categories": "".join(event.categories)}
        writer.writerow({name: _no_formula(value) for name, value in row.items()})
    return text.getvalue()


def _no_formula(value: str | None) -> str | None:
    return f"'{value}" if value and normalize("NFKC", value).startswith(_FORMULA) else value


def _event(line: bytes) -> Event | None:
    try:
        data = jsonio.read(line)
        known = {name: data[name] for name in Event.__dataclass_fields__ if name in data}
        categories = tuple(data.get("categories") or ())
        event = Event(**{"error": None, **known, "categories": categories})
    except (ValueError, TypeError, AttributeError):
        return None
    return event if event.verdict in get_args(ReviewVerdict) else None
