"""Listening: the socket, the server around the application, what is said when it is ready."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

import python_multipart  # noqa: F401 - missing, it would be missed only with the first upload
import uvicorn

from judge.service import app, keeper
from judge.service.service import Service
from judge.service.settings import Settings, is_loopback
from judge.types import JudgeError

_BACKLOG = 2048
_END_SECONDS = 3


class _Server(uvicorn.Server):
    """Says when it is ready, and lets nobody wait for an answer when it ends."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.close()
        await super().shutdown(sockets)


def serve(settings: Settings, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Raises `JudgeError` where the address cannot be had, or runs cannot be written.
    """
    keeper.check(settings)
    service = Service.of(settings)
    with _bound(host, port) as listening:
        config = uvicorn.Config(
            app.create(service),
            access_log=False,  # it would hold study ids, and a token where one is in an address
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_END_SECONDS,
            ws="none",
        )
        at = listening.getsockname()[1]
        ready = partial(_greet, settings, host, at, say)
        _Server(config, service, ready).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that a connection never holds a short answer back for the next.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise JudgeError(
            f"cannot listen at {host}:{port}: {why}; choose another with --host and --port"
        ) from error
    listening.set_inheritable(False)
    return listening


def _greet(settings: Settings, host: str, port: int, say: Callable[[str], None]) -> None:
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    say(f"Serving at {address} (Ctrl-C ends it); new runs go to {settings.runs[0]}.")
    if settings.token:
        say(f"Open it with its token: {address}?token={settings.token}")
    if not is_loopback(host):
        say(
            "It can be reached from other machines, and what it says is not encrypted: put it "
            "behind a proxy with TLS where the network is not yours alone."
        )
