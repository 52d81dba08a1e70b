"""A run's studies over HTTP: a page of them, and one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi import Query as InQuery
from fastapi.responses import Response

from judge.report.view import study_view
from judge.service import reviews
from judge.service.opened import OpenRun
from judge.service.problems import ProblemError
from judge.service.service import RunId, Service, as_json, returns
from judge.service.wanted import WORST, Query
from judge.types import JudgeError

if TYPE_CHECKING:
    import numpy as np

_MOST_ROWS = 500
_Word = Annotated[str | None, InQuery(max_length=1000)]
_HOW = """`field.NAME=value`, `has.NAME=text`, `min.NAME=number` and `max.NAME=number` may be added
for any column of the studies, and repeated."""


class YesNo(StrEnum):
    """An answer."""

    YES = "yes"
    NO = "no"


class Asked:
    """The studies that a request asks for."""

    def __init__(
        self,
        request: Request,
        sort: Annotated[str, InQuery(max_length=1000, description="A column, or `worst`.")] = WORST,
        descending: Annotated[bool, InQuery()] = False,  # noqa: FBT002
        q: Annotated[
            str, InQuery(max_length=1000, description="Words that the study must hold.")
        ] = "",
        study_class: Annotated[
            _Word, InQuery(alias="class", description="Empty: studies without one.")
        ] = None,
        outcome: _Word = None,
        category: Annotated[_Word, InQuery(description="A letter, a to f.")] = None,
        level: Annotated[_Word, InQuery(description="A level of the rubric's scale.")] = None,
        reviewed: Annotated[YesNo | None, InQuery()] = None,
    ) -> None:
        self._given = request.query_params.multi_items()
        self._reviewed = reviewed
        self._query = Query(
            sort=sort,
            descending=descending,
            text=q,
            study_class=study_class,
            outcome=outcome or None,
            category=category or None,
            level=level or None,
            equal=self._named("field.", str),
            contains=self._named("has.", str),
            least=self._named("min.", _number),
            most=self._named("max.", _number),
        )

    def _named(self, prefix: str, read: Callable[[str], Any]) -> tuple[tuple[str, Any], ...]:
        return tuple(
            (name.removeprefix(prefix), read(value))
            for name, value in self._given
            if name.startswith(prefix)
        )

    def places(self, run: OpenRun, n_reviews: Counter[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the places of the studies in the order asked for."""
        from judge.service.query import places

        query = self._query
        if self._reviewed is not None:
            wanted = self._reviewed is YesNo.YES
            query = replace(query, reviewed=(frozenset(n_reviews), wanted))
        return places(run, query)


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/runs", tags=["studies"])

    @routes.get(
        "/{run}/studies",
        summary="List a run's studies",
        description=f"A page of the studies that match, sorted. {_HOW}",
        responses=returns("The page, how many match and how many there are."),
    )
    def list_studies(
        run: RunId,
        asked: Annotated[Asked, Depends()],
        offset: Annotated[int, InQuery(ge=0, le=2**40)] = 0,
        limit: Annotated[int, InQuery(ge=0, le=_MOST_ROWS)] = 50,
    ) -> Response:
        _, opened = service.catalogue.open(run)
        n_reviews = _n_reviews(opened)
        found = asked.places(opened, n_reviews)
        rows = opened.table.take(found[offset : offset + limit]).to_pylist()
        for row in rows:
            row["n_reviews"] = n_reviews[row["study_id"]]
        return as_json(
            {
                "total": opened.table.num_rows,
                "matching": len(found),
                "offset": offset,
                "rows": rows,
            }
        )

    @routes.get(
        "/{run}/study",
        summary="Show one study",
        description="One study, by its `id` or its `row`, and its neighbours among those that the "
        f"rest of the query asks for. {_HOW}",
        responses=returns("The study, its reviews and its neighbours."),
    )
    def show_study(
        run: RunId,
        asked: Annotated[Asked, Depends()],
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
        if at is None or at >= opened.table.num_rows:
            raise ProblemError(404, "no such study in this run")
        found = opened.record(at)
        study_id = found["study_id"]
        events = [event for event in opened.reviews.latest() if event.study_id == study_id]
        order = asked.places(opened, _n_reviews(opened))
        (here,) = (order == at).nonzero()
        shown = {
            "row": at,
            "view": study_view(found, opened.rubric),
            "fingerprints": list(reviews.errors_of(found)),
            "reviews": [asdict(event) for event in events],
            "previous": int(order[here[0] - 1]) if len(here) and here[0] > 0 else None,
            "next": int(order[here[0] + 1]) if len(here) and here[0] + 1 < len(order) else None,
        }
        if record:
            shown["record"] = found
        return as_json(shown)

    return routes


def _n_reviews(opened: OpenRun) -> Counter[str]:
    return Counter(event.study_id for event in opened.reviews.latest())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise JudgeError(f"{text[:60]!r} is no number") from None
