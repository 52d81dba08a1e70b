"""Comparisons of runs over HTTP: as `judge compare --format json` prints them, and their page."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel, Field, model_validator

from judge.service import ProblemError
from judge.service.jobs import Short
from judge.service.service import JSON, Here, JsonRoute, Service, returns
from judge.service.settings import ServiceSettings
from judge.service.worker import Worker, time_limit

_MOST_RUNS = 100
_MOST_RESAMPLES, _MOST_FLIPS = 10_000, 100_000
# Runs by runs by resamples: half as many numbers of 8 bytes are kept of each metric. The
# usual resamples never come to so much.
_MOST_DRAWN = 20_000_000
_MOST_KEPT = 8

_Index = Annotated[int, InPath(ge=0, lt=10_000)]
Allowed = Literal["judge", "prompt", "references"]
"""What may differ among the runs."""

routes = APIRouter(route_class=JsonRoute, prefix="/v1/comparison", tags=["comparison"])


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(
        min_length=1, max_length=_MOST_RUNS, description="A run's id.", examples=[["RUN"]]
    )
    name: list[Short] = Field(
        default=[],
        max_length=_MOST_RUNS,
        description="Its model, one for each run in their order; empty: as the run says.",
    )
    sort: Short = Field(default="", description="Rank by this metric.")
    by: str = Field(default="", max_length=1000, description="Fields, with commas.")
    common: bool = Field(default=False, description="Compare on the studies that all runs have.")
    allow: list[Allowed] = Field(default=[], description="What may differ among the runs.")
    patient_field: Short = Field(
        default="", description="Resample by this field; `none` takes studies as independent."
    )
    tests: bool = Field(default=True, description="Test differences.")
    resamples: int | None = Field(default=None, ge=100, le=_MOST_RESAMPLES)
    flips: int | None = Field(default=None, ge=100, le=_MOST_FLIPS)
    seed: int | None = Field(default=None, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        n = len(self.run)
        if self.name and len(self.name) != n:
            raise ValueError(f"{n} runs, but {len(self.name)} names for their models")
        if self.tests and self.resamples and n**2 * self.resamples > _MOST_DRAWN:
            raise ValueError(
                f"{n} runs and {self.resamples:,} resamples are too much; ask for fewer"
            )
        return self

    def request(self, service: Service) -> dict[str, Any]:
        """Return all that the comparison rests on, the runs as they are now.

        Raises `ProblemError` where there is no such run, or it has no results.
        """
        runs = []
        for name, model in zip(self.run, self.name or [""] * len(self.run), strict=True):
            entry, run = service.catalogue.open(name)
            path = str(entry.path.absolute())
            runs.append({"id": entry.id, "path": path, "model": model.strip(), "stamp": run.stamp})
        return {**self.model_dump(mode="json", exclude={"run", "name"}), "runs": runs}


_Query = Annotated[ComparisonQuery, Query()]


class _Kept:
    def __init__(self, folder: Path, work: Callable[[_Kept], Coroutine[Any, Any, None]]) -> None:
        self.folder = folder
        self.has_numbers = False
        self.problem: BaseException | None = None
        self.is_told = asyncio.Event()  # that there are numbers, or never will be
        self.end = asyncio.create_task(work(self))
        self.end.add_done_callback(self._ended)  # also of one cancelled before its first step

    def _ended(self, end: asyncio.Task[None]) -> None:
        cut_off = ProblemError(502, "the comparison broke off: the service is ending")
        self.problem = cut_off if end.cancelled() else end.exception()
        self.is_told.set()


class Comparisons:
    """Compares one set of runs at a time and keeps the comparisons that were asked for last.

    A process does each: a reader of another page never waits for the arithmetic, and its
    memory goes with it.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._kept: dict[str, _Kept] = {}
        self._turn = asyncio.Semaphore(1)
        self._folder: Path | None = None
        self._is_closed = False

    async def numbers(self, request: dict[str, Any]) -> Path:
        """Return the folder with a comparison's numbers; figures may follow.

        What is read of it must be read before anything else is awaited. Raises
        `ProblemError` where the runs cannot be compared.
        """
        return (await self._keep(request, figures=False)).folder

    async def figures(self, request: dict[str, Any]) -> Path:
        """Return the same folder when the figures are there too."""
        kept = await self._keep(request, figures=True)
        await asyncio.wait([kept.end])
        if kept.problem is not None:
            raise ProblemError(502, "the figures could not be drawn; the service's log says why")
        return kept.folder

    async def close(self) -> None:
        """End what is under way and forget all; nothing is begun from then on."""
        self._is_closed = True
        ends = [kept.end for kept in self._kept.values()]
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _keep(self, request: dict[str, Any], *, figures: bool) -> _Kept:
        key = json.dumps(request, sort_keys=True)
        found = self._kept.pop(key, None)
        if found is not None and found.problem and (figures or not found.has_numbers):
            shutil.rmtree(found.folder, ignore_errors=True)
            found = None
        self._kept[key] = found = found or self._start(request)
        # One that is still under way is never forgotten: somebody may wait for it.
        ended = [known for known, kept in self._kept.items() if kept.end.done()]
        for known in ended[: max(0, len(self._kept) - _MOST_KEPT)]:
            shutil.rmtree(self._kept.pop(known).folder, ignore_errors=True)
        await found.is_told.wait()
        if found.problem is not None and not found.has_numbers:
            raise found.problem
        return found

    def _start(self, request: dict[str, Any]) -> _Kept:
        if self._is_closed:
            raise ProblemError(503, "the service is ending")
        if sum(not kept.end.done() for kept in self._kept.values()) >= _MOST_KEPT:
            raise ProblemError(503, "too many comparisons are under way; ask again in a minute")
        self._folder = self._folder or Path(tempfile.mkdtemp(prefix="judge-compare-"))
        return _Kept(Path(tempfile.mkdtemp(dir=self._folder)), partial(self._compare, request))

    async def _compare(self, request: dict[str, Any], kept: _Kept) -> None:
        folder, worker = str(kept.folder), Worker("comparison")
        try:
            async with self._turn, time_limit(self._settings.compare_seconds, "comparison"):
                await worker.ask({**request, **self._settings.for_worker(), "folder": folder})
                kept.has_numbers = True
                kept.is_told.set()
                await worker.ask({})  # for the figures
        finally:
            await worker.close()


@routes.get("", summary="Compare runs", responses=returns("The comparison."))
async def compare_runs(query: _Query, service: Here) -> Response:
    """A leaderboard with its tests, as `judge compare --format json` prints it.

    Runs that differ in what must agree are refused with what differs.
    """
    return await _file(query, service, "comparison.json")


@routes.get("/overview", include_in_schema=False)
async def _overview(query: _Query, service: Here) -> Response:
    return await _file(query, service, "overview.json")


@routes.get("/columns", include_in_schema=False)
async def _columns(query: _Query, service: Here) -> Response:
    return await _file(query, service, "columns.json")


@routes.get("/values/{index}", include_in_schema=False)
async def _values(index: _Index, query: _Query, service: Here) -> Response:
    return await _file(query, service, f"values-{index}", "application/octet-stream")


@routes.get("/figures", include_in_schema=False)
async def _figures(query: _Query, service: Here) -> Response:
    return await _file(query, service, "figures.json", wait=Comparisons.figures)


@routes.get("/figures/{index}", include_in_schema=False)
async def _figure(index: _Index, query: _Query, service: Here) -> Response:
    name = f"figure-{index}.svg"
    return await _file(query, service, name, "image/svg+xml", wait=Comparisons.figures)


async def _file(
    query: ComparisonQuery,
    service: Service,
    name: str,
    kind: str = JSON,
    wait: Callable[[Comparisons, dict[str, Any]], Awaitable[Path]] = Comparisons.numbers,
) -> Response:
    request = await asyncio.to_thread(query.request, service)
    folder = await wait(service.comparisons, request)
    try:
        return Response((folder / name).read_bytes(), media_type=kind)
    except FileNotFoundError:
        raise ProblemError(404, "this comparison has no such metric or figure") from None
