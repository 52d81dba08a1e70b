"""The pages: a shell of HTML around the front end, which asks the API for everything."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from judge.report import compare_page, page
from judge.report.frontend import Frontend, content_type
from judge.service import ProblemError
from judge.service.service import Here, RunId

_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_RUNS, _COMPARISON = page.FRONTEND, compare_page.FRONTEND

routes = APIRouter(include_in_schema=False)


@routes.get("/")
def _runs_page() -> Response:
    return _shell(_RUNS)


@routes.get("/runs/{run}")
def _run_page(run: RunId, service: Here) -> Response:
    return _shell(_RUNS, service.catalogue.find(run).id)


@routes.get("/compare")
def _comparison_page() -> Response:
    return _shell(_COMPARISON)


@routes.get("/runs")
def _to_runs() -> Response:
    return RedirectResponse("/", 308)


@routes.get("/assets/{digest}/{name}")
def _asset(digest: str, name: str) -> Response:
    for frontend in (_RUNS, _COMPARISON):
        if digest == frontend.digest and name in frontend.files:
            content = frontend.files[name]
            return Response(content, headers=_FOR_EVER, media_type=content_type(name))
    raise ProblemError(404, "no such file")


def _shell(frontend: Frontend, run: str = "") -> Response:
    """Return a page, of `run` where one is named. Nothing in it is inline code."""
    assets = f"/assets/{frontend.digest}"
    styles = "".join(
        f'<link rel="stylesheet" href="{assets}/{name}">\n' for name in frontend.styles
    )
    return HTMLResponse(f"""<!doctype html>
<html lang="en" data-mode="service" data-run="{escape(run)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>judge</title>
<link rel="icon" href="data:,">
{styles}<script type="module" src="{assets}/{frontend.main}"></script>
</head>
<body><noscript>This page needs JavaScript; <code>judge audit</code> does not.</noscript></body>
</html>
""")
