"""The parts of a service that its routes share, and the form of its answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import Field, StringConstraints
from starlette.exceptions import HTTPException

from judge.service.catalogue import Catalogue
from judge.service.checking import RunChecks
from judge.service.comparisons import Comparisons
from judge.service.jobs import Jobs
from judge.service.moving import ReadersAtWork, RunMoves
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

_PROBLEM = "application/problem+json"
JSON = "application/json"


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


def answer_errors(app: FastAPI, settings: ServiceSettings) -> None:
    """Answer every failure of `app` with a problem, none with a stack trace."""

    @app.exception_handler(JudgeError)
    async def _(_request: Request, error: JudgeError) -> Response:
        return as_problem(getattr(error, "status", 409), settings.hide_folders(error))

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: RequestValidationError) -> Response:
        # Without the value: it may be a report, or a megabyte.
        wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        return as_problem(422, "; ".join(wrong))

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        return as_problem(
            error.status_code, str(error.detail), dict(error.headers or {})
        )

    @app.exception_handler(Exception)
    async def _(_request: Request, _error: Exception) -> Response:
        return as_problem(500, "The service failed at this request; its log says why.")
