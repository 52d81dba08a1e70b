"""A run's studies over HTTP, all in columns, some by words or one, and what readers say of them."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from judge.report.view import study_view
from judge.service import ProblemError, reviews
from judge.service.catalogue import OpenRun
from judge.service.reviews import MISSED, Event
from judge.service.service import JSON, Here, RunId, as_json, reader_name
from judge.stats.review import VERDICTS

routes = APIRouter(prefix="/v1/runs", tags=["studies"])


class Review(BaseModel):
    """What a reader says. Their next word about the same thing takes its place."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, description="Of the run.", examples=["STUDY"])
    reader: Annotated[str, AfterValidator(reader_name)] = Field(
        min_length=1, max_length=100, description="Who says it.", examples=["Anna"]
    )
    verdict: reviews.Word = Field(
        description="right, wrong, wrong_severity: of the error that is named. missed: an "
        "error that the judge has not seen. comment: of the study as a whole, or beside "
        "nothing else. none: takes back what was said.",
        examples=["comment"],
    )
    error: str | None = Field(
        default=None,
        max_length=100,
        description="The error's fingerprint, or the id of the review that added it.",
    )
    comment: str = Field(
        default="", max_length=20_000, description="In words.", examples=["See the priors."]
    )
    categories: list[Annotated[str, Field(max_length=100)]] = Field(
        default=[], max_length=100, description="Of the missed error."
    )
    level: str | None = Field(
        default=None, max_length=100, description="How grave the missed error is."
    )
    text: str = Field(default="", max_length=20_000, description="The missed error in words.")


@routes.get("/{run}/studies")
def list_studies(run: RunId, request: Request, service: Here) -> Response:
    """List a run's studies: `columns` holds a value a study under each column's name.

    `order` are the studies' rows, the worst first.
    """
    _, opened = service.catalogue.open(run)
    content, headers = opened.index, {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        content = gzip.decompress(content)
    return Response(content, headers=headers, media_type=JSON)


@routes.get("/{run}/search")
def search_studies(
    run: RunId,
    service: Here,
    q: Annotated[
        str, InQuery(max_length=1000, description="Words, in either case.", examples=["effusion"])
    ],
) -> Response:
    """Search for the studies that hold every word; `rows` are their places in the run, from 0.

    Searched are id, fields, reports, errors, corrections, matched findings and explanation.
    """
    _, opened = service.catalogue.open(run)
    return as_json({"rows": opened.search(q)})


@routes.get("/{run}/study")
def show_study(
    run: RunId,
    service: Here,
    id: Annotated[str | None, InQuery(description="The study's id.")] = None,  # noqa: A002
    row: Annotated[
        int | None,
        InQuery(ge=0, le=2**40, description="Its place in the run, from 0.", examples=[0]),
    ] = None,
    record: Annotated[  # noqa: FBT002
        bool, InQuery(description="Whether to give all that is known of the study.")
    ] = False,
) -> Response:
    """Show one study, by its `id` or its `row`: its `view`, `fingerprints` of errors, `reviews`."""
    _, opened = service.catalogue.open(run)
    if (id is None) == (row is None):
        raise ProblemError(422, "name the study by either its id or its row")
    at = row if id is None else opened.row_of(id)
    if at is None:
        raise ProblemError(404, "no such study in this run")
    study = opened.row(at)
    events = reviews.current(opened.path)
    shown = {
        "row": at,
        "view": study_view(study, opened.rubric),
        "fingerprints": list(reviews.errors_of(study, opened.rubric)),
        "reviews": [asdict(event) for event in events if event.study_id == study["study_id"]],
    }
    return as_json({**shown, "record": study} if record else shown)


@routes.get("/{run}/reviews")
def list_reviews(run: RunId, service: Here) -> Response:
    """Return the reviews that count, and how right the judge was in the readers' eyes."""
    _, opened = service.catalogue.open(run)
    events = [asdict(event) for event in reviews.current(opened.path)]
    return as_json({"events": events, "statistics": opened.reviewed()})


@routes.get("/{run}/reviews.csv", response_class=Response)
def export_reviews(run: RunId, service: Here) -> Response:
    """Export the reviews that count for a spreadsheet, one a row."""
    entry, opened = service.catalogue.open(run)
    return Response(
        reviews.as_csv(reviews.current(opened.path)).encode("utf-8", "replace"),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{entry.id}-reviews.csv"'},
    )


@routes.post("/{run}/reviews", status_code=201)
def add_review(run: RunId, review: Review, service: Here) -> Response:
    """Write a review down. When this returns it is on disk."""
    _, opened = service.catalogue.open(run)
    event = _event_of(opened, review)
    reviews.append(opened.path, event)
    return as_json(asdict(event), 201)


def _event_of(opened: OpenRun, review: Review) -> Event:
    """Return the event; what it says of the judge's error is taken from the run, not the client."""
    row = opened.row_of(review.study_id)
    if row is None:
        raise ProblemError(404, f"no study {review.study_id[:120]!r} in this run")
    said: dict[str, Any] = {"comment": review.comment}
    rubric = opened.rubric
    errors = reviews.errors_of(opened.row(row), rubric)
    if review.error in errors:
        error = errors[review.error]
        said |= {
            "categories": tuple(error["labels"].get(rubric.codes.name, ())) if rubric.codes else (),
            "level": error["grade"],
            "text": error["text"],
        }
        if review.verdict == MISSED:
            raise ProblemError(422, "an error that the judge has seen was not missed")
    elif review.verdict in VERDICTS:
        raise ProblemError(
            409, "this study has no such error; the run may have been scored anew: load it again"
        )
    elif review.error is not None and not _is_missed(opened, review):
        raise ProblemError(404, "this reader added no such missed error")
    elif review.verdict == MISSED:
        known = [label.name for label in rubric.codes.labels] if rubric.codes else []
        if not review.text.strip() or (known and not review.categories):
            raise ProblemError(422, "a missed error has a text and at least one category")
        if odd := set(review.categories) - set(known):
            raise ProblemError(
                422, f"no category {min(odd)!r}; the rubric has: {', '.join(known) or 'none'}"
            )
        grades = [
            label.name
            for kind in rubric.graded
            for label in rubric.facet(str(kind.graded_by)).labels
        ]
        if review.level not in (None, *grades):
            raise ProblemError(
                422, f"no level {review.level!r}; the rubric has: {', '.join(grades)}"
            )
        categories = tuple(dict.fromkeys(review.categories))
        said |= {"categories": categories, "level": review.level, "text": review.text}
    return reviews.new_event(review.reader, review.study_id, review.error, review.verdict, **said)


def _is_missed(opened: OpenRun, review: Review) -> bool:
    return any(
        review.error in (event.id, event.error)
        and event.verdict == MISSED
        and (event.reader, event.study_id) == (review.reader, review.study_id)
        for event in reviews.current(opened.path)
    )
