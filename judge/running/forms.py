"""What the files of a run hold: the manifest and the summary are checked as they are read.

They may hold more. A record is held to its checksum (`judge.running.records`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

if TYPE_CHECKING:  # its import takes a while, and not every command reads a run
    from pydantic import ConfigDict, TypeAdapter, ValidationError

FORMAT = 3
"""The form of a run's files that this program writes."""

_LOOSE: ConfigDict = {"strict": True, "extra": "allow", "allow_inf_nan": False}


class _JudgeName(TypedDict):
    name: str
    version: str
    note: str | None


class MadeBy(TypedDict):
    """What made a run, as its manifest and its summary say."""

    __pydantic_config__ = _LOOSE  # type: ignore[misc]

    signature: str
    rubric: str
    model: NotRequired[str | None]
    judge: _JudgeName
    prompt: str | None
    section: str


class _Input(TypedDict):
    path: str
    role: str
    sha256: str


class StratumRead(TypedDict):
    """The studies with the values `key` of some fields, and how many of them the reader read."""

    key: dict[str, Any]
    n_studies: int
    n_drawn: int


class SampleRead(TypedDict):
    """How the studies were drawn that a reader read: from each stratum the first of its order.

    The strata make up all studies of the run that they were drawn from. One of which none was
    read yet has `n_drawn` 0.
    """

    seed: int
    by: list[str]
    strata: list[StratumRead]


class Reading(TypedDict):
    """How a reader used the rubric: see `judge.rubrics.reading.as_read`.

    `sample` is there where the reader's studies were drawn at random, and no other.
    """

    layout: str
    lacks: dict[str, str]
    own: list[str]
    sample: NotRequired[SampleRead]


class _Counted(TypedDict):
    text: str
    n: int
    of: int


class _PartRecord(TypedDict):
    """One of several that a run is made of: what it is called, and what made its numbers."""

    name: str
    signature: str


class CombinedRecord(TypedDict):
    """What a run is made of, and by which rule: see `judge.rubrics.combining`."""

    of: Literal["judge", "reference"]
    rule: Literal["majority", "mean", "best"]
    parts: list[_PartRecord]


class ShardRecord(TypedDict):
    """Which part of a set of studies a run judged: see `judge.running.shards.Part`."""

    index: int
    count: int
    n_whole: int
    steps: str
    notes_of_input: list[str]
    counted: list[_Counted]
    notes_of_judge: list[str]


class Manifest(MadeBy):
    """`manifest.json`. `reading` is there for the run of a reader, who is no judge.

    `repeat` is there where it is not 0: which of several runs it is that ask the same. `scale` is
    there where the prompt declares one: what the answers are read on. `shard` is
    there for the run of a part of a set.
    """

    format: Literal[3]
    fields: list[str]
    inputs: list[_Input]
    arguments: dict[str, Any] | None
    repeat: NotRequired[int]
    scale: NotRequired[list[float]]
    shard: NotRequired[ShardRecord]
    reading: NotRequired[Reading]
    combined: NotRequired[CombinedRecord]


class _Statistic(TypedDict):
    n: int
    value: float | None
    low: float | None
    high: float | None
    n_undefined: int
    bounds: NotRequired[list[float]]


class TotalRecord(TypedDict):
    """How many items, or whatever else is whole; None where it is undefined for all studies."""

    n: int | None
    per_study: float | None


class Group(TypedDict):
    """What is said of a group of studies; its fields stand beside it."""

    n_studies: int
    n_scored: int
    n_unparsed: int
    n_failed: int
    statistics: dict[str, _Statistic]


class _Unread(TypedDict):
    n_unread: int
    n_studies: int


class _UnreadByClass(_Unread):
    study_class: str
    others: _Unread
    p: float


class Summary(MadeBy):
    """`summary.json`."""

    omitted: dict[str, int]
    notes: list[str]
    by: list[str]
    n_studies: int
    n_scored: int
    n_unparsed: int
    n_failed: int
    n_class_inferred: int
    rates: list[Group]
    statistics: dict[str, _Statistic]
    totals: dict[str, TotalRecord]
    reasons: dict[str, int]
    warnings: dict[str, int]
    unread_by_class: NotRequired[_UnreadByClass]


class _Edit(TypedDict):
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
    edit: _Edit | None


class _Annotation(TypedDict):
    items: list[ItemRecord]
    explanation: str
    values: dict[str, float]
    stated_counts: dict[str, int]
    warnings: list[str]


class _Usage(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: NotRequired[int]


class _Answer(TypedDict):
    text: str
    finish_reason: str
    model: str
    usage: _Usage | None
    created: NotRequired[str | None]
    mode: NotRequired[str | None]


class KeptAnswer(TypedDict):
    """An answer with its key in the cache and its checksum, None where no cache keeps it."""

    answer: _Answer | None
    cache_key: str | None
    sha256: str | None


class StudyRecord(KeptAnswer):
    """A line of `annotations.jsonl`; `checksum` is that of the line before it."""

    study_id: str
    study_class: str | None
    class_inferred: bool
    fields: dict[str, Any]
    reference: str
    candidate: str
    outcome: Literal["annotated", "unparsed", "failed"]
    reason: str | None
    detail: str | None
    annotation: _Annotation | None
    corrected: str | None
    measures: dict[str, float | None] | None
    attempt: int
    modality: NotRequired[str]
    earlier: list[KeptAnswer]
    checksum: str


@cache
def adapter(form: type) -> TypeAdapter[Any]:
    """Return what checks, reads and writes values of a type."""
    from pydantic import TypeAdapter

    return TypeAdapter(form)


def fault(value: object, form: type) -> str | None:
    """Return what is wrong with `value`, in a few words, None where it has the form."""
    from pydantic import ValidationError

    try:
        adapter(form).validate_python(value)
    except ValidationError as error:
        return first_of(error)
    return None


def first_of(error: ValidationError) -> str:
    """Return the first thing that is wrong with a value, in a few words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where!r}: {first['msg']}" if where else str(first["msg"])
