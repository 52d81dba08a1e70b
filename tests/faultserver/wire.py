"""Just enough HTTP/1.1: keep-alive, bodies with a length, and every way to end badly."""

from __future__ import annotations

import asyncio
import http
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

_REASONS = {status.value: status.phrase for status in http.HTTPStatus}
JSON = "application/json"
_HEAD_LIMIT = 65536
# SO_LINGER on with 0 seconds: closing sends RST instead of FIN.
_LINGER_0 = struct.pack("ii", 1, 0)
# So that the client has read the half that was sent before the reset overtakes it.
_BEFORE_RESET = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """A response to be sent."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON

    def to_bytes(self) -> bytes:
        """Return the response as it goes over the wire."""
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers)
        head = (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            f"content-type: {self.content_type}\r\ncontent-length: {len(self.body)}\r\n{more}\r\n"
        )
        return head.encode("latin-1") + self.body


class Connection(asyncio.Protocol):
    """One client connection; serves one request at a time, in order.

    `serve` is called with each request and must in the end call exactly one of `send`,
    `drop`, `cut`, `stall`. `on_gone` is called when the client goes before that; for a
    stall, when it goes.
    """

    def __init__(
        self, serve: Callable[[Request, Connection], None], alive: set[Connection]
    ) -> None:
        self._serve = serve
        self._alive = alive
        self._buffer = bytearray()
        self._busy = False
        self._last = False
        self._transport: asyncio.Transport
        self.on_gone: Callable[[], None] | None = None
        self.served = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._alive.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell whoever still works on a request that nobody waits for the answer."""
        self._alive.discard(self)
        gone, self.on_gone = self.on_gone, None
        if gone:
            gone()

    def data_received(self, data: bytes) -> None:
        """Serve the requests that are complete."""
        self._buffer += data
        self._advance()

    def send(self, reply: Reply) -> None:
        """Answer the request."""
        self._transport.write(reply.to_bytes())
        self.on_gone = None
        self._busy = False
        if self._last:
            self._transport.close()
        elif self._buffer:
            asyncio.get_running_loop().call_soon(self._advance)

    def drop(self) -> None:
        """Close the connection without an answer."""
        self.on_gone = None
        self._transport.close()

    def reset(self) -> None:
        """Reset the connection."""
        if not self._transport.is_closing():
            raw: socket.socket = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            self._transport.abort()

    def cut(self, reply: Reply, *, reset: bool) -> None:
        """Send the reply's first part, up to the middle of its body, then close or reset."""
        self._send_half(reply)
        self.on_gone = None
        if reset:
            asyncio.get_running_loop().call_later(_BEFORE_RESET, self.reset)
        else:
            self._transport.close()

    def stall(self, reply: Reply | None = None) -> None:
        """Send nothing, or half of `reply`, and then nothing more."""
        if reply:
            self._send_half(reply)

    def _send_half(self, reply: Reply) -> None:
        data = reply.to_bytes()
        self._transport.write(data[: len(data) - len(reply.body) // 2 - 1])

    def _advance(self) -> None:
        while not self._busy and not self._transport.is_closing():
            request = self._next()
            if request is None:
                return
            self._busy = True
            self.served += 1
            self._last = request.headers.get("connection", "").lower() == "close"
            self._serve(request, self)

    def _next(self) -> Request | None:
        """Take the first request out of the buffer; None where it is not all there."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_LIMIT:
                self._transport.abort()
            return None
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        method, _, rest = lines[0].partition(" ")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if "transfer-encoding" in headers:
            self._last = True
            self.send(Reply(411, b"{}"))
            return None
        start = end + 4
        stop = start + int(headers.get("content-length", 0))
        if len(self._buffer) < stop:
            return None
        body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        return Request(method, rest.partition(" ")[0], headers, body)
