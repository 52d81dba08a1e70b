"""The form of a reply: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from judge.rubrics.category_names import categories_of
from judge.rubrics.fineradscore.wording import deletes, edit_of, line_of, severity_of
from judge.rubrics.notation import visible


def _line(value: object) -> object:
    try:
        return line_of(value)
    except ValueError as error:
        raise PydanticCustomError(
            "line off the report", "line is a whole number or null"
        ) from error


def _edit(value: object) -> object:
    return edit_of(value) or value


def _comment(value: object) -> object:
    return visible(value) if isinstance(value, str) else "" if value is None else value


def _corrected(value: object) -> object:
    """Return a line of text: white space made single, and nothing for what says "nothing"."""
    text = _comment(value)
    if not isinstance(text, str):
        return text
    text = " ".join(text.split())
    return "" if deletes(text) else text


def _severity(value: object) -> int:
    found = severity_of(value)
    if found is None:
        raise PydanticCustomError("severity off the scale", "severity is 1, 2, 3 or 4")
    return found


def _categories(value: object) -> list[str]:
    found = categories_of(value)
    if found is None:
        raise PydanticCustomError("category off the scale", "a category is one of a to f")
    if not found:
        raise PydanticCustomError("no category", "categories names at least one of a to f")
    return [category.value for category in found]


class Correction(BaseModel):
    """One change of the candidate."""

    model_config = ConfigDict(extra="forbid")

    line: Annotated[int | None, BeforeValidator(_line)] = Field(
        description="The number of the candidate's line that is changed or deleted. For an "
        "insertion, the line that the new one goes before, or null for the end of the report."
    )
    edit: Annotated[Literal["change", "delete", "insert"], BeforeValidator(_edit)] = Field(
        description="What is done to the line."
    )
    corrected: Annotated[str, BeforeValidator(_corrected)] = Field(
        description="The line as it should read; empty for a deletion."
    )
    severity: Annotated[Literal[1, 2, 3, 4], BeforeValidator(_severity)] = Field(
        description="1 not actionable, 2 actionable but not urgent, 3 urgent, 4 emergent."
    )
    categories: Annotated[
        list[Literal["a", "b", "c", "d", "e", "f"]], BeforeValidator(_categories)
    ] = Field(
        description="One or more of: a false finding, b missing finding, c wrong location, "
        "d wrong severity, e comparison not in the reference, f omitted comparison."
    )
    comment: Annotated[str, BeforeValidator(_comment)] = Field(
        description="Why the correction is needed, in a sentence."
    )


class Reply(BaseModel):
    """All corrections that turn the candidate into the reference; none where they agree."""

    model_config = ConfigDict(extra="forbid")

    corrections: list[Correction]
