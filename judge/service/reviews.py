"""Reviews of a run by readers, in a file beside it that is only ever appended to.

`reviews.jsonl` has an event a line. Of the events of a reader about the same error or study the
last one counts.
"""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

from judge.readers.annotation_store import append_entry, read_entries
from judge.rubrics.contract import Rubric
from judge.stats.review import VERDICTS, Verdict, fingerprints, statistics
from judge.study.view import graded_items

FILE = "reviews.jsonl"
MISSED, COMMENT, WITHDRAWN = "missed", "comment", "none"
ReviewVerdict = Literal["right", "wrong", "wrong_severity", "missed", "comment", "none"]
"""What a reader can say of an error or a study; the first three are verdicts on an error."""
# The beginnings of a formula in a spreadsheet, which takes fullwidth characters for these.
_FORMULA = tuple("=+-@\t\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a reader said.

    `error` is the fingerprint of the judge's error, or the `id` of the event by which a reader
    added a missed one; None for a comment on the study and for a missed error that is being added.
    `categories`, `level` and `text` are those of the error at that time.
    """

    id: str
    at: str
    reader: str
    study_id: str
    error: str | None
    verdict: ReviewVerdict
    comment: str = ""
    categories: tuple[str, ...] = ()
    level: str | None = None
    text: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The reader, the study and the error: a later event with the same key replaces this."""
        if self.error is None:
            return (self.reader, self.study_id, self.id if self.verdict == MISSED else "")
        return (self.reader, self.study_id, self.error)


def new_event(
    reader: str,
    study_id: str,
    error: str | None,
    verdict: ReviewVerdict,
    **more: Any,  # noqa: ANN401
) -> Event:
    """Return an event that happens now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Event(uuid.uuid4().hex, now, reader, study_id, error, verdict, **more)


def append(run: Path, event: Event) -> None:
    """Append an event to the file beside a run; when this returns it is on disk."""
    append_entry(run / FILE, event)


def read(run: Path) -> list[Event]:
    """Return all events beside a run in their order, none where there is no file."""
    return [*read_entries(run / FILE, Event)]


def current(run: Path) -> list[Event]:
    """Return the events of a run that count, read again when the file has changed."""
    return latest(read_entries(run / FILE, Event))


def latest(events: Iterable[Event]) -> list[Event]:
    """Return the events that count: the last of each key, without those that were withdrawn."""
    last: dict[tuple[str, str, str], Event] = {}
    for event in events:
        last.pop(event.key, None)
        last[event.key] = event
    return [event for event in last.values() if event.verdict != WITHDRAWN]


def measured(
    events: Iterable[Event], errors_in: Callable[[str], Collection[str]], rubric: Rubric
) -> dict[str, Any]:
    """Return the statistics of the events that count, ready for JSON.

    `errors_in` gives the fingerprints of the errors of a study. `stale` counts the reviews of
    errors that the run no longer has since it was scored anew, which count nowhere else; `missed`
    the errors that readers added; `comments` what they wrote.
    """
    events = latest(events)
    reviewed = [e for e in events if e.verdict in VERDICTS and e.error is not None]
    verdicts = [
        Verdict(event.reader, (event.study_id, str(event.error)), event.categories, event.verdict)
        for event in reviewed
        if event.error in errors_in(event.study_id)
    ]
    missed = [event for event in events if event.verdict == MISSED]
    codes = [label.name for label in rubric.codes.labels] if rubric.codes else []
    figures = statistics(verdicts, codes)
    return {
        **figures,
        "readers": sorted({*figures["readers"], *(event.reader for event in missed)}),
        "missed": len(missed),
        "comments": sum(bool(event.comment) for event in events),
        "stale": len(reviewed) - len(verdicts),
    }


def errors_of(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Mapping[str, Any]]:
    """Return the graded items of a study's record by their fingerprints, in order."""
    errors = graded_items(record["annotation"], rubric)
    graded_by = {kind.name: kind.graded_by for kind in rubric.graded}
    return dict(zip(fingerprints(errors, graded_by), errors, strict=True))


def as_csv(events: Iterable[Event]) -> str:
    """Return the events that count as CSV, one a row.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Event)], lineterminator="\n")
    writer.writeheader()
    for event in latest(events):
        row = {**asdict(event), "categories": "".join(event.categories)}
        writer.writerow({name: _no_formula(value) for name, value in row.items()})
    return text.getvalue()


def _no_formula(value: str | None) -> str | None:
    return f"'{value}" if value and normalize("NFKC", value).startswith(_FORMULA) else value
