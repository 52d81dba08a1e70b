"""Comparisons of runs over HTTP: the pieces of their page."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import Response

from judge.service.comparisons import ComparisonQuery
from judge.service.service import JSON, ServiceDep

_KINDS = {"values": "application/octet-stream", "figure": "image/svg+xml"}

routes = APIRouter(prefix="/data/comparison", include_in_schema=False)


@routes.get("/{piece}")
async def comparison_piece(
    piece: Annotated[
        str, InPath(pattern=r"^(overview|columns|figures|(values|figure)-\d{1,9})$")
    ],
    query: Annotated[ComparisonQuery, InQuery()],
    service: ServiceDep,
) -> Response:
    """Return `overview`, `columns`, the values of a metric, `figures` or one figure."""
    request = await asyncio.to_thread(query.request, service.catalogue)
    kind = _KINDS.get(piece.partition("-")[0], JSON)
    return Response(await service.comparisons.piece(request, piece), media_type=kind)
