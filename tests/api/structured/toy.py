"""A small rubric whose reply has a form, written for these tests, and what runs it."""

from __future__ import annotations

import json
import random

from pydantic import BaseModel, ConfigDict, ValidationError

from judge.backends.structured import Mode
from judge.rubrics import Facet, Kind, Label, Measure, Order, Rubric, Statistic
from judge.types import Annotation, Item, Measures, Study, Unparsed, UnparsedError


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
            _fault("severe" if fault.severe else "slight", fault.text) for fault in verdict.faults
        )
    )


def render(annotation: Annotation) -> str:
    faults = [
        {"severe": item.label("weight") == "severe", "text": item.text} for item in annotation.items
    ]
    return json.dumps({"faults": faults})


def measure(annotation: Annotation, _study: Study) -> Measures:
    return {"n_faults": len(annotation.items)}


def _fault(weight: str, text: str) -> Item:
    return Item("fault", text, {"weight": (weight,)})


def annotate(key: str, seed: int) -> Annotation:
    rng = random.Random(f"{seed}/{key}")
    return Annotation(
        tuple(
            _fault(rng.choice(("severe", "slight")), f"number {n} of {key}")
            for n in range(rng.randint(0, 3))
        )
    )


TOY = Rubric(
    name="green",  # whose prompt it borrows
    version=1,
    title="Toy",
    summary="Judge reports by counting what is wrong.",
    prompt="green-structured",
    kinds=(Kind("fault", "fault", "faults", ("weight",), graded_by="weight"),),
    facets=(
        Facet(
            "weight",
            "weight",
            "weights",
            (Label("severe", "severe", "serious"), Label("slight", "slight", "mild")),
        ),
    ),
    measures=(Measure("n_faults", "faults", role="score", is_whole=True),),
    statistics=(
        Statistic("faults", "faults per study", "mean", ("n_faults",), higher_is_better=False),
    ),
    worst=(Order("n_faults", largest_first=True),),
    parse=parse,
    render=render,
    measure=measure,
    reply_model=lambda: Verdict,
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
