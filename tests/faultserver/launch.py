"""Running the server: its two ports, its way to say that it is ready, its end."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from faultserver.answers import ANNOTATE, Annotate, Answers, Render
from faultserver.batching import Batching
from faultserver.behaviour import Behaviour
from faultserver.service import Service
from faultserver.wire import Connection
from judge.rubrics import load

HOST = "127.0.0.1"
_BACKLOG = 4096

Decode = Callable[[Sequence[int]], str]


def characters(tokens: Sequence[int]) -> str:
    """Return the text of which `tokens` are the characters' code points."""
    return "".join(map(chr, tokens))


@dataclass(frozen=True, slots=True)
class Parts:
    """What the answers are made of: whose annotation, written how, and how token ids are read.

    `render` None: the one of the rubric called `rubric`.
    """

    rubric: str = "green"
    render: Render | None = None
    annotate: Annotate = ANNOTATE["green"]
    decode: Decode = characters

    def answers(self) -> Answers:
        """Return the right answers."""
        if self.render:
            return Answers(self.annotate, self.render, self.render)
        rubric = load(self.rubric)
        reply = rubric.structured.render if rubric.structured else rubric.render
        return Answers(self.annotate, rubric.render, reply)


class Listener:
    """A port of `HOST` that can be shut and opened again; 0 takes a free one, once."""

    def __init__(self, service: Service, port: int) -> None:
        self._service = service
        self._alive: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None
        self.port = port
        self.open()

    def open(self) -> None:
        """Listen, where it does not."""
        if self._socket is None:
            self._socket = bound = socket.create_server((HOST, self.port), backlog=_BACKLOG)
            self.port = bound.getsockname()[1]
            self._task = asyncio.get_running_loop().create_task(self._serve(bound))

    def shut(self) -> None:
        """Refuse connections and reset those there are."""
        if self._task:
            self._task.cancel()
        if self._server:
            self._server.close()
        if self._socket:
            self._socket.close()
        self._task = self._server = self._socket = None
        for connection in list(self._alive):
            connection.reset()

    async def ready(self) -> None:
        """Wait until connections are served."""
        if self._task:
            await self._task

    async def _serve(self, bound: socket.socket) -> None:
        service = self._service
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(service.serve, self._alive, service.spool),
            sock=bound,
            backlog=_BACKLOG,
        )


async def run(
    parts: Parts,
    behaviour: Behaviour,
    port: int,
    ready: Callable[[int, int], None],
    until: asyncio.Event,
    batching: Batching | None = None,
) -> None:
    """Serve until `until` is set.

    `ready` is told the clients' port and the control port, which stays open when the other
    is shut by an outage. `port` 0 takes a free one.
    """
    service = Service(behaviour, parts.answers(), parts.decode)
    service.batching.batches.batching = batching or Batching()
    door = Listener(service, port)
    control = Listener(service, 0)
    try:
        await door.ready()
        await control.ready()
        service.door = door
        service.behave(behaviour)
        ready(door.port, control.port)
        await until.wait()
    finally:
        service.door = None
        door.shut()
        control.shut()
        service.close()


def name_of(function: Callable[..., Any]) -> str:
    """Return `module:name` of a function that another process can import.

    Raises `ValueError` for one that it cannot: a lambda, an inner function, a script's own.
    """
    name = f"{function.__module__}:{function.__qualname__}"
    if "<" in name or "." in function.__qualname__ or function.__module__ == "__main__":
        raise ValueError(f"{name} cannot be imported by the server's process: use mode='thread'")
    return name


def named(name: str) -> Any:
    """Return what `module:name` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
