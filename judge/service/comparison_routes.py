"""The routes of comparisons: the pieces of their page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import BaseModel, Field

from judge.service.jobs import Short
from judge.service.service import JSON, Service, ServiceDep

_MAX_RUNS = 100
_MEDIA_TYPES = {"values": "application/octet-stream", "figure": "image/svg+xml"}

routes = APIRouter(prefix="/data/comparison", include_in_schema=False)


class ComparisonQuery(BaseModel):
    """The comparison that a request asks for."""

    run: list[Short] = Field(min_length=1, max_length=_MAX_RUNS)
    by: str = Field(default="", max_length=1000, description="Fields, with commas.")
    common: bool = Field(
        default=False, description="Compare on the studies that all runs have."
    )
    allow: list[Literal["judge", "prompt", "references"]] = []
    patient_field: Short = Field(default="", description="Resample by this field.")

    def request(self, service: Service) -> dict[str, Any]:
        """Return everything that decides the comparison, with the runs as they are now."""
        runs = [
            {"id": entry.id, "path": str(entry.path), "stamps": run.stamps}
            for entry, run in map(service.catalogue.open, self.run)
        ]
        return {**self.model_dump(mode="json", exclude={"run"}), "runs": runs}


@routes.get("/{piece}")
async def comparison_piece(
    piece: Annotated[
        str, InPath(pattern=r"^(overview|columns|figures|(values|figure)-\d{1,9})$")
    ],
    query: Annotated[ComparisonQuery, InQuery()],
    service: ServiceDep,
) -> Response:
    """Return `overview`, `columns`, the values of a metric, `figures` or one figure."""
    request = await asyncio.to_thread(query.request, service)
    kind = _MEDIA_TYPES.get(piece.partition("-")[0], JSON)
    return Response(await service.comparisons.piece(request, piece), media_type=kind)
