"""What a client may ask about single studies, and what it is answered: the types of the JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    StrictInt,
    Tag,
    model_validator,
)

from judge.modalities import ModalityName
from judge.report_sections import SECTIONS_IN_WORDS, WHOLE_REPORT
from judge.stats.summary import OutcomeName
from judge.studies.load import to_id
from judge.studies.sections import known_section
from judge.types import LEXICON, Annotation, JudgeError

MOST_STUDIES = 100
LONGEST_REPORT = 20_000
"""The most characters of a report: the built-in judge takes about half a second for two of them."""
_LONGEST_NAME = 200
_LONGEST_VALUE = 5_000
_MOST_VALUES = 50

Report = Annotated[str, Field(max_length=LONGEST_REPORT)]
_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Words = Annotated[str, Field(max_length=_LONGEST_VALUE)]
_Number = StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Value = _Words | _Number | None
_Values = Annotated[dict[_Name, _Value], Field(max_length=_MOST_VALUES)]


def _as_id(value: object) -> object:
    """Return a number as the text that it is in a file; 17 and 17.0 are one id."""
    if isinstance(value, bool | str):
        return value
    return to_id(value) or value


def _known_section(section: str) -> str:
    try:
        known_section(section)
    except JudgeError as error:
        raise ValueError(str(error)) from error
    return section


class StudyContext(BaseModel):
    """What the judge is shown of the patient and the examination, by the names of input files.

    Each is a text or a number. `context` may also be an object of these, or one text with a label
    before each part, as in ReXrank's files.
    """

    model_config = ConfigDict(extra="forbid")

    context: _Values | _Value = Field(
        default=None,
        description="All that is known, as one text or as an object.",
    )
    age: _Value = None
    patient_age: _Value = None
    sex: _Value = None
    patient_sex: _Value = None
    gender: _Value = None
    indication: _Value = Field(default=None, examples=["Cough for three days."])
    indications: _Value = None
    history: _Value = None
    clinical_history: _Value = None
    clinical_indication: _Value = None
    clinical_information: _Value = None
    clinical_data: _Value = None
    reason_for_exam: _Value = None
    reason_for_examination: _Value = None
    procedure: _Value = None
    exam: _Value = None
    examination: _Value = None
    technique: _Value = None
    comparison: _Value = None
    comparisons: _Value = None


class StudyInput(StudyContext):
    """One study: two reports, and what the judge is shown beside them."""

    id: Annotated[
        str, BeforeValidator(_as_id), Field(min_length=1, max_length=_LONGEST_NAME)
    ] = Field(
        default="",
        validate_default=False,
        description="Its name in the answer; left out, its place in the request from 1.",
        examples=["study-17"],
    )
    reference: Report = Field(
        description="The radiologist's report.", examples=["No pleural effusion."]
    )
    candidate: Report = Field(
        description="The model's report. It may be empty, and is judged then like any other.",
        examples=["Small left pleural effusion."],
    )
    prior: Report | None = Field(
        default=None,
        description="The report of the patient's earlier examination, for the judge to see.",
    )


class QuestionSettings(BaseModel):
    """By which rubric, by whom and how studies are judged: options of the command line."""

    model_config = ConfigDict(extra="forbid")

    rubric: _Name = Field(
        default="green", description="A rubric's name, as in /v1/rubrics."
    )
    judge: _Name = Field(
        default=LEXICON, description="A judge that the owner allows, as in /v1/judges."
    )
    section: Annotated[str, AfterValidator(_known_section)] = Field(
        default=WHOLE_REPORT,
        description=f"{SECTIONS_IN_WORDS}: what is judged of reports with headings.",
    )
    modality: ModalityName | None = Field(
        default=None,
        description="The kind of images that the reports are about; a model is shown examples.",
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=1_000_000, description="The longest answer in tokens."
    )
    temperature: FiniteFloat | None = Field(default=None, ge=0, le=2)
    reply: Literal["auto", "text", "structured"] = "auto"
    reask: int = Field(
        default=1,
        ge=0,
        le=10,
        description="How often an answer that cannot be read is asked for again.",
    )


class OneStudy(QuestionSettings, StudyInput):
    """A question about one study."""

    @property
    def inputs(self) -> list[StudyInput]:
        """The study, as a list of one."""
        return [self]


class SeveralStudies(QuestionSettings):
    """A question about each of several studies: what happens to one is no matter to the others."""

    studies: list[StudyInput] = Field(min_length=1, max_length=MOST_STUDIES)

    @property
    def inputs(self) -> list[StudyInput]:
        """The studies."""
        return self.studies

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        places: dict[str, int] = {}
        for place, study in enumerate(self.studies):
            name = study.id or str(place + 1)
            if name in places:
                raise ValueError(
                    f"studies {places[name]} and {place}, counted from 0, have the same id "
                    f"{name[:60]!r}; give each its own"
                )
            places[name] = place
        return self


FORMS = (_ONE, _SEVERAL) = ("one", "several")
"""The names of the forms of a question, which pydantic puts before the names of their fields."""


def _form(value: Any) -> str:  # noqa: ANN401 - whatever a client sent
    """Return which of the two forms of a question this is meant to be."""
    if isinstance(value, SeveralStudies):
        return _SEVERAL
    if isinstance(value, dict) and "studies" in value:
        return _SEVERAL
    return _ONE


Question = Annotated[
    Annotated[OneStudy, Tag(_ONE)] | Annotated[SeveralStudies, Tag(_SEVERAL)],
    Discriminator(_form),
]
"""The body of a request: one study with its settings, or `studies` and their settings."""


class CheckedStudy(BaseModel):
    """A study as the judge would get it, and why it cannot be judged where it cannot."""

    id: str
    reference: str
    candidate: str
    context: dict[str, str] = Field(
        description="What the judge would be shown of the patient."
    )
    prior: str | None
    unjudged: str | None = Field(description="Why it cannot be judged; null if it can.")


class CheckedRequests(BaseModel):
    """What asking would take: answers that are there already cost nothing.

    Dollars are null where the model's price is not known. `typical_dollars` counts answers as long
    as the latest in the cache; `most_dollars` the longest there can be, asked again where they
    cannot be read.
    """

    to_send: int
    from_cache: int
    repeated: int = Field(
        description="Questions that are asked once for several studies."
    )
    further: int = Field(description="At the most so many follow from the answers.")
    tokens_in: int
    typical_dollars: float | None
    most_dollars: float | None


class CheckAnswer(BaseModel):
    """What would be judged, and what that may cost. Nobody was asked."""

    rubric: str
    judge: str = Field(description="Its name, and whether it ends soon.")
    missing_key: str | None = Field(
        description="The variable of the judge's key, if the owner has not set it."
    )
    section: str
    n_studies: int
    n_unjudged: int
    n_empty_candidates: int
    notes: list[str]
    requests: CheckedRequests | None = Field(
        description="Null for the built-in judge, which sends none."
    )
    studies: list[CheckedStudy]


class JudgeShown(BaseModel):
    """Who judged, and what is to be known of it."""

    name: str
    version: str
    note: str | None


class QuestionCost(BaseModel):
    """What this request has cost. An answer that another request paid for costs nothing.

    `dollars` is null where the model's price is not known. `unknown_requests` brought no answer,
    and nobody knows whether they are billed; they cost at the most `unknown_dollars`.
    """

    asked: int = Field(description="Answers that were asked for and came.")
    from_cache: int = Field(description="Answers that were there, or that another got.")
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    unknown_requests: int
    unknown_dollars: float | None


class StudyAnnotation(BaseModel):
    """What came of one study.

    A study without a score has no `measures`, and `reason` and `detail` say why: its answer could
    not be read with certainty (`unparsed`), or there is none (`failed`).
    """

    id: str
    outcome: OutcomeName
    reason: str | None = None
    detail: str | None = None
    measures: dict[str, float | None] | None = Field(
        default=None,
        description="The rubric's numbers; null for one that is not defined for this study.",
    )
    annotation: Annotation | None = Field(
        default=None, description="Errors, corrections, facts and matched findings."
    )
    corrected: str | None = Field(
        default=None, description="The candidate as a rubric corrects it."
    )
    warnings: list[str] = Field(
        default=[], description="What was odd about an answer that was read."
    )
    answer: str | None = Field(default=None, description="The judge's raw answer.")


class AnnotationAnswer(BaseModel):
    """The annotations, in the order of the request, and what they rest on."""

    signature: str = Field(
        description="Everything but the studies that changes a number."
    )
    rubric: str
    judge: JudgeShown
    section: str
    cost: QuestionCost
    annotations: list[StudyAnnotation]
