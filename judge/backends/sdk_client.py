"""One request to a provider, sent by its SDK.

The SDKs give address, key and protocol. They send each request once and hand over the reply as it
came: waiting, asking again and reading are the same for all providers, and so are here.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import socket
import ssl
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import aiohttp
import httpx2  # comes with openai
import openai

from judge import jsonio
from judge.backends.base import (
    CHAT,
    Client,
    Mode,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.backends.connection import Connection
from judge.backends.replies import MOST_BYTES, TooLongReplyError, bounded
from judge.backends.reply_reader import ReplyReader
from judge.types import Completion, JudgeError

LOOK_UP = 10.0
"""How many seconds it may take to look something up about a model."""


def day_of(moment: object) -> dt.date | None:
    """Return the day of a date or a time in ISO 8601, None for nothing and for another thing."""
    if isinstance(moment, dt.datetime):
        return moment.date()
    if not isinstance(moment, str):
        return None
    try:
        return dt.datetime.fromisoformat(moment).date()
    except ValueError:
        return None


def http_client(
    connection: Connection, most_bytes: int = MOST_BYTES
) -> httpx2.AsyncClient:
    """Return a client that follows no redirect and has no limit of connections.

    The openai package's client on aiohttp serves all SDKs: each of them takes any httpx2 client.
    A reply of more than `most_bytes` is not read to its end. Raises `JudgeError` where the
    certificates that a server is checked by cannot be read.
    """
    return openai.DefaultAioHttpClient(
        trust_env=False,  # it would read the proxies anew, and in another way than was said
        proxy=connection.proxy,
        verify=_certificates(),
        follow_redirects=False,
        # 0 is no limit: how many requests are under way is the caller's to say.
        limits=httpx2.Limits(max_connections=0),
        event_hooks={"response": [bounded(most_bytes)]},
    )


def _certificates() -> ssl.SSLContext:
    try:
        return httpx2.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        named = [
            name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)
        ]
        raise JudgeError(
            f"the certificates in {' or '.join(named) or 'the system'} cannot be read "
            f"({error.strerror or error}): name a file of certificates in PEM, or unset it"
        ) from error


class SdkClient(Client):
    """Asks one server of a provider for completions. Used in one event loop.

    Attributes:
        status_error: What the SDK raises for a reply without success; it has the `response`.
        connection_errors: What the SDK raises where no reply came.
    """

    status_error: ClassVar[type[Exception]]
    connection_errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, connection: Connection, reader: ReplyReader) -> None:
        self.connection, self.reader = connection, reader
        self._url = connection.base_url
        self._connection_errors: tuple[type[Exception], ...] = (
            OSError,
            *self.connection_errors,
        )
        self._was_found = False

    @abstractmethod
    async def post(
        self, path: str, body: Mapping[str, Any], content: bytes
    ) -> httpx2.Response:
        """Send `body`, whose JSON is `content`, and return the reply as it came."""

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
            async with asyncio.timeout(self.connection.timeout):
                # The reply as it was sent: pydantic's models of it cost as much as all the rest.
                response = await self.post(path, body, content)
        except self.status_error as error:
            self._was_found = True
            reply: httpx2.Response = error.response  # type: ignore[attr-defined]
            raise self.reader.meaning(reply, body) from error
        except self._connection_errors as error:
            raise self._unsent(error) from error
        self._was_found = True
        try:
            # An odd usage loses no answer.
            answer = jsonio.read(response.content, mark_repeated=True)
        except jsonio.JsonError as error:
            raise UnreadableReplyError(f"it is not {self.reader.what}") from error
        return self.reader.read(answer, response, body, mode)

    def _unsent(self, error: BaseException) -> Exception:
        # What the transport calls a time-out may be another error of aiohttp's: the causes say.
        causes = [error]
        while cause := causes[-1].__cause__:
            causes.append(cause)
        last, words = causes[-1], " ".join(str(causes[-1]).split())[:300]

        def is_a(*kinds: type[BaseException]) -> bool:
            return any(isinstance(cause, kinds) for cause in causes)

        is_unknown = (
            isinstance(last, socket.gaierror) and last.errno == socket.EAI_NONAME
        )
        is_refused = (
            isinstance(last, aiohttp.ClientHttpProxyError) and last.status < 500
        )
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
