"""The pages: a shell of HTML around the front end, which asks the API for everything."""

from __future__ import annotations

from functools import cache
from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from judge.report import page
from judge.service.problems import ProblemError
from judge.service.service import RunId, Service

_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def runs_page() -> Response:
        return HTMLResponse(shell(""))

    @routes.get("/runs/{run}")
    def run_page(run: RunId) -> Response:
        return HTMLResponse(shell(service.catalogue.place(run).id))

    @routes.get("/runs")
    def to_runs() -> Response:
        return RedirectResponse("/", 308)

    @routes.get("/assets/{digest}/{name}")
    def asset(digest: str, name: str) -> Response:
        if digest != _digest() or name not in _assets():
            raise ProblemError(404, "no such file")
        content, kind = _assets()[name]
        return Response(content, headers=_FOR_EVER, media_type=kind)

    return routes


def shell(run: str) -> str:
    """Return the page of a run, or of the list of runs for "". Nothing in it is inline code."""
    styles = "".join(
        f'<link rel="stylesheet" href="/assets/{_digest()}/{name}">\n' for name in page.STYLES
    )
    return f"""<!doctype html>
<html lang="en" data-mode="service" data-run="{escape(run)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>judge</title>
<link rel="icon" href="data:,">
{styles}<script type="module" src="/assets/{_digest()}/{page.MAIN}"></script>
</head>
<body><noscript>This page needs JavaScript; <code>judge audit</code> does not.</noscript></body>
</html>
"""


@cache
def _digest() -> str:
    return page.asset_digest()


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    names = (*page.STYLES, *page.SCRIPTS)
    return {name: (page.asset(name), page.content_type(name)) for name in names}
