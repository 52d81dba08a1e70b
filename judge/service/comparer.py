"""The processes that compare runs, seen from the service, and what they left."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from judge.service.pieces import FIGURES
from judge.service.problems import ProblemError
from judge.service.settings import Settings

_MOST = 8
_LONGEST_LINE = 2**20
_BROKE_OFF = "the comparison broke off; the service's log may say why"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A comparison: its folder, the moment its pieces are there, and the end of its process."""

    folder: Path
    ready: asyncio.Future[None]
    end: asyncio.Task[None]

    def lacks(self, *, figures: bool) -> bool:
        """Whether its pieces, or its figures where they are asked for, will never be there."""
        if self.ready.done() and self.ready.exception() is not None:
            return True
        return figures and self.end.done() and not (self.folder / FIGURES).exists()


class Comparer:
    """Compares one set of runs at a time and keeps the comparisons that were asked for last.

    A process does it: a reader of another page never waits for the arithmetic, and its
    memory goes with it.
    """

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.compare_seconds
        self._kept: dict[str, _Kept] = {}
        self._turn = asyncio.Semaphore(1)
        self._place: Path | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def pieces(self, asked: Mapping[str, Any]) -> Path:
        """Return the folder of a comparison's pieces; figures may follow.

        What is read of it must be read before anything else is awaited. Raises
        `ProblemError` where the runs cannot be compared.
        """
        kept = self._keep(asked, figures=False)
        await asyncio.shield(kept.ready)
        return kept.folder

    async def figures(self, asked: Mapping[str, Any]) -> Path:
        """Return the same folder when the figures are there too."""
        kept = self._keep(asked, figures=True)
        await asyncio.shield(kept.ready)
        await asyncio.wait([kept.end])
        if not (kept.folder / FIGURES).exists():
            raise ProblemError(502, "the figures could not be drawn; the service's log says why")
        return kept.folder

    async def close(self) -> None:
        """End what is under way and forget all; nothing is begun from then on."""
        self._is_closed = True
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)

    def _keep(self, asked: Mapping[str, Any], *, figures: bool) -> _Kept:
        line = json.dumps(asked, sort_keys=True)
        key = sha256(line.encode()).hexdigest()
        found = self._kept.pop(key, None)
        if found is not None and found.lacks(figures=figures):
            shutil.rmtree(found.folder, ignore_errors=True)
            found = None
        self._kept[key] = found = found or self._start(line)
        # One that is still under way is never forgotten: somebody may wait for it.
        ended = [known for known, kept in self._kept.items() if kept.end.done()]
        for known in ended[: max(0, len(self._kept) - _MOST)]:
            shutil.rmtree(self._kept.pop(known).folder, ignore_errors=True)
        return found

    def _start(self, line: str) -> _Kept:
        if self._is_closed:
            raise ProblemError(503, "the service is ending")
        if len(self._under_way) >= _MOST:
            raise ProblemError(503, "too many comparisons are under way; ask again in a minute")
        self._place = self._place or Path(tempfile.mkdtemp(prefix="judge-compare-"))
        folder = Path(tempfile.mkdtemp(dir=self._place))
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(asyncio.Future.exception)  # whether or not somebody waits
        end = asyncio.create_task(self._work(line, folder, ready))
        self._under_way.add(end)
        end.add_done_callback(self._under_way.discard)
        # Also of one that was cancelled before its first step.
        end.add_done_callback(lambda _: _refuse(ready, 502, _BROKE_OFF))
        return _Kept(folder, ready, end)

    async def _work(self, line: str, folder: Path, ready: asyncio.Future[None]) -> None:
        try:
            async with self._turn, asyncio.timeout(self._seconds):
                await _run(line, folder, ready)
        except TimeoutError:
            _refuse(ready, 504, f"the comparison took longer than {self._seconds:g} seconds")


async def _run(line: str, folder: Path, ready: asyncio.Future[None]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "judge.service.compared", str(folder)),
        stdin=PIPE,
        stdout=PIPE,
        limit=_LONGEST_LINE,
        start_new_session=True,  # Ctrl-C at the terminal is for the service alone
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):  # then it ended, as its output says
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
        if said := await process.stdout.readline():
            detail = json.loads(said).get("detail")
            if detail is None:
                ready.set_result(None)
            else:
                _refuse(ready, 422, detail)
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _refuse(ready: asyncio.Future[None], status: int, detail: str) -> None:
    if not ready.done():
        ready.set_exception(ProblemError(status, detail))
