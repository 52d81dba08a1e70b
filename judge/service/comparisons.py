"""Comparisons of runs: made one at a time, and the latest are kept."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import BaseModel, Field

from judge.service import ProblemError
from judge.service.catalogue import Catalogue
from judge.service.jobs import Short
from judge.service.worker import REFUSED, REQUEST, worker

_MAX_RUNS, _MAX_KEPT, _MAX_SECONDS = 100, 8, 600


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(min_length=1, max_length=_MAX_RUNS)
    by: str = Field(default="", max_length=1000, description="Fields, with commas.")
    common: bool = Field(
        default=False, description="Compare on the studies that all runs have."
    )
    allow: list[Literal["judge", "prompt", "references"]] = []
    patient_field: Short = Field(default="", description="Resample by this field.")

    def request(self, catalogue: Catalogue) -> dict[str, Any]:
        """Return everything that decides the comparison, with the runs as they are now."""
        runs = [
            {"id": entry.id, "path": str(entry.path), "stamps": run.stamps}
            for entry, run in map(catalogue.open, self.run)
        ]
        return {**self.model_dump(mode="json", exclude={"run"}), "runs": runs}


class Comparisons:
    """Compares one set of runs at a time and keeps the latest comparisons."""

    def __init__(self) -> None:
        self._latest: dict[str, asyncio.Task[TemporaryDirectory[str]]] = {}
        self._turn = asyncio.Semaphore(1)

    async def piece(self, request: dict[str, Any], name: str) -> bytes:
        """Return a piece of a comparison by its name, made once for all who ask for it."""
        # A client that goes away ends nothing that others wait for.
        folder = await asyncio.shield(self._find(json.dumps(request, sort_keys=True)))
        try:
            return (Path(folder.name) / name).read_bytes()
        except FileNotFoundError:
            raise ProblemError(
                404, "this comparison has no such metric or figure"
            ) from None

    def _find(self, request: str) -> asyncio.Task[TemporaryDirectory[str]]:
        task = self._latest.pop(request, None)
        if task is None or (task.done() and task.exception()):
            task = asyncio.create_task(self._make(request))
        self._latest[request] = task
        # One that is under way is never dropped: somebody may wait for it.
        ended = [key for key, kept in self._latest.items() if kept.done()]
        for old in ended[: max(0, len(self._latest) - _MAX_KEPT)]:
            del self._latest[old]
        return task

    async def _make(self, request: str) -> TemporaryDirectory[str]:
        folder = TemporaryDirectory(prefix="judge-compare-", ignore_cleanup_errors=True)
        (Path(folder.name) / REQUEST).write_text(request, "utf-8")
        try:
            async with (
                self._turn,
                asyncio.timeout(_MAX_SECONDS),
                worker("compare", folder.name, stdout=PIPE) as process,
            ):
                assert process.stdout is not None
                said = await process.stdout.read()
                code = await process.wait()
        except TimeoutError:
            raise ProblemError(
                504, f"it took longer than {_MAX_SECONDS} seconds"
            ) from None
        if code == REFUSED:
            raise ProblemError(422, said.decode("utf-8", "replace").strip())
        if code:
            raise ProblemError(
                502, f"its process ended with exit code {code}; see the log"
            )
        return folder

    async def close(self) -> None:
        """End the comparisons under way."""
        for task in self._latest.values():
            task.cancel()
        await asyncio.gather(*self._latest.values(), return_exceptions=True)
