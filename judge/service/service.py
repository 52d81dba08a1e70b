"""The parts of a service that its routes share, and the form of its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, StringConstraints
from starlette.exceptions import HTTPException

from judge import jsonio
from judge.pages.bundle import as_json as page_json
from judge.service.catalogue import Catalogue
from judge.service.comparisons import Comparisons
from judge.service.jobs import Jobs
from judge.service.judges import Judges
from judge.service.moving import ReadersAtWork, RunMoves
from judge.service.questions import FORMS
from judge.service.run_check import RunChecks
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

_PROBLEM = "application/problem+json"
JSON = "application/json"
_MOST_FAULTS = 5
# A longer body is read in a thread: no other request waits for it.
_LONG_BODY = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The parts of a service."""

    settings: ServiceSettings
    catalogue: Catalogue
    jobs: Jobs
    comparisons: Comparisons
    checks: RunChecks
    readers: ReadersAtWork
    moves: RunMoves
    judges: Judges


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(_service)]
RunId = Annotated[
    str,
    InPath(
        description="A run's id, as in the list of runs.",
        max_length=200,
        examples=["RUN"],
    ),
]

ReaderName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=100, pattern=r"^\P{C}+$"),
    Field(description="In one line.", examples=["Anna"]),
]


def as_json(
    data: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """Return `data` as JSON; dates and the like are written as text."""
    text = json.dumps(data, default=str, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type=JSON)


def as_answer(
    model: BaseModel, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """Return an answer whose form the API documents, as the pages' files have it."""
    return Response(page_json(model), status, headers, media_type=JSON)


def as_problem(
    status: int, detail: str, headers: dict[str, str] | None = None
) -> Response:
    """Return problem details as in RFC 9457."""
    title = HTTPStatus(status).phrase
    problem = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    }
    return Response(json.dumps(problem), status, headers, media_type=_PROBLEM)


def _fault_text(place: Sequence[int | str], message: str) -> str:
    """Return what is wrong with a field of a request, by the field's name in the request."""
    names = [str(part) for part in place]
    if names and names[0] == "body":
        del names[0]
        if names and names[0] in FORMS:
            del names[0]
    text = message.removeprefix("Value error, ")
    where = ".".join(names) or "the body"
    return f"{where}: {text}"


class JsonRequest(Request):
    """A request whose body is JSON that somebody else wrote: bounded, each key once, UTF-8."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the value; raises `HTTPException` 422 where there is not one."""
        body = await self.body()
        try:
            if len(body) > _LONG_BODY:
                return await asyncio.to_thread(jsonio.read, body)
            return jsonio.read(body)
        except jsonio.JsonError as error:
            raise HTTPException(422, f"The body is no JSON: {error}") from error


class JsonRoute(APIRoute):
    """A route whose body is read by `JsonRequest`; one of another type is refused (415)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            content = request.headers.get("content-type", "")
            if content.partition(";")[0].strip().lower() != JSON:
                raise HTTPException(
                    415, f"The body must be JSON: send it with Content-Type: {JSON}."
                )
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


def answer_errors(app: FastAPI, settings: ServiceSettings) -> None:
    """Answer every failure of `app` with a problem, none with a stack trace."""

    @app.exception_handler(JudgeError)
    async def _(_request: Request, error: JudgeError) -> Response:
        return as_problem(getattr(error, "status", 409), settings.hide_folders(error))

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: RequestValidationError) -> Response:
        # Without the value: it may be a report, or a megabyte.
        wrong = [_fault_text(fault["loc"], fault["msg"]) for fault in error.errors()]
        shown = wrong[:_MOST_FAULTS]
        if len(wrong) > len(shown):
            shown.append(f"and {len(wrong) - len(shown):,} more")
        return as_problem(422, "; ".join(shown))

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        return as_problem(
            error.status_code, str(error.detail), dict(error.headers or {})
        )

    @app.exception_handler(Exception)
    async def _(_request: Request, _error: Exception) -> Response:
        return as_problem(500, "The service failed at this request; its log says why.")
