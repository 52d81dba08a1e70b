"""The values that flow through the program.

`Study -> CompletionRequest -> Completion -> Outcome -> Measures -> statistics`. All are
frozen; none knows where it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class JudgeError(Exception):
    """An error that the user can fix. Its text says what is wrong, where, and what to do."""


MODALITIES = {
    "xr": "chest radiograph",
    "ct": "CT",
    "mr": "MRI",
    "us": "ultrasound",
    "mg": "mammography",
}
"""The kinds of images that reports are about, by their codes, which are near DICOM's."""


@dataclass(frozen=True, slots=True)
class Study:
    """One examination: what the radiologist wrote, what the model wrote, and what is known of it.

    `candidate` may be empty: a model that says nothing is still judged. `study_class` is
    the value the user groups by (`normal`, `abnormal`, ...); `class_inferred` marks one that
    was read off the reference by the lexicon rather than given. `fields` holds every
    further field of the input (site, dataset, patient, model, context, ...).

    The rest is what a judge is told beside the two reports. `context` is what was known of the
    patient (age, sex, indication, ...), each value by its name; `prior` the report of an earlier
    examination; `modality` the kind of images, by its code in `MODALITIES`, None for the rubric's
    own.
    """

    study_id: str
    reference: str
    candidate: str
    study_class: str | None = None
    class_inferred: bool = False
    fields: Mapping[str, object] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)
    prior: str | None = None
    modality: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a judge is given.

    `role` is the endpoint's own word for the speaker, or `unread` for a turn that says why
    the answer before it could not be read; each endpoint has its own way to put that.
    """

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Everything that decides a judge's answer, and nothing else.

    `endpoint` is the kind of road it takes (`chat`, `completions`, `lexicon`), `model` the
    judge's full name with its version, `sampling` the sampling parameters that were asked
    for, `schema` the JSON schema the reply is held to, if any.
    """

    endpoint: str
    model: str
    messages: tuple[Message, ...]
    sampling: Mapping[str, object] = field(default_factory=dict)
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, as the server counted them.

    `cached_tokens` of the prompt's came from the provider's own cache.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A judge's raw answer.

    `finish_reason` is `stop` when the judge ended by itself, `length` when it was cut,
    `refusal` when the model marked its answer as one, `tool_calls` when it called tools in
    another way than it was asked to. `model` is as the server resolved it, `created` the
    time of the answer (ISO 8601, UTC). `mode` is how a reply of a fixed form was asked for
    (`json_schema`, `tools`, `json`), None for one that is text.
    """

    text: str
    finish_reason: str
    model: str
    usage: Usage | None = None
    created: str | None = None
    mode: str | None = None

    def plain(self) -> dict[str, object]:
        """Return it as JSON's types, a good deal faster than `asdict`."""
        used = self.usage
        usage = used and {name: getattr(used, name) for name in used.__slots__}
        return {name: getattr(self, name) for name in self.__slots__} | {"usage": usage}


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one candidate line, numbered from 0.

    A line that is inserted goes before the one that is named, at the end for None.
    """

    kind: Literal["change", "delete", "insert"]
    line: int | None
    corrected: str


Side = Literal["reference", "candidate"]
"""The report that an item is about."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a judge wrote down: an error, a correction, a fact, a matched finding.

    `kind` is one that the rubric declares, `labels` holds for each of the kind's facets the
    values that the judge chose. `side` is the report that the item stands in, None where the
    rubric does not ask. `links` are the positions of other items of the same annotation that
    this one speaks of, `edit` is the change of the candidate that it asks for.
    """

    kind: str
    text: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    side: Side | None = None
    links: tuple[int, ...] = ()
    edit: Edit | None = None

    def label(self, facet: str) -> str:
        """Return the one value of a facet; raises KeyError or ValueError where there is not one."""
        (value,) = self.labels[facet]
        return value


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the judge said about a study.

    `values` holds numbers that the judge gave for the whole study, `stated_counts` the counts
    that the answer states beside its lists (GREEN: one per significance and category, such as
    `significant_a`, and `matched`); both are empty where the rubric has none. `warnings` say
    what was odd about an answer that could be read.
    """

    items: tuple[Item, ...] = ()
    explanation: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    stated_counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> tuple[Item, ...]:
        """Return the items of one kind, in their order."""
        return tuple(item for item in self.items if item.kind == kind)


class UnparsedError(Exception):
    """An answer that cannot be read with certainty. `reason` is one of a few fixed words."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Annotated:
    """The judge answered and the answer was read."""

    annotation: Annotation


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The judge answered; the answer cannot be read with certainty."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The judge gave no answer."""

    reason: str
    detail: str = ""


Outcome = Annotated | Unparsed | Failed


Measures = Mapping[str, float | None]
"""A scored study's numbers by the name of the rubric's measure; None for one that is undefined."""


class Category(StrEnum):
    """What two reports can differ in: the six categories of errors [Ostmeier et al. 2024].

    The rules of the built-in judge tell these apart. Rubrics that ask for them share the facet
    `judge.rubrics.categories.CATEGORY`.
    """

    FALSE_FINDING = "a"
    MISSING_FINDING = "b"
    WRONG_LOCATION = "c"
    WRONG_SEVERITY = "d"
    FALSE_COMPARISON = "e"
    OMITTED_COMPARISON = "f"

    @property
    def label(self) -> str:
        """The category in a few words."""
        if self is Category.FALSE_COMPARISON:
            return "comparison not in the reference"
        return self.name.lower().replace("_", " ")


Severity = Literal[1, 2, 3, 4]
"""FineRadScore's scale: 1 not actionable, 2 actionable non-urgent, 3 urgent, 4 emergent."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One difference between two reports, found by rules rather than told by a model.

    `severity` is on FineRadScore's scale: 1 not actionable, 2 actionable non-urgent, 3 urgent,
    4 emergent. `text` explains it with the words that matched. Sentence numbers count from 0 in
    the report they belong to; None where that report says nothing of the finding. `again` are
    further sentences of the candidate that say the same, or deny what it misses.
    """

    category: Category
    severity: Severity
    finding: str
    text: str
    reference_sentence: int | None = None
    candidate_sentence: int | None = None
    again: tuple[int, ...] = ()


Attribute = Literal[
    "location",
    "severity",
    "measurement",
    "certainty",
    "unspecific",
    "overinterpretation",
    "temporal",
]
"""What two reports can differ in about a finding that both have."""


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """One abnormal finding of a report, however often the report speaks of it.

    `side` is `reference` or `candidate`, `severity` on FineRadScore's scale (see `Discrepancy`).
    It is at least that of what the other report says otherwise of it.
    `text` are the report's words, `comes_with_age` is true of what is expected in the elderly.
    `partners` are the positions of what matches it in the other report, among all findings.
    """

    side: Side
    text: str
    severity: Severity
    comes_with_age: bool = False
    partners: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeDifference:
    """What a candidate says otherwise of a finding that matches one of the reference's.

    `reference` and `candidate` are their positions. `attribute` is `location`, `severity`,
    `measurement`, `certainty`, `unspecific`, `overinterpretation` or `temporal`. The difference
    is negligible where it would change no patient's care.
    """

    reference: int
    candidate: int
    attribute: Attribute
    is_negligible: bool
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a report says, in its own words, and what the other report says of it.

    `verdict` is `entailed`, `contradicted` or `not_mentioned`; `other_sentence` is the number of
    the sentence there that decides it, from 0, None where nothing is said.
    """

    side: Side
    text: str
    verdict: str
    other_sentence: int | None


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """What rules found when they compared a candidate with its reference.

    `partners` are the pairs of a reference and a candidate sentence, by number, that speak
    of the same, whether they agree or differ. `findings` and `differences` tell the same by
    abnormal findings, `statements` by all that the reports say, the reference's first in both.
    Each rubric turns it all into an annotation of its own (`Rubric.baseline`).
    """

    discrepancies: tuple[Discrepancy, ...]
    matched: tuple[str, ...]
    explanation: str
    partners: tuple[tuple[int, int], ...] = ()
    findings: tuple[ReportFinding, ...] = ()
    differences: tuple[AttributeDifference, ...] = ()
    statements: tuple[Statement, ...] = ()
