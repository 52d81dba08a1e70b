"""The parts that manifests and summaries have in common, and what belongs to one alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    PositiveInt,
)

from judge.text import percent

Number = int | FiniteFloat
Count = NonNegativeInt


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


Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601."""


class Part(BaseModel):
    """A part of a file. What later versions add is left alone."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class JudgeEntry(Part):
    """Who judged, as a manifest and a summary name it."""

    name: str
    version: str
    note: str | None = None


class PromptEntry(Part):
    """One wording of a question, its version and the digest of all that is sent of it."""

    name: str
    version: str = ""
    digest: str = ""

    def __str__(self) -> str:
        """Return it as the signature has it: `NAME@VERSION+DIGEST`."""
        if not self.digest:
            return self.name
        return f"{self.name}@{self.version}+{self.digest}"


class StratumEntry(Part):
    """The studies with the values `key` of the fields, `n_drawn` of which were drawn."""

    key: dict[str, Any]
    n_studies: Count
    n_drawn: Count


class SampleEntry(Part):
    """How the studies that a reader read were drawn: `n_drawn` from each stratum of `by`."""

    seed: int
    by: list[str]
    strata: list[StratumEntry]


class ReadingEntry(Part):
    """How a reader used the rubric; `sample` is there where the studies were drawn at random.

    `lacks` has what the reader was not asked for, each with the reason; `own` the categories that
    the reader added. `held_out` marks readings that only a gate between judges opens.
    """

    layout: str
    lacks: dict[str, str]
    own: list[str]
    sample: SampleEntry | None = None
    held_out: bool = False


class InputEntry(Part):
    """A file that was read: its `role` is preds, refs, both or readings."""

    path: str
    role: str
    sha256: str
    n_records: Count = 0


class ShardEntry(Part):
    """Which part of a set was judged, and at which places of the whole its studies stand."""

    index: PositiveInt
    count: PositiveInt
    n_whole: Count
    places: Annotated[str, AfterValidator(_places)]
    notes_of_input: list[str]
    n_empty: Count = 0

    def __str__(self) -> str:
        """Return it as the command line takes it, such as 3/8."""
        return f"{self.index}/{self.count}"


class ShardPart(Part):
    """One of the shards that a merged run is made of."""

    folder: str
    signature: str


class ExperimentEntry(Part):
    """The experiment that a run belongs to, and which of its runs it is.

    `file` is None for an experiment that no file holds; `text` is the file's, or JSON, and `sha256`
    that of its bytes. `matrix` has the names on each axis, of which `data`, `model`, `section`,
    `rubric` and `judge` are the run's own; `data` and `section` are empty where the experiment
    names none.
    """

    file: str | None = None
    sha256: str
    text: str
    matrix: dict[str, list[str]]
    data: str
    model: str
    section: str
    rubric: str
    judge: str


class SpentEntry(Part):
    """What asking took; `dollars` is None where the price is unknown. The rest are numbers too."""

    __pydantic_extra__: dict[str, Number | None] = Field(init=False)
    asked: Count
    from_cache: Count = 0
    dollars: FiniteFloat | None
    unknown_dollars: FiniteFloat | None = 0.0
    retries: dict[str, Count]


class RescoredEntry(Part):
    """One time that the raw answers were read again; `from_signature` is the run's before it."""

    at: Moment
    from_signature: str
    n_changed: Count


class RecognisedEntry(Part):
    """How many of the `n` statements of some reports the built-in judge recognised."""

    k: Count
    n: Count


class RecognisedEntries(Part):
    """How much the built-in judge recognised of either side's reports."""

    references: RecognisedEntry
    candidates: RecognisedEntry


def recognised_text(recognised: RecognisedEntries | None) -> str:
    """Return what share of the reports' statements the built-in judge recognised, as text.

    Empty for other judges, which read whole reports.
    """
    if recognised is None:
        return ""
    sides = {"references": recognised.references, "candidates": recognised.candidates}
    shares = []
    for side, counts in sides.items():
        k, n = counts.k, counts.n
        shares.append(f"{percent(k / n if n else None)} in the {side} ({k:,} of {n:,})")
    return ", ".join(shares)


class ServedEntry(Part):
    """Who served a model behind an API, the names by which it answered, and when it did."""

    provider: str
    model: str
    answered_as: dict[str, Count] = {}
    answered_between: list[Moment] = []
