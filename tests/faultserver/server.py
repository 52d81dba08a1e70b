"""The server in a test's hand: it runs in a thread of the test's process."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from aiohttp import web

from faultserver import replies
from faultserver.answers import ANNOTATE, Annotate, Render
from faultserver.batches import Batches, Batching
from faultserver.faults import Behaviour, Fault, Outage
from faultserver.replies import Ask, Reply
from judge.rubrics import load
from judge.types import Annotation

HOST = "127.0.0.1"
_PATIENCE = 30.0
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens")
# Errors that come without the latency of an answer.
_AT_ONCE = frozenset(
    {
        *(Fault.RATE_LIMIT, Fault.UNAVAILABLE, Fault.FILTERED_PROMPT, Fault.TOO_LONG),
        *(Fault.WRONG_KEY, Fault.FORBIDDEN, Fault.UNKNOWN_MODEL, Fault.NO_QUOTA),
    }
)
_ON_THE_WIRE: dict[Fault | None, str] = {
    Fault.DROP: "dropped",
    Fault.REFUSED: "dropped",
    Fault.RESET: "reset",
    Fault.CUT_BODY: "cut",
    Fault.STALL: "stalled",
    Fault.STALL_BODY: "stalled",
}
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class LogRow:
    """One request that has ended; `mode` is how it asked for its reply."""

    study: str
    status: str
    mode: str


@dataclass(slots=True)
class Stats:
    """What was seen of completions; a status is `200`, ..., or how else a request ended."""

    requests: int = 0
    by_study: Counter[str] = field(default_factory=Counter)
    by_status: Counter[str] = field(default_factory=Counter)
    by_mode: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    in_flight_max: int = 0
    connections: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    @property
    def answered(self) -> int:
        return self.by_status["200"]


class FaultServer:
    """A running server, from `with` to its end, that answers in the manner of a rubric."""

    def __init__(
        self,
        behaviour: Behaviour | None = None,
        *,
        rubric: str = "green",
        render: Render | None = None,
        annotate: Annotate | None = None,
        batching: Batching | None = None,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.batches = Batches(self._call, self._answer_line, batching or Batching())
        self.port = 0
        known = load(rubric)
        structured = known.structured.render if known.structured else known.render
        self._renders = (render or known.render, render or structured)
        self._annotate = annotate or ANNOTATE[rubric]
        self._texts: dict[tuple[str, bool], str] = {}
        self._attempts: Counter[str] = Counter()
        self._forget()
        self._socket: asyncio.Server | None = None
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    # The test's side

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)), name="faultserver", daemon=True
        )
        self._thread.start()
        if not started.wait(_PATIENCE):
            raise RuntimeError("the server did not start")
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server; connections under way are reset. A second call does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(_PATIENCE)

    def set_faults(self, **changes: Any) -> None:
        async def change() -> None:
            self.behaviour = replace(self.behaviour, **changes)
            await self._watch_the_door()

        asyncio.run_coroutine_threadsafe(change(), self._loop).result(_PATIENCE)

    def annotation(self, key: str) -> Annotation:
        return self._annotate(key, 0)

    def answer(self, key: str) -> str:
        return self._text(key, formed=False)

    def reply(self, key: str) -> str:
        return self._text(key, formed=True)

    def stats(self) -> Stats:
        return self._call(self._counted)

    def log(self) -> list[LogRow]:
        return self._call(lambda: list(self._log))

    def requests(self) -> list[dict[str, Any]]:
        return self._call(lambda: list(self._recorded))

    def reset(self) -> None:
        """Forget the counts, the log, the studies' request numbers and the first request."""
        self._call(self._forget)

    def wait_for(self, reached: Callable[[Stats], bool], timeout: float = 30.0) -> Stats:
        """Return the first statistics that have `reached` it; raises `TimeoutError`."""
        until = time.monotonic() + timeout
        while not reached(stats := self.stats()):
            if time.monotonic() > until:
                raise TimeoutError(f"not reached in {timeout:g} s: {stats}")
            time.sleep(0.01)
        return stats

    def _call(self, do: Callable[[], _Result]) -> _Result:
        async def done() -> _Result:
            return do()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(_PATIENCE)

    # The server's side

    def _counted(self) -> Stats:
        self._stats.connections = len(self._clients)
        return copy.deepcopy(self._stats)

    def _forget(self) -> None:
        in_flight = self._stats.in_flight if hasattr(self, "_stats") else 0
        self._stats = Stats(in_flight=in_flight, in_flight_max=in_flight)
        self._log: list[LogRow] = []
        self._recorded: list[dict[str, Any]] = []
        self._clients: set[object] = set()
        self._attempts.clear()
        self._begun: float | None = None
        self.batches.forget()

    def _text(self, key: str, *, formed: bool) -> str:
        if (key, formed) not in self._texts:
            self._texts[key, formed] = self._renders[formed](self._annotate(key, 0))
        return self._texts[key, formed]

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/v1/{rest:.*}", self._handle)
        app.router.add_route("*", "/openai/v1/{rest:.*}", self._handle)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await self._watch_the_door()
        started.set()
        await self._over.wait()
        self.behaviour = replace(self.behaviour, outage=Outage(Fault.REFUSED))
        await self._watch_the_door()
        await asyncio.sleep(0)
        await self._runner.cleanup()

    async def _watch_the_door(self) -> None:
        """Open and shut the port as an outage with `REFUSED` says."""
        for timer in self._timers:
            timer.cancel()
        outage = self.behaviour.outage
        is_shut = False
        if outage and outage.fault is Fault.REFUSED:
            is_shut = outage.covers(self._now())
            if is_shut and self._begun is None:
                self._begun = self._loop.time()
            changes = [at for at in (outage.start, outage.end) if at and at > self._now()]
            if self._begun is not None:
                again = lambda: self._loop.create_task(self._watch_the_door())  # noqa: E731
                self._timers = [self._loop.call_at(self._begun + at, again) for at in changes]
        if is_shut and self._socket:
            self._socket.close()
            self._socket = None
            server = self._runner.server
            for connection in list(server.connections if server else ()):
                if connection.transport:
                    connection.transport.abort()
        elif not is_shut and self._socket is None:
            self._socket = await self._loop.create_server(
                self._runner.server, HOST, self.port, backlog=4096
            )
            self.port = self._socket.sockets[0].getsockname()[1]

    def _now(self) -> float:
        return 0.0 if self._begun is None else self._loop.time() - self._begun

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        rest = request.match_info["rest"]
        if rest in ("chat/completions", "completions"):
            return await self._complete(request, await request.read())
        refusal = self._refusal_aside(request)
        if rest.startswith("models"):
            served = self.behaviour.models or {"any": "any"}
            body = {"object": "list", "data": [{"id": name, "object": "model"} for name in served]}
            return _response(refusal or Reply(200, json.dumps(body).encode()))
        if rest.startswith(("files", "batches")):
            if refusal:
                return _response(refusal)
            return await self._of_batches(request, rest)
        return _response(Reply(404, b'{"detail":"Not Found"}'))

    def _refusal_aside(self, request: web.Request) -> Reply | None:
        """Return what a request for anything but a completion meets first, None for nothing."""
        outage = self.behaviour.outage
        if outage and outage.covers(self._now()):
            return Reply(503, b"{}")
        return None if self._knows_key(request) else replies.error_for(Fault.WRONG_KEY)

    def _knows_key(self, request: web.Request) -> bool:
        keys = self.behaviour.api_keys
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        return keys is None or sent in keys or request.headers.get("api-key") in keys

    async def _of_batches(self, request: web.Request, rest: str) -> web.StreamResponse:
        body: Any = b""
        if rest == "files":
            form = await request.post()
            upload = form["file"]
            assert isinstance(upload, web.FileField)
            with upload.file:
                body = upload.file.read()
        else:
            body = await request.read()
        fault, reply = self.batches.serve(request.method, rest, body)
        return await self._send(request, reply, fault)

    async def _complete(self, request: web.Request, body: bytes) -> web.StreamResponse:
        stats = self._stats
        if self._begun is None:
            self._begun = self._loop.time()
            await self._watch_the_door()
        ask = replies.read_ask(json.loads(body), self.behaviour.key_pattern)
        self._clients.add(request.transport and request.transport.get_extra_info("peername"))
        stats.requests += 1
        stats.by_study[ask.key] += 1
        stats.by_mode[ask.mode] += 1
        if self.behaviour.record:
            asked = {"study": ask.key, "path": request.path, "body": ask.payload}
            self._recorded.append(asked)
        self._stats.in_flight += 1
        stats.in_flight_max = max(stats.in_flight_max, self._stats.in_flight)
        try:
            fault, reply = await self._met(request, ask)
            self._ended(ask, _ON_THE_WIRE.get(fault, str(reply.status)))
            return await self._send(request, reply, fault if fault in _ON_THE_WIRE else None)
        finally:
            self._stats.in_flight -= 1

    def _ended(self, ask: Ask, status: str) -> None:
        self._stats.by_status[status] += 1
        self._log.append(LogRow(ask.key, status, ask.mode))

    async def _met(self, request: web.Request, ask: Ask) -> tuple[Fault | None, Reply]:
        behaviour, outage = self.behaviour, self.behaviour.outage
        fault: Fault | None
        if outage and outage.covers(self._now()):
            fault = outage.fault
        elif not self._knows_key(request):
            fault = Fault.WRONG_KEY
        elif refusal := replies.refusal_of(ask, behaviour):
            return None, refusal
        elif behaviour.max_in_flight and self._stats.in_flight > behaviour.max_in_flight:
            fault = Fault.RATE_LIMIT
        else:
            fault = self._next(ask)
            if behaviour.latency and fault not in _AT_ONCE:
                try:
                    await asyncio.sleep(behaviour.latency)
                except asyncio.CancelledError:
                    self._ended(ask, "gone")
                    raise
        if error := replies.error_for(fault):
            return fault, error
        reply = replies.answer(ask, self._text(ask.key, formed=ask.formed), fault, behaviour)
        if fault not in _ON_THE_WIRE:
            for name, n in zip(_TOKENS, reply.tokens, strict=True):
                setattr(self._stats, name, getattr(self._stats, name) + n)
            self.batches.asked_directly(ask)
        return fault, reply

    def _next(self, ask: Ask) -> Fault | None:
        self._attempts[ask.key] += 1
        return self.behaviour.plan_of(ask.key).at(self._attempts[ask.key] - 1)

    def _answer_line(self, payload: dict[str, Any], fault: Fault | None) -> tuple[str, Reply]:
        ask = replies.read_ask(payload, self.behaviour.key_pattern)
        if refusal := replies.refusal_of(ask, self.behaviour):
            return ask.key, refusal
        fault = fault or self._next(ask)
        if error := replies.error_for(fault):
            return ask.key, error
        right = self._text(ask.key, formed=ask.formed)
        return ask.key, replies.answer(ask, right, fault, self.behaviour)

    async def _send(
        self, request: web.Request, reply: Reply, fault: Fault | None
    ) -> web.StreamResponse:
        transport = request.transport
        if fault is Fault.HTML:
            return _response(replies.PAGE)
        if fault is Fault.BROKEN_JSON:
            return _response(replace(reply, body=reply.body[: len(reply.body) // 2]))
        if fault not in _ON_THE_WIRE or transport is None:
            return _response(reply)
        if fault in (Fault.RESET, Fault.CUT_BODY, Fault.STALL_BODY):
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(reply.body)}\r\n\r\n".encode()
            transport.write(head + reply.body[: len(reply.body) // 2])
        if fault is Fault.RESET:
            await asyncio.sleep(0.02)  # so that the client has read the half before
            raw: socket.socket = transport.get_extra_info("socket")
            # Linger for 0 seconds: closing sends RST instead of FIN.
            with contextlib.suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif fault not in (Fault.STALL, Fault.STALL_BODY):
            transport.close()
        await asyncio.sleep(3600)  # until the connection is gone, which cancels the handler
        return _response(reply)


def _response(reply: Reply) -> web.Response:
    return web.Response(
        body=reply.body,
        status=reply.status,
        headers=reply.headers,
        content_type=reply.content_type,
    )
