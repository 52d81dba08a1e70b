"""A line of `annotations.jsonl`: one study, its outcome, and the answers behind it.

Records stay dictionaries, since there are many of them and pages show them as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, ValidationError
from typing_extensions import TypedDict

from judge import jsonio
from judge.run_files.checked import RunFileError, adapter, first_of
from judge.run_files.entries import Count, Moment

ANNOTATIONS = "annotations.jsonl"


class EditRecord(TypedDict):
    """The change of one candidate line."""

    kind: Literal["change", "delete", "insert"]
    line: int | None
    corrected: str


class ItemRecord(TypedDict):
    """One thing that the judge wrote down."""

    kind: str
    text: str
    labels: dict[str, list[str]]
    side: Literal["reference", "candidate"] | None
    links: list[int]
    edit: EditRecord | None
    warnings: list[str]


class AnnotationRecord(TypedDict):
    """What the judge said about the study."""

    items: list[ItemRecord]
    explanation: str
    values: dict[str, int | float]
    stated_counts: dict[str, int]
    warnings: list[str]


class UsageRecord(TypedDict):
    """The tokens of a request."""

    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: NotRequired[Count]
    written_tokens: NotRequired[Count]


class CompletionRecord(TypedDict):
    """A raw answer, as it also stands in the cache. Old entries lack what may be missing."""

    text: str
    finish_reason: str
    model: str
    usage: UsageRecord | None
    created: NotRequired[Moment | None]
    mode: NotRequired[str | None]
    elsewhere: NotRequired[str]


class AnswerRecord(TypedDict):
    """An answer with the key and the checksum of its entry in the cache."""

    answer: CompletionRecord | None
    cache_key: str | None
    sha256: str | None


class ReportsRecord(TypedDict):
    """The study in a line of `annotations.jsonl`."""

    study_id: str
    study_class: str | None
    class_inferred: bool
    fields: dict[str, Any]
    reference: str
    candidate: str
    modality: NotRequired[str]


SCORED = "scored"
"""The outcome of a study whose answer was read."""
EARLIER_SCORED = "annotated"
"""What earlier versions wrote for it."""


def _outcome(word: object) -> object:
    return SCORED if word == EARLIER_SCORED else word


OutcomeWord = Annotated[
    Literal["scored", "unparsed", "failed"], BeforeValidator(_outcome)
]


class StudyRecord(AnswerRecord, ReportsRecord):
    """A line of `annotations.jsonl`: a study, its outcome, and the answers behind it."""

    outcome: OutcomeWord
    reason: str | None
    detail: str | None
    annotation: AnnotationRecord | None
    corrected: str | None
    measures: dict[str, int | float | None] | None
    attempt: Count
    earlier: list[AnswerRecord]


def read_line(path: Path, line: bytes, number: int) -> StudyRecord:
    """Return the record that line `number` of the file at `path` holds; raises `RunFileError`."""
    try:
        body = jsonio.sealed(line, number)
        record: StudyRecord = adapter(StudyRecord).validate_json(body, strict=True)
    except jsonio.JsonError as error:
        raise RunFileError(path, str(error)) from error
    except ValidationError as error:
        raise RunFileError(path, f"line {number:,}: {first_of(error)}") from error
    if why := _contradiction(record):
        raise RunFileError(path, f"line {number:,}: {why}")
    return record


def read_old_line(path: Path, line: bytes, number: int) -> ReportsRecord:
    """Return the study in line `number` of a run of `OLDEST_FORMAT`; raises `RunFileError`."""
    try:
        record: ReportsRecord = adapter(ReportsRecord).validate_python(
            jsonio.read(line)
        )
    except jsonio.JsonError as error:
        raise RunFileError(path, f"line {number:,}: {error}") from error
    except ValidationError as error:
        raise RunFileError(path, f"line {number:,}: {first_of(error)}") from error
    return record


def _contradiction(record: StudyRecord) -> str | None:
    """Return in which way the parts of a record do not go together, None where they do."""
    is_scored = record["outcome"] == SCORED
    if is_scored != (record["annotation"] is not None):
        return f"'annotation' does not go with the outcome {record['outcome']!r}"
    if is_scored != (record["measures"] is not None):
        return f"'measures' do not go with the outcome {record['outcome']!r}"
    if is_scored != (record["reason"] is None):
        return f"'reason' does not go with the outcome {record['outcome']!r}"
    if not is_scored and record["detail"] is None:
        return "'detail' is missing"
    annotation = record["annotation"]
    n_items = len(annotation["items"]) if annotation else 0
    for item in annotation["items"] if annotation else ():
        if any(not 0 <= link < n_items for link in item["links"]):
            return "'annotation.items' has a link to an item that there is not"
        edit = item["edit"]
        if edit and edit["line"] is None and edit["kind"] != "insert":
            return f"'annotation.items' has a {edit['kind']} of no line"
        if edit and edit["line"] is not None and edit["line"] < 0:
            return "'annotation.items' has an edit of a line below 0"
    return None
