"""The conversation with an OpenAI-compatible server: one request, and its answer as it comes."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from judge.backends import replies
from judge.backends.connection import CHAT, COMPLETIONS, Connection, shown
from judge.backends.errors import UnavailableError, UnreachableError, UnreadableReplyError
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

MOST_BYTES = 16 * 2**20
"""The longest reply that is read, decoded: thousands of times an answer of 2,048 tokens."""


class Client:
    """Sends requests to one server, each once. Made and used in a running event loop."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._url = connection.base_url
        self._places = {path: URL(self._url + path) for path in (CHAT, COMPLETIONS)}
        self._key = key
        self._proxy = connection.proxy
        self._was_found = False
        # Not the session's: those go to a proxy too, in clear, before TLS begins.
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            # A reply of a few kB is not worth unpacking, and a packed one can be a bomb.
            "Accept-Encoding": "identity",
        }
        self._session = aiohttp.ClientSession(
            # How many there are is the limiter's to say.
            connector=aiohttp.TCPConnector(limit=0, ssl=trusted(self._url)),
            timeout=aiohttp.ClientTimeout(total=connection.timeout),
            trust_env=False,
        )

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Return the answer to a request, of the chat or of the completions kind by `path`.

        `mode` is how a reply of a fixed form is asked for. Raises `RefusedError`, an `AskError` for
        what concerns this request, and `JudgeError` for what no other request would escape.
        """
        try:
            async with self._session.post(
                self._places[path],
                data=json.dumps(body).encode("ascii"),
                headers=self._headers,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                self._was_found = True
                data = await _read(response)
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            raise self._unsent(error) from error
        if not 200 <= response.status < 300:
            reply = replies.ErrorReply(self._url, response.status, response.headers, data)
            raise reply.meaning(body, mode, self._key)
        return replies.completion(data, mode, body, self._key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()

    def _unsent(self, error: Exception) -> Exception:
        if isinstance(error, aiohttp.ClientSSLError):
            return JudgeError(f"{self._url} cannot be reached over TLS: {_tls_words(error)}")
        if isinstance(error, aiohttp.ClientHttpProxyError) and error.status < 500:
            return JudgeError(
                f"the proxy {shown(self._proxy or '')} refuses to connect to {self._url} "
                f"({error.status} {error.message})"
            )
        if (
            isinstance(error, aiohttp.ClientConnectorDNSError)
            and error.os_error.errno == socket.EAI_NONAME
            and not self._was_found
        ):
            return JudgeError(f"there is no machine {error.host!r} ({self._url})")
        if isinstance(error, TimeoutError):
            return UnavailableError("timeout", "no whole answer in time (--timeout)")
        if isinstance(error, aiohttp.ClientResponseError) and not isinstance(
            error, aiohttp.ClientHttpProxyError
        ):
            return UnreadableReplyError(" ".join(f"no HTTP: {error.message}".split())[:300])
        if isinstance(error.__cause__, ContentEncodingError):
            return UnreadableReplyError("it cannot be unpacked")
        is_away = isinstance(error, aiohttp.ClientConnectorError)
        kind = UnreachableError if is_away else UnavailableError
        return kind("connection", " ".join(str(error).split())[:300])


async def _read(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > MOST_BYTES:
            raise UnreadableReplyError(f"it is larger than {MOST_BYTES // 2**20} MB")
    return bytes(data)


def trusted(url: str) -> ssl.SSLContext | bool:
    """Return whose certificates are believed: the system's, `SSL_CERT_FILE`'s, or Mozilla's."""
    if not url.startswith("https:"):
        return True
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _tls_words(error: aiohttp.ClientSSLError) -> str:
    cause = getattr(error, "certificate_error", None) or error.os_error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({cause.verify_message}); put the certificate of "
            "whoever signed it into a file and name that in SSL_CERT_FILE"
        )
    if getattr(cause, "reason", None) in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return "it does not speak TLS; should the address begin with http://?"
    return str(getattr(cause, "reason", None) or cause)
