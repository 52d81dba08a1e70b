"""One request to an OpenAI-compatible server, sent by the openai package, and its answer."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import httpx2  # comes with openai
import openai

from judge.backends.base import UnavailableError, UnreachableError, UnreadableReplyError
from judge.backends.connection import CHAT, Connection, shown
from judge.backends.replies import ErrorReply, completion
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

MOST_BYTES = 16 * 2**20
"""The longest reply that is read, unpacked: thousands of times an answer of 2,048 tokens."""
BATCHED = 128
"""How many requests at a time feed a server that batches them: 62 to 156, a 7B judge on an H100."""


def client(connection: Connection, key: str) -> openai.AsyncOpenAI:
    """Return a client of one server that sends each request once and follows no redirect.

    It belongs to the event loop that uses it first.
    """
    # 0 is no limit: how many requests are under way is the caller's to say.
    limits = httpx2.Limits(max_connections=0)
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=connection.base_url,
        timeout=connection.timeout,
        # A reply of a few kB is not worth packing.
        default_headers={"Accept-Encoding": "identity"},
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(**_way(connection), limits=limits),
    )


def _way(connection: Connection) -> dict[str, Any]:
    return {
        "proxy": connection.proxy,
        "trust_env": False,
        "verify": httpx2.create_ssl_context(),
        "follow_redirects": False,
    }


def capacity(connection: Connection, key: str) -> int | None:
    """Return how many requests at a time a server of one's own takes; None where it doesn't say."""
    if connection.host.endswith((".openai.com", ".azure.com")):
        return None
    headers = {"Authorization": f"Bearer {key}"}
    http = httpx2.Client(**_way(connection), headers=headers, timeout=2.0)
    with http, suppress(httpx2.HTTPError, ValueError, LookupError, TypeError):
        owner = http.get(f"{connection.base_url}/models").json()["data"][0]["owned_by"]
        if owner in ("vllm", "sglang"):
            return BATCHED
        if owner == "llamacpp":
            slots = http.get(f"{connection.base_url.removesuffix('/v1')}/props").json()
            return int(slots["total_slots"])
    return None


class Client:
    """Asks one server for completions. Used in one event loop."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._connection, self._key = connection, key
        self._url = connection.base_url
        self._was_found = False
        self._openai = client(connection, key)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Return the answer to a request, of the chat or of the completions kind by `path`.

        `mode` is how a reply of a fixed form is asked for. Raises `RefusedError`, an `AskError` for
        what concerns this request, and `JudgeError` for what no other request would escape.
        """
        # A cached text may hold half of a surrogate pair, which only ASCII can carry.
        content = json.dumps(body).encode("ascii")
        try:
            # The client's own limit is on each read, and a server may drip.
            async with asyncio.timeout(self._connection.timeout):
                # The reply as it was sent: pydantic's models of it cost as much as all the rest.
                response: Any = await self._openai.post(
                    path,
                    cast_to=httpx2.Response,
                    content=content,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                data = await _read(response)
        except openai.APIStatusError as error:
            self._was_found = True
            response = error.response
            reply = ErrorReply(self._url, error.status_code, response.headers, response.content)
            raise reply.meaning(body, mode, self._key) from error
        except (OSError, openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise self._unsent(error) from error
        self._was_found = True
        return completion(data, mode, body, self._key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._openai.close()

    def _unsent(self, error: BaseException) -> Exception:
        # What the transport calls a time-out may be another error of aiohttp's: the causes say.
        causes = [error]
        while cause := causes[-1].__cause__:
            causes.append(cause)
        words = " ".join(str(causes[-1]).split())[:300]

        def is_a(*kinds: type[BaseException]) -> bool:
            return any(isinstance(cause, kinds) for cause in causes)

        if is_a(ssl.SSLError):
            return JudgeError(
                f"{self._url} cannot be reached over TLS ({words}); name whoever signed its "
                "certificate in SSL_CERT_FILE, or begin the address with http://"
            )
        if isinstance(refusal := causes[-1], aiohttp.ClientHttpProxyError) and refusal.status < 500:
            proxy = shown(self._connection.proxy or "")
            return JudgeError(f"the proxy {proxy} refuses to connect to {self._url} ({words})")
        is_unknown = isinstance(refusal, socket.gaierror) and refusal.errno == socket.EAI_NONAME
        if is_a(ValueError) or (is_unknown and not self._was_found):
            return JudgeError(f"no machine is known for {self._url} ({words}); check --base-url")
        if is_a(TimeoutError):
            return UnavailableError("timeout", "no whole answer in time (--timeout)")
        if is_a(httpx2.DecodingError, aiohttp.http_exceptions.HttpProcessingError):
            return UnreadableReplyError(f"it is no HTTP: {words}")
        is_away = is_a(aiohttp.ClientConnectorError)
        return (UnreachableError if is_away else UnavailableError)("connection", words)


async def _read(response: httpx2.Response) -> bytes:
    data = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MOST_BYTES:
                raise UnreadableReplyError(f"it is larger than {MOST_BYTES // 2**20} MB")
    finally:
        await response.aclose()
    return bytes(data)
