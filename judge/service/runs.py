"""Runs over HTTP: list, start, watch, stop, results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from fastapi.responses import FileResponse, Response, StreamingResponse

from judge.backends import LEXICON
from judge.run.folder import ANNOTATIONS, TABLE_CSV, TABLE_PARQUET
from judge.service import jobs, uploads
from judge.service.annotations import check_names
from judge.service.catalogue import Place
from judge.service.jobs import Asked, Job
from judge.service.problems import ProblemError
from judge.service.reviewing import measured_of
from judge.service.service import RunId, Service, as_json, returns
from judge.service.settings import Settings
from judge.studies.sections import SECTIONS

_LOOK_SECONDS = 0.25
_PING_LOOKS = 60
_ROWS_AT_A_TIME = 500
_LONGEST_TITLE = 200

Short = Annotated[str, Form(max_length=_LONGEST_TITLE)]


class Form_(StrEnum):  # noqa: N801 - FastAPI's Form is another
    """How results are written."""

    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/runs", tags=["runs"])
    catalogue = service.catalogue

    @routes.get("", summary="List the runs", responses=returns("The runs, the newest first."))
    def list_runs() -> Response:
        return as_json({"runs": [catalogue.describe(place) for place in catalogue.places()]})

    @routes.post(
        "",
        status_code=201,
        summary="Start a run",
        responses=returns("The run; its events tell how it goes.", status=201),
    )
    def start_run(
        preds: Annotated[UploadFile, File(description="The candidate reports.")],
        rubric: Short,
        refs: Annotated[
            UploadFile | None, File(description="The references; without them, preds holds both.")
        ] = None,
        judge: Short = LEXICON,
        prompt: Short = "",
        section: Short = "",
        class_field: Short = "",
        id_field: Short = "",
        allow_missing: Annotated[bool, Form()] = False,  # noqa: FBT002
        by: Annotated[str, Form(max_length=1000, description="Fields, with commas.")] = "",
        max_cost: Annotated[float | None, Form(gt=0)] = None,
        name: Short = "",
    ) -> Response:
        """Judge two uploaded files in the background, with the options of the command line."""
        if section and section not in SECTIONS:
            known = ", ".join(SECTIONS)
            raise ProblemError(422, f"unknown section {section!r}; there are: {known}")
        asked = Asked(
            rubric=rubric,
            judge=judge,
            preds="",
            title="".join(c for c in name if c.isprintable()).strip(),
            prompt=prompt or None,
            section=section or None,
            class_field=class_field or None,
            id_field=id_field or None,
            allow_missing=allow_missing,
            by=tuple(field.strip() for field in by.split(",") if field.strip()) or jobs.BY,
            max_cost=max_cost,
        )
        check_names(service.settings, rubric, judge, asked.prompt)
        try:
            job = _create(service.settings, asked, preds, refs)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ProblemError(507, f"the files cannot be kept: {why}") from error
        service.keeper.look()
        location = {"Location": f"/v1/runs/{job.id}"}
        return as_json(catalogue.describe(Place(job.id, job.run, job)), 201, location)

    @routes.get("/{run}", summary="Show a run", responses=returns("The run and its figures."))
    def show_run(run: RunId) -> Response:
        """Return what is known of a run; of a finished one also its summary and its reviews."""
        place = catalogue.place(run)
        shown: dict[str, Any] = {"run": catalogue.describe(place)}
        if place.is_finished:
            _, opened = catalogue.open(run)
            shown |= {
                "summary": opened.summary,
                "view": opened.overview,
                "reviews": measured_of(opened),
            }
        return as_json(shown)

    @routes.post("/{run}/stop", summary="Stop a run", responses=returns("The run."))
    def stop_run(run: RunId) -> Response:
        """Stop a run in order: what is under way is collected, what was answered is kept."""
        place = catalogue.place(run)
        job = _job(place)
        if job.state().state not in jobs.UNFINISHED:
            raise ProblemError(409, f"the run {run} is {job.state().state}")
        job.ask_to_stop()
        service.keeper.look()
        return as_json(catalogue.describe(place))

    @routes.post("/{run}/resume", summary="Let a run go on", responses=returns("The run."))
    def resume_run(run: RunId) -> Response:
        """Let a run that was stopped or has failed go on; no answer is asked for again."""
        place = catalogue.place(run)
        job = _job(place)
        if job.state().state not in (jobs.STOPPED, jobs.FAILED):
            raise ProblemError(409, f"the run {run} is {job.state().state}")
        job.take_up()
        service.keeper.look()
        return as_json(catalogue.describe(place))

    return routes


def outputs(service: Service) -> APIRouter:
    """Return the routes of what comes out of a run, while it goes on and at its end."""
    routes = APIRouter(prefix="/v1/runs", tags=["runs"])
    catalogue = service.catalogue

    @routes.get(
        "/{run}/events",
        summary="Watch a run",
        responses={
            200: {
                "description": "Server-sent events: `progress`, and `end` as the last.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    )
    async def watch_run(run: RunId, request: Request) -> Response:
        place = await asyncio.to_thread(catalogue.place, run)
        return StreamingResponse(
            _events(service, place, request),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )

    @routes.get(
        "/{run}/results",
        summary="Get a run's results",
        responses={
            200: {
                "description": "The table of studies (CSV, Parquet), everything that is known of "
                "each study (JSON Lines), or the summary with the table (JSON).",
                "content": {
                    "application/json": {"schema": {"type": "object"}},
                    "application/x-ndjson": {"schema": {"type": "string"}},
                    "text/csv": {"schema": {"type": "string"}},
                    "application/vnd.apache.parquet": {
                        "schema": {"type": "string", "format": "binary"}
                    },
                },
            }
        },
    )
    def results(run: RunId, format: Annotated[Form_, Query()] = Form_.JSON) -> Response:  # noqa: A002
        place, opened = catalogue.open(run)
        if format is Form_.JSON:
            table = opened.table.drop_columns(["row", "categories"])
            parts = _json_parts(opened.summary, table)
            return StreamingResponse(parts, media_type="application/json")
        files = {
            Form_.JSONL: (ANNOTATIONS, "application/x-ndjson"),
            Form_.CSV: (TABLE_CSV, "text/csv"),
            Form_.PARQUET: (TABLE_PARQUET, "application/vnd.apache.parquet"),
        }
        name, kind = files[format]
        return FileResponse(place.path / name, media_type=kind, filename=f"{place.id}-{name}")

    return routes


def _create(settings: Settings, asked: Asked, preds: UploadFile, refs: UploadFile | None) -> Job:
    with jobs.creating(settings.runs[0]) as folder:

        def kept(upload: UploadFile, side: str) -> str:
            name = upload.filename or ""
            return uploads.keep(upload.file, name, folder, side, settings.max_unpacked)

        asked = replace(
            asked,
            preds=kept(preds, "preds"),
            refs=kept(refs, "refs") if refs else None,
            preds_name=uploads.shown_name(preds.filename or ""),
            refs_name=uploads.shown_name(refs.filename or "") if refs else "",
        )
        return jobs.create(folder, asked)


def _job(place: Place) -> Job:
    if place.job is None:
        raise ProblemError(409, f"the run {place.id} was not started by a service")
    return place.job


async def _events(service: Service, place: Place, request: Request) -> AsyncIterator[bytes]:
    """Yield a run's progress whenever it changes, until its end or the reader's."""
    last: dict[str, Any] | None = None
    looks = 0
    while not await request.is_disconnected():
        now = await asyncio.to_thread(service.catalogue.describe, place)
        ended = now["state"] not in jobs.UNFINISHED
        if now != last or ended:
            yield _event("end" if ended else "progress", now)
            last = now
        elif looks % _PING_LOOKS == 0:
            yield b": still there\n\n"
        if ended:
            return
        looks += 1
        await asyncio.sleep(_LOOK_SECONDS)


def _event(kind: str, run: dict[str, Any]) -> bytes:
    data = {**(run["progress"] or {}), **run}
    return f"event: {kind}\ndata: {json.dumps(data, default=str)}\n\n".encode()


def _json_parts(summary: dict[str, Any], table: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield a summary and a table as one JSON object, a few studies in memory at a time."""
    yield f'{{"summary":{json.dumps(summary)},"studies":['
    for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
        rows = table.slice(start, _ROWS_AT_A_TIME).to_pylist()
        text = json.dumps(rows, default=str, allow_nan=False)[1:-1]
        yield f"{',' if start else ''}{text}"
    yield "]}"
