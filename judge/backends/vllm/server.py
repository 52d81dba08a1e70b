"""A vLLM server of our own: started when there is something to ask, watched, restarted, stopped."""

from __future__ import annotations

import asyncio
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.backends.connection import CHAT, Connection
from judge.backends.errors import OverloadError, TransientError, UnavailableError
from judge.backends.pool import Servers
from judge.backends.structured import Mode
from judge.backends.vllm import trouble
from judge.distribution import install
from judge.types import Completion, JudgeError

if TYPE_CHECKING:
    from judge.backends.openai_client import Client

HOST = "127.0.0.1"
START_TIMEOUT = 3600.0
ENDED = "server ended"
"""Why a request has no answer that died with its server."""
# Names a `vllm` that lives elsewhere: in an environment of its own, behind a script.
EXECUTABLE = "JUDGE_VLLM"
_TICK = 0.5
_SECONDS_BETWEEN_LINES = 15.0
_PORT_TRIALS = 3
_HEALTH_TIMEOUT = 5.0
_GUARD = Path(__file__).with_name("guard.py")
# The guard is gentle for five seconds; then it kills.
_PATIENCE = 15.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: the model, the flags of `vllm serve`, its log, and the seconds it may take."""

    model: str
    flags: tuple[str, ...]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    timeout: float = START_TIMEOUT


@dataclass(frozen=True, slots=True)
class Address:
    """Where a running server is and the key it wants."""

    base_url: str
    key: str = field(repr=False)


class Process:
    """A command under the guard's eye (see `guard`), with all that it writes going to the file
    `log`.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            # For its owner alone: it may quote reports.
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise JudgeError(f"cannot write the server's log {log}: {error.strerror}") from error
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - the guard, no shell
                [sys.executable, "-I", "-S", str(_GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=descriptor,
                stderr=descriptor,
                env=dict(environ),
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        self._buried = False

    @property
    def exit_status(self) -> int | None:
        """The command's exit status, 128 and more for a signal; None while it runs."""
        status = self._guard.poll()
        if status is None:
            return None
        self._bury()
        return status if status >= 0 else 128 - status

    def stop(self) -> None:
        """End the command and everything it started; returns when nothing is left."""
        self._let_go()
        try:
            self._guard.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        self._bury()

    def _let_go(self) -> None:
        if self._guard.stdin is not None:
            with suppress(OSError):
                self._guard.stdin.close()

    def _bury(self) -> None:
        self._let_go()
        if not self._buried:  # later the number may be somebody else's
            self._buried = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._guard.pid, signal.SIGKILL)


class Server(Servers):
    """`vllm serve` as a child process on a free port of this machine.

    It takes a random key, which only the environment of the process holds. One that ends by itself
    is started again once. An answer may take `timeout` seconds.
    """

    def __init__(self, launch: Launch, say: Callable[[str], None], timeout: float) -> None:
        self._launch = launch
        self.starts = (launch.model, *launch.flags)
        self._say = say
        self._timeout = timeout
        self._client: tuple[Address, Client] | None = None
        self._executable = executable(launch.environ)
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._address: Address | None = None
        self._log_from = 0
        self._restarted = False
        self.failure: JudgeError | None = None

    @property
    def is_up(self) -> bool:
        """Whether the server runs and has been ready."""
        return self._process is not None and self._process.exit_status is None

    @property
    def log(self) -> Path | None:
        """What the server wrote; None where it was never started, and while it stays."""
        return self._launch.log if self._launch.log.exists() and not self.stays else None

    async def ready(self) -> None:
        """Return when the server runs; raises `JudgeError` where it cannot."""
        await self.address()

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request; one that dies with the server is an `UnavailableError`."""
        address = await self.address()
        try:
            return await (await self._to(address)).ask(body, path, mode)
        except TransientError as error:
            if not isinstance(error, OverloadError) and await self._is_gone(address):
                raise UnavailableError(ENDED, str(error)) from error
            raise

    async def _to(self, address: Address) -> Client:
        if self._client is None or self._client[0] is not address:
            from judge.backends.openai_client import Client

            old = self._client
            client = Client(Connection(address.base_url, self._timeout), address.key)
            self._client = (address, client)
            if old is not None:
                await old[1].aclose()
        return self._client[1]

    async def address(self) -> Address:
        """Return where the server is, started where it does not run; the first failure stays."""
        async with self._lock:
            if self.failure is not None:
                raise self.failure
            if self._process is not None and self._process.exit_status is not None:
                await self._ended(self._process.exit_status)
            if self._address is None:
                try:
                    self._address = await self._start()
                except JudgeError as error:
                    self.failure = error
                    raise
            return self._address

    async def _is_gone(self, address: Address) -> bool:
        async with self._lock:
            if address is not self._address or self._process is None:
                return True
            if self._process.exit_status is None:
                if await asyncio.to_thread(_health, address, patient=True):
                    return False
                self._say("The server answers, but its engine is gone.")
                await asyncio.to_thread(self._process.stop)
            await self._ended(self._process.exit_status or 0)
            return True

    async def aclose(self) -> None:
        """Close the connections; stop the server, unless it stays for the next to ask."""
        client, self._client = self._client, None
        self._lock = asyncio.Lock()  # the next to ask may do so in another event loop
        try:
            if client is not None:
                await client[1].aclose()
        finally:
            if not self.stays:
                await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Stop the server; returns when nothing of it is left."""
        process, self._process, self._address = self._process, None, None
        if process is not None:
            process.stop()

    async def _ended(self, status: int) -> None:
        self._process = self._address = None
        self._quote()
        if self._restarted:
            self.failure = JudgeError(
                f"vLLM ended in mid-run for the second time ({_status(status)}"
                f"{self._cause()}); what was answered is in the cache, its log is "
                f"{self._launch.log}"
            )
            raise self.failure
        self._restarted = True
        self._say(f"vLLM ended in mid-run ({_status(status)}); starting it again.")

    async def _start(self) -> Address:
        for trial in range(_PORT_TRIALS):
            address = Address(f"http://{HOST}:{_free_port()}/v1", secrets.token_urlsafe(24))
            self._say(
                f"Starting vLLM with {self._launch.model}; its log is {self._launch.log}"
                if trial == 0
                else "Somebody else took the port; trying another."
            )
            log = self._launch.log
            self._log_from = log.stat().st_size if log.exists() else 0
            process = Process(self._command(address), self._environ(address), self._launch.log)
            try:
                if await self._comes_up(process, address):
                    self._process = process
                    return address
            except BaseException:
                # Cancelled, or given up: the guard ends it even if this wait is cut short.
                await asyncio.to_thread(process.stop)
                raise
            status = process.exit_status or 0
            if trouble.PORT_TAKEN not in self._text():
                break
        self._quote()
        raise JudgeError(
            f"vLLM did not start ({_status(status)}{self._cause()}); its log is {self._launch.log}"
        )

    async def _comes_up(self, process: Process, address: Address) -> bool:
        began = said = time.monotonic()
        while process.exit_status is None:
            if await asyncio.to_thread(_health, address):
                self._say(f"vLLM is ready after {time.monotonic() - began:.0f} s.")
                return True
            now = time.monotonic()
            if now - began > self._launch.timeout:
                self._quote()
                raise JudgeError(
                    f"vLLM was not ready after {self._launch.timeout / 60:.3g} minutes "
                    f"({trouble.newest(self._text())}); give it longer with --vllm-timeout, "
                    f"its log is {self._launch.log}"
                )
            if now - said >= _SECONDS_BETWEEN_LINES:
                said = now
                self._say(f"  {now - began:.0f} s: {trouble.newest(self._text())}")
            await asyncio.sleep(_TICK)
        return False

    def _command(self, address: Address) -> list[str]:
        port = address.base_url.rpartition(":")[2].removesuffix("/v1")
        where = ["--host", HOST, "--port", port]
        return [self._executable, "serve", self._launch.model, *where, *self._launch.flags]

    def _environ(self, address: Address) -> dict[str, str]:
        # Not as a flag: command lines are for everyone on the machine to read.
        quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
        return {**self._launch.environ, **quiet, "VLLM_API_KEY": address.key}

    def _text(self) -> str:
        return trouble.read_tail(self._launch.log, self._log_from)

    def _cause(self) -> str:
        cause = trouble.cause(self._text())
        return f": {cause}" if cause else ""

    def _quote(self) -> None:
        for line in trouble.last_lines(self._text()):
            self._say(f"  | {line}")


def executable(environ: Mapping[str, str]) -> str:
    """Return the path of `vllm`: what `JUDGE_VLLM` names, else beside this Python, else on PATH."""
    if named := environ.get(EXECUTABLE, "").strip():
        found = shutil.which(named, path=environ.get("PATH"))
        if found is None:
            raise JudgeError(f"{EXECUTABLE} names {named!r}, which is no program")
        return found
    beside = Path(sys.executable).with_name("vllm")
    if os.access(beside, os.X_OK):
        return str(beside)
    if found := shutil.which("vllm", path=environ.get("PATH", "")):
        return found
    raise JudgeError(
        f"vLLM is not installed: {install('vllm')}, name a `vllm` in {EXECUTABLE} or a "
        "running server with --base-url, or use --judge hf:MODEL"
    )


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as taken:
        return int(taken.getsockname()[1])


def _health(address: Address, *, patient: bool = False) -> bool:
    place = address.base_url.removeprefix("http://").removesuffix("/v1")
    for _ in range(3 if patient else 1):
        with closing(http.client.HTTPConnection(place, timeout=_HEALTH_TIMEOUT)) as connection:
            try:
                connection.request("GET", "/health")
                status = connection.getresponse().status
            except TimeoutError:
                continue  # busy, maybe
            except (OSError, http.client.HTTPException):
                return False
            return status == http.client.OK
    return patient


def _status(status: int) -> str:
    return f"signal {status - 128}" if status > 128 else f"exit status {status}"
