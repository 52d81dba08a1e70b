"""Runs over HTTP, with their studies and reviews, and the rubrics and judges to choose from."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi import Query as InQuery
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from judge import backends, prompts, rubrics
from judge.backends import LEXICON
from judge.backends.hosted import FLEX
from judge.files import open_regular
from judge.pages.models import PageModel, StudyList
from judge.pages.review import RunReviewsShown, StudyReview, run_reviews, study_review
from judge.pages.run import RunOverview
from judge.pages.study import AskedQuestion, RunStudy, run_study
from judge.readers.annotation_store import append_entry
from judge.report_sections import SECTION_NAMES
from judge.run_files.study_record import ANNOTATIONS
from judge.running.folder import TABLE_CSV, TABLE_PARQUET
from judge.service import ProblemError, jobs
from judge.service.catalogue import OpenRun, RunEntry, trashed_runs
from judge.service.jobs import Short
from judge.service.run_models import (
    JudgeChoice,
    JudgeList,
    LiveRun,
    RubricChoice,
    RubricList,
    RunCheck,
    RunDetails,
    RunList,
    ShownRun,
    look_again_after,
)
from judge.service.service import (
    JSON,
    ReaderName,
    RunId,
    Service,
    ServiceDep,
    as_answer,
    as_json,
)
from judge.service.settings import JOBS, Ledger, ServiceSettings
from judge.study.reviews import (
    COMMENT,
    MISSED,
    REVIEWS,
    VERDICTS,
    Event,
    ReviewVerdict,
)
from judge.types import JudgeError

_MAX_NAME = 200
_REPEATABLE = ("by", "context_fields")
Text = Annotated[str, Field(max_length=20_000)]
_PART = 2**18  # bytes that are read at a time
_FILES = {
    "jsonl": (ANNOTATIONS, "application/x-ndjson"),
    "csv": (TABLE_CSV, "text/csv; charset=utf-8"),
    "parquet": (TABLE_PARQUET, "application/vnd.apache.parquet"),
}

routes = APIRouter(tags=["runs"])


@routes.get("/v1/rubrics", response_model=RubricList)
def list_rubrics() -> Response:
    """List the rubrics, the prompts that each can have, and the sections of reports."""
    by_rubric: dict[str, list[str]] = {}
    for name, loaded in prompts.every(os.environ):
        if not isinstance(loaded, JudgeError):
            by_rubric.setdefault(loaded.rubric, []).append(name)
    listed = []
    for name in rubrics.names():
        rubric = rubrics.load(name)
        listed.append(
            RubricChoice(
                name=rubric.name,
                title=rubric.title,
                summary=rubric.summary,
                prompts=by_rubric.get(rubric.name, []),
            )
        )
    return as_answer(RubricList(rubrics=listed, sections=list(SECTION_NAMES)))


@routes.get("/v1/judges", response_model=JudgeList)
def list_judges(service: ServiceDep) -> Response:
    """List the judges that the service's owner allows, each with what may be chosen of it."""
    judges = []
    for name in service.settings.allowed:
        ledger, left = Ledger(*service.settings.ledger(name)), None
        with closing(ledger), suppress(JudgeError):  # a run says why it cannot be read
            left = ledger.left()
        choices = backends.choices_of(name, service.settings.judges.get(name))
        tiers = []
        if FLEX in choices.service_tiers:
            tiers.append(FLEX)
        judges.append(
            JudgeChoice(
                name=name,
                label=_judge_label(name, ledger.limit, left),
                built_in=name == LEXICON,
                budget=ledger.limit,
                left=left,
                efforts=list(choices.efforts),
                tiers=tiers,
            )
        )
    return as_answer(JudgeList(judges=judges))


def _judge_label(name: str, budget: float | None, left: float | None) -> str:
    label = name
    if name == LEXICON:
        label += " (built in)"
    if budget is not None:
        rest = "?"
        if left is not None:
            # Downwards: what is not there cannot be spent.
            rest = f"${math.floor(100 * left + 1e-6) / 100:,.2f}"
        label += f" ({rest} of ${budget:,.2f} left)"
    return label


class RunForm(jobs.RunOptions):
    """A run's files and options; without references, `preds` holds both."""

    preds: UploadFile
    refs: UploadFile | None = None


@routes.get("/v1/runs", response_model=RunList)
def list_runs(service: ServiceDep) -> Response:
    """List the runs, the newest first, those under way among them, and those in the trash."""
    runs = [*map(service.catalogue.describe, service.catalogue.entries())]
    runs.sort(key=lambda run: run.started or "", reverse=True)
    deleted = [run.shown() for run in trashed_runs(service.settings.runs)]
    listed = RunList(
        runs=runs,
        deleted=deleted,
        trash_text=f"Trash ({len(deleted):,})",
        look_again_after=look_again_after(runs),
    )
    return as_answer(listed)


@routes.post("/v1/runs", status_code=201, response_model=ShownRun)
async def start_run(
    form: Annotated[RunForm, Form(media_type="multipart/form-data")],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Judge two uploaded files in the background.

    The fields are options of the command line; any other field is refused, and so is one of a
    single value that is there twice. Where the budget of the judge has no room for an answer, the
    run stops and says so.
    """
    await _check_form(form, request, service)
    job = await asyncio.to_thread(_create, form, service.settings)
    service.jobs.start(job)
    described = service.catalogue.describe(RunEntry(job.id, job.run, job))
    return as_answer(described, 201, {"Location": f"/v1/runs/{job.id}"})


@routes.post("/v1/runs/check", response_model=RunCheck)
async def check_run(
    form: Annotated[RunForm, Form(media_type="multipart/form-data")],
    request: Request,
    service: ServiceDep,
) -> Response:
    """Say what a run of these files and options would judge, and what it may cost; nothing starts.

    The fields are those of `POST /v1/runs`. `studies` has what was read from which fields. 422
    where the run would fail.
    """
    await _check_form(form, request, service)
    with ExitStack() as kept:
        saved = await asyncio.to_thread(_saved, form, service.settings, kept)
        found = await service.checks.check(saved.request, saved.path / jobs.FILES)
    return as_answer(RunCheck.model_validate_json(found))


async def _check_form(form: RunForm, request: Request, service: Service) -> None:
    """Raise `ProblemError` for fields that no run can have."""
    if request.query_params:
        raise ProblemError(
            422, "the options of a run are fields of the form, not of the address"
        )
    given = Counter(name for name, _ in (await request.form()).multi_items())
    repeated = {name for name, n in given.items() if n > 1}
    twice = sorted(repeated.difference(_REPEATABLE))
    if twice:
        raise ProblemError(422, f"{', '.join(twice)}: give each field once")
    if form.rubric not in rubrics.names():
        known = ", ".join(rubrics.names())
        raise ProblemError(422, f"unknown rubric {form.rubric!r}; there are: {known}")
    allowed = service.settings.allowed
    if form.judge not in allowed:
        raise ProblemError(403, f"the judges allowed here are {', '.join(allowed)}")


def _create(form: RunForm, settings: ServiceSettings) -> jobs.Job:
    """Save the uploads and the request; the job's name, which readers may see, names no judge."""
    with ExitStack() as kept:
        saved = _saved(form, settings, kept)
        now = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
        name = f"{form.rubric}-{now}-{os.urandom(3).hex()}"
        try:
            (saved.path / jobs.JOB).write_text(
                saved.request.model_dump_json(exclude_unset=True), "utf-8"
            )
            return jobs.Job(
                saved.path.rename(saved.path.with_name(name)), saved.request
            )
        except OSError as error:
            raise _unsaved(error) from error


def _saved(form: RunForm, settings: ServiceSettings, kept: ExitStack) -> jobs.Job:
    """Save the uploads in a new folder, which is removed with `kept` unless it is renamed before.

    Raises `ProblemError` for options that the command line would refuse.
    """
    below = settings.runs[0] / JOBS
    try:
        below.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = TemporaryDirectory(
            prefix=".new-", dir=below, ignore_cleanup_errors=True
        )
        new, names = Path(kept.enter_context(folder)), []
        files = new / jobs.FILES
        files.mkdir()
        for upload in filter(None, (form.preds, form.refs)):
            name = _clean_name(upload.filename or "")
            names.append(f"references-{name}" if name in names else name)
            with (files / names[-1]).open("xb") as out:
                shutil.copyfileobj(upload.file, out)
    except OSError as error:
        raise _unsaved(error) from error
    options = form.model_dump(
        include={*jobs.RunOptions.model_fields}, exclude_unset=True
    )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    request = jobs.RunRequest(**options, files=names, created=created)
    fault = request.fault(settings)
    if fault:
        raise ProblemError(422, fault)
    return jobs.Job(new, request)


def _unsaved(error: OSError) -> ProblemError:
    return ProblemError(507, f"the files cannot be saved: {error.strerror or error}")


def _clean_name(name: str) -> str:
    """Return the client's name for a file, without folders and control characters."""
    last = "".join(c for c in re.split(r"[/\\]", name)[-1] if c.isprintable()).lstrip(
        "."
    )
    return last.encode()[-_MAX_NAME:].decode("utf-8", "ignore") or "reports.json"


@routes.get("/v1/runs/{run}", response_model=RunDetails)
def show_run(run: RunId, service: ServiceDep) -> Response:
    """Show `run` as in the list; of a finished one also its `summary`."""
    entry = service.catalogue.find(run)
    shown = service.catalogue.describe(entry)
    summary = None
    if entry.is_finished:
        summary = service.catalogue.open(run)[1].summary().plain()
    return as_answer(RunDetails(run=shown, summary=summary))


@routes.get("/v1/runs/{run}/progress", response_model=LiveRun)
def show_progress(run: RunId, service: ServiceDep) -> Response:
    """Show how far a run is, and what is known of it so far: no result of the run.

    `preliminary` is null for a run that is finished, and for one that has not begun.
    """
    entry = service.catalogue.find(run)
    shown, known = service.catalogue.live(entry)
    again = look_again_after([shown])
    return as_answer(LiveRun(run=shown, preliminary=known, look_again_after=again))


@routes.get("/v1/runs/{run}/progress/study", response_model=RunStudy)
def show_study_so_far(
    run: RunId,
    service: ServiceDep,
    row: Annotated[int, InQuery(ge=0, le=2**40)],
) -> Response:
    """Show one of the first studies of a run that is not finished, by its `row` from 0."""
    entry = service.catalogue.find(run)
    if entry.is_finished:
        raise ProblemError(
            409, f"the run {run} is finished: ask for its study by its id"
        )
    return as_answer(service.catalogue.study_so_far(entry, row))


@routes.post("/v1/runs/{run}/stop", response_model=ShownRun)
async def stop_run(run: RunId, service: ServiceDep) -> Response:
    """Stop a run in order: what is under way is collected, what was answered is kept.

    A second time it stops at once. It is `running` until its process has ended.
    """
    entry, job = _job(service, run, jobs.UNFINISHED)
    await service.jobs.stop(job)
    return as_answer(service.catalogue.describe(entry))


@routes.post("/v1/runs/{run}/resume", response_model=ShownRun)
async def resume_run(run: RunId, service: ServiceDep) -> Response:
    """Let a run that was stopped or has failed go on; no answer is asked for again.

    409 where nothing was judged, and the same files and options would fail again.
    """
    entry, job = _job(service, run, (jobs.STOPPED, jobs.FAILED))
    if job.status().is_final:
        raise ProblemError(
            409, f"nothing of the run {run} was judged: start a new run instead"
        )
    job.reset()
    service.jobs.start(job)
    return as_answer(service.catalogue.describe(entry))


def _job(
    service: Service, run: str, states: tuple[str, ...]
) -> tuple[RunEntry, jobs.Job]:
    entry = service.catalogue.find(run)
    if entry.job is None:
        raise ProblemError(409, f"the run {run} was not started by a service")
    state = entry.job.status().state
    if state not in states:
        raise ProblemError(409, f"the run {run} is {state}")
    return entry, entry.job


@routes.get("/v1/runs/{run}/results", response_class=Response)
def results(
    run: RunId,
    service: ServiceDep,
    format: Literal["jsonl", "csv", "parquet"] = "csv",  # noqa: A002
) -> Response:
    """Get the table of studies (CSV, Parquet), or all that is known of each (JSON Lines)."""
    entry, opened = service.catalogue.open(run)
    name, kind = _FILES[format]
    try:
        file = open_regular(opened.path / name)
    except OSError as error:
        raise ProblemError(409, f"cannot read {name}: {error.strerror}") from error
    size = os.fstat(file.fileno()).st_size
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{entry.id}-{name}"',
    }
    return StreamingResponse(_content(file, size), headers=headers, media_type=kind)


def _content(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield what an opened file holds: of what its name leads to by now nothing is sent."""
    with file:
        while size > 0 and (part := file.read(min(size, _PART))):
            size -= len(part)
            yield part


class Review(BaseModel):
    """What a reader says. The next review of the same error or study replaces it."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, examples=["STUDY"])
    reader: ReaderName
    verdict: ReviewVerdict = Field(
        description="right, wrong, wrong_severity: of the error that is named. missed: an error "
        "that the judge has not seen. comment: of the study as a whole. none: takes it back."
    )
    error: Short | None = Field(
        None, description="Its fingerprint, or the id of a missed one."
    )
    comment: Text = ""
    categories: list[Short] = Field(default=[], max_length=100)
    level: Short | None = Field(None, description="Of the missed error.")
    text: Text = Field("", description="The missed error in words.")


@routes.get("/v1/runs/{run}/overview", response_model=RunOverview)
def show_overview(run: RunId, service: ServiceDep) -> Response:
    """Show the figures, facts and tables of a run, each with its text."""
    return Response(service.catalogue.open(run)[1].pieces["overview"], media_type=JSON)


@routes.get("/v1/runs/{run}/studies", response_model=StudyList)
def list_studies(run: RunId, service: ServiceDep) -> Response:
    """List the studies of a run in columns, with the filters of the list; `order`: worst first."""
    return Response(service.catalogue.open(run)[1].pieces["studies"], media_type=JSON)


class FoundStudies(PageModel):
    """The places of studies in the run, from 0."""

    rows: list[int]


@routes.get("/v1/runs/{run}/search", response_model=FoundStudies)
def search_studies(
    run: RunId,
    service: ServiceDep,
    q: Annotated[str, InQuery(max_length=1000, examples=["effusion"])],
) -> Response:
    """Search for the studies that hold every word; `rows` are their places in the run, from 0.

    Searched are id, fields, reports, errors, corrections, matched findings and explanation.
    """
    _, opened = service.catalogue.open(run)
    return as_answer(FoundStudies(rows=opened.search(q)))


class StudyAnswer(PageModel):
    """A study of a run, at its place from 0, and what its judge was asked."""

    row: int
    study: RunStudy
    asked: AskedQuestion


StudyPlace = Annotated[int | None, InQuery(ge=0, le=2**40)]


@routes.get("/v1/runs/{run}/study", response_model=StudyAnswer)
def show_study(
    run: RunId,
    service: ServiceDep,
    id: str | None = None,  # noqa: A002
    row: StudyPlace = None,
) -> Response:
    """Show one study, by its `id` or its `row` from 0, with what was `asked`."""
    _, opened = service.catalogue.open(run)
    place = row if id is None else opened.row_of(id)
    if place is None:
        raise ProblemError(404, "no such study in this run")
    record = opened.row(place)
    answer = StudyAnswer(
        row=place,
        study=run_study(record, opened.rubric),
        asked=opened.asked.about(record),
    )
    return as_answer(answer)


@routes.get("/v1/runs/{run}/study/review", response_model=StudyReview)
def show_study_review(
    run: RunId,
    service: ServiceDep,
    id: Annotated[str, InQuery(max_length=10_000, examples=["STUDY"])],  # noqa: A002
    reader: Annotated[str, InQuery(max_length=100, examples=["Anna"])] = "",
) -> Response:
    """Show the reviews of a study as a reader sees them: others' are hidden until it is decided."""
    _, opened = service.catalogue.open(run)
    if opened.row_of(id) is None:
        raise ProblemError(404, "no such study in this run")
    events = [event for event in opened.reviews() if event.study_id == id]
    errors = opened.errors_of(id)
    review = study_review(id, reader, events, errors, opened.rubric)
    return as_answer(review)


@routes.get("/v1/runs/{run}/reviews", response_model=RunReviewsShown)
def list_reviews(run: RunId, service: ServiceDep) -> Response:
    """Return the reviews that count, and how right the judge was in the readers' eyes.

    Of the `statistics`, `precision` counts an error of the wrong severity as not right, and
    `finding_precision` as right; `agreement` has Cohen's kappa of each two readers. A `stale`
    event is of an error that the run no longer has: it counts in no figure. `shown` has the same
    in words.
    """
    _, opened = service.catalogue.open(run)
    shown = run_reviews(opened.reviewed(), opened.rubric)
    return as_answer(shown)


@routes.post("/v1/runs/{run}/reviews", status_code=201)
def add_review(run: RunId, review: Review, service: ServiceDep) -> Response:
    """Write a review down. When this returns it is on disk."""
    _, opened = service.catalogue.open(run)
    event = _event_of(opened, review)
    append_entry(opened.path / REVIEWS, event)
    return as_json(asdict(event), 201)


def _event_of(opened: OpenRun, review: Review) -> Event:
    """Return the event; the judge's error in it is the run's, not the client's."""
    if opened.row_of(review.study_id) is None:
        raise ProblemError(404, f"no study {review.study_id[:120]!r} in this run")
    codes, grades = opened.rubric.codes, opened.rubric.grades
    errors = opened.errors_of(review.study_id)
    of_error: dict[str, Any] = {}
    if review.verdict == MISSED:
        categories = [label.name for label in codes.labels] if codes else []
        levels = [label.name for label in grades.labels] if grades else []
        names = tuple(dict.fromkeys(review.categories))
        has_labels = {*names} <= {*categories} and bool(names) == bool(categories)
        if not (has_labels and review.level in (None, *levels) and review.text.strip()):
            known_categories = ", ".join(categories) or "none"
            known_levels = ", ".join(levels) or "none"
            raise ProblemError(
                422,
                f"a missed error needs a text, a category of {known_categories} "
                f"and a level of {known_levels}",
            )
        if review.error in errors:
            raise ProblemError(422, "a missed error is none of the judge's")
        of_error = {"categories": names, "level": review.level, "text": review.text}
    elif review.error in errors:
        error = errors[review.error]
        names = tuple(error["labels"].get(codes.name, ())) if codes else ()
        of_error = {"categories": names, "level": error["grade"], "text": error["text"]}
    elif review.verdict in VERDICTS or (
        review.verdict == COMMENT and review.error is not None
    ):
        raise ProblemError(
            409, "this study has no such error; the run may be new: load it again"
        )
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    said = (
        review.reader,
        review.study_id,
        review.error,
        review.verdict,
        review.comment,
    )
    return Event(uuid.uuid4().hex, now, *said, **of_error)
