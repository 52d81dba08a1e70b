"""Comparisons of runs over HTTP: as `judge compare --format json` prints them, and their page."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import BaseModel, Field

from judge.service import ProblemError
from judge.service.jobs import Short
from judge.service.service import JSON, Service, ServiceDep
from judge.service.settings import ServiceSettings
from judge.service.worker import FIGURES, NUMBERS, answer

_MAX_RUNS = 100
_MAX_KEPT = 8
_POLL_SECONDS = 0.05
_KINDS = {"values": "application/octet-stream", "figure": "image/svg+xml"}

routes = APIRouter(prefix="/v1/comparison", tags=["comparison"])
data_routes = APIRouter(prefix="/data/comparison", include_in_schema=False)


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(min_length=1, max_length=_MAX_RUNS, examples=[["RUN"]])
    name: list[Short] = Field(default=[], description="The model of each run; empty: as it says.")
    sort: Short = Field(default="", description="Rank by this metric.")
    by: str = Field(default="", max_length=1000, description="Fields, with commas.")
    common: bool = Field(default=False, description="Compare on the studies that all runs have.")
    allow: list[Literal["judge", "prompt", "references"]] = []
    patient_field: Short = Field(default="", description="Resample by this field.")
    seed: int | None = Field(default=None, ge=0, lt=2**63)

    def request(self, service: Service) -> dict[str, Any]:
        """Return everything that decides the comparison, with the runs as they are now.

        Raises `ProblemError` for a run that does not exist or has no results.
        """
        runs: list[dict[str, Any]] = []
        if self.name and len(self.name) != len(self.run):
            raise ProblemError(422, f"{len(self.run)} runs, but {len(self.name)} names of models")
        for run, model in zip(self.run, self.name or [""] * len(self.run), strict=True):
            entry, opened = service.catalogue.open(run)
            path = str(entry.path.absolute())
            runs.append(
                {"id": entry.id, "path": path, "model": model.strip(), "stamps": opened.stamps}
            )
        return {**self.model_dump(mode="json", exclude={"run", "name"}), "runs": runs}


class Comparison:
    """A comparison under way or finished: its folder gets numbers, then figures."""

    def __init__(
        self, request: dict[str, Any], settings: ServiceSettings, turn: asyncio.Semaphore
    ) -> None:
        self._folder = TemporaryDirectory(prefix="judge-compare-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.task = asyncio.create_task(self._make(request, settings.compare_seconds, turn))

    async def _make(self, request: dict[str, Any], seconds: float, turn: asyncio.Semaphore) -> None:
        request = {**request, "folder": self._folder.name}
        async with turn:
            await answer("compare", request, seconds)

    async def until_there(self, last: str) -> None:
        """Wait for the piece `last`; raises what ended the comparison before it was there."""
        while not (self.folder / last).exists():
            if self.task.done():
                raise self.task.exception() or ProblemError(503, "the service is ending")
            # A client that goes away ends nothing that others wait for.
            await asyncio.sleep(_POLL_SECONDS)


class Comparisons:
    """Compares one set of runs at a time and keeps the latest comparisons."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._latest: dict[str, Comparison] = {}
        self._turn = asyncio.Semaphore(1)

    async def piece(self, request: dict[str, Any], name: str) -> bytes:
        """Return a piece of a comparison by its name, made once for all who ask for it."""
        comparison = self._find(request)
        await comparison.until_there(FIGURES if name.startswith("figure") else NUMBERS)
        try:
            return (comparison.folder / name).read_bytes()
        except FileNotFoundError:
            raise ProblemError(404, "this comparison has no such metric or figure") from None

    def _find(self, request: dict[str, Any]) -> Comparison:
        key = json.dumps(request, sort_keys=True)
        comparison = self._latest.pop(key, None)
        if comparison and comparison.task.done() and not (comparison.folder / NUMBERS).exists():
            comparison = None  # it has failed
        self._latest[key] = comparison or Comparison(request, self._settings, self._turn)
        # One that is under way is never dropped: somebody may wait for it.
        ended = [key for key, kept in self._latest.items() if kept.task.done()]
        for old in ended[: max(0, len(self._latest) - _MAX_KEPT)]:
            del self._latest[old]
        return self._latest[key]

    async def close(self) -> None:
        """End the comparisons under way."""
        tasks = [comparison.task for comparison in self._latest.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


Query = Annotated[ComparisonQuery, InQuery()]


@routes.get("")
async def compare_runs(query: Query, service: ServiceDep) -> Response:
    """Compare runs: a leaderboard with its tests, as `judge compare --format json` prints it.

    Runs that differ in what must agree are refused with the difference.
    """
    return await comparison_piece(NUMBERS, query, service)


@data_routes.get("/{piece}")
async def comparison_piece(
    piece: Annotated[str, InPath(pattern=r"^(overview|columns|figures|(values|figure)-\d{1,9})$")],
    query: Query,
    service: ServiceDep,
) -> Response:
    """Return `overview`, `columns`, the values of a metric, `figures` or one figure."""
    request = await asyncio.to_thread(query.request, service)
    kind = _KINDS.get(piece.partition("-")[0], JSON)
    return Response(await service.comparisons.piece(request, piece), media_type=kind)
