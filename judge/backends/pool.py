"""Servers that already run, one or several, sharing the load."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.backends.connection import CHAT, Connection, shown
from judge.backends.errors import OverloadError, TransientError, UnavailableError
from judge.backends.structured import Mode
from judge.types import Completion

if TYPE_CHECKING:
    from judge.backends.openai_client import Client

# A server that does not answer is left alone for so many seconds, then tried with one request.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


class Servers(ABC):
    """Where a judge's requests go, be it one server, several, or one that is started for it.

    `billing_url` is the address whose answers are paid for, None where they cost nothing.
    `starts` names what is started: judges that start the same may share it while it `stays`; `stop`
    ends it then. `places` are the servers that run already, each with its key. `max_in_flight` is
    how many requests keep them busy; None for the default of a run.
    """

    billing_url: str | None = None
    starts: tuple[str, ...] | None = None
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
    """One server; `left_out` is when one that is out may be tried again, None while it is in."""

    connection: Connection
    key: str
    client: Client | None = None
    in_flight: int = 0
    left_out: float | None = None
    since: float = 0.0
    pause: float = _FIRST_PAUSE


class Pool(Servers):
    """Running servers of one model: each request goes to the one that has the least to do.

    A request that a server does not answer goes to another, and when that one answers the first is
    left out. After a pause that doubles up to a minute one request tries it again.
    """

    def __init__(
        self, servers: Sequence[tuple[Connection, str]], model: str, say: Callable[[str], None]
    ) -> None:
        self.places = tuple(servers)
        self._places = [_Place(connection, key) for connection, key in servers]
        self._model = model
        self._say = say
        remote = (connection.base_url for connection, _ in servers if not connection.is_local)
        self.billing_url = next(remote, None)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to one server after another until one answers."""
        untried = list(self._places)
        failed: list[tuple[_Place, float, TransientError]] = []
        while True:
            place = self._choice(untried)
            untried.remove(place)
            began = asyncio.get_running_loop().time()
            place.in_flight += 1
            try:
                completion = await self._client(place).ask(body, path, mode)
            except OverloadError:
                self._is_back(place)
                raise
            except TransientError as error:
                failed.append((place, began, error))
                nobody_there = isinstance(error, UnavailableError)
                within = error.reason.startswith("status")
                # No other server would do better with what is no fault of this one.
                if not untried or not (nobody_there or within):
                    self._still_out(failed)
                    raise
            else:
                # Only now is it sure that it was not the request.
                for other, when, why in failed:
                    self._leave_out(other, when, why)
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
        """Return the server to ask: one due to be tried again, else the least busy, else the one
        out longest.
        """
        now = asyncio.get_running_loop().time()
        for place in untried:
            if place.left_out is not None and place.left_out <= now:
                place.left_out = now + place.pause
                return place
        if inside := [place for place in untried if place.left_out is None]:
            return min(inside, key=lambda place: place.in_flight)
        return min(untried, key=lambda place: place.left_out or 0.0)

    def _leave_out(self, place: _Place, began: float, error: TransientError) -> None:
        if place.left_out is None:
            place.pause, place.since = _FIRST_PAUSE, asyncio.get_running_loop().time()
            place.left_out = place.since + place.pause
            self._say(
                f"{place.connection.base_url} does not answer ({error.reason}); left out, and "
                "tried again now and then."
            )
        else:
            self._still_out([(place, began, error)])

    def _still_out(self, failed: list[tuple[_Place, float, TransientError]]) -> None:
        now = asyncio.get_running_loop().time()
        for place, began, _ in failed:
            # What was under way when the server was lost, or lost again, says nothing new.
            if place.left_out is not None and began >= place.since:
                place.pause, place.since = min(place.pause * 2, _LONGEST_PAUSE), now
                place.left_out = now + place.pause

    def _is_back(self, place: _Place) -> None:
        if place.left_out is not None:
            place.left_out = None
            self._say(f"{place.connection.base_url} answers again.")

    def _client(self, place: _Place) -> Client:
        if place.client is None:
            from judge.backends.openai_client import Client

            place.client = Client(place.connection, place.key)
            if not place.connection.is_local:
                proxy = place.connection.proxy
                through = f" through the proxy {shown(proxy)}" if proxy else ""
                where = place.connection.base_url
                self._say(f"Sending reports to {where} (model {self._model}){through}.")
        return place.client
