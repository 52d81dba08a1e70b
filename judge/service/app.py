"""The service as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from judge.service import annotations, comparisons, pages, problems, reviewing, runs, studies
from judge.service.guard import Guard
from judge.service.service import Service

# Nothing is told to anyone, whatever the environment says; older versions know no such thing.
_SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
_ABOUT = """Finds out what radiology report-generation models get wrong, with evidence.
Errors are problem details (RFC 9457)."""


def create(service: Service) -> ASGIApp:
    """Return the application; it looks after the service's runs for as long as it is up."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        keeping = asyncio.create_task(service.keeper.keep())
        warming = asyncio.create_task(_warm_up(service))
        try:
            yield
        finally:
            warming.cancel()
            keeping.cancel()
            await asyncio.gather(warming, keeping, return_exceptions=True)
            await service.close()

    app = FastAPI(
        title="judge",
        version=version("judge"),
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # their pages load code from another site
        redoc_url=None,
        telemetry=_SILENT,
        responses=problems.RESPONSES,
        separate_input_output_schemas=False,
    )
    problems.install(app)
    for part in (annotations, runs, studies, reviewing, comparisons, pages):
        app.include_router(part.router(service))
    app.include_router(runs.outputs(service))
    _describe(app)
    return Guard(app, service.settings)


def _describe(app: FastAPI) -> None:
    """Add the form of a problem to the OpenAPI description, which no route returns as such."""
    describe = app.openapi

    def described() -> dict[str, object]:
        schema = describe()
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = problems.Problem.model_json_schema()
        return schema

    app.openapi = described  # type: ignore[method-assign]


async def _warm_up(service: Service) -> None:
    """Load what the first reader would otherwise wait for."""
    await service.annotator.warm_up()
    await asyncio.to_thread(_load, service)


def _load(service: Service) -> None:
    from judge.report import overview
    from judge.service import query

    _ = overview, query
    for place in service.catalogue.places()[:1]:
        if place.is_finished:
            _, opened = service.catalogue.open(place.id)
            _ = opened.overview, opened.worst
