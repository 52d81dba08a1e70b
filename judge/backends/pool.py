"""Servers that already run, one or several, sharing the load."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.backends.base import OverloadError, TransientError, UnavailableError
from judge.backends.connection import CHAT, Connection, shown
from judge.backends.structured import Mode
from judge.types import Completion

if TYPE_CHECKING:
    from judge.backends.openai_client import Client

# A server that does not answer is tried again so many seconds later, with one request.
_PAUSE = 15.0


class Servers(ABC):
    """Where a judge's requests go, be it one server, several, or one that is started for it.

    `billing_url` is the address whose answers are paid for, None where they cost nothing.
    `starts` names what is started: judges that start the same may share it while it `stays`; `stop`
    ends it then. `places` are the servers that run already, each with its key. `max_in_flight` is
    how many requests keep them busy; None for the default of a run.
    """

    billing_url: str | None = None
    starts: tuple[object, ...] | None = None
    stays: bool = False
    places: Sequence[tuple[Connection, str]] = ()
    max_in_flight: int | None = None

    @property
    def log(self) -> Path | None:
        """What a server that was started wrote; None where none was."""
        return None

    async def ready(self) -> None:  # noqa: B027 - one that runs already needs nothing
        """Return when there is somebody to ask; raises `JudgeError` where there will not be."""

    @abstractmethod
    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request; raises as `judge.backends.openai_client.Client.ask` does."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of connections, and of a server that was started unless it stays."""

    def stop(self) -> None:  # noqa: B027 - where nothing was started there is nothing to stop
        """End what was started; returns when nothing of it is left."""


@dataclass(slots=True, eq=False)
class _Place:
    """One server; `out_until` is the time before which one that is left out is not tried again."""

    connection: Connection
    key: str
    client: Client | None = None
    in_flight: int = 0
    out_until: float | None = None


class Pool(Servers):
    """Running servers of one model: each request goes to the one that has the least to do.

    A request that a server does not answer goes to another, and when that one answers the first is
    left out. Now and then one request tries it again.
    """

    def __init__(
        self,
        servers: Sequence[tuple[Connection, str]],
        model: str,
        say: Callable[[str], None],
        *,
        sends: bool = True,
    ) -> None:
        self.places = tuple(servers)
        self._places = [_Place(*server) for server in servers]
        self._model, self._say, self._sends = model, say, sends
        remote = (connection.base_url for connection, _ in servers if not connection.is_local)
        self.billing_url = next(remote, None)

    @cached_property
    def max_in_flight(self) -> int | None:  # type: ignore[override]
        """What the servers say that they take, together; None where they say nothing."""
        from judge.backends.openai_client import capacity

        known = [capacity(*place) for place in self.places] if self._sends else []
        return sum(filter(None, known)) or None

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to one server after another until one answers."""
        untried = list(self._places)
        failed: list[tuple[_Place, TransientError]] = []
        while True:
            place = self._choice(untried)
            untried.remove(place)
            place.in_flight += 1
            try:
                completion = await self._client(place).ask(body, path, mode)
            except OverloadError:
                self._is_back(place)
                raise
            except TransientError as error:
                failed.append((place, error))
                is_its_fault = isinstance(error, UnavailableError) or "status" in error.reason
                if not untried or not is_its_fault:
                    raise
            else:
                # Only now is it sure that it was not the request.
                for other, why in failed:
                    self._leave_out(other, why)
                self._is_back(place)
                return completion
            finally:
                place.in_flight -= 1

    async def aclose(self) -> None:
        """Close the connections."""
        for place in self._places:
            client, place.client = place.client, None  # the next to ask has another event loop
            if client is not None:
                await client.aclose()

    def _choice(self, untried: list[_Place]) -> _Place:
        now = asyncio.get_running_loop().time()
        place = min(untried, key=lambda place: ((place.out_until or 0) > now, place.in_flight))
        if place.out_until is not None:
            place.out_until = now + _PAUSE  # for all requests but this one
        return place

    def _leave_out(self, place: _Place, error: TransientError) -> None:
        if place.out_until is None:
            place.out_until = asyncio.get_running_loop().time() + _PAUSE
            self._say(f"{place.connection.base_url} does not answer ({error.reason}); left out.")

    def _is_back(self, place: _Place) -> None:
        if place.out_until is not None:
            place.out_until = None
            self._say(f"{place.connection.base_url} answers again.")

    def _client(self, place: _Place) -> Client:
        if place.client is None:
            from judge.backends.openai_client import Client

            place.client = Client(place.connection, place.key)
            if not place.connection.is_local:
                proxy, where = place.connection.proxy, place.connection.base_url
                through = f" through the proxy {shown(proxy)}" if proxy else ""
                self._say(f"Sending reports to {where} (model {self._model}){through}.")
        return place.client
