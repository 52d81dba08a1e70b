"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictStr
from pydantic_core import PydanticCustomError

from judge.rubrics.crimson.wording import attributes_of
from judge.rubrics.form import Form, Line
from judge.rubrics.reply_text import denies, one_line


def _words(value: object) -> object:
    text = one_line(value)
    if text == "":
        raise PydanticCustomError("empty finding", "a finding has an id and words")
    return text


def _finding_text(value: object) -> object:
    text = _words(value)
    if isinstance(text, str) and denies(text):
        raise PydanticCustomError("no entry", "a finding that is none has no entry")
    return text


def _attributes(value: object) -> object:
    found = attributes_of(value)
    if found is None:
        raise PydanticCustomError("unknown error type", "error_types names none that there is")
    if not found:
        raise PydanticCustomError("no error type", "error_types names at least one")
    return found


_Id = Annotated[StrictStr, BeforeValidator(_words)]
_Significance = Literal[
    "urgent", "actionable_not_urgent", "not_actionable_not_urgent", "benign_expected"
]
_Type = Literal[
    "location",
    "severity",
    "descriptor",
    "measurement",
    "certainty",
    "unspecific",
    "overinterpretation",
    "temporal",
    "level",
    "phase",
    "laterality",
    "birads",
    "density",
    "calcification",
]


class Finding(Form):
    """One abnormal finding of a report."""

    id: _Id = Field(description="R1, R2, ... in the reference, P1, P2, ... in the candidate.")
    finding: Annotated[StrictStr, BeforeValidator(_finding_text)] = Field(
        description="The finding in the report's own words."
    )
    clinical_significance: _Significance


class Match(Form):
    """Two findings that are the same, whether or not they agree in all that is said of them."""

    ref_id: _Id
    pred_id: _Id


class WrongAttribute(Form):
    """What the candidate gets wrong about a finding that both reports have."""

    optional: ClassVar = {"explanation": ""}

    ref_id: _Id
    pred_id: _Id
    severity: Literal["significant", "negligible"]
    error_types: Annotated[list[_Type], BeforeValidator(_attributes)]
    explanation: Line = Field(description="What differs, in a sentence.")


class Errors(Form):
    """What is wrong with the candidate."""

    false_findings: list[_Id] = Field(description="Ids of the candidate's that match nothing.")
    missing_findings: list[_Id] = Field(description="Ids of the reference's that match nothing.")
    attribute_errors: list[WrongAttribute]


class Reply(Form):
    """The findings of both reports, which of them match, and the errors."""

    reference_findings: list[Finding]
    predicted_findings: list[Finding]
    matched_findings: list[Match]
    errors: Errors
