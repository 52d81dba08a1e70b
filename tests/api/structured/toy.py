"""A small rubric whose reply has a form, written for these tests, and what runs it."""

from __future__ import annotations

import json
import random
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, ValidationError

from judge import rubrics
from judge.backends.structured import Mode
from judge.rubrics import Rubric
from judge.types import Annotation, Category, Error, Study, StudyCounts, Unparsed, UnparsedError

GREEN = rubrics.load("green")


class Fault(BaseModel):
    """One thing that the candidate has wrong."""

    model_config = ConfigDict(extra="forbid")
    severe: bool
    text: str


class Verdict(BaseModel):
    """All that the candidate has wrong."""

    model_config = ConfigDict(extra="forbid")
    faults: list[Fault]


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    text = text.strip().removeprefix("```json").removesuffix("```")
    if not text.strip():
        raise UnparsedError("empty")
    try:
        verdict = Verdict.model_validate_json(text)
    except ValidationError as error:
        raise UnparsedError("bad form", error.errors()[0]["msg"]) from error
    return Annotation(
        tuple(
            Error(
                (Category.FALSE_FINDING,),
                "significant" if fault.severe else "insignificant",
                fault.text,
            )
            for fault in verdict.faults
        )
    )


def render(annotation: Annotation) -> str:
    faults = [{"severe": e.level == "significant", "text": e.text} for e in annotation.errors]
    return json.dumps({"faults": faults})


def score(annotation: Annotation, _study: Study) -> StudyCounts:
    levels = [error.level for error in annotation.errors]
    by_level = {level.name: levels.count(level.name) for level in GREEN.levels}
    return StudyCounts(
        by_level=by_level,
        by_category={
            (level, category): n if category is Category.FALSE_FINDING else 0
            for level, n in by_level.items()
            for category in Category
        },
        n_significant=by_level["significant"],
        n_insignificant=by_level["insignificant"],
        n_actionable=None,
        n_matched=None,
        scores={"green": float(len(levels))},
    )


def annotate(key: str, seed: int) -> Annotation:
    rng = random.Random(f"{seed}/{key}")
    return Annotation(
        tuple(
            Error(
                (Category.FALSE_FINDING,),
                rng.choice(("significant", "insignificant")),
                f"number {n} of {key}",
            )
            for n in range(rng.randint(0, 3))
        )
    )


TOY: Rubric = replace(
    GREEN, parse=parse, render=render, score=score, reply_model=lambda: Verdict, has_matched=False
)

DOWN = {
    Mode.JSON_SCHEMA: (),
    Mode.TOOLS: ("json_schema",),
    Mode.JSON: ("json_schema", "json_object", "tools"),
}
"""What a server must refuse for a mode to be used."""


def to_read(outcome: object) -> str:
    """Return why an answer could not be read."""
    assert isinstance(outcome, Unparsed)
    return outcome.reason
