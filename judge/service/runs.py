"""Runs over HTTP: list, check, start, stop, resume, results."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, UploadFile
from fastapi.responses import FileResponse, Response

from judge.running.folder import ANNOTATIONS, TABLE_CSV, TABLE_PARQUET
from judge.service import ProblemError, jobs
from judge.service.annotations import check_names
from judge.service.catalogue import RunEntry
from judge.service.service import Here, RunId, Service, as_json
from judge.service.worker import process, reply, time_limit

_KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_LONGEST_NAME = 200
_FILES = {
    "jsonl": (ANNOTATIONS, "application/x-ndjson"),
    "csv": (TABLE_CSV, "text/csv"),
    "parquet": (TABLE_PARQUET, "application/vnd.apache.parquet"),
}

routes = APIRouter(prefix="/v1/runs", tags=["runs"])


class RunForm(jobs.RunOptions):
    """A run's files and options; without references, `preds` holds both."""

    preds: UploadFile
    refs: UploadFile | None = None


RunFields = Annotated[RunForm, Form(media_type="multipart/form-data")]


@routes.get("")
def list_runs(service: Here) -> Response:
    """List the runs, the newest first: those under way, those that ended, those of the owner.

    `runs` has of each its `id`, `state` (queued, running, stopped, failed, finished), `progress`,
    `detail` where it failed, `model`, `rubric`, `judge`, counts and figures.
    """
    entries = service.catalogue.entries()
    return as_json({"runs": [service.catalogue.describe(entry) for entry in entries]})


@routes.post("", status_code=201)
async def start_run(form: RunFields, service: Here) -> Response:
    """Judge two uploaded files in the background, with the options of the command line.

    Where the budget of the judge has no room for an answer, it stops and says so.
    """
    check_names(service.settings, form.rubric, form.judge, form.prompt)

    def create() -> jobs.Job:
        with _uploaded(form, service) as (folder, files):
            return jobs.create(folder, jobs.RunRequest.of(form, files))

    job = await asyncio.to_thread(create)
    service.jobs.begin(job)
    described = service.catalogue.describe(RunEntry(job.id, job.run, job))
    return as_json(described, 201, {"Location": f"/v1/runs/{job.id}"})


@routes.post("/check")
async def check_run(form: RunFields, service: Here) -> Response:
    """Read two files as the same request to `POST /v1/runs` would, and say what it would do.

    No judge is asked and nothing is kept. `first` are the first three studies, `facts` and `costs`
    say in words what was read and what it may cost, `forecast` in numbers: `typical` by the answers
    that are in the cache, `worst` with the longest ones. It is null for a judge that answers
    without requests; dollars are null where no price is known.
    """
    check_names(service.settings, form.rubric, form.judge, form.prompt)
    with ExitStack() as stack:
        keeping = _uploaded(form, service)
        folder, files = await asyncio.to_thread(stack.enter_context, keeping)
        asked = jobs.process_request(jobs.RunRequest.of(form, files), service.settings)
        seconds = service.settings.check_seconds
        at_work = process("check", asked, cwd=folder / jobs.FILES)
        async with service.checking, time_limit(seconds, "check"), at_work as started:
            try:
                return as_json(await reply(started, "check"))
            except ProblemError as error:
                raise ProblemError(error.status, jobs.for_client(error.detail)) from error


@contextmanager
def _uploaded(form: RunForm, service: Service) -> Iterator[tuple[Path, list[str]]]:
    """Keep the uploads in a folder, under the names by which a client knows them."""
    try:
        with jobs.creating(service.settings.runs[0]) as made:
            folder, names = Path(made), []
            (folder / jobs.FILES).mkdir()
            for upload in filter(None, (form.preds, form.refs)):
                name = _shown_name(upload.filename or "")
                names.append(f"references-{name}" if name in names else name)
                with (folder / jobs.FILES / names[-1]).open("xb") as out:
                    shutil.copyfileobj(upload.file, out)
            yield folder, names
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ProblemError(507, f"the files cannot be kept: {why}") from error


def _shown_name(name: str) -> str:
    """Return what a client called its file, without folders and control characters.

    Raises `ProblemError` 415 for a kind that is not read.
    """
    last = "".join(c for c in re.split(r"[/\\]", name)[-1] if c.isprintable()).lstrip(".")
    if not re.fullmatch(rf".+({'|'.join(map(re.escape, _KINDS))})(\.gz)?", last.lower()):
        raise ProblemError(415, f"{last!r} is of no known kind: {', '.join(_KINDS)}, or with .gz")
    return last.encode()[-_LONGEST_NAME:].decode("utf-8", "ignore")


@routes.get("/{run}")
def show_run(run: RunId, service: Here) -> Response:
    """Show `run` as in the list; of a finished one also `summary`, `view` and `reviews`."""
    entry = service.catalogue.find(run)
    shown: dict[str, Any] = {"run": service.catalogue.describe(entry)}
    if entry.is_finished:
        _, opened = service.catalogue.open(run)
        shown |= {
            "summary": opened.summary(),
            "view": opened.overview,
            "reviews": opened.reviewed(),
        }
    return as_json(shown)


@routes.post("/{run}/stop")
async def stop_run(run: RunId, service: Here) -> Response:
    """Stop a run in order: what is under way is collected, what was answered is kept."""
    entry, job = _job(service, run, jobs.UNFINISHED)
    await service.jobs.stop(job)
    return as_json(service.catalogue.describe(entry))


@routes.post("/{run}/resume")
async def resume_run(run: RunId, service: Here) -> Response:
    """Let a run that was stopped or has failed go on; no answer is asked for again."""
    entry, job = _job(service, run, (jobs.STOPPED, jobs.FAILED))
    job.begin_anew()
    service.jobs.begin(job)
    return as_json(service.catalogue.describe(entry))


def _job(service: Service, run: str, states: tuple[str, ...]) -> tuple[RunEntry, jobs.Job]:
    entry = service.catalogue.find(run)
    if entry.job is None:
        raise ProblemError(409, f"the run {run} was not started by a service")
    if (state := entry.job.state()[0]) not in states:
        raise ProblemError(409, f"the run {run} is {state}")
    return entry, entry.job


@routes.get("/{run}/results", response_class=Response)
def results(
    run: RunId,
    service: Here,
    format: Literal["json", "jsonl", "csv", "parquet"] = "json",  # noqa: A002
) -> Response:
    """Get the table of studies (CSV, Parquet), all of each (JSON Lines), or summary and table.

    The CSV holds ids and fields as they are: in a spreadsheet, import its columns as text, so that
    none is taken for a formula.
    """
    entry, opened = service.catalogue.open(run)
    if format == "json":
        return as_json({"summary": opened.summary(), "studies": opened.rows()})
    name, kind = _FILES[format]
    return FileResponse(opened.path / name, media_type=kind, filename=f"{entry.id}-{name}")
