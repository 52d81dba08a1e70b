"""The forms of the two replies: what a judge is asked to fill in, and what is taken from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from judge.rubrics.form import Form, Line, Whole


class Phrases(Form):
    """All findings of one report, each by itself."""

    phrases: list[Line] = Field(
        description="Short phrases, each of a single finding, in the order of the report."
    )


class Verdict(Form):
    """What a report says of one phrase."""

    phrase: Whole = Field(description="The number of the phrase in the list.")
    evidence: list[Line] = Field(
        description="The sentences of the report that decide it, copied word for word; empty for "
        "a phrase that is not mentioned."
    )
    verdict: Literal["entailed", "contradicted", "not_mentioned"] = Field(
        description="entailed: the report says it. contradicted: the report says otherwise. "
        "not_mentioned: neither."
    )


class Verdicts(Form):
    """One verdict for each phrase."""

    verdicts: list[Verdict]
