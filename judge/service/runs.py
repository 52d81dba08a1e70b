"""Runs over HTTP: list, check, start, stop, resume, results; their studies and reviews."""

from __future__ import annotations

import asyncio
import gzip
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi import Path as InPath
from fastapi import Query as InQuery
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from judge.running.folder import ANNOTATIONS, TABLE_CSV, TABLE_PARQUET
from judge.service import ProblemError, jobs, reviews
from judge.service.catalogue import OpenRun, RunEntry
from judge.service.pairs import check_names
from judge.service.reviews import COMMENT, MISSED, VERDICTS, Event
from judge.service.service import JSON, ReaderName, RunId, Service, ServiceDep, as_json
from judge.service.worker import answer
from judge.study.view import study_view

_KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_MAX_NAME = 200
_FILES = {
    "jsonl": (ANNOTATIONS, "application/x-ndjson"),
    "csv": (TABLE_CSV, "text/csv"),
    "parquet": (TABLE_PARQUET, "application/vnd.apache.parquet"),
}

routes = APIRouter(prefix="/v1/runs", tags=["runs"])
data_routes = APIRouter(prefix="/data/run", include_in_schema=False)


class RunForm(jobs.RunOptions):
    """A run's files and options; without references, `preds` holds both."""

    preds: UploadFile
    refs: UploadFile | None = None


RunFields = Annotated[RunForm, Form(media_type="multipart/form-data")]


@routes.get("")
def list_runs(service: ServiceDep) -> Response:
    """List the runs, the newest first: those under way, those that ended, those of the owner.

    `runs` has of each its `id`, `state` (queued, running, stopped, failed, finished), `progress`,
    `detail` where it failed, `model`, `rubric`, `judge`, counts and figures.
    """
    entries = service.catalogue.entries()
    return as_json({"runs": [service.catalogue.describe(entry) for entry in entries]})


@routes.post("", status_code=201)
async def start_run(form: RunFields, service: ServiceDep) -> Response:
    """Judge two uploaded files in the background, with the options of the command line.

    Where the budget of the judge has no room for an answer, it stops and says so.
    """
    check_names(service.settings, form)

    def create() -> jobs.Job:
        with _save_uploads(form, service) as (folder, files):
            return jobs.create(folder, jobs.RunRequest.of(form, files))

    job = await asyncio.to_thread(create)
    service.jobs.start(job)
    described = service.catalogue.describe(RunEntry(job.id, job.run, job))
    return as_json(described, 201, {"Location": f"/v1/runs/{job.id}"})


@routes.post("/check")
async def check_run(form: RunFields, service: ServiceDep) -> Response:
    """Read two files as the same request to `POST /v1/runs` would, and say what it would do.

    No judge is asked and nothing is kept. `first` are the first three studies; `facts` and `costs`
    say what was read and what it may cost.
    """
    check_names(service.settings, form)
    with ExitStack() as stack:
        uploads = _save_uploads(form, service)
        folder, files = await asyncio.to_thread(stack.enter_context, uploads)
        task = jobs.RunRequest.of(form, files).task(service.settings)
        seconds, cwd = service.settings.check_seconds, folder / jobs.FILES
        try:
            async with service.checking:
                return as_json(await answer("check", task, seconds, cwd))
        except ProblemError as error:
            raise ProblemError(error.status, jobs.with_form_names(error.detail)) from error


@contextmanager
def _save_uploads(form: RunForm, service: Service) -> Iterator[tuple[Path, list[str]]]:
    """Save the uploads in a folder, under the client's names for them."""
    try:
        with jobs.new_folder(service.settings.runs[0]) as path:
            folder, names = Path(path), []
            (folder / jobs.FILES).mkdir()
            for upload in filter(None, (form.preds, form.refs)):
                name = _clean_name(upload.filename or "")
                names.append(f"references-{name}" if name in names else name)
                with (folder / jobs.FILES / names[-1]).open("xb") as out:
                    shutil.copyfileobj(upload.file, out)
            yield folder, names
    except OSError as error:
        raise ProblemError(507, f"the files cannot be saved: {error.strerror or error}") from error


def _clean_name(name: str) -> str:
    """Return the client's name for a file, without folders and control characters."""
    last = "".join(c for c in re.split(r"[/\\]", name)[-1] if c.isprintable()).lstrip(".")
    if not re.fullmatch(rf".+({'|'.join(map(re.escape, _KINDS))})(\.gz)?", last.lower()):
        raise ProblemError(415, f"{last!r} cannot be read; save it as one of {', '.join(_KINDS)}")
    return last.encode()[-_MAX_NAME:].decode("utf-8", "ignore")


@routes.get("/{run}")
def show_run(run: RunId, service: ServiceDep) -> Response:
    """Show `run` as in the list; of a finished one also its `summary` and its `reviews`."""
    entry = service.catalogue.find(run)
    shown: dict[str, Any] = {"run": service.catalogue.describe(entry)}
    if entry.is_finished:
        _, opened = service.catalogue.open(run)
        shown |= {"summary": opened.summary(), "reviews": opened.reviewed()}
    return as_json(shown)


@routes.post("/{run}/stop")
async def stop_run(run: RunId, service: ServiceDep) -> Response:
    """Stop a run in order: what is under way is collected, what was answered is kept."""
    entry, job = _job(service, run, jobs.UNFINISHED)
    await service.jobs.stop(job)
    return as_json(service.catalogue.describe(entry))


@routes.post("/{run}/resume")
async def resume_run(run: RunId, service: ServiceDep) -> Response:
    """Let a run that was stopped or has failed go on; no answer is asked for again."""
    entry, job = _job(service, run, (jobs.STOPPED, jobs.FAILED))
    job.reset()
    service.jobs.start(job)
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
    service: ServiceDep,
    format: Literal["jsonl", "csv", "parquet"] = "csv",  # noqa: A002
) -> Response:
    """Get the table of studies (CSV, Parquet), or all that is known of each (JSON Lines).

    The CSV holds ids and fields as they are: in a spreadsheet, import its columns as text, so that
    none is taken for a formula.
    """
    entry, opened = service.catalogue.open(run)
    name, kind = _FILES[format]
    return FileResponse(opened.path / name, media_type=kind, filename=f"{entry.id}-{name}")


# Studies, and what readers say of them


class Review(BaseModel):
    """What a reader says. The next review of the same error or study replaces it."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, examples=["STUDY"])
    reader: ReaderName
    verdict: reviews.ReviewVerdict = Field(
        description="right, wrong, wrong_severity: of the error that is named. missed: an "
        "error that the judge has not seen. comment: of the study as a whole, or beside "
        "nothing else. none: takes back what was said."
    )
    error: str | None = Field(
        default=None, max_length=100, description="Its fingerprint, or the id of a missed one."
    )
    comment: str = Field(default="", max_length=20_000)
    categories: list[Annotated[str, Field(max_length=100)]] = Field(default=[], max_length=100)
    level: str | None = Field(default=None, max_length=100, description="Of the missed error.")
    text: str = Field(default="", max_length=20_000, description="The missed error in words.")


@data_routes.get("/{run}/{piece}")
def run_piece(
    run: RunId,
    piece: Annotated[str, InPath(pattern=r"^(overview|index|asked-\d{1,9})$")],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Return a piece of the run's page: `overview`, `index` or a packet of questions."""
    _, opened = service.catalogue.open(run)
    content, headers = opened.piece(piece), {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        content = gzip.decompress(content)
    return Response(content, headers=headers, media_type=JSON)


@routes.get("/{run}/search")
def search_studies(
    run: RunId,
    service: ServiceDep,
    q: Annotated[str, InQuery(max_length=1000, examples=["effusion"])],
) -> Response:
    """Search for the studies that hold every word; `rows` are their places in the run, from 0.

    `snippets` has the text around a hit in each row, where there are few rows. Searched are id,
    fields, reports, errors, corrections, matched findings and explanation.
    """
    _, opened = service.catalogue.open(run)
    rows, snippets = opened.search(q)
    return as_json({"rows": rows, "snippets": snippets})


@routes.get("/{run}/study")
def show_study(
    run: RunId,
    service: ServiceDep,
    id: str | None = None,  # noqa: A002
    row: Annotated[int | None, InQuery(ge=0, le=2**40, examples=[0])] = None,
    record: bool = False,  # noqa: FBT001, FBT002
) -> Response:
    """Show one study, by its `id` or its `row` from 0: `view`, `fingerprints`, `reviews`.

    With `record` also all that is known of it.
    """
    _, opened = service.catalogue.open(run)
    if (id is None) == (row is None):
        raise ProblemError(422, "name the study by either its id or its row")
    place = row if id is None else opened.row_of(id)
    if place is None:
        raise ProblemError(404, "no such study in this run")
    study = opened.row(place)
    events = reviews.current(opened.path)
    shown = {
        "row": place,
        "view": study_view(study, opened.rubric),
        "fingerprints": list(reviews.errors_of(study, opened.rubric)),
        "reviews": [asdict(event) for event in events if event.study_id == study["study_id"]],
    }
    return as_json(shown | ({"record": study} if record else {}))


@routes.get("/{run}/reviews")
def list_reviews(run: RunId, service: ServiceDep) -> Response:
    """Return the reviews that count, and how right the judge was in the readers' eyes."""
    _, opened = service.catalogue.open(run)
    events = [asdict(event) for event in reviews.current(opened.path)]
    return as_json({"events": events, "statistics": opened.reviewed()})


@routes.get("/{run}/reviews.csv", response_class=Response)
def export_reviews(run: RunId, service: ServiceDep) -> Response:
    """Export the reviews that count for a spreadsheet, one a row."""
    entry, opened = service.catalogue.open(run)
    return Response(
        reviews.as_csv(reviews.current(opened.path)).encode("utf-8", "replace"),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{entry.id}-reviews.csv"'},
    )


@routes.post("/{run}/reviews", status_code=201)
def add_review(run: RunId, review: Review, service: ServiceDep) -> Response:
    """Write a review down. When this returns it is on disk."""
    _, opened = service.catalogue.open(run)
    event = _event_of(opened, review)
    reviews.append(opened.path, event)
    return as_json(asdict(event), 201)


def _event_of(opened: OpenRun, review: Review) -> Event:
    """Return the event; the judge's error in it is the run's, not the client's."""
    row = opened.row_of(review.study_id)
    if row is None:
        raise ProblemError(404, f"no study {review.study_id[:120]!r} in this run")
    rubric = opened.rubric
    values: dict[str, Any] = {"comment": review.comment}
    errors = reviews.errors_of(opened.row(row), rubric)
    if review.verdict == MISSED:
        codes = {label.name for label in rubric.codes.labels} if rubric.codes else set()
        levels = [label.name for label in rubric.grades.labels] if rubric.grades else []
        categories = set(review.categories)
        fits = categories <= codes and bool(categories) == bool(codes) and review.text.strip()
        if not fits or review.level not in (None, *levels) or review.error in errors:
            raise ProblemError(
                422,
                "a missed error needs a text, a category of "
                f"{', '.join(sorted(codes)) or 'none'} and a level of "
                f"{', '.join(levels) or 'none'}; it names no error of the judge",
            )
        names = tuple(dict.fromkeys(review.categories))
        values |= {"categories": names, "level": review.level, "text": review.text}
    elif review.error in errors:
        error = errors[review.error]
        names = tuple(error["labels"].get(rubric.codes.name, ())) if rubric.codes else ()
        values |= {"categories": names, "level": error["grade"], "text": error["text"]}
    elif review.verdict in VERDICTS or (review.verdict == COMMENT and review.error is not None):
        raise ProblemError(409, "this study has no such error; the run may be new: load it again")
    return reviews.new_event(review.reader, review.study_id, review.error, review.verdict, **values)
