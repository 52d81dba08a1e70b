"""Connections from outside: how many, how long a request may take to come, how large its head.

uvicorn waits for ever for a request's head and takes one of any length. Here whoever stalls
loses the place to whoever has something to ask.
"""

from __future__ import annotations

import asyncio
import logging
import math
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from judge.service.service import as_problem
from judge.service.settings import ServiceSettings

_LOG = logging.getLogger("uvicorn.error")
_LONGEST_HEAD = 2**16
# A body has to move: so many bytes in the time that a head may take four times.
_BODY_STEP, _BODY_PATIENCE = 2**16, 4


def protocol(settings: ServiceSettings) -> type[asyncio.Protocol]:
    """Return the protocol of a service with these settings."""
    # Half of the files that may be open, at most 512.
    usual = max(8, min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
    bounds = {"most": settings.max_connections or usual, "head_seconds": settings.head_seconds}
    return type("Connection", (_Connection,), bounds)


class _Connection(HttpToolsProtocol):
    """uvicorn's connection with bounds."""

    most: int
    head_seconds: float
    _timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it has no request: none has come, or the last one was answered."""
        return self.awaits_head and (self.cycle is None or self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.most and not self._make_room():
            _LOG.warning("There are %d connections: another was refused.", self.most)
            self._refuse(503, "The service has too many connections; try again in a moment.")
            return
        self._start_timer(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.awaits_head:
            if self._timer is None:
                self._start_timer(self.head_seconds)
        elif not self.cycle.response_complete and self._n_bytes >= _BODY_STEP:
            self._await_body()
        self._n_bytes += len(data)
        super().data_received(data)
        if self.awaits_head and self._n_bytes > _LONGEST_HEAD and not self.transport.is_closing():
            self._refuse(431, f"The head of a request has at most {_LONGEST_HEAD:,} bytes.")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.awaits_head = False
        self._await_body()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_timer()
        self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.awaits_head:  # what is left of a body that nobody wants may come so long
            self._start_timer(self.head_seconds)

    def _await_head(self) -> None:
        self.awaits_head, self._n_bytes, self.since = True, 0, self.loop.time()

    def _await_body(self) -> None:
        self._n_bytes = 0
        self._start_timer(_BODY_PATIENCE * self.head_seconds)

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if not self.awaits_head and self.flow.read_paused:  # it is not the client who is slow
            self._await_body()
        elif self.awaits_head and self._n_bytes:
            self._refuse(408, f"The head of a request may take {self.head_seconds:g} seconds.")
        else:
            self.transport.close()

    def _make_room(self) -> bool:
        """Close the connection that has asked nothing for longest; False where all are busy."""
        others = [other for other in self.connections if isinstance(other, _Connection)]
        idle = [other for other in others if other is not self and other.is_idle]
        if not idle:
            return False
        oldest = min(idle, key=lambda other: other.since)
        oldest.transport.abort()
        self.connections.discard(oldest)  # the next to come must not find it again
        return True

    def _refuse(self, status: int, detail: str) -> None:
        answer = as_problem(status, detail, {"Connection": "close"})
        headers = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
        self.transport.write(b"HTTP/1.1 %d \r\n%s\r\n%s" % (status, headers, answer.body))
        self.transport.close()


class Folding(logging.Filter):
    """Lets what is logged again and again through once a minute, with how often it came."""

    _SECONDS = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be written."""
        what = (record.name, record.levelno, str(record.msg)[:200])
        at, n = self._known.get(what, (-math.inf, 0))
        if record.created - at < self._SECONDS:
            self._known[what] = (at, n + 1)
            return False
        if len(self._known) > 200:  # texts of their own are no repetition
            self._known.clear()
        self._known[what] = (record.created, 0)
        if n:
            record.msg = f"{record.msg} ({n:,} more of these before)"
        return True
