"""The pieces of data that a page loads: of a run and of a comparison, named as in a page's file."""

from __future__ import annotations

import asyncio
from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import APIRouter
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import ValidationError

from judge.running.records import first_of
from judge.service import ProblemError
from judge.service.comparisons import ComparisonQuery, piece_of
from judge.service.service import JSON, Here, RunId

routes = APIRouter(prefix="/data", include_in_schema=False)
_KINDS = {"values": "application/octet-stream", "figure": "image/svg+xml"}


def run_address(run: str) -> str:
    """Return where the pieces of a run are."""
    return f"/data/run/{quote(run, safe='')}"


def comparison_address(query: str) -> str:
    """Return where the pieces of a comparison are; its key is the query of its page."""
    return f"/data/comparison/{quote(query, safe='')}"


@routes.get("/run/{run}/{piece}")
def run_piece(
    run: RunId,
    piece: Annotated[str, InPath(pattern=r"^(overview|index|packet-\d{1,9})$")],
    service: Here,
) -> Response:
    """Return `overview`, `index`, or a packet of studies with the fingerprints of their errors."""
    _, opened = service.catalogue.open(run)
    return Response(opened.piece(piece), headers={"Content-Encoding": "gzip"}, media_type=JSON)


@routes.get("/comparison/{key}/{piece}")
async def comparison_piece(
    key: str,
    piece: Annotated[str, InPath(pattern=r"^(overview|columns|figures|(values|figure)-\d{1,9})$")],
    service: Here,
) -> Response:
    """Return `overview`, `columns`, the values of a metric, `figures` or one figure."""
    fields = {
        name: values if name in ("run", "name", "allow") else values[-1]
        for name, values in parse_qs(key, keep_blank_values=True).items()
    }
    try:
        query = ComparisonQuery.model_validate(fields)
    except ValidationError as error:
        raise ProblemError(422, first_of(error)) from None
    request = await asyncio.to_thread(query.request, service)
    kind = _KINDS.get(piece.partition("-")[0], JSON)
    return Response(await piece_of(request, service, piece), media_type=kind)
