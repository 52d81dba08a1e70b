"""Comparisons of runs over HTTP: made in a process of their own, and kept for a while."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from judge.service import ProblemError
from judge.service.worker import REQUEST, printed

_MAX_KEPT = 8
_MAX_SECONDS = 600


class Comparisons:
    """Compares one set of runs at a time and keeps the latest comparisons."""

    def __init__(self) -> None:
        self._latest: dict[str, asyncio.Task[TemporaryDirectory[str]]] = {}
        self._turn = asyncio.Semaphore(1)

    async def piece(self, request: dict[str, Any], name: str) -> bytes:
        """Return a piece of a comparison by its name, made once for all who ask for it.

        Raises `ProblemError` 404 for a piece that it has not, and 422 for runs that cannot be
        compared.
        """
        # A client that goes away ends nothing that others wait for.
        folder = await asyncio.shield(self._find(json.dumps(request, sort_keys=True)))
        try:
            return (Path(folder.name) / name).read_bytes()
        except FileNotFoundError:
            raise ProblemError(
                404, "this comparison has no such group, model or figure"
            ) from None

    def is_reading(self, run: Path) -> bool:
        """Whether a comparison under way reads the run in this folder."""
        under_way = [
            request for request, task in list(self._latest.items()) if not task.done()
        ]
        for request in under_way:
            paths = [compared["path"] for compared in json.loads(request)["runs"]]
            if str(run) in paths:
                return True
        return False

    def _find(self, request: str) -> asyncio.Task[TemporaryDirectory[str]]:
        task = self._latest.pop(request, None)
        if task is None or _has_failed(task):
            task = asyncio.create_task(self._make(request))
        self._latest[request] = task
        # One that is under way is never dropped: somebody may wait for it.
        ended = [key for key, kept in self._latest.items() if kept.done()]
        for old in ended[: max(0, len(self._latest) - _MAX_KEPT)]:
            del self._latest[old]
        return task

    async def _make(self, request: str) -> TemporaryDirectory[str]:
        folder = TemporaryDirectory(prefix="judge-compare-", ignore_cleanup_errors=True)
        try:
            (Path(folder.name) / REQUEST).write_text(request, "utf-8")
            async with self._turn:
                await printed("compare", folder.name, most_seconds=_MAX_SECONDS)
        except BaseException:
            folder.cleanup()
            raise
        return folder

    async def close(self) -> None:
        """End the comparisons under way."""
        for task in self._latest.values():
            task.cancel()
        await asyncio.gather(*self._latest.values(), return_exceptions=True)


def _has_failed(task: asyncio.Task[TemporaryDirectory[str]]) -> bool:
    # The exception of a task that was cancelled is raised, not returned.
    return task.done() and (task.cancelled() or task.exception() is not None)
