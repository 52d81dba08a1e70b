"""What every request passes before a route sees it.

Whose host it names, its token, where it comes from, its size. Reports are hostile text and a
browser is a deputy that anyone may confuse, so nothing here rests on what a route does.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.address import is_loopback
from judge.service.service import as_problem
from judge.service.settings import ServiceSettings

COOKIE = "judge_session"
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
<input name="token" type="password" autocomplete="off" required></label>
<button>Open</button></form></main></body></html>
"""


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
        session = request.cookies.get(COOKIE, "")
        if not self._settings.token:
            if not _names_this_machine(headers.get("host", "")):
                return as_problem(421, "This service answers to the names of this machine only.")
        elif "token" in request.query_params and scope["method"] == "GET":
            return self._begin_session(scope, request.query_params["token"])
        elif not (_same(session, self._session) or _same(_bearer(headers), self._settings.token)):
            return _no_token(scope)
        if scope["method"] not in _SAFE_METHODS and not _from_own_page(headers, session):
            return as_problem(403, "A request that changes something came from another site.")
        if scope["path"].startswith("/v1/comparison") and _is_from_elsewhere(headers):
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
        response.set_cookie(COOKIE, self._session, httponly=True, samesite="strict", path="/")
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
    headers = {"WWW-Authenticate": "Bearer"}
    if scope["path"].startswith(("/v1/", "/openapi")):
        detail = "A token is needed: send the header Authorization: Bearer TOKEN."
        return as_problem(401, detail, headers)
    return HTMLResponse(_ASK_PAGE, 401, headers)
