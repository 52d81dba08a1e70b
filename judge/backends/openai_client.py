"""One request to an OpenAI-compatible server, sent by the openai package, and what it brought."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import aiohttp
import httpx2  # comes with openai
import openai

from judge import jsonio
from judge.backends.base import (
    CHAT,
    AskError,
    Client,
    Mode,
    OverloadError,
    RefusedError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.backends.connection import FORM_KEY, NO_KEY, Connection
from judge.backends.replies import MOST_BYTES, TooLongReplyError, bounded
from judge.text import harmless
from judge.types import Completion, JudgeError, Usage

USAGE_KEY = "usage"
LONGEST_WAIT = 300.0  # seconds that a server's `Retry-After` is obeyed
_MOST_TOKENS = 2**53

_IS_LONG = "context_length_exceeded"
# The words of OpenAI and Azure, vLLM, SGLang, llama.cpp, Ollama and TGI (see the tests).
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum (model|allowed) length|prompt is too long"
    r"|prompt too long|too long to fit|input is too large to process"
    r"|max_tokens must be at least 1, got -"
    r"|`inputs` (must have less than|tokens \+ `max_new_tokens` must be)",
    re.I,
)
_Meaning: TypeAlias = tuple[type[JudgeError] | type[AskError], str]
_KEY = "{url} refuses the key ({status}: {words}); check OPENAI_API_KEY or AZURE_OPENAI_API_KEY"
# What an error reply means, by its status, code or type: the first of these that it has. A
# `JudgeError` stops the run, since no other request would escape it.
_MEANINGS: dict[int | str, _Meaning] = {
    "insufficient_quota": (JudgeError, "{url} has no quota left ({words})"),
    429: (OverloadError, "rate limit"),
    401: (JudgeError, _KEY),
    403: (JudgeError, _KEY),
    404: (JudgeError, "{url} does not have the model ({words}); check --judge and --base-url"),
    **dict.fromkeys((502, 503, 504, 520, 522, 524, 529), (UnavailableError, "status {status}")),
    _IS_LONG: (StudyError, "too long"),
    **dict.fromkeys((408, 409, 425), (TransientError, "status {status}")),
    # The server itself found its reply to be of another form than was asked for (Groq).
    "json_validate_failed": (TransientError, "withheld reply"),
    "tool_use_failed": (TransientError, "withheld reply"),
    "content_filter": (StudyError, "content filter"),
}
_REFUSALS = (400, 422, 501)
_BY_HUNDREDS: dict[int, _Meaning] = {
    3: (JudgeError, "{url} redirects to {where} ({status}); name that address with --base-url"),
    4: (JudgeError, "{url} refuses the request ({status}: {words})"),
    5: (TransientError, "status {status}"),
}


def client(connection: Connection, key: str, most_bytes: int = MOST_BYTES) -> openai.AsyncOpenAI:
    """Return a client that sends each request once and follows no redirect, for one event loop.

    A reply of more than `most_bytes` is not read to its end. Raises `JudgeError` where the
    certificates that a server is checked by cannot be read.
    """
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=connection.base_url,
        timeout=connection.timeout,
        default_headers={"Accept-Encoding": "identity"},
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(
            trust_env=False,  # it would read the proxies anew, and in another way than was said
            proxy=connection.proxy,
            verify=_certificates(),
            follow_redirects=False,
            # 0 is no limit: how many requests are under way is the caller's to say.
            limits=httpx2.Limits(max_connections=0),
            event_hooks={"response": [bounded(most_bytes)]},
        ),
    )


def _certificates() -> ssl.SSLContext:
    try:
        return httpx2.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        named = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
        raise JudgeError(
            f"the certificates in {' or '.join(named) or 'the system'} cannot be read "
            f"({error.strerror or error}): name a file of certificates in PEM, or unset it"
        ) from error


class OpenAIClient(Client):
    """Asks one server for completions. Used in one event loop."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._connection, self._key, self._url = connection, key, connection.base_url
        self._was_found = False
        self._openai = client(connection, key)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Return the answer to a request of the kind `path`.

        Raises `RefusedError`, an `AskError` for this request, and `JudgeError` for all requests.
        """
        # A cached text may hold half of a surrogate pair, which only ASCII can carry.
        content = json.dumps(body).encode("ascii")
        try:
            # The client's own limit is on each read, and a server may drip.
            async with asyncio.timeout(self._connection.timeout):
                # The reply as it was sent: pydantic's models of it cost as much as all the rest.
                response: httpx2.Response = await self._openai.post(
                    path, cast_to=httpx2.Response, content=content
                )
        except openai.APIStatusError as error:
            self._was_found = True
            raise meaning(error.response, self._url, body, mode, self._key) from error
        except (OSError, openai.APIConnectionError) as error:
            raise self._unsent(error) from error
        self._was_found = True
        try:
            # An odd usage loses no answer.
            answer = jsonio.read(response.content, mark_repeated=True)
        except jsonio.JsonError as error:
            raise UnreadableReplyError("it is not a chat completion") from error
        return priced_completion(answer, mode, self._key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._openai.close()

    def _unsent(self, error: BaseException) -> Exception:
        # What the transport calls a time-out may be another error of aiohttp's: the causes say.
        causes = [error]
        while cause := causes[-1].__cause__:
            causes.append(cause)
        last, words = causes[-1], " ".join(str(causes[-1]).split())[:300]

        def is_a(*kinds: type[BaseException]) -> bool:
            return any(isinstance(cause, kinds) for cause in causes)

        is_unknown = isinstance(last, socket.gaierror) and last.errno == socket.EAI_NONAME
        is_refused = isinstance(last, aiohttp.ClientHttpProxyError) and last.status < 500
        is_wrong = is_a(ssl.SSLError, ValueError) or is_refused or is_unknown
        if is_wrong and not self._was_found:  # a server that has answered may come back
            return JudgeError(
                f"{self._url} cannot be reached ({words}); check --base-url, the proxy in "
                "HTTPS_PROXY, and for a certificate of your own SSL_CERT_FILE"
            )
        if is_a(TimeoutError):
            return UnavailableError("timeout", "no whole answer in time (--timeout)")
        if isinstance(last, TooLongReplyError):
            return UnreadableReplyError(words)
        if is_a(httpx2.DecodingError, aiohttp.http_exceptions.HttpProcessingError):
            return UnreadableReplyError(f"it is no HTTP: {words}")
        is_away = is_a(aiohttp.ClientConnectorError)
        return (UnreachableError if is_away else UnavailableError)("connection", words)


def priced_completion(answer: Any, mode: Mode | None, key: str) -> Completion:  # noqa: ANN401
    """Return the answer in a reply's JSON; an `AskError` has the usage that came with it."""
    usage = _usage_of(answer)
    try:
        if repeated := _repeated_key(answer):
            raise UnreadableReplyError(f"it has the key {repeated!r} twice")
        return replace(completion_of(answer, mode, key), usage=usage)
    except AskError as error:
        error.usage = usage
        raise


def _usage_of(reply: Any) -> Usage | None:  # noqa: ANN401
    """Return the usage in a reply's JSON, whatever else it is; None where it is odd."""
    if not isinstance(reply, Mapping) or USAGE_KEY in jsonio.repeated_keys(reply):
        return None
    return _usage(reply.get(USAGE_KEY))


def _repeated_key(reply: Any) -> str | None:  # noqa: ANN401
    """Return a key that an object of a reply has twice, outside its usage."""
    if isinstance(reply, Mapping):
        for key in jsonio.repeated_keys(reply):
            if key != USAGE_KEY:
                return key
        parts = [value for name, value in reply.items() if name != USAGE_KEY]
    elif isinstance(reply, list):
        parts = reply
    else:
        return None
    for part in parts:
        if repeated := _repeated_key(part):
            return repeated
    return None


def completion_of(answer: Any, mode: Mode | None, key: str) -> Completion:  # noqa: ANN401
    """Return the answer in a reply's JSON."""
    try:
        choice = answer["choices"][0]
        finish_reason = str(choice["finish_reason"])
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, refusal = message.get("content"), message.get("refusal")
        model, usage = str(answer["model"]), _usage(answer.get("usage"))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        words = _words(_error(answer), key) if isinstance(answer, Mapping) else ""
        raise UnreadableReplyError(
            f"it is not a chat completion{words and f': {words}'}"
        ) from error
    if not isinstance(text, str | None) or not isinstance(refusal, str | None):
        raise UnreadableReplyError("it is not a chat completion: its text is not a string")
    if finish_reason == "content_filter":
        raise StudyError("content filter", "the server withheld the answer")
    return Completion(
        text=refusal or text or "",
        finish_reason="refusal" if refusal else finish_reason,
        model=model,
        usage=usage,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode.value if mode else None,
    )


def _usage(usage: object) -> Usage | None:
    """None where the tokens are not whole numbers that fit together: then nothing is known."""
    if not isinstance(usage, Mapping) or jsonio.repeated_keys(usage):
        return None
    details = usage.get("prompt_tokens_details")
    if isinstance(details, Mapping) and jsonio.repeated_keys(details):
        return None
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached or 0)
    known = [n for n in counts if type(n) is int and 0 <= n < _MOST_TOKENS]
    if len(known) < len(counts):
        return None
    found = Usage(*known)
    # Of the prompt's tokens no more than all can have been in a cache.
    return found if found.cached_tokens <= found.prompt_tokens else None


def meaning(
    reply: httpx2.Response, url: str, sent: Mapping[str, Any], mode: Mode | None, key: str
) -> Exception:
    """Return the error that a reply without success is for the request `sent` to `url`."""
    body: Any = reply.content.decode("utf-8", "replace").strip()
    with suppress(jsonio.JsonError):
        body = jsonio.read(body)
    said, text, status = _error(body), str(body), reply.status_code
    marks = {status, str(said.get("code")), str(said.get("type"))}
    # Of an error of its own, a server may say in the same words that its memory is full.
    is_said = status in (400, 422, 500) and _TOO_LONG.search(text)
    if is_said or marks & {413, "exceed_context_size_error"}:
        marks.add(_IS_LONG)
    words = _words(said, key) or f"status {status}"
    known = next((known for mark, known in _MEANINGS.items() if mark in marks), None)
    param, can_be_refused = str(said.get("param") or ""), not known and status in _REFUSALS
    if can_be_refused and (refused := _refused(sent, mode, param, text.lower())):
        return RefusedError(refused, words)
    kind, reason = known or _BY_HUNDREDS[min(max(status // 100, 3), 5)]
    reason = reason.format(url=url, status=status, words=words, where=_where(reply, key))
    if not issubclass(kind, AskError):
        return kind(reason)
    error = kind(reason, words)
    error.is_free = 400 <= status < 500
    error.usage = _usage_of(body)
    if isinstance(error, TransientError):
        with suppress(KeyError, ValueError):
            seconds = float(reply.headers["retry-after"])
            is_number = seconds == seconds
            error.retry_after = min(max(0.0, seconds), LONGEST_WAIT) if is_number else None
    return error


def _where(reply: httpx2.Response, key: str) -> str:
    """Return where a redirect leads, without what stands behind a question mark."""
    location = reply.headers.get("location", "").partition("?")[0].partition("#")[0]
    return masked(harmless(" ".join(location.split())), key)[:300] or "another address"


def _refused(
    sent: Mapping[str, Any], mode: Mode | None, param: str, text: str
) -> Mode | str | None:
    # Servers have no common words for a mode that they do not take: whatever they refuse and do
    # not say to be something else may be the mode.
    optional = [name for name in sent if name not in ("model", "messages", "prompt", FORM_KEY)]
    quoted = (name for name in optional if f"'{name}'" in text)
    named = param if param in optional else next(quoted, None)
    if named and "support" in text:
        return named
    return None if named or (param and not param.startswith(FORM_KEY)) else mode


def _error(body: object) -> Mapping[str, object]:
    error = body.get("error", body) if isinstance(body, Mapping) else body
    return error if isinstance(error, Mapping) else {"message": error}


def _words(error: Mapping[str, object], key: str) -> str:
    """The server's words, on one line, not too many, and never with the key in them."""
    return masked(" ".join(str(error.get("message") or "").split()), key)[:300]


def masked(text: str, key: str) -> str:
    """Return a server's words without the key that it was sent."""
    return text if key == NO_KEY else text.replace(key, "***")
