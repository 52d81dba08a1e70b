"""The values that flow through the program.

`Study -> CompletionRequest -> Completion -> Outcome -> Measures -> statistics`. All are
frozen; none knows where it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

LEXICON = "lexicon"
"""The judge that is built in, and asked where none is named."""


class JudgeError(Exception):
    """An error that the user can fix. Its text says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Study:
    """One examination: the radiologist's report, the model's report, and further data.

    `class_inferred` marks a class that the lexicon read off the reference; `fields` holds further
    fields of the input. `context` (age, sex, ...), `prior` (the earlier report) and `modality` (a
    code of `judge.modalities.MODALITIES`) are shown to the judge beside the reports.
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
    """One turn; the role `unread` is for why the last answer was unreadable."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Everything that decides a judge's answer, and nothing else.

    `endpoint` is `chat`, `completions` or `lexicon`, `model` the judge's full version, `schema` the
    JSON schema of the reply, if any.
    """

    endpoint: str
    model: str
    messages: tuple[Message, ...]
    sampling: Mapping[str, object] = field(default_factory=dict)
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request.

    Of the prompt's tokens, `cached_tokens` were read from the provider's cache of prompts and
    `written_tokens` written to it, which some providers charge for.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A judge's raw answer.

    `finish_reason` is `stop`, `length` (cut), `refusal` or `tool_calls` (another call than asked
    for); `created` is ISO 8601 in UTC; `mode` is `json_schema`, `tools`, `json` or None for text.
    `elsewhere` says of an answer without text where it went: "its reasoning", "a tool call".
    """

    text: str
    finish_reason: str
    model: str
    usage: Usage | None = None
    created: str | None = None
    mode: str | None = None
    elsewhere: str | None = None

    def plain(self) -> dict[str, object]:
        """Return it as JSON's types, a good deal faster than `asdict`."""
        usage = self.usage and {
            name: getattr(self.usage, name) for name in Usage.__slots__
        }
        if (
            usage and not usage["written_tokens"]
        ):  # as caches and run folders have it from before
            del usage["written_tokens"]
        plain = {name: getattr(self, name) for name in self.__slots__} | {
            "usage": usage
        }
        if (
            self.elsewhere is None
        ):  # caches and run folders that have no such field stay the same
            del plain["elsewhere"]
        return plain


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one candidate line, from 0; an insertion goes before it, at the end for None."""

    kind: Literal["change", "delete", "insert"]
    line: int | None
    corrected: str


Side = Literal["reference", "candidate"]
"""The report that an item is about."""


@dataclass(frozen=True, slots=True)
class Item:
    """One error, correction, fact or matched finding of a judge.

    `labels` has the values of each facet, `side` the report it is about, `links` the positions of
    other items it refers to, `edit` the change of the candidate that it asks for, `warnings` what
    is odd about it in an answer that was read all the same.
    """

    kind: str
    text: str
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    side: Side | None = None
    links: tuple[int, ...] = ()
    edit: Edit | None = None
    warnings: tuple[str, ...] = ()

    def label(self, facet: str) -> str:
        """Return the one value of a facet; raises KeyError or ValueError where there is not one."""
        (value,) = self.labels[facet]
        return value


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the judge said about a study.

    `values` are numbers for the whole study, `stated_counts` the counts that GREEN states beside
    its lists, `warnings` what was odd about a readable answer as a whole.
    """

    items: tuple[Item, ...] = ()
    explanation: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    stated_counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """The warnings about the answer and about its items, once for each text of an item."""
        warned = {
            (text, item.text): text for item in self.items for text in item.warnings
        }
        return (*self.warnings, *warned.values())

    def of_kind(self, kind: str) -> tuple[Item, ...]:
        """Return the items of one kind, in their order."""
        return tuple(item for item in self.items if item.kind == kind)


class UnparsedError(Exception):
    """An answer that cannot be read with certainty. `reason` is one of a few fixed words."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class Scored:
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


Outcome = Scored | Unparsed | Failed
Measures = Mapping[str, float | None]
Scale = tuple[float | None, float | None]
"""The least and the greatest value that a study can have; None where there is no such end."""
"""A scored study's numbers by the name of the rubric's measure; None for one that is undefined."""


class Category(StrEnum):
    """The six categories of errors [Ostmeier et al. 2024]."""

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
    """One difference between two reports, found by rules.

    `severity` is on FineRadScore's scale. Sentences count from 0; `again` are further sentences of
    the candidate that say the same, or deny what it misses.
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


Aspect = Literal[
    "location", "side", "severity", "morphology", "certainty", "comparison"
]
"""What a report can say of a finding, other than its size."""


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """One abnormal finding of a report, however often it is mentioned.

    `severity` is at least that of what the other report says otherwise of it; `partners` are the
    positions of its matches in the other report, among all findings. `aspects` are what the report
    says of it, `sizes` its lengths in millimetres, the longest of each size, and `sentences` those
    of the report that mention it, from 0.
    """

    side: Side
    text: str
    severity: Severity
    comes_with_age: bool = False
    partners: tuple[int, ...] = ()
    aspects: frozenset[Aspect] = frozenset()
    sizes: frozenset[float] = frozenset()
    sentences: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeDifference:
    """How a candidate's finding differs from the matching one of the reference.

    `reference` and `candidate` are positions; a negligible difference changes no patient's care.
    """

    reference: int
    candidate: int
    attribute: Attribute
    is_negligible: bool
    text: str


@dataclass(frozen=True, slots=True)
class AspectDifference:
    """What both reports say of a finding, and say differently.

    `reference` and `candidate` are positions; a negligible difference changes no patient's care.
    """

    reference: int
    candidate: int
    aspect: Aspect
    is_negligible: bool
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, `entailed`, `contradicted` or `not_mentioned` by the other report's sentence."""

    side: Side
    text: str
    verdict: str
    other_sentence: int | None


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """What rules found when they compared a candidate with its reference.

    `partners` are pairs of a reference and a candidate sentence about the same; `findings` and
    `statements` have the reference's first. Each rubric annotates by it (`Rubric.baseline`).
    """

    discrepancies: tuple[Discrepancy, ...]
    matched: tuple[str, ...]
    explanation: str
    partners: tuple[tuple[int, int], ...] = ()
    findings: tuple[ReportFinding, ...] = ()
    differences: tuple[AttributeDifference, ...] = ()
    statements: tuple[Statement, ...] = ()
    aspect_differences: tuple[AspectDifference, ...] = ()
