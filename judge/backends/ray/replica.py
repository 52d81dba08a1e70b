"""The actor: on its node it starts the vLLM that `vllm:` starts, and asks it."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from judge.backends.errors import AskError, UnavailableError
from judge.backends.local import files
from judge.backends.ray.wire import Failure, Order, Place
from judge.backends.replies import RefusedError
from judge.backends.structured import Mode
from judge.backends.vllm.server import ENDED, Launch, Server
from judge.distribution import version
from judge.types import Completion, JudgeError

_KEPT_LINES = 40
# Ray sets this for its own workers, to 1 for one that is given a GPU.
_RAYS_OWN = "OMP_NUM_THREADS"


class Replica:
    """One vLLM on one node. Its methods return errors as values, see `Failure`."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._server: Server | None = None
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        folder = platformdirs.user_log_path("judge", appauthor=False)
        self._log = folder / f"ray-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"

    async def place(self) -> Place:
        """Return where this is."""
        return Place(socket.gethostname(), str(self._log))

    async def start(self) -> tuple[str, ...] | None:
        """Return None when vLLM can be asked, else why not, and the end of its log."""
        self._said.clear()
        try:
            if self._server is None:
                self._server = await asyncio.to_thread(self._made)
            await self._server.ready()
        except JudgeError as error:
            return (str(error), *(line for line in self._said if line.startswith("  |")))
        return None

    async def newest(self) -> str:
        """Return what was said last of a start."""
        return self._said[-1].strip() if self._said else ""

    async def ask(
        self, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion | Failure:
        """Send one request to the vLLM here, as `Server.ask` does."""
        server = self._server
        if server is None or not server.is_up:
            return Failure.of(UnavailableError(ENDED))
        try:
            return await server.ask(body, path, mode)
        except (AskError, RefusedError) as error:
            return Failure.of(error)
        except JudgeError as error:
            # That it has ended once too often is the replica's end, not the run's.
            ended = error is server.failure
            return Failure.of(UnavailableError(ENDED, str(error)) if ended else error)

    async def stop(self) -> None:
        """End vLLM; returns when nothing of it is left."""
        if self._server is not None:
            await self._server.aclose()

    def _made(self) -> Server:
        order, host = self._order, socket.gethostname()
        if version() != order.program:
            raise JudgeError(
                f"{host} has version {version()} of this program and the driver {order.program}"
            )
        if order.version is not None:
            self._check_folder(order.model, order.version, host)
        own = {name: value for name, value in os.environ.items() if name != _RAYS_OWN}
        environ = {**own, **order.environ}
        launch = Launch(order.model, order.flags, self._log, environ, order.start_timeout)
        return Server(launch, self._said.append, order.timeout)

    @staticmethod
    def _check_folder(model: str, wanted: str, host: str) -> None:
        if not Path(model).is_dir():
            raise JudgeError(f"{host} has no folder {model}: put the model there on every node")
        if (found := files.find(model, {}).version) != wanted:
            raise JudgeError(
                f"the folder {model} on {host} holds another model ({found}, not {wanted})"
            )
