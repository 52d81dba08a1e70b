"""What is said when a request cannot be met: problem details as in RFC 9457."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from judge.types import JudgeError

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Why a request was not met."""

    type: str = "about:blank"
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What is wrong, where, and what to do.")


class ProblemError(Exception):
    """A request that cannot be met, with the status to answer it with."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def body(status: int, detail: str) -> bytes:
    """Return a problem as JSON; any text can be in it, also half a surrogate pair."""
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return json.dumps(problem).encode()


def answer(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return the response that tells of a problem."""
    return Response(body(status, detail), status, headers, media_type=MEDIA_TYPE)


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "The request was not met.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def install(app: FastAPI) -> None:
    """Answer every failure of `app` with a problem, none with a stack trace."""

    @app.exception_handler(ProblemError)
    async def _(_request: Request, error: ProblemError) -> Response:
        return answer(error.status, error.detail)

    @app.exception_handler(JudgeError)
    async def _(_request: Request, error: JudgeError) -> Response:
        return answer(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: RequestValidationError) -> Response:
        # Never the value itself: it may be a report, or a megabyte.
        found = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        return answer(422, "; ".join(found))

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        return answer(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def _(_request: Request, _error: Exception) -> Response:
        return answer(500, "The service failed at this request; its log says why.")
