"""The server in a test's hand: it runs in a thread of the test's process."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from aiohttp import web

from faultserver import replies
from faultserver.answers import ANNOTATE, Annotate, Render
from faultserver.batches import Batches
from faultserver.faults import Behaviour, Fault
from faultserver.replies import NOTHING, Ask, Reply
from judge.rubrics import load
from judge.types import Annotation, Usage

HOST = "127.0.0.1"
_PATIENCE = 30.0
_ON_THE_WIRE = (Fault.DROP, Fault.CUT_BODY, Fault.STALL)
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Stats:
    """What was seen of completions."""

    requests: int = 0
    answered: int = 0
    by_study: Counter[str] = field(default_factory=Counter)
    by_mode: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    in_flight_max: int = 0
    usage: Usage = NOTHING


class FaultServer:
    """A running server, from `with` to its end, that answers in the manner of a rubric."""

    def __init__(
        self,
        behaviour: Behaviour | None = None,
        *,
        rubric: str = "green",
        render: Render | None = None,
        annotate: Annotate | None = None,
        batches: type[Batches] = Batches,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.batches = batches(self._call, self._answer_line)
        self.port = 0
        known = load(rubric)
        structured = known.structured.render if known.structured else known.render
        self._renders = (render or known.render, render or structured)
        self._annotate = annotate or ANNOTATE[rubric]
        self._texts: dict[tuple[str, bool], str] = {}
        self._attempts: Counter[str] = Counter()
        self._stats = Stats()
        self._forget()

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    @property
    def address(self) -> str:
        """Where the protocols of Anthropic and Google are spoken, whose SDKs add the version."""
        return f"http://{HOST}:{self.port}"

    # The test's side

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)),
            name="faultserver",
            daemon=True,
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
        self.behaviour = replace(self.behaviour, **changes)

    def annotation(self, key: str) -> Annotation:
        return self._annotate(key, 0)

    def reply(self, key: str) -> str:
        return self._text(key, formed=True)

    def stats(self) -> Stats:
        return self._call(lambda: copy.deepcopy(self._stats))

    def requests(self) -> list[dict[str, Any]]:
        return self._call(lambda: list(self._recorded))

    def reset(self) -> None:
        """Forget the counts, the studies' request numbers and the first request."""
        self._call(self._forget)

    def wait_for(
        self, reached: Callable[[Stats], bool], timeout: float = 180.0
    ) -> Stats:
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

    def _forget(self) -> None:
        self._stats = Stats(in_flight=self._stats.in_flight)
        self._recorded: list[dict[str, Any]] = []
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
        app.router.add_route("*", "/{rest:.*}", self._handle)
        runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, HOST, 0, backlog=4096).start()
        self.port = runner.addresses[0][1]
        started.set()
        await self._over.wait()
        await runner.cleanup()

    def _outage(self) -> Fault | None:
        now = 0.0 if self._begun is None else self._loop.time() - self._begun
        outage = self.behaviour.outage
        return outage.fault if outage and outage.covers(now) else None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        rest = request.match_info["rest"].removeprefix("v1/")
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        keys = self.behaviour.api_keys
        unknown = None if keys is None or sent in keys else Fault.WRONG_KEY
        if rest in ("chat/completions", "completions"):
            return await self._complete(request, await request.read(), unknown)
        if rest == "files":
            form = await request.post()
            self.batches.form = {name: str(value) for name, value in form.items()}
            upload = form["file"]
            assert isinstance(upload, web.FileField)
            with upload.file:
                body = upload.file.read()
        else:
            body = await request.read()
        served = self.batches.serve(request.method, rest, body, request.query)
        return await self._send(request, *served)

    async def _complete(
        self, request: web.Request, body: bytes, fault: Fault | None
    ) -> web.StreamResponse:
        stats = self._stats
        if self._begun is None:
            self._begun = self._loop.time()
        ask = replies.read_ask(json.loads(body), self.behaviour.key_pattern)
        stats.requests += 1
        stats.by_study[ask.key] += 1
        stats.by_mode[ask.mode] += 1
        if self.behaviour.record:
            self._recorded.append({"study": ask.key, "body": ask.payload})
        stats.in_flight += 1
        stats.in_flight_max = max(stats.in_flight_max, stats.in_flight)
        try:
            fault, reply = await self._met(ask, self._outage() or fault)
            if reply.status == 200 and fault not in _ON_THE_WIRE:
                self._stats.answered += 1
                self._stats.usage = replies.plus(self._stats.usage, reply.usage)
            return await self._send(request, fault, reply)
        finally:
            self._stats.in_flight -= 1

    async def _met(self, ask: Ask, fault: Fault | None) -> tuple[Fault | None, Reply]:
        """Return what a request meets; errors come without the latency of an answer."""
        if not fault and (refusal := replies.refusal_of(ask, self.behaviour)):
            return None, refusal
        fault = fault or self._next(ask)
        if error := replies.error_for(fault):
            if fault is Fault.RATE_LIMIT and self.behaviour.retry_after:
                error = replace(error, headers=self.behaviour.retry_after)
            return fault, error
        await asyncio.sleep(self.behaviour.latency)
        text = self._text(ask.key, formed=ask.formed)
        return fault, replies.answer(ask, text, fault)

    def _next(self, ask: Ask) -> Fault | None:
        self._attempts[ask.key] += 1
        return self.behaviour.plan_of(ask.key).at(self._attempts[ask.key] - 1)

    def _answer_line(self, payload: dict[str, Any]) -> tuple[str, Reply]:
        ask = replies.read_ask(payload, self.behaviour.key_pattern)
        if refusal := replies.refusal_of(ask, self.behaviour):
            return ask.key, refusal
        fault = self._next(ask)
        text = self._text(ask.key, formed=ask.formed)
        answer = replies.error_for(fault) or replies.answer(ask, text, fault)
        return ask.key, answer

    async def _send(
        self, request: web.Request, fault: Fault | None, reply: Reply
    ) -> web.StreamResponse:
        if fault in _ON_THE_WIRE and request.transport is not None:
            if fault is Fault.CUT_BODY:
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(reply.body)}\r\n\r\n".encode()
                request.transport.write(head + reply.body[: len(reply.body) // 2])
            if fault is not Fault.STALL:
                request.transport.close()
            await asyncio.sleep(
                3600
            )  # until the connection is gone, which cancels the handler
        return web.Response(
            body=reply.body,
            status=reply.status,
            headers=reply.headers,
            content_type="application/json",
        )
