"""The files of a run folder as types: manifest, summary, and one study's record.

A folder may come from elsewhere, from another version or from a broken disk. Each file is checked
against its type where it is read, and `RunFileError` says in one sentence which file is wrong, and
in which field. The records stay dictionaries, since there are many of them and pages show them as
they are; their type is a `TypedDict`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from typing_extensions import TypedDict

from judge import jsonio
from judge.files import open_regular
from judge.signature import Signature
from judge.types import JudgeError

MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
SUMMARY = "summary.json"
FORMAT = 3
"""The form of a run's files that this program writes."""
OLD_FORMAT = 2
"""The form before: its reports and its answers are still read. Its lines have no checksum."""

# What code looks up in a signature; a line without one of them is not one that judge wrote.
_SIGNATURE = ("judge", "section", "class", "studies", "version")
Number = int | FiniteFloat
Count = NonNegativeInt
Model = TypeVar("Model", bound=BaseModel)


def _signature(line: str) -> str:
    parts = Signature.parse(line)
    lacking = [name for name in _SIGNATURE if name not in parts]
    if (
        "prompt" not in parts and "layout" not in parts
    ):  # a reader's annotations have a layout
        lacking.insert(0, "prompt")
    if ":" not in parts["rubric"]:
        lacking.insert(0, "rubric")
    if lacking:
        raise ValueError(f"the signature lacks {', '.join(lacking)}")
    return line


def _moment(text: str) -> str:
    time = datetime.fromisoformat(text)
    try:
        (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:  # the first hours of the year 1
        raise ValueError(str(error)) from error
    return text


def _places(text: str) -> str:
    if not all(
        place.isascii() and place.isdigit() and len(place) < 10
        for place in text.split()
    ):
        raise ValueError("places are whole numbers with spaces between them")
    return text


SignatureLine = Annotated[str, AfterValidator(_signature)]
Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601."""


class _Part(BaseModel):
    """A part of a file. What later versions add is left alone."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class JudgeEntry(_Part):
    """Who judged, as a manifest and a summary name it."""

    name: str
    version: str
    note: str | None = None


class StratumEntry(_Part):
    """The studies with the values `key` of the fields, `n_drawn` of which were drawn."""

    key: dict[str, Any]
    n_studies: Count
    n_drawn: Count


class SampleEntry(_Part):
    """How the studies that a reader read were drawn: `n_drawn` from each stratum of `by`."""

    seed: int
    by: list[str]
    strata: list[StratumEntry]


class ReadingEntry(_Part):
    """How a reader used the rubric; `sample` is there where the studies were drawn at random."""

    layout: str
    lacks: dict[str, str]
    own: list[str]
    sample: SampleEntry | None = None


class InputEntry(_Part):
    """A file that was read: its `role` is preds, refs, both or readings."""

    path: str
    role: str
    sha256: str
    n_records: Count = 0


class ShardEntry(_Part):
    """Which part of a set was judged, and at which places of the whole its studies stand."""

    index: PositiveInt
    count: PositiveInt
    n_whole: Count
    places: Annotated[str, AfterValidator(_places)]
    notes_of_input: list[str]
    n_empty: Count = 0


class CombinedPart(_Part):
    """One of the judges, or of the references, that a run is combined of."""

    name: str


class CombinedEntry(_Part):
    """What a run is combined of, and by which rule."""

    of: Literal["judge", "reference"]
    rule: Literal["majority", "mean", "best"]
    parts: list[CombinedPart] = Field(min_length=1)


class SpentEntry(_Part):
    """What asking took; `dollars` is None where the price is unknown. The rest are numbers too."""

    __pydantic_extra__: dict[str, Number | None] = Field(init=False)
    asked: Count
    dollars: FiniteFloat | None
    retries: dict[str, Count]


class RescoredEntry(_Part):
    """One time that the raw answers were read again."""

    at: Moment
    from_signature: str
    n_changed: Count


class RecognisedEntry(_Part):
    """How many of the `n` statements of some reports the built-in judge recognised."""

    k: Count
    n: Count


class RecognisedEntries(_Part):
    """How much the built-in judge recognised of either side's reports."""

    references: RecognisedEntry
    candidates: RecognisedEntry


class _MadeBy(_Part):
    """What manifest and summary both say: who judged what."""

    signature: SignatureLine
    rubric: str
    judge: JudgeEntry
    section: str
    model: str | None = None
    prompt: str | None = None
    class_source: str = "none"
    omitted: dict[str, Count] = {}
    notes: list[str] = []
    reading: ReadingEntry | None = None
    reply_modes: dict[str, Count] = {}
    recognised: RecognisedEntries | None = None


class SourceManifest(_Part):
    """What of a manifest is needed to judge the reports of a run again, of either form."""

    format: int
    section: str
    fields: list[str]
    inputs: list[InputEntry] = []
    signature: str
    model: str | None = None
    class_source: str = "none"
    reading: ReadingEntry | None = None
    of_candidates: list[str] = []
    shard: ShardEntry | None = None
    combined: CombinedEntry | None = None


class ServedEntry(_Part):
    """Who served a model behind an API, the names by which it answered, and when it did."""

    provider: str
    model: str
    answered_as: dict[str, Count] = {}
    answered_between: list[Moment] = []


class RunManifest(_MadeBy):
    """What made a run: `manifest.json`."""

    format: int
    fields: list[str]
    inputs: list[InputEntry] = []
    arguments: dict[str, Any] | None = None
    read_from: dict[str, str] = {}
    omitted_ids: dict[str, list[str]] = {}
    of_candidates: list[str] = []
    repeat: Count = 0
    scale: Annotated[list[Number], Field(max_length=2)] | None = None
    served: ServedEntry | None = None
    batches: list[dict[str, Any]] = []
    shard: ShardEntry | None = None
    shards: list[dict[str, Any]] = []
    combined: CombinedEntry | None = None
    effort: dict[str, Any] | None = None
    spent: SpentEntry | None = None
    started: Moment | None = None
    finished: Moment | None = None
    versions: dict[str, str] = {}
    rescored: list[RescoredEntry] = []


class FigureEntry(_Part):
    """A figure of a set of studies: `value` with its 95% interval from `low` to `high`."""

    n: Count
    value: Number | None
    low: Number | None
    high: Number | None
    n_undefined: Count
    k: Number | None = None
    bounds: Annotated[list[Number | None], Field(min_length=2, max_length=2)] | None = (
        None
    )
    reason: str | None = None


class _Block(_Part):
    """Counts and figures of some studies."""

    n_studies: Count
    n_scored: Count
    n_unparsed: Count
    n_failed: Count
    statistics: dict[str, FigureEntry]


class TotalEntry(_Part):
    """How many of something there are in all scored studies, and per study."""

    n: int | None
    per_study: FiniteFloat | None


class FailureEntry(_Part):
    """A sentence about failed studies, and of how many it was said."""

    reason: str
    sentence: str
    n: Count


class RunSummary(_MadeBy, _Block):
    """What was printed of a run: `summary.json`. A row of `rates` has its group's fields too."""

    n_class_inferred: Count
    totals: dict[str, TotalEntry]
    reasons: dict[str, Count]
    warnings: dict[str, Count]
    n_warnings: dict[str, Count]
    by: list[str]
    rates: list[_Block]
    intervals_by: str | None = None
    failures: list[FailureEntry] = []

    @field_validator("n_warnings")
    @classmethod
    def _of_the_same_warnings(
        cls, n: dict[str, int], info: ValidationInfo
    ) -> dict[str, int]:
        if n.keys() != info.data.get("warnings", n).keys():
            raise ValueError("the warnings are not those of `warnings`")
        return n


# A study's record


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


class StudyRecord(AnswerRecord, ReportsRecord):
    """A line of `annotations.jsonl`: a study, its outcome, and the answers behind it."""

    outcome: Literal["annotated", "unparsed", "failed"]
    reason: str | None
    detail: str | None
    annotation: AnnotationRecord | None
    corrected: str | None
    measures: dict[str, int | float | None] | None
    attempt: Count
    earlier: list[AnswerRecord]


class RunFileError(JudgeError):
    """A file of a run that is not as judge writes it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
            "(answers in the cache are not paid for twice)"
        )


@cache
def adapter(form: type) -> TypeAdapter[Any]:
    """Return what reads and writes values of a type."""
    return TypeAdapter(form)


def first_of(error: ValidationError) -> str:
    """Return the first thing that is wrong with a value, in a few words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[
        0
    ]
    where = ".".join(map(str, first["loc"]))[:200]
    return f"{where!r}: {first['msg']}" if where else str(first["msg"])


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the JSON value in a file of a run; raises `JudgeError`."""
    try:
        with open_regular(path) as file:
            return jsonio.read(file.read())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise RunFileError(path, str(error)) from error


def read_any_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run of this form or the one before; raises `JudgeError`."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise JudgeError(
            f"{folder} is not a run: it holds no {MANIFEST}; name the run's folder"
        )
    data = read_json(path)
    if not isinstance(data, dict):
        raise RunFileError(path, "it is no object")
    form = data.get("format")
    if form not in (FORMAT, OLD_FORMAT):
        raise _another_format(folder, form)
    return data


def read_manifest(folder: Path) -> tuple[RunManifest, dict[str, Any]]:
    """Return the manifest of a run folder, typed and as it stands there; raises `JudgeError`."""
    path = folder / MANIFEST
    data = read_json(path)
    form = data.get("format") if isinstance(data, Mapping) else None
    if isinstance(form, int) and form != FORMAT:
        raise _another_format(folder, form)
    return _typed(path, RunManifest, data), data


def read_source_manifest(folder: Path) -> SourceManifest:
    """Return what of a run's manifest its reports need, of this form or the one before."""
    data = read_any_manifest(folder)
    if data["format"] == FORMAT:
        read_manifest(folder)
    return _typed(folder / MANIFEST, SourceManifest, data)


def _another_format(folder: Path, form: object) -> JudgeError:
    return JudgeError(
        f"{folder} is a run of format {form!r}, and this version of judge reads format {FORMAT}: "
        "judge its studies again (answers in the cache are not paid for twice)"
    )


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of a run folder, checked; raises `JudgeError`."""
    path = folder / SUMMARY
    data: dict[str, Any] = read_json(path)
    _typed(path, RunSummary, data)
    return data


def _typed(path: Path, model: type[Model], data: object) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RunFileError(path, first_of(error)) from error


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
    """Return the study in line `number` of a run of `OLD_FORMAT`; raises `RunFileError`."""
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
    is_annotated = record["outcome"] == "annotated"
    if is_annotated != (record["annotation"] is not None):
        return f"'annotation' does not go with the outcome {record['outcome']!r}"
    if is_annotated != (record["measures"] is not None):
        return f"'measures' do not go with the outcome {record['outcome']!r}"
    if is_annotated != (record["reason"] is None):
        return f"'reason' does not go with the outcome {record['outcome']!r}"
    if not is_annotated and record["detail"] is None:
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
