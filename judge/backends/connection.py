"""Where a judge's requests go: addresses, keys, and servers that run already."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from judge.address import is_local, proxy_of, without_secrets
from judge.backends.base import CHAT, TIMEOUT, Client, Mode, Servers, UnreachableError
from judge.types import Completion, JudgeError

NO_KEY = "none"
"""What a local server that checks no key is sent."""
LEFT_OUT = 60.0
"""For how many seconds one of several servers that nobody reaches is not asked."""
FORM_KEY = "response_format"
"""The key of a request's body that holds a reply to its form, in OpenAI's protocol."""

# A host in other letters, or with escapes, is read in one way here and in another by the client.
_ADDRESS = re.compile(
    r"https?://(\[[0-9a-z:.%]+\]|[0-9a-z._-]+)(:[0-9]+)?(/[^\s?#]*)?", re.I | re.ASCII
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a server is and how many seconds a whole answer may take."""

    base_url: str
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        try:
            is_address = (
                _ADDRESS.fullmatch(self.base_url) and urlsplit(self.base_url).port != 0
            )
        except ValueError:
            is_address = False
        if not is_address:  # not shown: it may hold a key
            raise JudgeError(
                "--base-url is no address: write http://MACHINE:PORT/v1, without key or query, and "
                "MACHINE in plain letters (xn--... for others)"
            )

    @property
    def host(self) -> str:
        """The name or number of the machine, in lower case."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        return is_local(self.host)

    @property
    def proxy(self) -> str | None:
        """The proxy on the way, None where there is none; raises `JudgeError` for SOCKS."""
        return proxy_of(self.base_url)

    @property
    def way(self) -> str:
        """The proxy on the way in words, without its password; "" where there is none."""
        return (
            f", through the proxy {without_secrets(self.proxy)}" if self.proxy else ""
        )

    def key(self, environ: Mapping[str, str], name: str) -> str:
        """Return the key in the variable `name`; raises `JudgeError` where one is needed."""
        key = environ.get(name, "").strip() or (NO_KEY if self.is_local else "")
        if not key:
            raise JudgeError(f"{self.base_url} needs a key: set {name}")
        if not (key.isascii() and key.isprintable()):
            raise JudgeError(
                f"{self.base_url} needs a key, in ASCII: the value of {name} has other signs"
            )
        return key


Place: TypeAlias = tuple[Connection, str]
"""A server and the key that it is sent."""
Connect: TypeAlias = Callable[[Connection, str], Client]
"""Makes a client for a server and its key, in the event loop that it is used in."""


class Pool(Servers):
    """Running servers of one model; the one with the fewest requests in flight is asked.

    One that nobody reaches is left out for a minute.

    Attributes:
        places: The servers, each with its key.
    """

    def __init__(
        self,
        places: Sequence[Place],
        model: str,
        say: Callable[[str], None],
        connect: Connect,
    ) -> None:
        self.places = tuple(places)
        self._clients: dict[Connection, Client] = {}
        self._in_flight: Counter[Connection] = Counter()
        self._asked: Counter[Connection] = Counter()
        self._lost_at: dict[Connection, float] = {}
        self._model, self._say, self._connect = model, say, connect
        self.location = ", ".join(connection.base_url for connection, _ in places)
        remote = (
            connection.base_url for connection, _ in places if not connection.is_local
        )
        self.billing_url = next(remote, None)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the least busy server; the last one that is left is waited for."""
        while True:
            connection, key = self._least_busy()
            client = self._client(connection, key)
            self._in_flight[connection] += 1
            self._asked[connection] += 1
            try:
                completion = await client.ask(body, path, mode)
            except UnreachableError as error:
                self._lose(connection, error)
                if all(other in self._lost_at for other, _ in self.places):
                    raise
                continue
            finally:
                self._in_flight[connection] -= 1
            if self._lost_at.pop(connection, None) is not None and len(self.places) > 1:
                self._say(f"{connection.base_url} answers again.")
            return completion

    async def context(self, model: str) -> int | None:
        """Return how many tokens the least busy server says question and answer have."""
        return await self._client(*self._least_busy()).context(model)

    async def ends(self, model: str) -> dt.date | None:
        """Return the day on which the provider says that a model ends; a key is needed for that."""
        connection, key = self.places[0]
        if key == NO_KEY:
            return None
        client = self._connect(connection, key)
        try:
            return await client.ends(model)
        finally:
            await client.aclose()

    def _least_busy(self) -> Place:
        """Return the server to ask: of the lost ones only where its minute is over, or all are."""
        now = time.monotonic()
        there = [place for place in self.places if not self._is_out(place[0], now)]
        if not there:  # the one that was lost the longest ago
            return min(self.places, key=lambda place: self._lost_at[place[0]])
        return min(
            there, key=lambda place: (self._in_flight[place[0]], self._asked[place[0]])
        )

    def _is_out(self, connection: Connection, now: float) -> bool:
        lost_at = self._lost_at.get(connection)
        if lost_at is None:
            return False
        # After a minute one request at a time tries it.
        return now - lost_at < LEFT_OUT or self._in_flight[connection] > 0

    def _lose(self, connection: Connection, error: UnreachableError) -> None:
        is_new = connection not in self._lost_at
        self._lost_at[connection] = time.monotonic()
        if is_new and len(self.places) > 1:
            self._say(
                f"{connection.base_url} does not answer ({error}); left out, and tried again "
                "after a minute."
            )

    def _client(self, connection: Connection, key: str) -> Client:
        if connection not in self._clients:
            self._clients[connection] = self._connect(connection, key)
            if not connection.is_local:
                self._say(
                    f"Sending reports to {connection.base_url} (model {self._model})"
                    f"{connection.way}."
                )
        return self._clients[connection]

    async def aclose(self) -> None:
        """Close the connections."""
        clients = [*self._clients.values()]
        self._clients.clear()  # the next to ask has another event loop
        for client in clients:
            await client.aclose()
