"""What the routes of a service share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Self

from fastapi import Path as InPath
from fastapi.responses import Response

from judge.service.annotator import Annotator
from judge.service.catalogue import Catalogue
from judge.service.comparer import Comparer
from judge.service.keeper import Keeper
from judge.service.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a service."""

    settings: Settings
    catalogue: Catalogue
    annotator: Annotator
    keeper: Keeper
    comparer: Comparer

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return a service with these settings."""
        parts = Catalogue(settings), Annotator(settings), Keeper(settings), Comparer(settings)
        return cls(settings, *parts)

    async def close(self) -> None:
        """End what readers wait for; each is told that it broke off."""
        await self.comparer.close()
        await self.annotator.close()


RunId = Annotated[str, InPath(description="A run's id, as in the list of runs.", max_length=200)]


def as_json(data: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return `data` as JSON, whatever text is in it; dates and the like are written as text."""
    text = json.dumps(data, default=str, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type="application/json")


def returns(description: str, model: Any = None, status: int = 200) -> dict[int | str, Any]:  # noqa: ANN401
    """Describe a route's good answer for the OpenAPI description."""
    schema = {"schema": {"type": "object"}} if model is None else {}
    described: dict[str, Any] = {"description": description}
    if model is not None:
        described["model"] = model
    return {status: {**described, "content": {"application/json": schema}}}
