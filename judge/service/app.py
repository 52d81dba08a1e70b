"""The service as an ASGI application, its pages, and the server that listens for it.

Every request passes `Guard` first, which checks its host, token, origin and size.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import python_multipart  # noqa: F401 - without it the first upload would fail, not the start
import uvicorn
from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.address import is_loopback
from judge.pages.bundle import READING, RESULTS, Frontend
from judge.plugins import version
from judge.readers.sample import SAMPLE
from judge.service import (
    ProblemError,
    annotation_routes,
    comparison_routes,
    jobs,
    moving_routes,
    readings,
    runs,
)
from judge.service.catalogue import Catalogue
from judge.service.comparisons import Comparisons
from judge.service.judges import Judges
from judge.service.moving import ReadersAtWork, RunMoves
from judge.service.run_check import RunChecks
from judge.service.service import RunId, Service, ServiceDep, answer_errors, as_problem
from judge.service.settings import MEGABYTE, ServiceSettings
from judge.types import JudgeError

_ABOUT = """Finds out what radiology report-generation models get wrong, with evidence.

Errors are problem details (RFC 9457): JSON whose `detail` says what is wrong and what to do."""
# Nothing is sent to anyone, whatever the environment says; older versions of FastAPI ignore it.
_NO_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
_BACKLOG = 128
_MAX_BODY = 4 * MEGABYTE
_UPLOADS = ("/v1/runs", "/v1/runs/check")
_BODY_SECONDS = 30.0
_CACHED = {"Cache-Control": "public, max-age=31536000, immutable"}

COOKIE = "judge_session_{port}"  # browsers send a cookie to every port of a host
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
routes = APIRouter(include_in_schema=False)


def application(settings: ServiceSettings) -> ASGIApp:
    """Return the application, which also does the service's runs while it is up."""
    return HeadRequests(Guard(api(settings), settings))


def api(settings: ServiceSettings) -> FastAPI:
    """Return the routes of the service, without the `Guard` before them."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        catalogue, comparisons = Catalogue(settings), Comparisons()
        readers = ReadersAtWork()
        service = app.state.service = Service(
            settings=settings,
            catalogue=catalogue,
            jobs=jobs.Jobs(settings),
            comparisons=comparisons,
            checks=RunChecks(settings),
            readers=readers,
            moves=RunMoves(settings, catalogue, comparisons, readers),
            judges=Judges(settings),
        )
        service.jobs.start_all()
        try:
            yield
        finally:
            await service.judges.close()
            await service.jobs.close()
            await service.comparisons.close()

    app = FastAPI(
        title="judge",
        version=version(),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # these pages load code from another site
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        separate_input_output_schemas=False,
    )
    answer_errors(app, settings)
    app.add_middleware(GZipMiddleware)
    for module in (
        annotation_routes,
        runs,
        moving_routes,
        readings,
        comparison_routes,
    ):
        app.include_router(module.routes)
    app.include_router(routes)
    return app


class HeadRequests:
    """The outermost layer of the service: answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class Guard:
    """The layer of the service that refuses what no route may see."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._settings = settings
        token = (settings.token or "").encode()
        self._session = hmac.new(token, b"judge session", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets
            return
        is_upload = scope["method"] == "POST" and scope["path"] in _UPLOADS
        limit = self._settings.max_upload if is_upload else _MAX_BODY
        n_bytes = 0
        is_whole = is_late = False
        # An upload may take its time; whoever drips another body holds a connection for nothing.
        deadline = None
        if not is_upload:
            deadline = asyncio.get_running_loop().time() + _BODY_SECONDS

        async def counted() -> Message:  # a request need not state its length
            nonlocal n_bytes, is_whole, is_late
            if is_whole:  # what comes now is the end of the connection
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                is_late = True
                raise HTTPException(
                    408, f"The body did not arrive within {_BODY_SECONDS:g} seconds."
                ) from None
            is_whole = not message.get("more_body", False)
            n_bytes += len(message.get("body", b""))
            if n_bytes > limit:
                raise HTTPException(413, f"The request is larger than {limit:,} bytes.")
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if not scope["path"].startswith("/assets/"):
                    headers["Cache-Control"] = "no-store"
                if n_bytes > limit or is_late:
                    headers["Connection"] = "close"
            await send(message)

        app = self._refusal(scope, Headers(scope=scope)) or self._app
        await _or_its_end(app, scope, counted, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        request, token = HTTPConnection(scope), self._settings.token
        session = request.cookies.get(_cookie(scope), "")
        is_safe = scope["method"] in _SAFE_METHODS
        if not token:
            if not _is_this_machine(headers.get("host", "")):
                return as_problem(
                    421, "This service answers to the names of this machine only."
                )
        elif "token" in request.query_params and scope["method"] == "GET":
            return self._begin_session(scope, request.query_params["token"])
        elif not (_equal(session, self._session) or _equal(_bearer(headers), token)):
            return _token_needed()
        if not is_safe and not _is_from_own_page(headers, session):
            return as_problem(
                403, "A request that changes something came from another site."
            )
        is_comparison = scope["path"].startswith(comparison_routes.COMPARISONS)
        if is_comparison and _is_from_elsewhere(headers):
            # It changes nothing, but a picture on any page could ask for hours of work.
            return as_problem(403, "A comparison is for this service's own pages.")
        return None

    def _begin_session(self, scope: Scope, token: str) -> Response:
        if not _equal(token, self._settings.token or ""):
            return _token_needed()
        given = parse_qsl(
            scope["query_string"].decode("latin-1"), keep_blank_values=True
        )
        query = urlencode([(name, value) for name, value in given if name != "token"])
        # One slash: two would name another host.
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")
        response = RedirectResponse(f"{path}?{query}" if query else path, 303)
        cookie = _cookie(scope)
        response.set_cookie(
            cookie, self._session, httponly=True, samesite="strict", path="/"
        )
        return response


async def _or_its_end(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request; 503 where the end of the service cuts it short."""
    has_begun = False

    async def noted(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, noted)
    except asyncio.CancelledError:
        if has_begun:
            raise
        ending = as_problem(503, "The service ended before it could answer.")
        await ending(scope, receive, send)


def _cookie(scope: Scope) -> str:
    return COOKIE.format(port=(scope["server"] or ("", ""))[1])


def _is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine; another name may be DNS rebinding."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _is_from_own_page(headers: Mapping[str, str], session: str) -> bool:
    """Whether a request is from the service's page, or a program: no cookie, no such header."""
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    if _is_from_elsewhere(headers):
        return False
    if origin is not None:
        return origin.lower() in (f"http://{host}", f"https://{host}") and host != ""
    return headers.get("sec-fetch-site") == "same-origin" or not session


def _is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _bearer(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    # Headers are decoded as Latin-1, whatever they were sent in.
    token = token.strip().encode("latin-1").decode("utf-8", "surrogateescape")
    return token if kind.lower() == "bearer" else ""


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), secret.encode())


def _token_needed() -> Response:
    detail = "A token is needed: open ADDRESS?token=TOKEN, or send Authorization: Bearer TOKEN."
    return as_problem(401, detail, {"WWW-Authenticate": "Bearer"})


@routes.get("/")
def _runs_page() -> Response:
    return _shell(RESULTS)


@routes.get("/runs/{run}")
def _run_page(run: RunId, service: ServiceDep) -> Response:
    entry = service.catalogue.find(run)
    address = quote(entry.id, safe="")
    if run != entry.id:  # it was renamed
        return RedirectResponse(f"/runs/{address}", 303)
    # Its page is another one until the run is finished.
    view = "" if entry.is_finished else "live"
    return _shell(RESULTS, entry.id, f"run/{address}", view)


@routes.get("/compare")
def _comparison_page() -> Response:
    return _shell(RESULTS, source="comparison")


@routes.get("/read")
def _reading_page(
    run: Annotated[str, Query(max_length=200)], service: ServiceDep
) -> Response:
    """Redirect to the address that names no judge, once studies are drawn."""
    entry = service.catalogue.find(run)
    if run != entry.blind_id and (entry.path / SAMPLE).is_file():
        return RedirectResponse(f"/read?run={entry.blind_id}", 303)
    return _shell(READING, run)


@routes.get("/assets/{digest}.{kind}")
def _asset(digest: str, kind: Literal["js", "css"]) -> Response:
    for frontend in (RESULTS, READING):
        if digest == frontend.digest:
            if kind == "js":
                return Response(
                    frontend.script, headers=_CACHED, media_type="text/javascript"
                )
            return Response(frontend.style, headers=_CACHED, media_type="text/css")
    raise ProblemError(404, "no such file")


def _shell(
    frontend: Frontend, run: str = "", source: str = "", view: str = ""
) -> Response:
    asset = f"/assets/{frontend.digest}"
    about = f'data-run="{escape(run)}" data-source="{escape(source)}"'
    if view:
        about += f' data-view="{view}"'
    return HTMLResponse(f"""<!doctype html>
<html lang="en" data-mode="service" {about}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>judge</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{asset}.css"></head>
<body><noscript>This page needs JavaScript; <code>judge audit</code> does not.</noscript>
<script type="module" src="{asset}.js"></script></body>
</html>
""")


def serve(
    settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]
) -> None:
    """Serve until interrupted.

    Raises `JudgeError` where the address cannot be used or runs cannot be written.
    """
    folder = settings.runs[0]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = f"cannot write runs to {folder}: {error.strerror}; name a folder with --runs"
        raise JudgeError(why) from error
    with _listen(host, port) as listener:
        # Requests wait from now on until the application is up.
        _greet(settings, host, listener.getsockname()[1], say)
        config = uvicorn.Config(
            application(settings),
            http="h11",  # the only one with a limit on the head of a request
            h11_max_incomplete_event_size=2**16,
            limit_concurrency=256,
            timeout_keep_alive=15,
            backlog=_BACKLOG,
            access_log=False,  # it would hold study ids and tokens
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,
            ws="none",
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server(
            (host.strip("[]"), port), family=family, backlog=_BACKLOG
        )
    except OSError as error:
        why = f"cannot listen at {host}:{port}: {error.strerror or error}"
        raise JudgeError(f"{why}; choose another with --host and --port") from error
    listener.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # short answers go at once
    return listener


def _greet(
    settings: ServiceSettings, host: str, port: int, say: Callable[[str], None]
) -> None:
    name = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{name}:{port}/"
    say(f"Serving at {address} (Ctrl-C ends it); new runs go to {settings.runs[0]}.")
    if settings.token:
        say(f"Open it with its token: {address}?token={settings.token}")
    if not is_loopback(host):
        say(
            "Reachable from the network without TLS: not for the internet without a proxy."
        )
