"""The processes that annotate single pairs, seen from the service."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from judge.backends import LEXICON
from judge.service.problems import ProblemError
from judge.service.settings import Settings

_LONGEST_LINE = 2**28


@dataclass(frozen=True, slots=True)
class _Running:
    """A process and who waits for what of it."""

    process: Process
    waiting: dict[int, asyncio.Future[dict[str, Any]]]


class _Child:
    """One process; it is started when it is needed, and again when it has ended."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._running: _Running | None = None
        self._readers: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self._starting = asyncio.Lock()

    async def start(self) -> _Running:
        """Start the process where it does not run; it loads what it needs by itself."""
        async with self._starting:
            if self._running is None:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "judge.service.pairs", *self._arguments),
                    stdin=PIPE,
                    stdout=PIPE,
                    limit=_LONGEST_LINE,
                    start_new_session=True,
                )
                self._running = _Running(process, {})
                reader = asyncio.create_task(self._read(self._running))
                self._readers.add(reader)
                reader.add_done_callback(self._readers.discard)
            return self._running

    async def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the reply; raises `ProblemError` where none comes within so many seconds."""
        running = await self.start()
        stdin = running.process.stdin
        assert stdin is not None
        number = next(self._numbers)
        reply = running.waiting[number] = asyncio.get_running_loop().create_future()
        try:
            stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
            with suppress(ConnectionError):  # then the reader says so
                await stdin.drain()
            return await asyncio.wait_for(reply, seconds)
        except TimeoutError:
            raise ProblemError(504, f"the judge took longer than {seconds:g} seconds") from None
        finally:
            running.waiting.pop(number, None)

    def kill(self) -> None:
        """End the process at once; the next request starts another."""
        if self._running is not None:
            with suppress(ProcessLookupError):
                self._running.process.kill()
            self._running = None

    async def close(self) -> None:
        """End the process and wait for its end."""
        self.kill()
        await asyncio.gather(*self._readers)

    async def _read(self, running: _Running) -> None:
        stdout = running.process.stdout
        assert stdout is not None
        while line := await stdout.readline():
            answer = json.loads(line)
            reply = running.waiting.get(answer["id"])
            if reply is not None and not reply.done():
                reply.set_result(answer)
        if self._running is running:
            self._running = None
        await running.process.wait()
        for reply in running.waiting.values():
            if not reply.done():
                reply.set_exception(ProblemError(502, "the process that annotates broke off"))


class Annotator:
    """Annotates pairs: the built-in judge's in a few processes, all other judges' in one more.

    The built-in judge takes a processor for itself, so each of its processes has one pair
    at a time; for the others the time is spent waiting, so theirs has many.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        arguments = [str(settings.cache.absolute())] if settings.cache else []
        self._children = [_Child(arguments) for _ in range(settings.workers)]
        self._idle: asyncio.LifoQueue[_Child] = asyncio.LifoQueue()
        for child in self._children:
            self._idle.put_nowait(child)
        self._asking = _Child(arguments)

    async def warm_up(self) -> None:
        """Start what the first pair would otherwise wait for."""
        for child in self._children:
            await child.start()

    async def annotate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the record of one pair; raises `ProblemError` where there is none."""
        request = {**asked, "base_url": self._settings.judges.get(asked["judge"])}
        if asked["judge"].partition(":")[0] == LEXICON:
            reply = await self._by_rules(request)
        else:
            # Retries and the wait for a server that is gone are the engine's: it ends them.
            reply = await self._asking.ask(request, 10 * self._settings.pair_seconds)
        if "record" not in reply:
            raise ProblemError(reply["status"], reply["detail"])
        record: dict[str, Any] = reply["record"]
        return record

    async def _by_rules(self, request: dict[str, Any]) -> dict[str, Any]:
        child = await self._idle.get()
        done = False
        try:
            reply = await child.ask(request, self._settings.pair_seconds)
            done = True
            return reply
        finally:
            if not done:  # it may be busy with the pair that nobody waits for any more
                child.kill()
            self._idle.put_nowait(child)

    async def close(self) -> None:
        """End all processes."""
        await asyncio.gather(*(child.close() for child in (*self._children, self._asking)))
