"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from judge.rubrics.direct.parse import ASPECTS
from judge.rubrics.notation import visible

_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_ALONE = re.compile(rf"\s*({_NUMBER})\s*")
_RANGE = re.compile(rf"\s*[\[(]?\s*({_NUMBER})\s*(?:-|\u2013|,|to)\s*({_NUMBER})\s*[\])]?\s*")


def _number(value: object) -> float:
    """Return the number that `value` is, or that its digits are."""
    if isinstance(value, str) and (digits := _ALONE.fullmatch(value)):
        return float(digits[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    raise PydanticCustomError("score is no number", "a score is one number")


def _aspect(value: object) -> float | None:
    return None if value is None else _number(value)


def _scale(value: object) -> list[float]:
    if isinstance(value, str) and (ends := _RANGE.fullmatch(value)):
        value = [*ends.groups()]
    if not isinstance(value, list) or len(value) != 2:
        raise PydanticCustomError("another scale", "a scale is its lowest and its highest number")
    return [_number(one) for one in value]


def _text(value: object) -> object:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = "\n".join(value)
    return visible(value).strip() if isinstance(value, str) else value


_Aspect = Annotated[float | None, BeforeValidator(_aspect)]


class Aspects(BaseModel):
    """Scores of single aspects on the same scale; null for one that the reports say nothing of."""

    model_config = ConfigDict(extra="forbid")

    findings: _Aspect = Field(description="What is reported present and absent.")
    location: _Aspect = Field(description="Sides and places.")
    severity: _Aspect = Field(description="Sizes and degrees.")
    comparison: _Aspect = Field(description="Changes since an earlier examination.")
    devices: _Aspect = Field(description="Tubes, lines and implants, and where they end.")
    impression: _Aspect = Field(description="What it comes to for the patient's care.")
    wording: _Aspect = Field(description="Whether it is clear and free of contradictions.")

    @model_validator(mode="before")
    @classmethod
    def _left_out(cls, value: Any) -> Any:  # noqa: ANN401
        return dict.fromkeys(ASPECTS) | value if isinstance(value, dict) else value


class Reply(BaseModel):
    """How good the candidate is, and why."""

    model_config = ConfigDict(extra="forbid")

    reasons: Annotated[str, BeforeValidator(_text)] = Field(
        description="Two to four sentences on what decides the score."
    )
    aspects: Aspects
    scale: Annotated[list[float], BeforeValidator(_scale)] = Field(
        description="The lowest and the highest number of the scale that you were given.",
        min_length=2,
        max_length=2,
    )
    score: Annotated[float, BeforeValidator(_number)] = Field(
        description="How good the candidate is on that scale."
    )

    @model_validator(mode="before")
    @classmethod
    def _left_out(cls, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict) and value.get("aspects") is None:
            return {**value, "aspects": {}}
        return value
