"""Runs over HTTP: list, start, watch, stop, results."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from judge.running.folder import ANNOTATIONS, TABLE_CSV, TABLE_PARQUET
from judge.service import ProblemError, jobs, uploads
from judge.service.annotations import check_names
from judge.service.catalogue import RunEntry
from judge.service.service import JSON, PARQUET, Here, JsonRoute, RunId, Service, as_json, returns

_LOOK_SECONDS = 0.25
_PING_LOOKS = 60
_ROWS_AT_A_TIME = 500
_PART = 2**18
_FILES = {
    "jsonl": (ANNOTATIONS, "application/x-ndjson"),
    "csv": (TABLE_CSV, "text/csv"),
    "parquet": (TABLE_PARQUET, PARQUET),
}

routes = APIRouter(route_class=JsonRoute, prefix="/v1/runs", tags=["runs"])


class RunForm(jobs.RunOptions):
    """A run's files and options."""

    preds: UploadFile = Field(description="The candidate reports.")
    refs: UploadFile | None = Field(
        default=None, description="The references; without them, preds holds both."
    )


@routes.get(
    "",
    summary="List the runs",
    responses=returns(
        "`runs`, the newest first: of each `id`, `state` (queued, running, stopped, failed, "
        "finished), `progress`, `detail` where it failed, `model`, `rubric`, `judge`, counts and "
        "figures."
    ),
)
def list_runs(service: Here) -> Response:
    """List the runs that go on, those that ended, and those named on the command line."""
    entries = service.catalogue.entries()
    return as_json({"runs": [service.catalogue.describe(entry) for entry in entries]})


@routes.post(
    "",
    status_code=201,
    summary="Start a run",
    responses=returns("The run, as in the list; its events tell how it goes.", 201),
)
def start_run(
    form: Annotated[RunForm, Form(media_type="multipart/form-data")], service: Here
) -> Response:
    """Judge two uploaded files in the background, with the options of the command line.

    Refused (402) where the budget of the judge has no room for another answer.
    """
    check_names(service.settings, form.rubric, form.judge, form.prompt)
    service.settings.check_budget(form.judge)
    with _uploaded(form, service) as (folder, files):
        job = jobs.create(folder, form, files)
    service.supervisor.look()
    described = service.catalogue.describe(RunEntry(job.id, job.run, job))
    return as_json(described, 201, {"Location": f"/v1/runs/{job.id}"})


@routes.post(
    "/check",
    summary="Check files before a run",
    responses=returns(
        "`facts` and `costs` in words, `forecast`, `first`, and all else that "
        "`judge check --format json` prints."
    ),
)
async def check_run(
    form: Annotated[RunForm, Form(media_type="multipart/form-data")], service: Here
) -> Response:
    """Read two files as the same request to `POST /v1/runs` would, and say what it would do.

    No judge is asked and nothing is kept. `first` are the first three studies, `forecast` what
    would be asked and may be paid: `typical` by the answers that are in the cache, `worst` with
    the longest ones, null for a judge that answers without requests; dollars are null where
    no price is known.
    """
    check_names(service.settings, form.rubric, form.judge, form.prompt)
    with ExitStack() as stack:
        keeping = _uploaded(form, service)
        folder, files = await asyncio.to_thread(stack.enter_context, keeping)
        return as_json(await service.checks.check(folder, jobs.RunRequest.of(form, files)))


@contextmanager
def _uploaded(form: RunForm, service: Service) -> Iterator[tuple[Path, dict[str, str]]]:
    try:
        with jobs.creating(service.settings.runs[0]) as made:
            folder, files = Path(made), {}
            for side, upload in {"preds": form.preds, "refs": form.refs}.items():
                if upload is not None:
                    name = upload.filename or ""
                    files[side] = uploads.keep(upload.file, name, folder, side)
                    files[f"{side}_name"] = uploads.shown_name(name)
            yield folder, files
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ProblemError(507, f"the files cannot be kept: {why}") from error


@routes.get(
    "/{run}",
    summary="Show a run",
    responses=returns(
        "`run`, as in the list; of a finished one also `summary`, as `--format json` prints it, "
        "`view`, what its page shows, and `reviews`."
    ),
)
def show_run(run: RunId, service: Here) -> Response:
    """Return what is known of a run; of a finished one also its summary and its reviews."""
    entry = service.catalogue.find(run)
    shown: dict[str, Any] = {"run": service.catalogue.describe(entry)}
    if entry.is_finished:
        _, opened = service.catalogue.open(run)
        shown |= {
            "summary": opened.summary,
            "view": opened.overview,
            "reviews": opened.reviewed(),
        }
    return as_json(shown)


@routes.post("/{run}/stop", summary="Stop a run", responses=returns("The run, as in the list."))
def stop_run(run: RunId, service: Here) -> Response:
    """Stop a run in order: what is under way is collected, what was answered is kept."""
    return _told(service, run, jobs.UNFINISHED, jobs.Job.ask_to_stop)


@routes.post(
    "/{run}/resume", summary="Let a run go on", responses=returns("The run, as in the list.")
)
def resume_run(run: RunId, service: Here) -> Response:
    """Let a run that was stopped or has failed go on; no answer is asked for again.

    Refused (402) where the budget of its judge has no room for another answer.
    """
    if job := service.catalogue.find(run).job:
        service.settings.check_budget(job.request.judge)
    return _told(service, run, (jobs.STOPPED, jobs.FAILED), jobs.Job.resume)


def _told(
    service: Service, run: str, states: tuple[str, ...], tell: Callable[[jobs.Job], None]
) -> Response:
    entry = service.catalogue.find(run)
    if entry.job is None:
        raise ProblemError(409, f"the run {entry.id} was not started by a service")
    if (state := entry.job.state().state) not in states:
        raise ProblemError(409, f"the run {run} is {state}")
    tell(entry.job)
    service.supervisor.look()
    return as_json(service.catalogue.describe(entry))


@routes.get(
    "/{run}/events",
    response_class=Response,
    summary="Watch a run",
    responses=returns(
        "Server-sent events: `progress`, and `end` as the last.", kinds=["text/event-stream"]
    ),
)
async def watch_run(run: RunId, request: Request, service: Here) -> Response:
    """Tell how a run comes on, whenever that changes."""
    entry = await asyncio.to_thread(service.catalogue.find, run)
    return StreamingResponse(
        _events(service, entry, request),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


@routes.get(
    "/{run}/results",
    summary="Get a run's results",
    responses=returns(
        "The table of studies (CSV, Parquet), everything that is known of each study (JSON "
        "Lines), or the summary with the table (JSON). The CSV holds ids and fields as they "
        "are: in a spreadsheet, import its columns as text, so that none is taken for a formula.",
        kinds=[JSON, *(kind for _, kind in _FILES.values())],
    ),
)
def results(
    run: RunId,
    service: Here,
    format: Annotated[  # noqa: A002
        Literal["json", "jsonl", "csv", "parquet"], Query(description="The kind of file.")
    ] = "json",
) -> Response:
    """Get what a finished run has come to, as a file."""
    entry, opened = service.catalogue.open(run)
    if format == "json":
        return StreamingResponse(_json_parts(opened.summary, opened.table()), media_type=JSON)
    name, kind = _FILES[format]
    file = opened.open(name)
    headers = {
        "Content-Length": str(os.fstat(file.fileno()).st_size),
        "Content-Disposition": f'attachment; filename="{entry.id}-{name}"',
    }
    return StreamingResponse(_parts(file), media_type=kind, headers=headers)


async def _events(service: Service, entry: RunEntry, request: Request) -> AsyncIterator[bytes]:
    last: dict[str, Any] | None = None
    looks = 0
    while not await request.is_disconnected():
        now = await asyncio.to_thread(service.catalogue.describe, entry)
        ended = now["state"] not in jobs.UNFINISHED
        if now != last or ended:
            kind, data = "end" if ended else "progress", {**(now["progress"] or {}), **now}
            yield f"event: {kind}\ndata: {json.dumps(data, default=str)}\n\n".encode()
            last = now
        elif looks % _PING_LOOKS == 0:
            yield b": still there\n\n"
        if ended:
            return
        looks += 1
        await asyncio.sleep(_LOOK_SECONDS)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(_PART):
            yield part


def _json_parts(summary: dict[str, Any], table: Any) -> Iterator[str]:  # noqa: ANN401
    yield f'{{"summary":{json.dumps(summary)},"studies":['
    for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
        rows = table.slice(start, _ROWS_AT_A_TIME).to_pylist()
        text = json.dumps(rows, default=str, allow_nan=False)[1:-1]
        yield f"{',' if start else ''}{text}"
    yield "]}"
