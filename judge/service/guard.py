"""What every request passes before a route sees it.

Whose host it names, its token, where it comes from, its size. Reports are hostile text and a
browser is a deputy that anyone may confuse, so nothing here rests on what a route does.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.address import is_loopback
from judge.service.service import as_problem
from judge.service.settings import ServiceSettings

COOKIE = "judge_session"
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
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
<input name="token" type="password" autocomplete="off" required></label>
<button>Open</button></form></main></body></html>
"""


class _TooLargeError(Exception):
    pass


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        guarded = _with_headers(send, scope["path"])
        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        limit, n, answered = self._limit(scope), 0, False

        async def counted() -> Message:  # its length need not have been said before
            nonlocal n
            message = await receive()
            n += len(message.get("body", b""))
            if n > limit:
                raise _TooLargeError
            return message

        # The frameworks inside turn any error while they read into one of their own; what
        # they answer to a body that is too large is thrown away.
        async def unless_too_large(message: Message) -> None:
            nonlocal answered
            if answered or n <= limit:
                answered = True
                await guarded(message)

        with suppress(_TooLargeError):
            await self._app(scope, counted, unless_too_large)
        if n > limit and not answered:
            await _too_large(limit)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._settings.token and not _names_this_machine(headers.get("host", "")):
            return as_problem(421, "This service answers to the names of this machine only.")
        request = HTTPConnection(scope)
        session = request.cookies.get(COOKIE, "")
        if self._settings.token:
            if "token" in request.query_params and scope["method"] == "GET":
                return self._begin_session(scope, request.query_params["token"])
            by_cookie = _same(session, self._session())
            if not by_cookie and not _same(_bearer(headers), self._settings.token):
                return _no_token(scope)
        if scope["method"] not in _SAFE_METHODS and not _from_own_page(headers, session):
            return as_problem(403, "A request that changes something came from another site.")
        if scope["path"].startswith("/v1/comparison") and _is_from_elsewhere(headers):
            # It changes nothing, but a picture on any page could ask for hours of it.
            return as_problem(403, "A comparison is for this service's own pages.")
        length = headers.get("content-length", "0")
        limit = self._limit(scope)
        if not length.isdecimal():
            return as_problem(400, "Content-Length is no number.")
        return _too_large(limit) if int(length) > limit else None

    def _limit(self, scope: Scope) -> int:
        has_files = scope["method"] == "POST" and scope["path"] in _WITH_FILES
        return self._settings.max_upload if has_files else self._settings.max_body

    def _session(self) -> str:
        token = self._settings.token or ""
        return hmac.new(token.encode(), b"judge session", hashlib.sha256).hexdigest()

    def _begin_session(self, scope: Scope, given: str) -> Response:
        if not _same(given, self._settings.token or ""):
            return _no_token(scope)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # One slash: two would name another host.
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        response.set_cookie(COOKIE, self._session(), httponly=True, samesite="strict", path="/")
        return response


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
    if scope["path"].startswith(("/v1/", "/openapi")):
        return as_problem(
            401,
            "A token is needed: send the header Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )
    return HTMLResponse(_ASK_PAGE, 401, {"WWW-Authenticate": "Bearer"})


def _too_large(limit: int) -> Response:
    return as_problem(413, f"The request is larger than {limit:,} bytes.", {"Connection": "close"})


def _with_headers(send: Send, path: str) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            if not path.startswith("/assets/"):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return sent
