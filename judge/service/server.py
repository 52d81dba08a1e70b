"""The service as an ASGI application, its pages, and the server that listens for it.

A page is a shell of HTML around the front end, which asks the API for everything.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from typing import Annotated, Any

import python_multipart  # noqa: F401 - missing, it would be missed only with the first upload
import uvicorn
from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from judge.address import is_loopback
from judge.plugins import version
from judge.report import compare_page, page, read_page
from judge.report.frontend import Frontend, content_type
from judge.service import (
    ProblemError,
    annotations,
    comparisons,
    jobs,
    readings,
    runs,
    studies,
)
from judge.service.catalogue import Catalogue
from judge.service.checks import Checks
from judge.service.guard import Guard
from judge.service.pairs import Pairs
from judge.service.service import (
    PROBLEM_RESPONSE,
    Here,
    ProblemDetails,
    RunId,
    Service,
    answer_errors,
)
from judge.service.settings import ServiceSettings
from judge.types import JudgeError

_ABOUT = """Finds out what radiology report-generation models get wrong, with evidence.

Errors are problem details (RFC 9457): JSON whose `detail` says what is wrong and what to do."""
# Nothing is told to anyone, whatever the environment says; older versions know no such thing.
_SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
_BACKLOG = 128
_LONGEST_HEAD = 2**16
_MOST_CONNECTIONS = 256
_IDLE_SECONDS = 15
_END_SECONDS = 3
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_RUNS, _COMPARISON, _READING = page.FRONTEND, compare_page.FRONTEND, read_page.FRONTEND

routes = APIRouter(include_in_schema=False)


class _App(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Describe the API; no route returns a problem as such, so its form is added."""
        described = super().openapi()
        described["components"]["schemas"]["ProblemDetails"] = ProblemDetails.model_json_schema()
        return described


def service_with(settings: ServiceSettings) -> Service:
    """Return a service with these settings; nothing of it runs yet."""
    return Service(
        settings,
        Catalogue(settings),
        Pairs(settings),
        jobs.Supervisor(settings),
        comparisons.Comparisons(settings),
        Checks(settings),
    )


def application(service: Service) -> ASGIApp:
    """Return the application; it looks after the service's runs for as long as it is up."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        supervising = asyncio.create_task(service.supervisor.supervise())
        warming = asyncio.create_task(asyncio.to_thread(_warm_up, service))
        try:
            yield
        finally:
            warming.cancel()
            supervising.cancel()
            await asyncio.gather(warming, supervising, return_exceptions=True)
            await service.close()

    app = _App(
        title="judge",
        version=version(),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # their pages load code from another site
        redoc_url=None,
        telemetry=_SILENT,
        responses=PROBLEM_RESPONSE,
        separate_input_output_schemas=False,
    )
    answer_errors(app)
    app.state.service = service
    for part in (annotations, runs, studies, comparisons):
        app.include_router(part.routes)
    app.include_router(studies.review_routes)
    app.include_router(readings.routes)
    app.include_router(routes)
    return Guard(app, service.settings)


def _warm_up(service: Service) -> None:
    for entry in service.catalogue.entries()[:1]:
        if entry.is_finished:
            _, opened = service.catalogue.open(entry.id)
            _ = opened.overview, opened.index


@routes.get("/")
def _runs_page() -> Response:
    return _shell(_RUNS)


@routes.get("/runs/{run}")
def _run_page(run: RunId, service: Here) -> Response:
    return _shell(_RUNS, service.catalogue.find(run).id)


@routes.get("/compare")
def _comparison_page() -> Response:
    return _shell(_COMPARISON)


@routes.get("/read")
def _reading_page(run: Annotated[str, Query(max_length=200)], service: Here) -> Response:
    return _shell(_READING, service.catalogue.find(run).id)


@routes.get("/runs")
def _to_runs() -> Response:
    return RedirectResponse("/", 308)


@routes.get("/assets/{digest}/{name}")
def _asset(digest: str, name: str) -> Response:
    for frontend in (_RUNS, _COMPARISON, _READING):
        if digest == frontend.digest and name in frontend.files:
            content = frontend.files[name]
            return Response(content, headers=_FOR_EVER, media_type=content_type(name))
    raise ProblemError(404, "no such file")


def _shell(frontend: Frontend, run: str = "") -> Response:
    script = f'<script type="module" src="/assets/{frontend.digest}/{frontend.main}"></script>'
    needs = "<noscript>This page needs JavaScript; <code>judge audit</code> does not.</noscript>"
    styles = "".join(
        f'<link rel="stylesheet" href="/assets/{frontend.digest}/{name}">\n'
        for name in frontend.styles
    )
    return HTMLResponse(f"""<!doctype html>
<html lang="en" data-mode="service" data-run="{escape(run)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>judge</title>
<link rel="icon" href="data:,">
{styles}</head>
<body>{needs}{script}</body>
</html>
""")


class _Server(uvicorn.Server):
    """Says when it is ready, and lets nobody wait for an answer when it ends."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.close()
        await super().shutdown(sockets)


def serve(settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Raises `JudgeError` where it cannot listen at the address, or runs cannot be written.
    """
    jobs.check(settings.runs[0])
    service = service_with(settings)
    with _bound(host, port) as listening:
        config = uvicorn.Config(
            application(service),
            http="h11",  # it alone bounds the head of a request
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_IDLE_SECONDS,
            backlog=_BACKLOG,
            access_log=False,  # it would hold study ids, and a token where one is in an address
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_END_SECONDS,
            ws="none",
        )
        bound_port = listening.getsockname()[1]
        ready = partial(_greet, settings, host, bound_port, say)
        _Server(config, service, ready).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that a connection never holds a short answer back for the next.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise JudgeError(
            f"cannot listen at {host}:{port}: {why}; choose another with --host and --port"
        ) from error
    listening.set_inheritable(False)
    return listening


def _greet(settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]) -> None:
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    say(f"Serving at {address} (Ctrl-C ends it); new runs go to {settings.runs[0]}.")
    if settings.token:
        say(f"Open it with its token: {address}?token={settings.token}")
    if not is_loopback(host):
        say(
            "It can be reached from other machines, and what it says is not encrypted: put it "
            "behind a proxy with TLS where the network is not yours alone."
        )
