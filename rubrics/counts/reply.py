"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from judge.rubrics.categories import MAX_COUNT
from judge.rubrics.form import Form, whole

_COUNTS = range(MAX_COUNT + 1)


def _whole_count(value: object) -> int:
    count = whole(value)
    if type(count) is int and count in _COUNTS:  # True is an int
        return count
    raise PydanticCustomError(
        "unreadable count", f"a count is a whole number from 0 to {MAX_COUNT}"
    )


_Count = Annotated[int, BeforeValidator(_whole_count)]


class Errors(Form):
    """How many errors of one level there are, each in one of the six categories."""

    # Named as the categories are.
    a: _Count = Field(description="False findings.")
    b: _Count = Field(description="Missing findings.")
    c: _Count = Field(description="Findings in the wrong location.")
    d: _Count = Field(description="Findings of the wrong severity.")
    e: _Count = Field(description="Comparisons that are not in the reference.")
    f: _Count = Field(description="Comparisons that are left out.")


class Reply(Form):
    """How many errors the candidate has, clinically significant and insignificant ones."""

    significant: Errors
    insignificant: Errors
