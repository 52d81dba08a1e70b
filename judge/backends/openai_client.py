"""One request to an OpenAI-compatible server, sent by the openai package, and what it brought."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import ssl
from collections.abc import Mapping, Set
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
from judge.backends.connection import NO_KEY, Connection
from judge.backends.refusals import SYSTEM, named_in, names_longest
from judge.backends.replies import MOST_BYTES, TooLongReplyError, bounded
from judge.backends.waits import retry_after
from judge.endings import FILTERED, NO_ANSWER, REFUSAL, kind_of
from judge.text import harmless
from judge.types import Completion, JudgeError, Usage

_USAGE = "usage"
_MOST_TOKENS = 2**53
_LOOK_UP = 10.0  # seconds that the list of models may take

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
# What an error reply means, by its status, code or type: the first of these that it has. A
# `JudgeError` stops the run, since no other request would escape it.
_MEANINGS: dict[int | str, _Meaning] = {
    "insufficient_quota": (JudgeError, "{url} has no quota left ({words})"),
    402: (JudgeError, "{url} has no quota left ({words})"),
    429: (OverloadError, "rate limit"),
    **dict.fromkeys((502, 503, 504, 520, 522, 524, 529), (UnavailableError, "status {status}")),
    **dict.fromkeys((408, 409, 425), (TransientError, "status {status}")),
    # The server itself found its reply to be of another form than was asked for (Groq).
    "json_validate_failed": (TransientError, "withheld reply"),
    "tool_use_failed": (TransientError, "withheld reply"),
    "content_filter": (StudyError, "content filter"),
    # Where an error inside a reply of 200 has a code in words.
    "rate_limit_exceeded": (OverloadError, "rate limit"),
    "overloaded_error": (UnavailableError, "overloaded"),
    "server_error": (TransientError, "server error"),
}
_REDIRECTS = (
    JudgeError,
    "{url} redirects to {where} ({status}); name that address with --base-url",
)
_SERVER_ERROR = (TransientError, "status {status}")
_NOT_IMPLEMENTED = 501
# What a body has besides what may be refused.
_NEEDED = frozenset({"model", "messages", "prompt", "stop_token_ids"})


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
            raise meaning(error.response, self._url, body, self._key) from error
        except (OSError, openai.APIConnectionError) as error:
            raise self._unsent(error) from error
        self._was_found = True
        try:
            # An odd usage loses no answer.
            answer = jsonio.read(response.content, mark_repeated=True)
        except jsonio.JsonError as error:
            raise UnreadableReplyError("it is not a chat completion") from error
        return read_reply(answer, response, self._url, body, mode, self._key)

    async def context(self, model: str) -> int | None:
        """Return `max_model_len` of the model in `/v1/models`, None where it is not said."""
        try:
            async with asyncio.timeout(min(self._connection.timeout, _LOOK_UP)):
                response: httpx2.Response = await self._openai.get(
                    "/models", cast_to=httpx2.Response
                )
            listed = jsonio.read(response.content)["data"]
            found = [each for each in listed if each.get("id") == model] or listed[:1]
            length = found[0]["max_model_len"]
        except (OSError, openai.OpenAIError, jsonio.JsonError, LookupError, TypeError, ValueError):
            return None
        except AttributeError:
            return None
        return length if type(length) is int and length > 0 else None

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


def read_reply(
    answer: Any,  # noqa: ANN401
    response: httpx2.Response,
    url: str,
    sent: Mapping[str, Any],
    mode: Mode | None,
    key: str,
) -> Completion:
    """Return the answer in a reply's JSON; raises the error that it is, with its usage."""
    usage = _usage_of(answer)
    try:
        if repeated := _repeated_key(answer):
            raise UnreadableReplyError(f"it has the key {repeated!r} twice")
        if wrong := error_inside(answer, response, url, sent, key):
            raise wrong
        return replace(completion_of(answer, mode, key), usage=usage)
    except AskError as error:
        error.usage = usage
        raise


def _usage_of(reply: Any) -> Usage | None:  # noqa: ANN401
    """Return the usage in a reply's JSON, whatever else it is; None where it is odd."""
    if not isinstance(reply, Mapping) or _USAGE in jsonio.repeated_keys(reply):
        return None
    return _usage(reply.get(_USAGE))


def _repeated_key(reply: Any) -> str | None:  # noqa: ANN401
    """Return a key that an object of a reply has twice, outside its usage."""
    if isinstance(reply, Mapping):
        for key in jsonio.repeated_keys(reply):
            if key != _USAGE:
                return key
        parts = [value for name, value in reply.items() if name != _USAGE]
    elif isinstance(reply, list):
        parts = reply
    else:
        return None
    for part in parts:
        if repeated := _repeated_key(part):
            return repeated
    return None


def completion_of(answer: Any, mode: Mode | None, key: str) -> Completion:  # noqa: ANN401
    """Return the answer in a reply's JSON; raises `AskError` where it has none.

    The model's name, the usage and the ending may be missing; what was said is what counts.
    """
    try:
        choice = answer["choices"][0]
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, refusal = _text(message.get("content")), message.get("refusal")
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        model, usage = answer.get("model"), _usage(answer.get("usage"))
        ending, why = kind_of(choice.get("finish_reason")), choice.get("error")
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        words = _words(_error(answer), key) if isinstance(answer, Mapping) else ""
        raise UnreadableReplyError(
            f"it is not a chat completion{words and f': {words}'}"
        ) from error
    if text is None or not isinstance(refusal, str | None):
        raise UnreadableReplyError("it is not a chat completion: its text is not a string")
    failed: AskError | None = None
    if ending == FILTERED:
        failed = StudyError("content filter", "the server withheld the answer")
    elif ending == NO_ANSWER:
        words = _words(_error(why), key) if why else f"it ended with {choice['finish_reason']}"
        failed = TransientError("answer broken off", words[:300])
    if failed:
        failed.usage = usage
        raise failed
    if refusal:
        ending = REFUSAL
    elsewhere = None
    if not (refusal or text.strip()):
        if isinstance(reasoning, str) and reasoning.strip():
            elsewhere = "its reasoning"
        elif message.get("tool_calls") or message.get("function_call"):
            elsewhere = "a tool call"
    return Completion(
        text=refusal or text,
        finish_reason=ending,
        model=model if isinstance(model, str) else "",
        usage=usage,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode.value if mode else None,
        elsewhere=elsewhere,
    )


# Kinds of parts that are thought, or a call, and no answer.
_NO_TEXT = ("thinking", "reasoning", "redacted_thinking", "tool_use", "tool_call")


def _text(content: object) -> str | None:
    """Return the text of a message's content, which may come in parts; None where it has none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            return None
        if part.get("type") in _NO_TEXT:
            continue
        text = part.get("text")
        if isinstance(text, Mapping):
            text = text.get("value")
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)


def error_inside(
    answer: object, response: httpx2.Response, url: str, sent: Mapping[str, Any], key: str
) -> Exception | None:
    """Return the error that a reply of 200 holds, None where it holds none or an answer too."""
    if not isinstance(answer, Mapping) or not answer.get("error") or answer.get("choices"):
        return None
    code = _error(answer).get("code")
    status = 0
    if isinstance(code, int | str) and str(code).isdecimal():
        status = int(code)
    if not 400 <= status < 600:
        known = [mark for mark in _MEANINGS if mark in _marks(_error(answer), 0)]
        if not known:
            return None
        status = 500
    # Not those that say how the body was packed.
    headers = {k: v for k, v in response.headers.items() if not k.startswith("content-")}
    reply = httpx2.Response(status, headers=headers, content=json.dumps(answer).encode())
    return meaning(reply, url, sent, key)


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


def meaning(reply: httpx2.Response, url: str, sent: Mapping[str, Any], key: str) -> Exception:
    """Return the error that a reply without success is for the request `sent` to `url`."""
    body: Any = reply.content.decode("utf-8", "replace").strip()
    with suppress(jsonio.JsonError):
        body = jsonio.read(body)
    said, text, status = _error(body), str(body), reply.status_code
    marks = _marks(said, status)
    words = _words(said, key) or f"status {status}"
    if status in (401, 403, 404, 405) and isinstance(body, str):
        words = "no error of an API but a page"
    known = next((known for mark, known in _MEANINGS.items() if mark in marks), None)
    # Of an error of its own, a server may say in the same words that its memory is full.
    is_said = status in (400, 422, 500) and (_TOO_LONG.search(text) or names_longest(text))
    if marks & {413, _IS_LONG, "exceed_context_size_error"} or (is_said and known is None):
        return RefusedError(status, words, is_too_long=True)
    if known is None and 300 <= status < 400:
        known = _REDIRECTS
    elif known is None and (status >= 500 and status != _NOT_IMPLEMENTED):
        known = _SERVER_ERROR
    if known is None:
        return RefusedError(status, words, named_in(_refusable(sent), text, _param(said)))
    kind, reason = known
    reason = reason.format(url=url, status=status, words=words, where=_where(reply, key))
    if not issubclass(kind, AskError):
        return kind(reason)
    error = kind(reason, words)
    error.is_free = 400 <= status < 500
    error.usage = _usage_of(body)
    if isinstance(error, TransientError):
        error.retry_after = retry_after(reply.headers, words)
    return error


def _marks(said: Mapping[str, object], status: int) -> Set[int | str]:
    return {status, str(said.get("code")), str(said.get("type"))}


def _refusable(sent: Mapping[str, Any]) -> list[str]:
    names = [name for name in sent if name not in _NEEDED]
    turns = sent.get("messages") or ()
    if any(turn.get("role") in (SYSTEM, "developer") for turn in turns):
        names.append(SYSTEM)
    return names


def _param(said: Mapping[str, object]) -> str:
    """Return the parameter that an error names in a field of its own, "" where it has none."""
    places = said.get("loc") or said.get("param")
    if isinstance(places, list):
        places = ".".join(map(str, places))
    return places if isinstance(places, str) else ""


def _where(reply: httpx2.Response, key: str) -> str:
    """Return where a redirect leads, without what stands behind a question mark."""
    location = reply.headers.get("location", "").partition("?")[0].partition("#")[0]
    return masked(harmless(" ".join(location.split())), key)[:300] or "another address"


def _error(body: object) -> Mapping[str, object]:
    """Return the error in a reply, whatever it stands in; its sentence is its `message`."""
    error = body
    for name in ("error", "errors", "detail"):
        if isinstance(error, Mapping) and error.get(name):
            error = error[name]
        if isinstance(error, list) and error:
            error = error[0]
    if not isinstance(error, Mapping):
        return {"message": error}
    if "message" not in error and (text := error.get("msg") or error.get("error_message")):
        return {**error, "message": text}
    return error


def _words(error: Mapping[str, object], key: str) -> str:
    """The server's words, on one line, not too many, and never with the key in them."""
    return masked(" ".join(str(error.get("message") or "").split()), key)[:300]


def masked(text: str, key: str) -> str:
    """Return a server's words without the key that it was sent."""
    return text if key == NO_KEY else text.replace(key, "***")
