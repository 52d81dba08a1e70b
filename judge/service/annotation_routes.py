"""Single studies over HTTP: what a judge says of them, and what it would be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import cache
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Request
from fastapi.responses import Response

from judge import rubrics
from judge.service import ProblemError, examples
from judge.service.asked import annotation_of, cost_of, studies_of
from judge.service.judges import OpenJudge, run_settings
from judge.service.question_check import check as checked
from judge.service.questions import (
    AnnotationAnswer,
    CheckAnswer,
    JudgeShown,
    OneStudy,
    Question,
    QuestionSettings,
    SeveralStudies,
)
from judge.service.service import JSON, JsonRoute, ServiceDep, as_problem
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

T = TypeVar("T")
_EXAMPLE_OF_ANNOTATIONS = examples.answered(examples.ANNOTATIONS)
_EXAMPLE_OF_CHECK = examples.answered(examples.CHECK)
routes = APIRouter(tags=["annotations"], route_class=JsonRoute)


@routes.post(
    "/v1/annotations",
    response_model=AnnotationAnswer,
    responses=_EXAMPLE_OF_ANNOTATIONS,
)
async def annotate(
    question: Annotated[Question, Body(openapi_examples=examples.QUESTIONS)],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Judge one study, or up to 100, and answer with what the judge says of each.

    An answer that is in the cache costs nothing, and neither does one that another client, or a
    run, is waiting for. A study that cannot be judged has an `outcome` that says so, and does not
    keep the others from theirs. Whoever hangs up is asked for no more; what was paid for is kept.
    """
    check_names(service.settings, question)
    judge = await service.judges.of(question)
    with judge.used():
        return await _unless_gone(request, _annotations(judge, question))


@routes.post("/v1/check", response_model=CheckAnswer, responses=_EXAMPLE_OF_CHECK)
async def check(
    question: Annotated[Question, Body(openapi_examples=examples.QUESTIONS)],
    service: ServiceDep,
) -> Response:
    """Show what the same body would ask at `/v1/annotations`, and what it may cost.

    Shows each study as the judge would get it and why one cannot be judged; names what is odd, and
    says whether the judge's key is there. No judge is asked, and nothing is paid.
    """
    check_names(service.settings, question)
    asked = studies_of(question, question.inputs)
    settings = run_settings(question, service.settings)
    try:
        found = await asyncio.to_thread(checked, asked, settings, service.settings)
    except JudgeError as error:
        raise ProblemError(422, str(error)) from error
    return Response(found.model_dump_json(), media_type=JSON)


async def _annotations(
    judge: OpenJudge, question: OneStudy | SeveralStudies
) -> Response:
    asked = studies_of(question, question.inputs)
    judgement = await judge.ask(asked)
    rubric, by = judge.session.rubric, judge.session.judge
    answer = AnnotationAnswer(
        signature=judgement.signature,
        rubric=rubric.name,
        judge=JudgeShown(name=by.name, version=by.version, note=by.note),
        section=question.section,
        cost=cost_of(judgement.paid, judgement.results),
        annotations=[annotation_of(result, rubric) for result in judgement.results],
    )
    return Response(answer.model_dump_json(), media_type=JSON)


def check_names(settings: ServiceSettings, question: QuestionSettings) -> None:
    """Raise `ProblemError` for an unknown rubric, and for a judge that is not allowed."""
    if question.rubric not in _rubric_names():
        known = ", ".join(_rubric_names())
        raise ProblemError(
            422, f"unknown rubric {question.rubric!r}; there are: {known}"
        )
    if question.judge not in settings.allowed:
        allowed = ", ".join(settings.allowed)
        raise ProblemError(
            403, f"the judges allowed here are {allowed}, not {question.judge!r}"
        )


@cache
def _rubric_names() -> list[str]:
    """Return the names of the rubrics, for which the disk is searched once."""
    return rubrics.names()


async def _unless_gone(
    request: Request, work: Coroutine[Any, Any, Response]
) -> Response:
    """Return what `work` gives. It is cancelled where the client hangs up or the service ends."""
    answering = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        # The service ends, and has waited as long as it waits for its clients.
        answering.cancel()
        await asyncio.wait({answering})
        return as_problem(
            503, "The service is ending. What was paid for is kept: ask again later."
        )
    finally:
        leaving.cancel()
    if answering.done():
        return answering.result()
    answering.cancel()
    await asyncio.wait({answering})
    return Response(status_code=204)  # nobody reads it


async def _gone(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
