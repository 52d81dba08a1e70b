"""The forms of the two replies: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from judge.rubrics.facts.measures import VERDICT
from judge.rubrics.notation import one_line

_NUMBER = re.compile(r"(?:phrase\s*)?#?\s*(\d{1,4})[.)]?", re.IGNORECASE)
_NAMES = {re.sub(r"[\s_-]+", " ", label.name): label.name for label in VERDICT.labels}


def _number(value: object) -> object:
    found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) if found else value


def _verdict(value: object) -> object:
    name = re.sub(r"[\s_-]+", " ", value).strip(" .").lower() if isinstance(value, str) else ""
    if name not in _NAMES:
        known = ", ".join(label.label for label in VERDICT.labels)
        raise PydanticCustomError(
            "unknown verdict", "a verdict is one of: {known}", {"known": known}
        )
    return _NAMES[name]


def _list(value: object) -> object:
    return [] if value is None else [value] if isinstance(value, str) else value


_Text = Annotated[StrictStr, BeforeValidator(one_line)]


class Phrases(BaseModel):
    """All findings of one report, each by itself."""

    model_config = ConfigDict(extra="forbid")

    phrases: list[_Text] = Field(
        description="Short phrases, each of a single finding, in the order of the report."
    )


class Verdict(BaseModel):
    """What a report says of one phrase."""

    model_config = ConfigDict(extra="forbid")

    phrase: Annotated[StrictInt, BeforeValidator(_number)] = Field(
        description="The number of the phrase in the list."
    )
    evidence: Annotated[list[_Text], BeforeValidator(_list)] = Field(
        description="The sentences of the report that decide it, copied word for word; empty for "
        "a phrase that is not mentioned."
    )
    verdict: Annotated[
        Literal["entailed", "contradicted", "not_mentioned"], BeforeValidator(_verdict)
    ] = Field(
        description="entailed: the report says it. contradicted: the report says otherwise. "
        "not_mentioned: neither."
    )


class Verdicts(BaseModel):
    """One verdict for each phrase."""

    model_config = ConfigDict(extra="forbid")

    verdicts: list[Verdict]
