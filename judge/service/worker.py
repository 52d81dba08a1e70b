"""Worker processes, both ends: the service's `Worker` and the process's own `Channel`.

Each worker is `python -m judge.service.NAME_worker`. A request is one line of JSON on its
standard input and gets one line in reply on its standard output, in any order. The process
is told that nobody waits any more by the end of its standard input, which also comes when
the service was killed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from judge.service import ProblemError
from judge.types import JudgeError

_LONGEST_LINE = 2**28


class Worker:
    """One process, from the service's side. It starts when it is needed, and only once.

    `task` names its module, and the work in messages: "run", "check", "comparison".
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count()

    @property
    def has_ended(self) -> bool:
        """Whether it can do nothing more."""
        return self._reader is not None and self._reader.done()

    async def start(self) -> Process:
        """Start the process if it has not started; it loads what it needs by itself."""
        async with self._starting:
            if self._process is None:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", f"judge.service.{self._task}_worker"),
                    stdin=PIPE,
                    stdout=PIPE,
                    limit=_LONGEST_LINE,
                    start_new_session=True,  # Ctrl-C at the terminal is for the service alone
                )
                self._reader = asyncio.create_task(self._read(self._process))
            return self._process

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply.

        Raises `ProblemError` where the worker replies with a problem (its status), or ends
        without a reply (502).
        """
        process = await self.start()
        assert process.stdin is not None
        if self.has_ended:
            raise self._broke_off(process)
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            process.stdin.write(json.dumps({**request, "id": number}).encode() + b"\n")
            with suppress(ConnectionError):  # then `_read` says so
                await process.stdin.drain()
            reply: dict[str, Any] = await waiting
        finally:
            del self._waiting[number]
        if "status" in reply:
            raise ProblemError(reply["status"], reply["detail"])
        return reply

    async def close(self, patience: float = 0.0) -> None:
        """End the process: in order where it does so within `patience` seconds, else at once."""
        if self._process is None or self._reader is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait([self._reader], timeout=patience)
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._reader

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            reply = json.loads(line)
            waiting = self._waiting.get(reply.pop("id"))
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
        await process.wait()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(self._broke_off(process))

    def _broke_off(self, process: Process) -> ProblemError:
        status = process.returncode or 0
        why = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        return ProblemError(
            502, f"the process of this {self._task} broke off ({why}); the service's log says more"
        )


@asynccontextmanager
async def time_limit(seconds: float, task: str) -> AsyncIterator[None]:
    """Raise `ProblemError` 504 where the block takes longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ProblemError(504, f"the {task} took longer than {seconds:g} seconds") from None


class Channel:
    """The worker's own end, the only one to write to its standard output.

    `at_end` is called, in another thread, when the service is gone; by default that ends
    the process at once.
    """

    def __init__(self, at_end: Callable[[], None] = lambda: os._exit(0)) -> None:
        self._replies = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
        threading.Thread(target=self._listen, args=(at_end,), daemon=True).start()

    def receive(self) -> dict[str, Any]:
        """Return the next request, as soon as there is one."""
        return self._requests.get()

    @contextmanager
    def replying(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Send what the block puts into its dictionary; or the problem, where it raises one."""
        reply: dict[str, Any] = {}
        try:
            yield reply
        except JudgeError as error:
            reply = {"status": getattr(error, "status", 422), "detail": str(error)}
        self._replies.write(json.dumps({**reply, "id": request["id"]}).encode() + b"\n")
        self._replies.flush()

    def _listen(self, at_end: Callable[[], None]) -> None:
        # Not `sys.stdin`: the interpreter closes that when it ends, and breaks off where a thread
        # that waits in it has its lock.
        try:
            for line in open(0, "rb", closefd=False):  # noqa: SIM115
                self._requests.put(json.loads(line))
        finally:  # also where memory is short: who asked must not wait for a worker that is deaf
            at_end()


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Let the block take at most so many bytes of addresses; 0 is no limit.

    Raises `ProblemError` 413 where that is not enough. The limit ends with the block: what
    comes after may be a model server, which claims far more than it uses.
    """
    if not most:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    known = [limit for limit in (most, before, hard) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
        try:
            yield
        finally:  # what follows an error needs memory too
            resource.setrlimit(resource.RLIMIT_AS, (before, hard))
    except Exception as error:
        if not lacked_memory(error):
            raise
        raise ProblemError(
            413,
            f"it needs more than the {most / 2**30:g} GB of memory that this service gives to one "
            "task; send less, or ask its owner for more (--max-memory)",
        ) from error


_NO_MEMORY = ("cannot allocate memory", "out of memory", "can't start new thread", "failed to map")


def lacked_memory(error: BaseException) -> bool:
    """Whether an error, or one that it came from, says that there was not enough memory.

    Besides `MemoryError` these are the words of the C library (a file opened, a library
    loaded), of SQLite, and of Python where a thread could not be started.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(lacked_memory, error.exceptions))
    if isinstance(error, MemoryError):
        return True
    # What we say ourselves may quote a file, and tells by what it came from.
    said = "" if isinstance(error, JudgeError) else str(error).lower()
    if any(word in said for word in _NO_MEMORY):
        return True
    came_from = error.__cause__ or error.__context__
    return came_from is not None and lacked_memory(came_from)


say: Callable[[str], None] = partial(print, file=sys.stderr, flush=True)
"""Writes a line to the service's log."""
