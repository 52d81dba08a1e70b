"""Comparisons of runs over HTTP, as their page and its screens show them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import BaseModel, Field

from judge.pages.comparison_models import (
    ComparedStudies,
    ComparisonGroup,
    ComparisonOverview,
    DrawnFigureTexts,
    ModelValues,
)
from judge.pages.disagreement_models import DisagreementsOverview, PairStudies
from judge.pages.meeting_models import Meeting
from judge.service.jobs import Short
from judge.service.service import JSON, Service, ServiceDep

COMPARISONS = "/v1/comparison"
"""The addresses of comparisons: each may ask for hours of work."""

_MAX_RUNS = 100
_SVG = "image/svg+xml"

routes = APIRouter(prefix=COMPARISONS, tags=["comparisons"])


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(
        min_length=1,
        max_length=_MAX_RUNS,
        description=(
            "The runs, by their ids: one for each model and rubric. Several runs of one model are "
            "told apart by their files, judges, prompts or ids."
        ),
        examples=[["RUN"]],
    )
    by: str = Field(
        default="",
        max_length=1000,
        description="Also the groups by these fields, with commas between them.",
    )
    common: bool = Field(
        default=False, description="Compare on the studies that all runs have."
    )
    allow: list[Literal["judge", "prompt", "references"]] = Field(
        default=[], description="What may differ between the runs."
    )
    patient_field: Short = Field(
        default="",
        description="The field that names the patient, by whom studies are resampled.",
    )

    def request(self, service: Service) -> dict[str, Any]:
        """Return everything that decides the comparison, with the runs as they are now."""
        runs = [
            {"id": entry.id, "path": str(entry.path), "stamps": run.stamps}
            for entry, run in map(service.catalogue.open, self.run)
        ]
        return {**self.model_dump(mode="json", exclude={"run"}), "runs": runs}


Compared = Annotated[ComparisonQuery, InQuery()]
Place = Annotated[int, InPath(ge=0, le=1_000_000, description="From 0.", examples=[0])]


async def _piece(
    name: str,
    query: ComparisonQuery,
    service: Service,
    *,
    screen: str | None = None,
    media_type: str = JSON,
) -> Response:
    """Return a piece of a comparison, or of one of its screens."""
    request = await asyncio.to_thread(query.request, service)
    if screen is not None:
        # Made by itself when it is asked for: it reads every judged report.
        request["screen"] = screen
    piece = await service.comparisons.piece(request, name)
    return Response(piece, media_type=media_type)


@routes.get("", response_model=ComparisonOverview)
async def compare_runs(query: Compared, service: ServiceDep) -> Response:
    """Compare runs: their models, metrics and groups, and how the metrics agree.

    The first request for a comparison waits until it is made, which may take minutes; it is kept
    for a while. The other routes below this one take the same query. 422 where the runs cannot be
    compared: what differs between them, and what allows it.
    """
    return await _piece("overview", query, service)


@routes.get("/groups/{place}", response_model=ComparisonGroup)
async def compare_group(place: Place, query: Compared, service: ServiceDep) -> Response:
    """Return a group of studies by its place in `groups`: leaderboards, tests and errors."""
    return await _piece(f"group-{place}", query, service)


@routes.get("/studies", response_model=ComparedStudies)
async def list_compared_studies(query: Compared, service: ServiceDep) -> Response:
    """List the studies that are compared, with their fields."""
    return await _piece("studies", query, service)


@routes.get("/values/{place}", response_model=ModelValues)
async def values_of_model(
    place: Place, query: Compared, service: ServiceDep
) -> Response:
    """Return the value of each study by each metric, of a model by its place in `models`."""
    return await _piece(f"values-{place}", query, service)


@routes.get("/figures", response_model=DrawnFigureTexts)
async def list_figures(query: Compared, service: ServiceDep) -> Response:
    """List the drawn figures of a comparison; none without the extra `figures`."""
    return await _piece("figures", query, service)


@routes.get(
    "/figures/{place}",
    response_class=Response,
    responses={200: {"content": {_SVG: {}}, "description": "The figure."}},
)
async def drawn_figure(place: Place, query: Compared, service: ServiceDep) -> Response:
    """Return a figure as SVG, by its place in the list."""
    return await _piece(f"figure-{place}", query, service, media_type=_SVG)


@routes.get("/meeting", response_model=Meeting)
async def screen_for_meeting(query: Compared, service: ServiceDep) -> Response:
    """Return one screen for a meeting: each model's rates, errors and most frequent errors.

    The first request waits until it is made: all judged reports are read.
    """
    return await _piece("meeting", query, service, screen="meeting")


@routes.get("/disagreements", response_model=DisagreementsOverview)
async def list_disagreements(query: Compared, service: ServiceDep) -> Response:
    """List the pairs of runs that judged the same reports, with what they see differently."""
    return await _piece("disagreements", query, service, screen="disagreements")


@routes.get("/disagreements/{place}", response_model=PairStudies)
async def disagreements_of_pair(
    place: Place, query: Compared, service: ServiceDep
) -> Response:
    """Return the studies that a pair sees differently, by the pair's place in the list."""
    return await _piece(
        f"disagreements-{place}", query, service, screen="disagreements"
    )
