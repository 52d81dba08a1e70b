"""Blind reading over HTTP: both reports of a study, and the marks of this reader.

No route returns anything that a judge or another reader said of a study, nor an order by it. The
studies come in the order in which they were drawn at random; no other can be read.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from judge.pages.run import declared
from judge.readers import annotation_store as store
from judge.readers.annotation_store import MarkedItem, PageReading
from judge.readers.sample import kept_sample
from judge.sentences import sentences
from judge.service import ProblemError
from judge.service.catalogue import OpenRun
from judge.service.service import ReaderName, RunId, ServiceDep, as_json
from judge.studies.study_set import CONTEXT_FIELDS

routes = APIRouter(prefix="/v1/runs", tags=["readings"])

_MORE = "prior priors prior_report previous_report modality view views view_position body_part"
CONTEXT = frozenset((*CONTEXT_FIELDS, *_MORE.split()))
"""The fields of a study that a reader is shown. Any other may hold an opinion of the study or the
model, such as a rating, a score or a class, or name the author of the candidate."""

StudyId = Annotated[str, InQuery(alias="id", max_length=10_000, examples=["STUDY"])]


class StudyReading(BaseModel):
    """Everything that a reader has marked in a study so far. A later one replaces it."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, examples=["STUDY"])
    reader: ReaderName
    done: bool = Field(description="Whether the study is read to its end.")
    items: list[MarkedItem] = Field(
        default=[],
        max_length=500,
        description="`start` and `end` are in characters (Unicode code points) of the report "
        "`side`; an `edit` is for a rubric that corrects lines.",
    )
    comment: str = Field("", max_length=20_000)
    texts: str | None = Field(
        None,
        max_length=100,
        description="As shown with the study; other reports are refused.",
    )
    seconds: float | None = Field(None, ge=0, le=10**7, description="In view, so far.")
    cannot_judge: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        "", max_length=1000, description="Why the reader cannot judge the study."
    )


@routes.get("/{run}/reading")
def show_queue(run: RunId, reader: ReaderName, service: ServiceDep) -> Response:
    """Show the studies that were drawn for reading, in that order, and how far this reader is.

    `queue` is null where no sample was drawn; `marked` has the kinds that the reader has used.
    """
    _, opened = service.catalogue.open(run)
    rubric = opened.rubric
    why = store.why_unreadable(rubric)
    if why:
        raise ProblemError(409, why)
    sample = kept_sample(opened)
    readings = _readings_of(opened, reader)
    queue: list[dict[str, str]] | None = None
    if sample is not None:
        queue = []
        for study_id in sample.order:
            if opened.row_of(study_id) is None:
                continue
            state = store.NEW
            if study_id in readings:
                state = readings[study_id].state
            queue.append({"study_id": study_id, "state": state})
    words = {"title": rubric.title, "summary": rubric.summary, **declared(rubric)}
    shown = {"has_edits": rubric.editor is not None, **words}
    marked: set[str] = set()
    for reading in readings.values():
        marked.update(item.kind for item in reading.items)
    return as_json({"rubric": shown, "queue": queue, "marked": sorted(marked)})


@routes.get("/{run}/reading/study")
def show_to_reader(
    run: RunId, reader: ReaderName, service: ServiceDep, study_id: StudyId
) -> Response:
    """Show one study of the sample, with the marks of this reader alone."""
    entry, opened = service.catalogue.open(run)
    service.readers.see(entry.path, reader)
    record = _drawn(opened, study_id)
    texts = store.texts_digest(record)
    reading = _readings_of(opened, reader).get(study_id)
    if reading and reading.texts not in ("", texts):
        reading = None  # its words are not in these reports
    shown: dict[str, Any] = {"study_id": record["study_id"], "texts": texts}
    shown |= {side: _report(record[side]) for side in ("reference", "candidate")}
    shown["context"] = [
        {"name": name, "value": str(value)}
        for name, value in record["fields"].items()
        if value is not None
        and re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") in CONTEXT
    ]
    return as_json({**shown, "reading": reading and asdict(reading)})


@routes.post("/{run}/readings", status_code=201)
def keep_reading(run: RunId, reading: StudyReading, service: ServiceDep) -> Response:
    """Save everything that a reader has marked in a study. When this returns it is on disk."""
    entry, opened = service.catalogue.open(run)
    service.readers.see(entry.path, reading.reader)
    record = _drawn(opened, reading.study_id)
    fields = reading.model_dump(include={"done", "comment", "seconds", "cannot_judge"})
    made = store.new_reading(reading.reader, record, reading.items, **fields)
    if reading.texts not in (None, made.texts):
        raise ProblemError(
            409, "the reports of this study have changed: load the page anew"
        )
    fault = store.find_fault(made, opened.rubric, record)
    if fault:
        raise ProblemError(422, fault)
    store.append(opened.path, made)
    return as_json(asdict(made), 201)


def _drawn(opened: OpenRun, study_id: str) -> dict[str, Any]:
    sample, row = kept_sample(opened), opened.row_of(study_id)
    if row is None:
        raise ProblemError(404, f"no study {study_id[:120]!r} in this run")
    if sample is None:
        raise ProblemError(
            409, "no studies were drawn for reading: judge readers sample RUN --limit N"
        )
    if study_id not in sample.order:
        raise ProblemError(
            404, f"the study {study_id[:120]!r} was not drawn for reading"
        )
    return opened.row(row)


def _readings_of(opened: OpenRun, reader: str) -> dict[str, PageReading]:
    readings = store.current(opened.path)
    return {
        study_id: reading
        for (name, study_id), reading in readings.items()
        if name == reader
    }


def _report(text: str) -> dict[str, Any]:
    lines = [
        {"start": start, "end": end, "text": " ".join(text[start:end].split())}
        for start, end in sentences(text)
    ]
    return {"text": text, "lines": lines}
