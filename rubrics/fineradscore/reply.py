"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from judge.rubrics.form import Form, Line, Verbatim, Whole, whole


def _severity(value: object) -> object:
    found = whole(value)
    if type(found) is not int or not 1 <= found <= 4:
        raise PydanticCustomError("severity off the scale", "severity is 1, 2, 3 or 4")
    return found


def _categories(value: object) -> object:
    if value == []:
        raise PydanticCustomError("no category", "categories names at least one of a to f")
    if isinstance(value, list) and not all(one in _LETTERS for one in value):
        raise PydanticCustomError("category off the scale", "a category is one of a to f")
    return sorted(set(value)) if isinstance(value, list) else value


_LETTERS = ("a", "b", "c", "d", "e", "f")


class Correction(Form):
    """One change of the candidate."""

    optional: ClassVar = {"comment": ""}

    line: Whole | None = Field(
        description="The number of the candidate's line that is changed or deleted. For an "
        "insertion, the line that the new one goes before, or null for the end of the report."
    )
    edit: Literal["change", "delete", "insert"] = Field(description="What is done to the line.")
    corrected: Line = Field(description="The line as it should read; empty for a deletion.")
    severity: Annotated[Literal[1, 2, 3, 4], BeforeValidator(_severity)] = Field(
        description="1 not actionable, 2 actionable but not urgent, 3 urgent, 4 emergent."
    )
    categories: Annotated[
        list[Literal["a", "b", "c", "d", "e", "f"]], BeforeValidator(_categories)
    ] = Field(
        description="One or more of: a false finding, b missing finding, c wrong location, "
        "d wrong severity, e comparison not in the reference, f omitted comparison."
    )
    comment: Verbatim = Field(description="Why the correction is needed, in a sentence.")


class Reply(Form):
    """All corrections that turn the candidate into the reference; none where they agree."""

    corrections: list[Correction]
