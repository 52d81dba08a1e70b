"""The service as an ASGI application, its pages, and the server that listens for it.

A page is a shell of HTML around the front end, which asks the API for everything. Every request
passes `Guard` first: whose host it names, its token, where it comes from, its size. Reports are
hostile text and a browser is a deputy that anyone may confuse, so nothing rests on what a route
does.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import python_multipart  # noqa: F401 - missing, it would be missed only with the first upload
import uvicorn
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge import pages
from judge.address import is_loopback
from judge.pages import reading
from judge.pages.frontend import Frontend, content_type
from judge.plugins import version
from judge.readers.sample import SAMPLE
from judge.service import ProblemError, comparisons, data, jobs, pairs, readings, runs
from judge.service.catalogue import Catalogue
from judge.service.service import Here, RunId, Service, answer_errors, as_problem
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

COOKIE = "judge_session_{port}"
"""Browsers send a cookie to every port of a host, so its name has the port of its service."""
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_WITH_FILES = ("/v1/runs", "/v1/runs/check")
_ASK_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>judge</title></head>
<body><main><h1>Token needed</h1><form method="get">
<label>The token that the service printed or was given:
<input name="token" type="password" autocomplete="off" required></label>{kept}
<button>Open</button></form></main></body></html>
"""

routes = APIRouter(include_in_schema=False)


def application(settings: ServiceSettings) -> ASGIApp:
    """Return the application; it does the service's runs for as long as it is up."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = app.state.service = Service(
            settings,
            Catalogue(settings),
            pairs.Pairs(settings),
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
    parts = (pairs.routes, runs.routes, runs.study_routes, comparisons.routes)
    for part in (*parts, readings.routes, data.routes, routes):
        app.include_router(part)
    return Guard(app, settings)


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._settings = settings
        token = (settings.token or "").encode()
        self._session = hmac.new(token, b"judge session", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets
            return
        is_upload = scope["method"] == "POST" and scope["path"] in _WITH_FILES
        limit = self._settings.max_upload if is_upload else self._settings.max_body
        n = 0

        async def counted() -> Message:  # its length need not have been said before
            nonlocal n
            message = await receive()
            n += len(message.get("body", b""))
            if n > limit:
                raise HTTPException(413, f"The request is larger than {limit:,} bytes.")
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if not scope["path"].startswith("/assets/"):
                    headers["Cache-Control"] = "no-store"
                if n > limit:
                    headers["Connection"] = "close"
            await send(message)

        app = self._refusal(scope, Headers(scope=scope), limit) or self._app
        await app(scope, counted, with_headers)

    def _refusal(self, scope: Scope, headers: Headers, limit: int) -> Response | None:
        request = HTTPConnection(scope)
        session = request.cookies.get(_cookie(scope), "")
        if not self._settings.token:
            if not _names_this_machine(headers.get("host", "")):
                return as_problem(421, "This service answers to the names of this machine only.")
        elif "token" in request.query_params and scope["method"] == "GET":
            return self._begin_session(scope, request.query_params["token"])
        elif not (_same(session, self._session) or _same(_bearer(headers), self._settings.token)):
            return _no_token(scope)
        if scope["method"] not in _SAFE_METHODS and not _from_own_page(headers, session):
            return as_problem(403, "A request that changes something came from another site.")
        if scope["path"].startswith(("/v1/comparison", "/data/comparison")) and _is_from_elsewhere(
            headers
        ):
            # It changes nothing, but a picture on any page could ask for hours of it.
            return as_problem(403, "A comparison is for this service's own pages.")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limit:
            detail = f"The request is larger than {limit:,} bytes."
            return as_problem(413, detail, {"Connection": "close"})
        return None

    def _begin_session(self, scope: Scope, given: str) -> Response:
        if not _same(given, self._settings.token or ""):
            return _no_token(scope)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # One slash: two would name another host.
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        name = _cookie(scope)
        response.set_cookie(name, self._session, httponly=True, samesite="strict", path="/")
        return response


def _cookie(scope: Scope) -> str:
    return COOKIE.format(port=(scope["server"] or ("", ""))[1])


def _names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine; one that does not was sent by DNS rebinding."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def _from_own_page(headers: Mapping[str, str], session: str) -> bool:
    """Whether a request that changes something comes from the service's own pages.

    Programs send neither header; with a cookie, one of them must speak for the request.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    host = headers.get("host", "").lower()
    if _is_from_elsewhere(headers):
        return False
    if origin is not None:
        return origin.lower() in (f"http://{host}", f"https://{host}") and host != ""
    return site == "same-origin" or not session


def _is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _bearer(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    # Headers come as Latin-1, whatever they were sent in.
    sent = token.strip().encode("latin-1").decode("utf-8", "surrogateescape")
    return sent if kind.lower() == "bearer" else ""


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())


def _no_token(scope: Scope) -> Response:
    headers = {"WWW-Authenticate": "Bearer"}
    if scope["path"].startswith(("/v1/", "/data/", "/openapi")):
        detail = "A token is needed: send the header Authorization: Bearer TOKEN."
        return as_problem(401, detail, headers)
    # A form that is sent by GET replaces the address's query: it has to hold that, too.
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in query
        if name != "token"
    )
    return HTMLResponse(_ASK_PAGE.replace("{kept}", kept), 401, headers)


@routes.get("/")
def _runs_page() -> Response:
    return _shell(pages.FRONTEND)


@routes.get("/runs/{run}")
def _run_page(run: RunId, service: Here) -> Response:
    name = service.catalogue.find(run).id
    return _shell(pages.FRONTEND, name, data.run_address(name))


@routes.get("/compare")
def _comparison_page(request: Request) -> Response:
    return _shell(pages.FRONTEND, pieces=data.comparison_address(request.url.query))


@routes.get("/read")
def _reading_page(run: Annotated[str, Query(max_length=200)], service: Here) -> Response:
    """Lead to the address that says nothing of the judge, as soon as there is something to read."""
    entry = service.catalogue.find(run)
    if run != entry.blind_id and (entry.path / SAMPLE).is_file():
        return RedirectResponse(f"/read?run={entry.blind_id}", 303)
    return _shell(reading.FRONTEND, run)


@routes.get("/assets/{digest}/{name}")
def _asset(digest: str, name: str) -> Response:
    for frontend in (pages.FRONTEND, reading.FRONTEND):
        if digest == frontend.digest and name in frontend.files:
            content = frontend.files[name]
            return Response(content, headers=_FOR_EVER, media_type=content_type(name))
    raise ProblemError(404, "no such file")


def _shell(frontend: Frontend, run: str = "", pieces: str = "") -> Response:
    script = f'<script type="module" src="/assets/{frontend.digest}/{frontend.main}"></script>'
    needs = "<noscript>This page needs JavaScript; <code>judge audit</code> does not.</noscript>"
    styles = "".join(
        f'<link rel="stylesheet" href="/assets/{frontend.digest}/{name}">\n'
        for name in frontend.styles
    )
    return HTMLResponse(f"""<!doctype html>
<html lang="en" data-mode="service" data-run="{escape(run)}" data-pieces="{escape(pieces)}">
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
