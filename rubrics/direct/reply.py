"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from judge.rubrics.direct.parse import ASPECTS
from judge.rubrics.form import Form, Words

_ALONE = re.compile(r"\s*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*")
_ASPECTS = {
    "findings": "What is reported present and absent.",
    "location": "Sides and places.",
    "severity": "Sizes and degrees.",
    "comparison": "Changes since an earlier examination.",
    "devices": "Tubes, lines and implants, and where they end.",
    "impression": "What it comes to for the patient's care.",
    "wording": "Whether it is clear and free of contradictions.",
}


def _number(value: object) -> float:
    if isinstance(value, str) and (digits := _ALONE.fullmatch(value)):
        return float(digits[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    raise PydanticCustomError("score is no number", "a score is one number")


class _Aspects(Form):
    """Scores of single aspects on the same scale; null for one that the reports say nothing of."""

    optional: ClassVar = dict.fromkeys(ASPECTS)


class Reply(Form):
    """How good the candidate is, and why."""

    optional: ClassVar = {"aspects": {}}

    reasons: Words = Field(description="Two to four sentences on what decides the score.")


@cache
def reply_on(low: float, high: float) -> type[Reply]:
    """Return the form of a reply on a scale: its schema allows no other score."""
    on_scale = Field(ge=_plain(low), le=_plain(high))
    number: Any = Annotated[float, BeforeValidator(_number), on_scale]
    each: dict[str, Any] = {
        name: (Annotated[number | None, Field(description=text)], ...)
        for name, text in _ASPECTS.items()
    }
    aspects = create_model("Aspects", __base__=_Aspects, __doc__=_Aspects.__doc__, **each)
    score = Field(description=f"How good the candidate is, from {low:g} to {high:g}.")
    return create_model(
        "Reply",
        __base__=Reply,
        __doc__=Reply.__doc__,
        aspects=(aspects, ...),
        score=(Annotated[number, score], ...),
    )


def _plain(end: float) -> float:
    return int(end) if end == int(end) else end
