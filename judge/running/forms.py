"""What the files of a run hold: the manifest and the summary are checked as they are read.

They may hold more. A record is held to its checksum (`judge.jsonio`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from judge.types import Annotation, Completion

if TYPE_CHECKING:  # its import takes a while, and not every command reads a run
    from pydantic import ConfigDict, TypeAdapter, ValidationError

FORMAT = 3
"""The form of a run's files that this program writes."""

_LOOSE: ConfigDict = {"strict": True, "extra": "allow", "allow_inf_nan": False}


class _JudgeName(TypedDict):
    name: str
    version: str
    note: str | None


class _MadeBy(TypedDict):
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


class _Stratum(TypedDict):
    key: dict[str, Any]
    n_studies: int
    n_drawn: int


class SampleRead(TypedDict):
    """How the studies were drawn that a reader read: from each stratum the first of its order.

    A stratum is the studies with the values `key` of the fields `by`, and `n_drawn` of them were
    read. The strata make up all studies of the run that they were drawn from.
    """

    seed: int
    by: list[str]
    strata: list[_Stratum]


class Reading(TypedDict):
    """How a reader used the rubric: see `judge.rubrics.reading.as_read`.

    `sample` is there where the reader's studies were drawn at random, and no other.
    """

    layout: str
    lacks: dict[str, str]
    own: list[str]
    sample: NotRequired[SampleRead]


class _Part(TypedDict):
    name: str
    signature: str


class CombinedRecord(TypedDict):
    """What a run is made of, and by which rule: see `judge.rubrics.aggregated`."""

    of: Literal["judge", "reference"]
    rule: Literal["majority", "mean", "best"]
    parts: list[_Part]


class _Counted(TypedDict):
    text: str
    n: int
    of: int


class _Shard(TypedDict):
    index: int
    count: int
    n_whole: int
    steps: str
    notes_of_input: list[str]
    counted: list[_Counted]
    notes_of_judge: list[str]


class Manifest(_MadeBy):
    """`manifest.json`; `reading`, `shard` and `combined` are there for runs of these kinds."""

    format: Literal[3]
    fields: list[str]
    inputs: list[_Input]
    arguments: dict[str, Any] | None
    repeat: NotRequired[int]
    scale: NotRequired[list[float]]
    shard: NotRequired[_Shard]
    reading: NotRequired[Reading]
    combined: NotRequired[CombinedRecord]


class _Statistic(TypedDict):
    n: int
    value: float | None
    low: float | None
    high: float | None
    n_undefined: int
    bounds: NotRequired[list[float]]


class _Total(TypedDict):
    n: int | None
    per_study: float | None


class _Group(TypedDict):
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


class Summary(_MadeBy, _Group):
    """`summary.json`."""

    omitted: dict[str, int]
    notes: list[str]
    by: list[str]
    n_class_inferred: int
    rates: list[_Group]
    totals: dict[str, _Total]
    reasons: dict[str, int]
    warnings: dict[str, int]
    unread_by_class: NotRequired[_UnreadByClass]


class KeptAnswer(TypedDict):
    """An answer with its key in the cache and its checksum, None where no cache keeps it."""

    answer: Completion | None
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
    annotation: Annotation | None
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
