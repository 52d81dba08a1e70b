"""Comparisons of runs over HTTP: as `judge compare --format json` prints them, and their page."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import Response

from judge.service import pieces
from judge.service.problems import ProblemError
from judge.service.service import Service, returns

_MOST_RUNS = 100
_MOST_RESAMPLES, _MOST_FLIPS = 10_000, 100_000
# Runs by runs by resamples: half as many numbers of 8 bytes are kept of each metric. The
# usual resamples never come to so much.
_MOST_DRAWN = 20_000_000

_Name = Annotated[str, InQuery(max_length=200)]
_Place = Annotated[int, InPath(ge=0, lt=10_000)]


class Allowed(StrEnum):
    """What may differ among the runs."""

    JUDGE = "judge"
    PROMPT = "prompt"
    REFERENCES = "references"


class Asked:
    """The comparison that a request asks for."""

    def __init__(
        self,
        run: Annotated[
            list[_Name], InQuery(min_length=1, max_length=_MOST_RUNS, description="A run's id.")
        ],
        name: Annotated[
            list[_Name] | None,
            InQuery(
                max_length=_MOST_RUNS,
                description="Its model, one for each run in their order; empty: as the run says.",
            ),
        ] = None,
        sort: Annotated[_Name | None, InQuery(description="Rank by this metric.")] = None,
        by: Annotated[str, InQuery(max_length=1000, description="Fields, with commas.")] = "",
        common: Annotated[  # noqa: FBT002
            bool, InQuery(description="Compare on the studies that all runs have.")
        ] = False,
        allow: Annotated[
            list[Allowed] | None, InQuery(description="What may differ among the runs.")
        ] = None,
        patient_field: Annotated[
            _Name | None,
            InQuery(description="Resample by this field; `none` takes studies as independent."),
        ] = None,
        tests: Annotated[bool, InQuery(description="Test differences.")] = True,  # noqa: FBT002
        resamples: Annotated[int | None, InQuery(ge=100, le=_MOST_RESAMPLES)] = None,
        flips: Annotated[int | None, InQuery(ge=100, le=_MOST_FLIPS)] = None,
        seed: Annotated[int | None, InQuery(ge=0, lt=2**63)] = None,
    ) -> None:
        names = name or [""] * len(run)
        if len(names) != len(run):
            raise ProblemError(422, f"{len(run)} runs, but {len(names)} names for their models")
        self._runs = list(zip(run, (text.strip() for text in names), strict=True))
        if tests and resamples and len(run) ** 2 * resamples > _MOST_DRAWN:
            raise ProblemError(
                422, f"{len(run)} runs and {resamples:,} resamples are too much; ask for fewer"
            )
        how = {"resamples": resamples, "flips": flips, "seed": seed}
        self._rest: dict[str, Any] = {
            "sort": sort or None,
            "by": [field.strip() for field in by.split(",") if field.strip()],
            "common": common,
            "allow": sorted(set(allow or ())),
            "patient_field": patient_field or None,
            "tests": tests,
            "how": {option: value for option, value in how.items() if value is not None},
        }

    def found(self, service: Service) -> dict[str, Any]:
        """Return all that the comparison rests on, the runs as they are now.

        Raises `ProblemError` where there is no such run, or it has no results.
        """
        runs = []
        for name, model in self._runs:
            place, opened = service.catalogue.open(name)
            path = str(place.path.absolute())
            runs.append(
                {"id": place.id, "path": path, "model": model or None, "stamp": opened.stamp}
            )
        return {"runs": runs, **self._rest}


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/comparison", tags=["comparison"])
    comparer = service.comparer

    async def pieces_of(asked: Asked) -> Path:
        return await comparer.pieces(await asyncio.to_thread(asked.found, service))

    async def figures_of(asked: Asked) -> Path:
        return await comparer.figures(await asyncio.to_thread(asked.found, service))

    @routes.get(
        "",
        summary="Compare runs",
        description="A leaderboard with its tests, as `judge compare --format json` prints it. "
        "Runs that differ in what must agree are refused with what differs.",
        responses=returns("The comparison."),
    )
    async def compare_runs(asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await pieces_of(asked), pieces.WHOLE)

    @routes.get("/overview", include_in_schema=False)
    async def overview(asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await pieces_of(asked), pieces.OVERVIEW)

    @routes.get("/columns", include_in_schema=False)
    async def columns(asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await pieces_of(asked), pieces.COLUMNS)

    @routes.get("/values/{at}", include_in_schema=False)
    async def values(at: _Place, asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await pieces_of(asked), pieces.values_file(at), "application/octet-stream")

    @routes.get("/figures", include_in_schema=False)
    async def figures(asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await figures_of(asked), pieces.FIGURES)

    @routes.get("/figures/{at}", include_in_schema=False)
    async def figure(at: _Place, asked: Annotated[Asked, Depends()]) -> Response:
        return _file(await figures_of(asked), pieces.figure_file(at), "image/svg+xml")

    return routes


def _file(folder: Path, name: str, kind: str = "application/json") -> Response:
    try:
        return Response((folder / name).read_bytes(), media_type=kind)
    except FileNotFoundError:
        raise ProblemError(404, "this comparison has no such metric or figure") from None
