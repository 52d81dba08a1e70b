"""Just enough HTTP/1.1: keep-alive, bodies with a length, and every way to end badly."""

from __future__ import annotations

import asyncio
import http
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

_REASONS = {status.value: status.phrase for status in http.HTTPStatus}
JSON = "application/json"
_HEAD_LIMIT = 65536
# SO_LINGER on with 0 seconds: closing sends RST instead of FIN.
_LINGER_0 = struct.pack("ii", 1, 0)
# So that the client has read the half that was sent before the reset overtakes it.
_BEFORE_RESET = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came. Header names are in lower case. A body on disk is in `file`."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    file: Path | None = None


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


class Upload:
    """A request whose body goes to a file as it comes, by length or in chunks."""

    def __init__(self, request: Request) -> None:
        assert request.file
        self.request = request
        self._file: BinaryIO = request.file.open("wb")
        self._chunked = "transfer-encoding" in request.headers
        # Of the body, or of the chunk under way with the line end after it.
        self._left = 0 if self._chunked else int(request.headers.get("content-length", 0))
        self._chunk_end = 0

    def take(self, buffer: bytearray) -> bool:
        """Take what there is of the body out of `buffer`; return whether that was all."""
        if self._chunked:
            all_came = self._take_chunks(buffer)
        else:
            self._write(buffer, self._left)
            all_came = self._left == 0
        if all_came:
            self._file.close()
        return all_came

    def give_up(self) -> None:
        """Forget a body that does not come any more."""
        self._file.close()
        assert self.request.file
        self.request.file.unlink(missing_ok=True)

    def _write(self, buffer: bytearray, size: int) -> None:
        part = buffer[:size]
        self._file.write(part)
        del buffer[: len(part)]
        self._left -= len(part)

    def _take_chunks(self, buffer: bytearray) -> bool:
        while True:
            self._write(buffer, self._left)
            if self._left:
                return False
            # The line end of the chunk before, then the size of the next in hexadecimal.
            start = self._chunk_end
            end = buffer.find(b"\r\n", start)
            if end < 0:
                return False
            size = int(buffer[start:end].partition(b";")[0], 16)
            if size == 0:
                if len(buffer) < end + 4:
                    return False
                del buffer[: end + 4]
                return True
            del buffer[: end + 2]
            self._left, self._chunk_end = size, 2


class Connection(asyncio.Protocol):
    """One client connection; serves one request at a time, in order.

    `serve` is called with each request and must in the end call exactly one of `send`,
    `drop`, `cut`, `stall`. `on_gone` is called when the client goes before that; for a
    stall, when it goes. `spool` gives the path of a file for the body of a request whose
    method and path it is asked for, None for one that is kept in memory.
    """

    def __init__(
        self,
        serve: Callable[[Request, Connection], None],
        alive: set[Connection],
        spool: Callable[[str, str], Path | None],
    ) -> None:
        self._serve = serve
        self._alive = alive
        self._spool = spool
        self._upload: Upload | None = None
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
        if self._upload:
            self._upload.give_up()
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
        if self._upload:
            return self._go_on_with(self._upload)
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
        path = rest.partition(" ")[0]
        start = end + 4
        if spool := self._spool(method, path):
            del self._buffer[:start]
            self._upload = Upload(Request(method, path, headers, b"", spool))
            return self._go_on_with(self._upload)
        if "transfer-encoding" in headers:
            self._last = True
            self.send(Reply(411, b"{}"))
            return None
        stop = start + int(headers.get("content-length", 0))
        if len(self._buffer) < stop:
            return None
        body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        return Request(method, path, headers, body)

    def _go_on_with(self, upload: Upload) -> Request | None:
        """Write what has come of a body to its file; return the request when that was all."""
        if not upload.take(self._buffer):
            return None
        self._upload = None
        return upload.request
