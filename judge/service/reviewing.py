"""Reviews over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from judge.service import reviews
from judge.service.problems import ProblemError
from judge.service.reviews import Event
from judge.service.run_reader import OpenRun
from judge.service.service import RunId, Service, as_json, returns
from judge.stats.review import VERDICTS


class Word(StrEnum):
    """What a reader can say of an error or a study."""

    RIGHT = "right"
    WRONG = "wrong"
    WRONG_SEVERITY = "wrong_severity"
    MISSED = "missed"
    COMMENT = "comment"
    NONE = "none"


class Review(BaseModel):
    """What a reader says. Their next word about the same thing takes its place."""

    model_config = ConfigDict(extra="forbid")

    study_id: Annotated[str, Field(max_length=10_000)]
    reader: Annotated[str, Field(min_length=1, max_length=100, description="Who says it.")]
    verdict: Annotated[
        Word,
        Field(
            description="right, wrong, wrong_severity: of the error that is named. missed: an "
            "error that the judge has not seen. comment: of the study as a whole, or beside "
            "nothing else. none: takes back what was said."
        ),
    ]
    error: Annotated[
        str | None,
        Field(
            max_length=100,
            description="The error's fingerprint, or the id of the review that added it.",
        ),
    ] = None
    comment: Annotated[str, Field(max_length=20_000)] = ""
    categories: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)] = []
    level: Annotated[str | None, Field(max_length=100)] = None
    text: Annotated[str, Field(max_length=20_000, description="The missed error in words.")] = ""

    @field_validator("reader")
    @classmethod
    def _has_a_name(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("a reader has a name, in one line")
        return value.strip()


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/runs", tags=["reviews"])

    @routes.get("/{run}/reviews", summary="Read the reviews", responses=returns("The reviews."))
    def list_reviews(run: RunId) -> Response:
        """Return the reviews that count, and how right the judge was in the readers' eyes."""
        _, opened = service.catalogue.open(run)
        events = [asdict(event) for event in opened.reviews.latest()]
        return as_json({"events": events, "statistics": measured_of(opened)})

    @routes.get(
        "/{run}/reviews.csv",
        summary="Export the reviews",
        responses={
            200: {
                "description": "One review a row.",
                "content": {"text/csv": {"schema": {"type": "string"}}},
            }
        },
    )
    def export_reviews(run: RunId) -> Response:
        entry, opened = service.catalogue.open(run)
        name = f"{entry.id}-reviews.csv"
        return Response(
            reviews.as_csv(opened.reviews.latest()).encode("utf-8", "replace"),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    @routes.post(
        "/{run}/reviews",
        status_code=201,
        summary="Review an error or a study",
        responses=returns("The review as it was written down.", status=201),
    )
    def add_review(run: RunId, review: Review) -> Response:
        """Write a review down. When this returns it is on disk."""
        _, opened = service.catalogue.open(run)
        event = _event_of(opened, review)
        reviews.append(opened.path, event)
        return as_json(asdict(event), 201)

    return routes


def measured_of(opened: OpenRun) -> dict[str, Any]:
    """Return the statistics of a run's reviews."""
    return reviews.measured(opened.reviews.latest(), opened.errors_in, opened.rubric)


def _event_of(opened: OpenRun, review: Review) -> Event:
    """Return the event; what it says of the judge's error is taken from the run, not the client."""
    row = opened.row_of(review.study_id)
    if row is None:
        raise ProblemError(404, f"no study {review.study_id[:120]!r} in this run")
    said: dict[str, Any] = {"comment": review.comment}
    rubric = opened.rubric
    errors = reviews.errors_of(opened.record(row), rubric)
    if review.error in errors:
        error = errors[review.error]
        said |= {
            "categories": tuple(error["labels"].get(rubric.codes.name, ())) if rubric.codes else (),
            "level": error["grade"],
            "text": error["text"],
        }
        if review.verdict not in (*VERDICTS, Word.COMMENT, Word.NONE):
            raise ProblemError(422, "an error that the judge has seen was not missed")
    elif review.verdict in VERDICTS:
        raise ProblemError(
            409, "this study has no such error; the run may have been scored anew: load it again"
        )
    elif review.error is not None and not _is_missed(opened, review):
        raise ProblemError(404, "this reader added no such missed error")
    elif review.verdict == Word.MISSED:
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
        categories = tuple(dict.fromkeys(map(str, review.categories)))
        said |= {"categories": categories, "level": review.level, "text": review.text}
    return reviews.new_event(
        review.reader, review.study_id, review.error, str(review.verdict), **said
    )


def _is_missed(opened: OpenRun, review: Review) -> bool:
    return any(
        review.error in (event.id, event.error)
        and event.verdict == Word.MISSED
        and (event.reader, event.study_id) == (review.reader, review.study_id)
        for event in opened.reviews.latest()
    )
