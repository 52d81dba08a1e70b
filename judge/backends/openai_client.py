"""One request to an OpenAI-compatible server, sent by the openai package, and its answer."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import aiohttp
import certifi
import httpx2  # comes with openai
import openai
from openai import AsyncOpenAI

from judge.backends import replies
from judge.backends.connection import CHAT, Connection, shown
from judge.backends.errors import (
    AskError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

MOST_BYTES = 16 * 2**20
"""The longest reply that is read, unpacked: thousands of times an answer of 2,048 tokens."""

BATCHED = 128
"""How many requests at a time keep a server busy that batches them: 62 to 156 for a 7B judge on an
H100."""
_CAPACITY_TIMEOUT = 2.0
# A reply of a few kB is not worth packing.
_HEADERS = {"Accept-Encoding": "identity"}


def client(connection: Connection, key: str) -> AsyncOpenAI:
    """Return a client of one server that sends each request once and follows no redirect.

    It may be made anywhere, but belongs to the event loop that uses it first.
    """
    http = openai.DefaultAioHttpClient(
        # 0 is no limit: how many requests are under way is the caller's to say.
        limits=httpx2.Limits(max_connections=0),
        follow_redirects=False,
        trust_env=False,
        proxy=connection.proxy,
        verify=certificates(),
    )
    return AsyncOpenAI(
        api_key=key,
        base_url=connection.base_url,
        timeout=connection.timeout,
        default_headers=_HEADERS,
        max_retries=0,
        http_client=http,
    )


def capacity(connection: Connection, key: str) -> int | None:
    """Return how many requests at a time a server says it takes; None where it does not say.

    Asked is a server of one's own, not OpenAI or Azure: vLLM and SGLang, which batch what is under
    way, and llama.cpp, which has so many slots.
    """
    if connection.host.endswith((".openai.com", ".azure.com")):
        return None
    http = httpx2.Client(
        timeout=_CAPACITY_TIMEOUT,
        trust_env=False,
        proxy=connection.proxy,
        verify=certificates(),
        headers={"Authorization": f"Bearer {key}"},
    )
    with http, suppress(httpx2.HTTPError, ValueError, LookupError, TypeError):
        owner = http.get(f"{connection.base_url}/models").json()["data"][0]["owned_by"]
        if owner in ("vllm", "sglang"):
            return BATCHED
        if owner == "llamacpp":
            root = connection.base_url.removesuffix("/v1")
            return int(http.get(f"{root}/props").json()["total_slots"])
    return None


class Client:
    """Asks one server for completions. Used in one event loop."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._url, self._proxy = connection.base_url, connection.proxy
        self._timeout = connection.timeout
        self._key = key
        self._was_found = False
        self._openai = client(connection, key)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Return the answer to a request, of the chat or of the completions kind by `path`.

        `mode` is how a reply of a fixed form is asked for. Raises `RefusedError`, an `AskError` for
        what concerns this request, and `JudgeError` for what no other request would escape.
        """
        content = json.dumps(body).encode("ascii")
        try:
            # The client's own limit is on each read, and a server may drip.
            async with asyncio.timeout(self._timeout):
                # The reply as it was sent: pydantic's models of it cost as much as all the rest.
                response = await self._openai.post(
                    path,
                    cast_to=httpx2.Response,
                    content=content,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                self._was_found = True
                data = await _read(response)
        except openai.APIStatusError as error:
            self._was_found = True
            reply = replies.ErrorReply(
                self._url, error.status_code, error.response.headers, error.response.content
            )
            raise reply.meaning(body, mode, self._key) from error
        except (OSError, openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise self._unsent(error) from error
        return replies.completion(data, mode, body, self._key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._openai.close()

    def _unsent(self, error: BaseException) -> Exception:
        causes = list(_causes(error))
        last = causes[-1]
        if isinstance(last, AskError):
            return last
        for cause in causes:
            if isinstance(cause, ssl.SSLError):
                return JudgeError(
                    f"{self._url} cannot be reached over TLS ({cause.args[-1]}); name whoever "
                    "signed its certificate in SSL_CERT_FILE, or begin the address with http://"
                )
            if isinstance(cause, aiohttp.ClientHttpProxyError) and cause.status < 500:
                return JudgeError(
                    f"the proxy {shown(self._proxy or '')} refuses to connect to {self._url} "
                    f"({cause.status} {cause.message})"
                )
            if (
                isinstance(cause, socket.gaierror)
                and cause.errno == socket.EAI_NONAME
                and not self._was_found
            ):
                return JudgeError(f"the address of {self._url} is not known; check --base-url")
        words = " ".join(str(last).split())[:300]
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return UnavailableError("timeout", "no whole answer in time (--timeout)")
        if any(isinstance(cause, httpx2.DecodingError) for cause in causes):
            return UnreadableReplyError("it cannot be unpacked")
        if isinstance(last, aiohttp.http_exceptions.HttpProcessingError):
            return UnreadableReplyError(f"no HTTP: {words}")
        is_away = any(isinstance(cause, httpx2.ConnectError) for cause in causes)
        return (UnreachableError if is_away else UnavailableError)("connection", words)


async def _read(response: httpx2.Response) -> bytes:
    data = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            data += chunk
            if len(data) > MOST_BYTES:
                await response.aclose()
                raise UnreadableReplyError(f"it is larger than {MOST_BYTES // 2**20} MB")
    return bytes(data)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def certificates() -> ssl.SSLContext:
    """Return the trust of the system and SSL_CERT_FILE, Mozilla's where the system has none."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        context.load_verify_locations(certifi.where())
    return context
