"""The server's behaviour: from a request to what is done to it."""

from __future__ import annotations

import asyncio
import dataclasses
import heapq
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from faultserver import replies
from faultserver.answers import Answers
from faultserver.batchlines import SERVED, digest_of
from faultserver.batchservice import BatchService
from faultserver.behaviour import Behaviour, changed
from faultserver.counters import Counters, LogRow
from faultserver.faults import AT_ONCE, OF_THE_WIRE, Fault
from faultserver.replies import Ask
from faultserver.wire import Connection, Reply, Request

# Azure's next generation of addresses differs by a prefix.
_ROOTS = ("/v1", "/openai/v1")
_ENDPOINTS = {"/chat/completions": "chat", "/completions": "completions"}
_ENDED_AS = {
    Fault.DROP: "dropped",
    Fault.REFUSED: "dropped",
    Fault.RESET: "reset",
    Fault.CUT_BODY: "cut",
    Fault.STALL: "stalled",
    Fault.STALL_BODY: "stalled",
}
# A timer may fire this much early.
_CLOCK = 0.002


class Door(Protocol):
    """The port that clients connect to."""

    def open(self) -> None:
        """Listen."""

    def shut(self) -> None:
        """Refuse connections and reset those there are."""


@dataclass(slots=True)
class Exchange:
    """A request for a completion on its way to its end."""

    connection: Connection
    arrived: float
    key: str
    mode: str = "text"
    attempt: int = -1
    timer: asyncio.TimerHandle | None = None


class Service:
    """Answers requests as `behaviour` says."""

    def __init__(
        self, behaviour: Behaviour, answers: Answers, decode: Callable[[Sequence[int]], str]
    ) -> None:
        self._answers = answers
        self._decode = decode
        self._loop = asyncio.get_running_loop()
        self._windows: list[asyncio.TimerHandle] = []
        self.door: Door | None = None
        self.behaviour = behaviour
        self.batching = BatchService(self, self.answer_line)
        self.reset()
        self.behave(behaviour)

    def reset(self) -> None:
        """Forget all that was counted, the studies' request numbers and the first request.

        Requests under way stay in flight.
        """
        old = getattr(self, "counters", Counters())
        self.counters = Counters(in_flight=old.in_flight, in_flight_max=old.in_flight)
        self._attempts: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}
        self._first: float | None = None
        self.batching.reset()

    def close(self) -> None:
        """Delete what lies on disk."""
        self.batching.close()

    def behave(self, behaviour: Behaviour) -> None:
        """Behave as `behaviour` says from now on."""
        self.behaviour = behaviour
        self._pattern = re.compile(behaviour.key_pattern)
        self._slots = [0.0] * (behaviour.slots or 0)
        self._accepted: deque[float] = deque()
        self._watch_the_door()

    def serve(self, request: Request, connection: Connection) -> None:
        """Do with a request what is to be done with it."""
        if request.path.startswith("/control/"):
            connection.send(self._control(request))
            return
        root = next((root for root in _ROOTS if request.path.startswith(root + "/")), None)
        rest = request.path[len(root) :].partition("?")[0] if root else ""
        if rest in _ENDPOINTS:
            if request.method == "POST":
                self._complete(_ENDPOINTS[rest], request, connection)
            else:
                connection.send(Reply(405, b'{"detail":"Method Not Allowed"}'))
        elif rest == "/models" or rest.startswith("/models/"):
            self._models(rest.removeprefix("/models").strip("/"), request, connection)
        elif rest.startswith(("/files", "/batches")):
            if refusal := self._refusal_aside(request):
                connection.send(refusal)
            else:
                self.batching.serve(rest, request, connection)
            if request.file:
                request.file.unlink(missing_ok=True)
        else:
            connection.send(Reply(404, b'{"detail":"Not Found"}'))

    def spool(self, method: str, path: str) -> Path | None:
        """Return where on disk the body of a request goes; None for one kept in memory."""
        uploads = method == "POST" and path.partition("?")[0] in [f"{r}/files" for r in _ROOTS]
        return self.batching.store.new_path() if uploads else None

    # Completions

    def _complete(self, endpoint: str, request: Request, connection: Connection) -> None:
        ask = replies.read_ask(endpoint, request.body, self._pattern, self._decode)
        if self._first is None:
            self._first = self._loop.time()
            self._watch_the_door()
        now = self._now()
        key, mode = (ask.key, ask.mode) if ask else ("", "text")
        exchange = Exchange(connection, now, key, mode)
        counters = self.counters
        if connection.served == 1:
            counters.connections += 1
        counters.arrived(key, mode, now)
        if self.behaviour.record:
            counters.recorded.append(_record(request, exchange.key))
        if now < self._not_before.get(exchange.key, 0.0) - _CLOCK:
            counters.too_soon += 1
        outage = self.behaviour.outage
        if outage and outage.covers(now):
            self._act(exchange, ask, outage.fault)
        elif not self._knows_key(request):
            self._send(exchange, replies.wrong_key(self.behaviour.error_style))
        elif refusal := replies.refusal_of(ask, self.behaviour):
            self._send(exchange, refusal)
        elif (wait := self._over_limit()) is not None:
            self._not_before[exchange.key] = now + wait
            self._send(exchange, replies.rate_limited(wait, self.behaviour))
        elif ask:
            self._follow_plan(exchange, ask)

    def _follow_plan(self, exchange: Exchange, ask: Ask) -> None:
        """Give the study what its plan has for this request, when the server gets round to it."""
        key = ask.key
        exchange.attempt = self._attempts[key]
        self._attempts[key] += 1
        fault = self.behaviour.plan_of(key).at(exchange.attempt)
        work = self.behaviour.seconds(key, exchange.attempt)
        if fault is Fault.SLOW:
            work += self.behaviour.slow
        if fault in AT_ONCE or (work == 0 and not self._slots):
            self._act(exchange, ask, fault)
            return
        done = self._loop.time() + work
        if self._slots:
            done = max(self._loop.time(), self._slots[0]) + work
            heapq.heapreplace(self._slots, done)
        exchange.timer = self._loop.call_at(done, self._act, exchange, ask, fault)
        exchange.connection.on_gone = lambda: self._gone(exchange)

    def _act(self, exchange: Exchange, ask: Ask | None, fault: Fault | None) -> None:
        connection = exchange.connection
        model = ask.model if ask else ""
        if fault and (error := replies.error_for(fault, model, self.behaviour)):
            if fault is Fault.RATE_LIMIT:
                self._not_before[exchange.key] = self._now() + self.behaviour.retry_after
            self._send(exchange, error, fault)
            return
        said = self._said(ask, fault) if ask else replies.Said(Reply(400, b"{}"))
        if fault not in _ENDED_AS:
            self.counters.billed(said.tokens)
            if ask:
                self.batching.direct[digest_of(ask.payload)] += 1
            self._send(exchange, said.reply, fault)
            return
        self._log(exchange, _ENDED_AS[fault], fault)
        if fault in (Fault.STALL, Fault.STALL_BODY):
            connection.on_gone = lambda: self.counters.left()
            connection.stall(said.reply if fault is Fault.STALL_BODY else None)
            return
        self.counters.left()
        if fault in (Fault.DROP, Fault.REFUSED):
            connection.drop()
        else:
            connection.cut(said.reply, reset=fault is Fault.RESET)

    def _said(self, ask: Ask, fault: Fault | None) -> replies.Said:
        """Return the completion of `ask`."""
        right = self._answers.text(ask.key, self.behaviour.seed, formed=ask.formed)
        return replies.answer(ask, right, fault, self.behaviour)

    def answer_line(
        self, endpoint: str, body: bytes, fault: Fault | None
    ) -> tuple[str, replies.Said]:
        """Answer a request of a batch as the endpoint would; return its study and the answer.

        It meets `fault`, or else what its study's plan has for it. Nothing is delayed, and
        nothing happens to the connection.
        """
        ask = replies.read_ask(SERVED[endpoint], body, self._pattern, self._decode)
        if (refusal := replies.refusal_of(ask, self.behaviour)) or ask is None:
            return ask.key if ask else "", replies.Said(refusal or Reply(400, b"{}"))
        if fault is None:
            fault = self.behaviour.plan_of(ask.key).at(self._attempts[ask.key])
            self._attempts[ask.key] += 1
        fault = None if fault in OF_THE_WIRE else fault
        if fault and (error := replies.error_for(fault, ask.model, self.behaviour)):
            return ask.key, replies.Said(error)
        return ask.key, self._said(ask, fault)

    def _send(self, exchange: Exchange, reply: Reply, fault: Fault | None = None) -> None:
        self._log(exchange, str(reply.status), fault)
        self.counters.left()
        exchange.connection.send(reply)

    def _gone(self, exchange: Exchange) -> None:
        if exchange.timer:
            exchange.timer.cancel()
        self._log(exchange, "gone", None)
        self.counters.left()

    def _log(self, exchange: Exchange, status: str, fault: Fault | None) -> None:
        row = LogRow(
            exchange.arrived,
            self._now(),
            exchange.key,
            exchange.attempt,
            status,
            fault or "",
            exchange.mode,
        )
        self.counters.ended(row)

    def _over_limit(self) -> float | None:
        """Return how long to wait where the server takes no more now; None where it does."""
        behaviour = self.behaviour
        # This request is in flight already.
        if (
            behaviour.max_in_flight is not None
            and self.counters.in_flight > behaviour.max_in_flight
        ):
            return behaviour.retry_after
        if behaviour.per_second is not None:
            now = self._loop.time()
            while self._accepted and self._accepted[0] <= now - 1:
                self._accepted.popleft()
            if len(self._accepted) >= behaviour.per_second:
                return self._accepted[0] + 1 - now if self._accepted else behaviour.retry_after
            self._accepted.append(now)
        return None

    def _knows_key(self, request: Request) -> bool:
        keys = self.behaviour.api_keys
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return keys is None or given in keys or request.headers.get("api-key") in keys

    def _now(self) -> float:
        return 0.0 if self._first is None else self._loop.time() - self._first

    # The rest

    def _models(self, name: str, request: Request, connection: Connection) -> None:
        behaviour = self.behaviour
        served = behaviour.models if behaviour.models is not None else {"any": "any"}
        if refusal := self._refusal_aside(request):
            connection.send(refusal)
        elif name and behaviour.models is not None and name not in behaviour.models:
            connection.send(replies.unknown_model(name, behaviour.error_style))
        else:
            one = {"object": "model", "created": 0, "owned_by": "faultserver"}
            body: dict[str, Any] = {"id": name, **one}
            if not name:
                body = {"object": "list", "data": [{"id": each, **one} for each in served]}
            connection.send(Reply(200, json.dumps(body).encode()))

    def _refusal_aside(self, request: Request) -> Reply | None:
        """Return what a request for anything but a completion meets first, None for nothing."""
        behaviour = self.behaviour
        if behaviour.outage and behaviour.outage.covers(self._now()):
            # Whatever the outage does to completions: here it is a 503.
            return Reply(503, b"{}")
        return None if self._knows_key(request) else replies.wrong_key(behaviour.error_style)

    def _watch_the_door(self) -> None:
        """Shut and open the port when an outage with `refused` begins and ends."""
        for timer in self._windows:
            timer.cancel()
        self._windows = []
        outage = self.behaviour.outage
        if self.door is None:
            return
        if outage is None or outage.fault is not Fault.REFUSED:
            self.door.open()
            return
        if outage.covers(self._now()):
            self.door.shut()
        elif self._first is not None and self._now() < outage.start:
            shut_at = self._first + outage.start
            self._windows.append(self._loop.call_at(shut_at, self.door.shut))
        else:
            self.door.open()
        if outage.end is not None:
            # Nobody can come before the port opens, so without a first request the time is now.
            begun = self._loop.time() if self._first is None else self._first
            if self._now() < outage.end:
                self._windows.append(self._loop.call_at(begun + outage.end, self.door.open))

    def _control(self, request: Request) -> Reply:
        if request.path.startswith("/control/batches/"):
            return self._control_batches(request)
        match request.method, request.path.partition("?")[0]:
            case "GET", "/control/stats":
                return _json(self.counters.to_json())
            case "GET", "/control/log":
                return _json([dataclasses.astuple(row) for row in self.counters.log])
            case "GET", "/control/requests":
                return _json(list(self.counters.recorded))
            case "GET", "/control/faults":
                return _json(dataclasses.asdict(self.behaviour))
            case "POST", "/control/faults":
                try:
                    self.behave(changed(self.behaviour, json.loads(request.body)))
                except (ValueError, TypeError, AttributeError) as error:
                    return Reply(400, json.dumps({"error": str(error)}).encode())
                return _json({})
            case "POST", "/control/reset":
                self.reset()
                self._watch_the_door()
                return _json({})
            case _:
                return Reply(404, b'{"error":"no such control"}')

    def _control_batches(self, request: Request) -> Reply:
        action = request.path.removeprefix("/control/batches/")
        try:
            return _json(self.batching.control(action, json.loads(request.body) or {}))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return Reply(400, json.dumps({"error": str(error)}).encode())


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())


def _record(request: Request, key: str) -> dict[str, Any]:
    """Return the request for the record. Keys are no part of it."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in ("authorization", "api-key")
    }
    body = request.body.decode("utf-8", "replace")
    return {"study": key, "path": request.path, "headers": headers, "body": body}
