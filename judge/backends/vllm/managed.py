"""The server of our own, as a judge sees it: one place to send requests to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.backends.connection import CHAT
from judge.backends.errors import OverloadError, TransientError, UnavailableError
from judge.backends.structured import Mode
from judge.backends.vllm.server import Address, Server
from judge.types import Completion

if TYPE_CHECKING:
    from judge.backends.openai_client import Client


class Managed:
    """Starts the server before the first request and starts it again where it has died.

    A request that dies with the server is an `UnavailableError`: it may be asked again, and
    is then asked of the server's successor.
    """

    paid_at = None

    def __init__(self, server: Server, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._client: tuple[Address, Client] | None = None

    @property
    def log(self) -> Path | None:
        """What the server wrote; None where it was never started."""
        return self._server.log if self._server.log.exists() else None

    async def ready(self) -> None:
        """Return when the server runs; raises `JudgeError` where it cannot."""
        await self._server.address()

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request."""
        address = await self._server.address()
        try:
            return await (await self._to(address)).ask(body, path, mode)
        except OverloadError:
            raise
        except TransientError as error:
            if await self._server.is_gone(address):
                raise UnavailableError("server ended", str(error)) from error
            raise

    async def aclose(self) -> None:
        """Close the connections and stop the server."""
        try:
            if self._client is not None:
                await self._client[1].aclose()
        finally:
            await self._server.aclose()

    async def _to(self, address: Address) -> Client:
        if self._client is None or self._client[0] is not address:
            from judge.backends.openai_client import Client

            old, self._client = (
                self._client,
                (address, Client(address.base_url, address.key, self._timeout)),
            )
            if old is not None:
                await old[1].aclose()
        return self._client[1]
