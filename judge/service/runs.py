"""Runs over HTTP: list, start, watch, stop, results."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from judge.running.folder import ANNOTATIONS, TABLE_CSV, TABLE_PARQUET
from judge.service import jobs, uploads
from judge.service.annotations import check_names
from judge.service.catalogue import RunEntry
from judge.service.jobs import Job
from judge.service.problems import ProblemError
from judge.service.reviewing import measured_of
from judge.service.service import RunId, Service, as_json, returns
from judge.service.settings import ServiceSettings

_LOOK_SECONDS = 0.25
_PING_LOOKS = 60
_ROWS_AT_A_TIME = 500
_PART = 2**18

ResultsFormat = Literal["json", "jsonl", "csv", "parquet"]


class RunForm(jobs.RunOptions):
    """A run's files and options."""

    preds: Annotated[UploadFile, Field(description="The candidate reports.")]
    refs: Annotated[
        UploadFile | None,
        Field(description="The references; without them, preds holds both."),
    ] = None


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/runs", tags=["runs"])
    catalogue = service.catalogue

    @routes.get("", summary="List the runs", responses=returns("The runs, the newest first."))
    def list_runs() -> Response:
        return as_json({"runs": [catalogue.describe(entry) for entry in catalogue.entries()]})

    @routes.post(
        "",
        status_code=201,
        summary="Start a run",
        responses=returns("The run; its events tell how it goes.", status=201),
    )
    def start_run(
        form: Annotated[RunForm, Form(media_type="multipart/form-data")],
    ) -> Response:
        """Judge two uploaded files in the background, with the options of the command line."""
        check_names(service.settings, form.rubric, form.judge, form.prompt)
        try:
            job = _create(service.settings, form)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ProblemError(507, f"the files cannot be kept: {why}") from error
        service.supervisor.look()
        location = {"Location": f"/v1/runs/{job.id}"}
        return as_json(catalogue.describe(RunEntry(job.id, job.run, job)), 201, location)

    @routes.get("/{run}", summary="Show a run", responses=returns("The run and its figures."))
    def show_run(run: RunId) -> Response:
        """Return what is known of a run; of a finished one also its summary and its reviews."""
        entry = catalogue.find(run)
        shown: dict[str, Any] = {"run": catalogue.describe(entry)}
        if entry.is_finished:
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
        entry = catalogue.find(run)
        job = _job(entry)
        if job.state().state not in jobs.UNFINISHED:
            raise ProblemError(409, f"the run {run} is {job.state().state}")
        job.ask_to_stop()
        service.supervisor.look()
        return as_json(catalogue.describe(entry))

    @routes.post("/{run}/resume", summary="Let a run go on", responses=returns("The run."))
    def resume_run(run: RunId) -> Response:
        """Let a run that was stopped or has failed go on; no answer is asked for again."""
        entry = catalogue.find(run)
        job = _job(entry)
        if job.state().state not in (jobs.STOPPED, jobs.FAILED):
            raise ProblemError(409, f"the run {run} is {job.state().state}")
        job.resume()
        service.supervisor.look()
        return as_json(catalogue.describe(entry))

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
        entry = await asyncio.to_thread(catalogue.find, run)
        return StreamingResponse(
            _events(service, entry, request),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )

    @routes.get(
        "/{run}/results",
        summary="Get a run's results",
        responses={
            200: {
                "description": "The table of studies (CSV, Parquet), everything that is known of "
                "each study (JSON Lines), or the summary with the table (JSON). The CSV holds ids "
                "and fields as they are: in a spreadsheet, import its columns as text, so that "
                "none is taken for a formula.",
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
    def results(run: RunId, format: ResultsFormat = "json") -> Response:  # noqa: A002
        entry, opened = catalogue.open(run)
        if format == "json":
            parts = _json_parts(opened.summary, opened.table())
            return StreamingResponse(parts, media_type="application/json")
        files = {
            "jsonl": (ANNOTATIONS, "application/x-ndjson"),
            "csv": (TABLE_CSV, "text/csv"),
            "parquet": (TABLE_PARQUET, "application/vnd.apache.parquet"),
        }
        name, kind = files[format]
        file = opened.open(name)
        headers = {
            "Content-Length": str(os.fstat(file.fileno()).st_size),
            "Content-Disposition": f'attachment; filename="{entry.id}-{name}"',
        }
        return StreamingResponse(_parts(file), media_type=kind, headers=headers)

    return routes


def _create(settings: ServiceSettings, form: RunForm) -> Job:
    """Keep the files and make the run a job; what cannot be done leaves nothing behind."""
    with jobs.creating(settings.runs[0]) as made:
        folder, files = Path(made), {}
        for side, upload in {"preds": form.preds, "refs": form.refs}.items():
            if upload is not None:
                name = upload.filename or ""
                files[side] = uploads.keep(upload.file, name, folder, side, settings.max_unpacked)
                files[f"{side}_name"] = uploads.shown_name(name)
        return jobs.create(folder, form, files)


def _job(entry: RunEntry) -> Job:
    if entry.job is None:
        raise ProblemError(409, f"the run {entry.id} was not started by a service")
    return entry.job


async def _events(service: Service, entry: RunEntry, request: Request) -> AsyncIterator[bytes]:
    """Yield a run's progress whenever it changes, until its end or the reader's."""
    last: dict[str, Any] | None = None
    looks = 0
    while not await request.is_disconnected():
        now = await asyncio.to_thread(service.catalogue.describe, entry)
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


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(_PART):
            yield part


def _json_parts(summary: dict[str, Any], table: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield a summary and a table as one JSON object, a few studies in memory at a time."""
    yield f'{{"summary":{json.dumps(summary)},"studies":['
    for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
        rows = table.slice(start, _ROWS_AT_A_TIME).to_pylist()
        text = json.dumps(rows, default=str, allow_nan=False)[1:-1]
        yield f"{',' if start else ''}{text}"
    yield "]}"
