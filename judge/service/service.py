"""What the routes share: the parts of a service, and how an answer is given."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from judge import jsonio
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

if TYPE_CHECKING:  # the routes import this module
    from judge.service.catalogue import Catalogue
    from judge.service.checks import Checks
    from judge.service.comparisons import Comparisons
    from judge.service.jobs import Supervisor
    from judge.service.pairs import Pairs

_PROBLEM = "application/problem+json"
JSON, PARQUET = "application/json", "application/vnd.apache.parquet"
# How the OpenAPI description says what an answer holds; any other kind is text.
_SCHEMAS = {JSON: {"type": "object"}, PARQUET: {"type": "string", "format": "binary"}}


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a service."""

    settings: ServiceSettings
    catalogue: Catalogue
    pairs: Pairs
    supervisor: Supervisor
    comparisons: Comparisons
    checks: Checks

    async def close(self) -> None:
        """End what clients wait for; each is told that it broke off."""
        await self.comparisons.close()
        await self.pairs.close()


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(_service)]
"""The service that was asked."""
RunId = Annotated[
    str, InPath(description="A run's id, as in the list of runs.", max_length=200, examples=["RUN"])
]


def reader_name(value: str) -> str:
    """Return a reader's name without the spaces around it; raises ValueError for no name."""
    if not value.strip() or not value.isprintable():
        raise ValueError("a reader has a name, in one line")
    return value.strip()


class ProblemDetails(BaseModel):
    """Why a request was not met."""

    type: str = "about:blank"
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What is wrong, where, and what to do.")


PROBLEM_RESPONSE: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "The request was not met.",
        "content": {_PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
}


def as_json(data: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return `data` as JSON, whatever text is in it; dates and the like are written as text."""
    text = json.dumps(data, default=str, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type=JSON)


def gzipped_json(content: bytes, request: Request) -> Response:
    """Return JSON that is kept gzipped, unpacked for a client that takes no gzip."""
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        content = gzip.decompress(content)
    return Response(content, headers=headers, media_type=JSON)


def as_problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return problem details as in RFC 9457; any text can be in them, also half a surrogate."""
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Response(json.dumps(problem), status, headers, media_type=_PROBLEM)


def returns(
    description: str,
    status: int = 200,
    kinds: Sequence[str] = (JSON,),
    **more: Any,  # noqa: ANN401
) -> dict[int | str, dict[str, Any]]:
    """Describe a route's good answer for the OpenAPI description."""
    content = {kind: {"schema": _SCHEMAS.get(kind, {"type": "string"})} for kind in kinds}
    return {status: {"description": description, "content": content, **more}}


class _JsonRequest(Request):
    async def json(self) -> Any:  # noqa: ANN401
        try:
            return jsonio.read(await self.body())
        except jsonio.JsonError as error:
            raise HTTPException(400, f"The body cannot be read as JSON: {error}") from error


class JsonRoute(APIRoute):
    """A route whose JSON body is read by `judge.jsonio`: a body nested too deeply is a 400."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle


def answer_errors(app: FastAPI) -> None:
    """Answer every failure of `app` with a problem, none with a stack trace."""

    @app.exception_handler(JudgeError)
    async def _(_request: Request, error: JudgeError) -> Response:
        return as_problem(getattr(error, "status", 422), str(error))

    @app.exception_handler(RequestValidationError)
    async def _(_request: Request, error: RequestValidationError) -> Response:
        # Never the value itself: it may be a report, or a megabyte.
        found = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        return as_problem(422, "; ".join(found))

    @app.exception_handler(HTTPException)
    async def _(_request: Request, error: HTTPException) -> Response:
        return as_problem(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def _(_request: Request, _error: Exception) -> Response:
        return as_problem(500, "The service failed at this request; its log says why.")
