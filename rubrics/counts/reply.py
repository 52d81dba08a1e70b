"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from judge.rubrics.significance import MAX_COUNT

_COUNTS = range(MAX_COUNT + 1)
_DIGITS = re.compile(r"\s*([0-9]{1,4})(?:\.0+)?\s*")


def _count(value: object) -> int:
    """Return the whole number that `value` is, or that its digits are."""
    if isinstance(value, str) and (digits := _DIGITS.fullmatch(value)):
        return int(digits[1])
    # True is an int.
    if type(value) in (int, float) and value in _COUNTS:
        return int(value)  # type: ignore[call-overload,no-any-return]
    raise PydanticCustomError(
        "unreadable count", f"a count is a whole number from 0 to {MAX_COUNT}"
    )


_Count = Annotated[int, BeforeValidator(_count)]


class Errors(BaseModel):
    """How many errors of one level there are, each in one of the six categories."""

    model_config = ConfigDict(extra="forbid")

    # Named as the categories are.
    a: _Count = Field(description="False findings.")
    b: _Count = Field(description="Missing findings.")
    c: _Count = Field(description="Findings in the wrong location.")
    d: _Count = Field(description="Findings of the wrong severity.")
    e: _Count = Field(description="Comparisons that are not in the reference.")
    f: _Count = Field(description="Comparisons that are left out.")


class Reply(BaseModel):
    """How many errors the candidate has, clinically significant and insignificant ones."""

    model_config = ConfigDict(extra="forbid")

    significant: Errors
    insignificant: Errors
