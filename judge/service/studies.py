"""A run's studies over HTTP: all of them in columns, those that hold some words, and one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Query as InQuery
from fastapi.responses import Response

from judge.report.view import study_view
from judge.service import reviews
from judge.service.problems import ProblemError
from judge.service.service import RunId, Service, as_json, gzipped_json, returns


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/runs", tags=["studies"])

    @routes.get(
        "/{run}/studies",
        summary="List a run's studies",
        description="Everything that studies are filtered and sorted by: `columns` holds a value a "
        "study under each column's name, `order` the studies' rows, the worst first.",
        responses=returns("The columns and the order."),
    )
    def list_studies(run: RunId, request: Request) -> Response:
        _, opened = service.catalogue.open(run)
        return gzipped_json(opened.index, request)

    @routes.get(
        "/{run}/search",
        summary="Search a run's studies",
        description="The rows of the studies that hold every word: in their id, fields, reports, "
        "errors, corrections, matched findings and explanation.",
        responses=returns("The rows."),
    )
    def search_studies(
        run: RunId,
        q: Annotated[str, InQuery(max_length=1000, description="Words, in either case.")],
    ) -> Response:
        _, opened = service.catalogue.open(run)
        return as_json({"rows": opened.search(q)})

    @routes.get(
        "/{run}/study",
        summary="Show one study",
        description="One study, by its `id` or its `row`.",
        responses=returns("The study and its reviews."),
    )
    def show_study(
        run: RunId,
        id: Annotated[str | None, InQuery(description="Any text.")] = None,  # noqa: A002
        row: Annotated[int | None, InQuery(ge=0, le=2**40)] = None,
        record: Annotated[  # noqa: FBT002
            bool, InQuery(description="Whether to give all that is known of the study.")
        ] = False,
    ) -> Response:
        _, opened = service.catalogue.open(run)
        if (id is None) == (row is None):
            raise ProblemError(422, "name the study by either its id or its row")
        at = row if id is None else opened.row_of(id)
        if at is None or at >= opened.n_studies:
            raise ProblemError(404, "no such study in this run")
        found = opened.record(at)
        events = [event for event in opened.reviews.latest() if event.study_id == found["study_id"]]
        shown = {
            "row": at,
            "view": study_view(found, opened.rubric),
            "fingerprints": list(reviews.errors_of(found, opened.rubric)),
            "reviews": [asdict(event) for event in events],
        }
        return as_json({**shown, "record": found} if record else shown)

    return routes
