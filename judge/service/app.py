"""The service as an ASGI application, its pages, and the server that listens for it.

A page is a shell of HTML around the front end, which asks the API for everything.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated, Any

import python_multipart  # noqa: F401 - missing, it would be missed only with the first upload
import uvicorn
from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from judge.address import is_loopback
from judge.plugins import version
from judge.report import page, read_page
from judge.report.frontend import Frontend, content_type
from judge.service import ProblemError, annotations, comparisons, jobs, readings, runs, studies
from judge.service.catalogue import Catalogue
from judge.service.guard import Guard
from judge.service.service import Here, RunId, Service, answer_errors
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

routes = APIRouter(include_in_schema=False)


def application(settings: ServiceSettings) -> ASGIApp:
    """Return the application; it does the service's runs for as long as it is up."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = app.state.service = Service(
            settings,
            Catalogue(settings),
            annotations.Pairs(settings),
            jobs.Jobs(settings),
            comparisons.Comparisons(settings),
        )
        service.jobs.begin_all()
        try:
            yield
        finally:
            await service.jobs.close()
            await service.comparisons.close()
            await service.pairs.close()

    app = FastAPI(
        title="judge",
        version=version(),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # their pages load code from another site
        redoc_url=None,
        telemetry=_SILENT,
        separate_input_output_schemas=False,
    )
    answer_errors(app, settings)
    for part in (annotations, runs, studies, comparisons, readings):
        app.include_router(part.routes)
    app.include_router(routes)
    return Guard(app, settings)


@routes.get("/")
def _runs_page() -> Response:
    return _shell(page.FRONTEND)


@routes.get("/runs/{run}")
def _run_page(run: RunId, service: Here) -> Response:
    return _shell(page.FRONTEND, service.catalogue.find(run).id)


@routes.get("/compare")
def _comparison_page() -> Response:
    return _shell(page.FRONTEND)


@routes.get("/read")
def _reading_page(run: Annotated[str, Query(max_length=200)], service: Here) -> Response:
    """Lead to the address that says nothing of the judge, by which readers know the run."""
    blind_id = service.catalogue.find(run).blind_id
    if run != blind_id:
        return RedirectResponse(f"/read?run={blind_id}", 303)
    return _shell(read_page.FRONTEND, blind_id)


@routes.get("/runs")
def _to_runs() -> Response:
    return RedirectResponse("/", 308)


@routes.get("/assets/{digest}/{name}")
def _asset(digest: str, name: str) -> Response:
    for frontend in (page.FRONTEND, read_page.FRONTEND):
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


def serve(settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Raises `JudgeError` where it cannot listen at the address, or runs cannot be written.
    """
    jobs.check(settings.runs[0])
    with _bound(host, port) as listening:
        # What comes from now on waits until the application is up.
        _greet(settings, host, listening.getsockname()[1], say)
        config = uvicorn.Config(
            application(settings),
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
        uvicorn.Server(config).run(sockets=[listening])


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
    return listening


def _greet(settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]) -> None:
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    say(f"Serving at {address} (Ctrl-C ends it); new runs go to {settings.runs[0]}.")
    if settings.token:
        say(f"Open it with its token: {address}?token={settings.token}")
    say("It is not for the internet: where others than you can reach it, put it behind a proxy.")
    if not is_loopback(host):
        say("Other machines can reach it, and what it says is not encrypted.")
