"""Comparisons of runs over HTTP: as `judge compare --format json` prints them, and their page."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel, Field

from judge.service import ProblemError
from judge.service.jobs import Short
from judge.service.service import JSON, Here, Service
from judge.service.settings import ServiceSettings
from judge.service.worker import process, reply, time_limit

_MOST_RUNS = 100
_MOST_KEPT = 8

routes = APIRouter(prefix="/v1/comparison", tags=["comparison"])


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(min_length=1, max_length=_MOST_RUNS, examples=[["RUN"]])
    name: list[Short] = Field(default=[], description="The model of each run; empty: as it says.")
    sort: Short = Field(default="", description="Rank by this metric.")
    by: str = Field(default="", max_length=1000, description="Fields, with commas.")
    common: bool = Field(default=False, description="Compare on the studies that all runs have.")
    allow: list[Literal["judge", "prompt", "references"]] = []
    patient_field: Short = Field(default="", description="Resample by this field.")
    seed: int | None = Field(default=None, ge=0, lt=2**63)

    def request(self, service: Service) -> dict[str, Any]:
        """Return all that the comparison rests on, the runs as they are now.

        Raises `ProblemError` where there is no such run, or it has no results.
        """
        runs: list[dict[str, Any]] = []
        if self.name and len(self.name) != len(self.run):
            raise ProblemError(422, f"{len(self.run)} runs, but {len(self.name)} names of models")
        for name, model in zip(self.run, self.name or [""] * len(self.run), strict=True):
            entry, run = service.catalogue.open(name)
            path = str(entry.path.absolute())
            runs.append(
                {"id": entry.id, "path": path, "model": model.strip(), "stamps": run.stamps}
            )
        return {**self.model_dump(mode="json", exclude={"run", "name"}), "runs": runs}


_Query = Annotated[ComparisonQuery, Query()]


class Comparison:
    """One comparison that is made, or was: a folder that numbers and then figures come into."""

    def __init__(
        self, request: dict[str, Any], settings: ServiceSettings, turn: asyncio.Semaphore
    ) -> None:
        self._folder = TemporaryDirectory(prefix="judge-compare-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.numbers: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.end = asyncio.create_task(self._make(request, settings.compare_seconds, turn))
        self.end.add_done_callback(self._ended)

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without numbers."""
        return self.numbers.done() and self.numbers.exception() is not None

    async def _make(self, request: dict[str, Any], seconds: float, turn: asyncio.Semaphore) -> None:
        request = {**request, "folder": self._folder.name}
        async with turn, time_limit(seconds, "comparison"), process("compare", request) as started:
            await reply(started, "comparison")
            self.numbers.set_result(None)
            await reply(started, "comparison")  # the figures

    def _ended(self, end: asyncio.Task[None]) -> None:
        cut_off = ProblemError(503, "the service is ending")
        error = cut_off if end.cancelled() else end.exception()
        if not self.numbers.done():
            self.numbers.set_exception(error or cut_off)
            self.numbers.exception()  # seen, also where nobody waits any more


class Comparisons:
    """Compares one set of runs at a time and keeps the comparisons that were asked for last."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._kept: dict[str, Comparison] = {}
        self._turn = asyncio.Semaphore(1)

    def of(self, request: dict[str, Any]) -> Comparison:
        """Return the comparison that was asked for, made once for all who ask."""
        key = json.dumps(request, sort_keys=True)
        comparison = self._kept.pop(key, None)
        if comparison is None or comparison.has_failed:
            comparison = Comparison(request, self._settings, self._turn)
        self._kept[key] = comparison
        # One that is still under way is never forgotten: somebody may wait for it.
        ended = [known for known, kept in self._kept.items() if kept.end.done()]
        for known in ended[: max(0, len(self._kept) - _MOST_KEPT)]:
            del self._kept[known]
        return comparison

    async def close(self) -> None:
        """End what is under way."""
        ends = [kept.end for kept in self._kept.values()]
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


@routes.get("")
async def compare_runs(query: _Query, service: Here) -> Response:
    """Compare runs: a leaderboard with its tests, as `judge compare --format json` prints it.

    Runs that differ in what must agree are refused with what differs.
    """
    request = await asyncio.to_thread(query.request, service)
    return Response(await piece_of(request, service, "comparison"), media_type=JSON)


async def piece_of(request: dict[str, Any], service: Service, name: str) -> bytes:
    """Return a piece of a comparison by its name in the page's file, made where it is not yet."""
    comparison = service.comparisons.of(request)
    # Who goes away ends nothing that others wait for.
    await asyncio.shield(comparison.numbers)
    if name.startswith("figure"):
        await asyncio.wait([comparison.end])
        if comparison.end.cancelled() or comparison.end.exception():
            raise ProblemError(502, "the figures could not be drawn; the service's log says why")
    try:
        return (comparison.folder / name).read_bytes()
    except FileNotFoundError:
        raise ProblemError(404, "this comparison has no such metric or figure") from None


@routes.get("/{piece:path}", include_in_schema=False)
async def _piece(
    piece: Annotated[str, InPath(pattern=r"^(overview|columns|figures|(values|figures)/\d+)$")],
    query: _Query,
    service: Here,
) -> Response:
    request = await asyncio.to_thread(query.request, service)
    kinds = {"values/": "application/octet-stream", "figures/": "image/svg+xml"}
    kind = next((kind for start, kind in kinds.items() if piece.startswith(start)), JSON)
    name = piece.replace("figures/", "figure-").replace("/", "-")
    return Response(await piece_of(request, service, name), media_type=kind)
