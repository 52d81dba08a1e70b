"""Where servers are, the way there, and how several of them share the load."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judge.address import is_local
from judge.backends.base import OverloadError, TransientError, UnreadableReplyError
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

if TYPE_CHECKING:
    from judge.backends.openai_client import Client

OPENAI_URL = "https://api.openai.com/v1"
CHAT, COMPLETIONS = "/chat/completions", "/completions"
NO_KEY = "none"
"""What a local server that checks no key is sent."""
_ADDRESS = re.compile(r"https?://(\[[^\s/@?#]+\]|[^\s/@?#:\[\]]+)(:\d+)?(/[^\s?#]*)?", re.I)
# A server that does not answer is tried again so many seconds later, with one request.
_PAUSE = 15.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a server is and how many seconds a whole answer may take."""

    base_url: str = OPENAI_URL
    timeout: float = 120.0

    def __post_init__(self) -> None:
        try:
            is_address = _ADDRESS.fullmatch(self.base_url) and urlsplit(self.base_url).port != 0
        except ValueError:
            is_address = False
        if not is_address:  # not shown: it may hold a key
            raise JudgeError(
                "--base-url is no address: write http://MACHINE:PORT/v1, without key or query"
            )

    @property
    def host(self) -> str:
        """The name or number of the machine."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        return is_local(self.host)

    @property
    def proxy(self) -> str | None:
        """The proxy that the environment names for this server; never one for this machine."""
        if self.is_local or proxy_bypass(self.host):
            return None
        proxies = getproxies()
        proxy = proxies.get(urlsplit(self.base_url).scheme) or proxies.get("all")
        if not proxy or is_local(self.host, resolve=True):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def key(self, environ: Mapping[str, str]) -> str:
        """Return the key for this server; raises `JudgeError` where one is needed and not set."""
        name = "AZURE_OPENAI_API_KEY" if self.host.endswith(".azure.com") else "OPENAI_API_KEY"
        key = environ.get(name, "").strip() or (NO_KEY if self.is_local else "")
        if not key or not key.isascii() or not key.isprintable():
            raise JudgeError(f"{self.base_url} needs a key, in ASCII: set {name}")
        return key


class Servers(ABC):
    """Where a judge's requests go: one server, several, or one that is started for it.

    Attributes:
        starts: What is started: judges that start the same share it while it `stays`.
        places: The servers that run already, each with its key.
        max_in_flight: How many requests keep them busy; None for the default of a run.
    """

    billing_url: str | None = None
    starts: tuple[object, ...] | None = None
    stays: bool = False
    places: Sequence[tuple[Connection, str]] = ()
    max_in_flight: int | None = None

    @property
    def log(self) -> Path | None:
        """The file."""
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
    """Running servers of one model; a request goes to the least busy one that answers."""

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
        now, failed = asyncio.get_running_loop().time(), []
        places = sorted(self._places, key=lambda p: ((p.out_until or 0) > now, p.in_flight))
        for place in places:
            if place.out_until is not None:
                place.out_until = now + _PAUSE  # for all requests but this one
            place.in_flight += 1
            try:
                completion = await self._client(place).ask(body, path, mode)
            except (OverloadError, UnreadableReplyError):
                raise
            except TransientError as error:
                failed.append((place, error))
                if place is places[-1]:
                    raise
            else:
                # Only now is it sure that it was not the request.
                for other, reason in failed:
                    self._leave_out(other, reason)
                if place.out_until is not None:
                    place.out_until = None
                    self._say(f"{place.connection.base_url} answers again.")
                return completion
            finally:
                place.in_flight -= 1
        raise AssertionError("the last server's error is raised")

    async def aclose(self) -> None:
        """Close the connections."""
        for place in self._places:
            client, place.client = place.client, None  # the next to ask has another event loop
            if client is not None:
                await client.aclose()

    def _leave_out(self, place: _Place, error: TransientError) -> None:
        if place.out_until is None:
            self._say(f"{place.connection.base_url} does not answer ({error.reason}); left out.")
        place.out_until = asyncio.get_running_loop().time() + _PAUSE

    def _client(self, place: _Place) -> Client:
        if place.client is None:
            from judge.backends.openai_client import Client

            place.client = Client(place.connection, place.key)
            if not place.connection.is_local:
                proxy, url = place.connection.proxy, place.connection.base_url
                through = f" through the proxy {re.sub('//.*@', '//', proxy)}" if proxy else ""
                self._say(f"Sending reports to {url} (model {self._model}){through}.")
        return place.client
