"""`POST /v1/annotations`, and what can be asked for there."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from judge import prompts, rubrics
from judge.backends import LEXICON
from judge.report.overview import declared
from judge.service import ProblemError
from judge.service.budget import Ledger
from judge.service.jobs import Reply
from judge.service.service import Here, JsonRoute, as_json, returns
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

Text = Annotated[str, Field(max_length=100_000)]
"""A report. The bound keeps a pair to seconds of work for the built-in judge."""
Name = Annotated[str, Field(min_length=1, max_length=200)]

routes = APIRouter(route_class=JsonRoute, prefix="/v1", tags=["annotations"])


class Pair(BaseModel):
    """A pair of reports to judge."""

    model_config = ConfigDict(extra="forbid")

    reference: Text = Field(description="The radiologist's report.", examples=["No effusion."])
    candidate: Text = Field(
        description="The model's report; it may be empty.", examples=["Large left effusion."]
    )
    rubric: Name = Field(description="A rubric's name.", examples=rubrics.built_in())
    judge: Name = Field(
        default=LEXICON, description="Who answers; the service's owner allows which."
    )
    study_id: Name = Field(default="study", description="Any text.")
    context: Text | None = Field(
        default=None, description="What else is known of the study; kept with it."
    )
    prompt: Name | None = Field(
        default=None, description="The name of a prompt, for judges that read one."
    )
    reply: Reply = Field(
        default="auto",
        description="Ask a model for the rubric's text or for a structured reply.",
    )


class Record(BaseModel):
    """One study's end. The measures are null wherever the outcome is not `annotated`."""

    model_config = ConfigDict(extra="allow")

    study_id: str
    reference: str
    candidate: str
    outcome: Annotated[str, Field(pattern="^(annotated|unparsed|failed)$")] = Field(
        description="annotated, unparsed (an answer that cannot be read) or failed (none came)."
    )
    reason: str | None = Field(description="Why there is no annotation, in a word or two.")
    detail: str | None = Field(description="The same at length.")
    annotation: dict[str, Any] | None = Field(description="What the judge found.")
    measures: dict[str, float | None] | None = Field(description="The rubric's numbers.")
    answer: dict[str, Any] | None = Field(description="The judge's raw answer.")
    signature: str = Field(description="Names all that changes a number.")


def check_names(settings: ServiceSettings, rubric: str, judge: str, prompt: str | None) -> None:
    """Raise `ProblemError` for a judge that is not allowed, and what the service has not got.

    A prompt can be named by a path elsewhere; from a client it never is.
    """
    if rubric not in rubrics.names():
        known = ", ".join(rubrics.names())
        raise ProblemError(422, f"unknown rubric {rubric!r}; there are: {known}")
    if not settings.allows(judge):
        allowed = ", ".join([LEXICON, *settings.judges])
        raise ProblemError(
            403, f"the owner of this service allows the judges {allowed}; not {judge!r}"
        )
    if prompt and prompt not in _prompts_of(rubric):
        known = ", ".join(_prompts_of(rubric))
        raise ProblemError(422, f"unknown prompt {prompt!r}; {rubric} has: {known}")


@routes.post(
    "/annotations",
    summary="Annotate one pair of reports",
    responses=returns(
        "The study's end: its outcome and all that it rests on.", kinds=(), model=Record
    ),
)
async def annotate(pair: Pair, service: Here) -> Response:
    """Judge one candidate against its reference.

    It is the engine and the cache of a run: an answer that was paid for once is free. A
    judge that fails, or whose answer cannot be read, gives an outcome without a score. A new
    answer for which a budget has no room is refused (402).
    """
    check_names(service.settings, pair.rubric, pair.judge, pair.prompt)
    return as_json(await service.pairs.annotate(pair.model_dump()))


@routes.get(
    "/rubrics",
    summary="List the rubrics",
    responses=returns("`rubrics`, with all that they declare."),
)
def list_rubrics() -> Response:
    """List the rubrics with all that they declare."""
    return as_json({"rubrics": [_rubric(rubrics.load(name)) for name in rubrics.names()]})


@routes.get(
    "/prompts",
    summary="List the prompts",
    responses=returns("`prompts`: of each `name`, `version`, `rubric` and `digest`."),
)
def list_prompts() -> Response:
    """List the prompts of all rubrics."""
    loaded = [prompts.load(name) for name in prompts.names()]
    names = ("name", "version", "rubric", "digest")
    return as_json({"prompts": [{name: getattr(p, name) for name in names} for p in loaded]})


@routes.get(
    "/judges",
    summary="List the judges",
    responses=returns("`judges`: of each `name`, `built_in`, `budget` and `left`."),
)
def list_judges(service: Here) -> Response:
    """List the judges that the service's owner allows, with what is left of their budgets.

    `budget` is null for none, `left` also where it is not known. In US dollars; answers under way
    count at their most.
    """
    names = (LEXICON, *service.settings.judges)
    return as_json({"judges": [_judge(service.settings.ledger(name)) for name in names]})


def _judge(ledger: Ledger) -> dict[str, Any]:
    try:
        left = ledger.left()
    except JudgeError:  # who wants to ask is told
        left = None
    name = ledger.judge
    return {"name": name, "built_in": name == LEXICON, "budget": ledger.limit, "left": left}


def _rubric(rubric: rubrics.Rubric) -> dict[str, Any]:
    about = ("name", "version", "title", "summary", "prompt", "modality")
    of_each = ("name", "label", "kind", "definition", "higher_is_better")
    return {
        **{name: getattr(rubric, name) for name in about},
        **declared(rubric),
        "statistics": [{name: getattr(one, name) for name in of_each} for one in rubric.statistics],
    }


def _prompts_of(rubric: str) -> list[str]:
    return [name for name in prompts.names() if prompts.load(name).rubric == rubric]
