"""The screens of a comparison over HTTP: for a meeting, and of what two judges see differently."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi.responses import Response

from judge.pages.disagreement_models import DisagreementsOverview, PairStudies
from judge.pages.meeting_models import Meeting
from judge.service.comparison_routes import COMPARISONS, Compared, ComparisonQuery
from judge.service.service import JSON, Service, ServiceDep

routes = APIRouter(prefix=COMPARISONS, tags=["comparisons"])


async def _piece(
    screen: str, name: str, query: ComparisonQuery, service: Service
) -> Response:
    request = await asyncio.to_thread(query.request, service)
    # Made by itself when it is asked for: it reads every judged report.
    request["screen"] = screen
    piece = await service.comparisons.piece(request, name)
    return Response(piece, media_type=JSON)


@routes.get("/meeting", response_model=Meeting)
async def screen_for_meeting(query: Compared, service: ServiceDep) -> Response:
    """Return one screen for a meeting: each model's rates, errors and most frequent errors.

    The first request waits until it is made: all judged reports are read.
    """
    return await _piece("meeting", "meeting", query, service)


@routes.get("/disagreements", response_model=DisagreementsOverview)
async def list_disagreements(query: Compared, service: ServiceDep) -> Response:
    """List the pairs of runs that judged the same reports, with what they see differently."""
    return await _piece("disagreements", "disagreements", query, service)


@routes.get("/disagreements/{place}", response_model=PairStudies)
async def disagreements_of_pair(
    place: Annotated[int, InPath(ge=0, le=1_000_000, description="From 0.")],
    query: Compared,
    service: ServiceDep,
) -> Response:
    """Return the studies that a pair sees differently, by the pair's place in the list."""
    return await _piece("disagreements", f"disagreements-{place}", query, service)
