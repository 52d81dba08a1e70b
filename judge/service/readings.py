"""Blind reading over HTTP: both reports of a study, and the marks of this reader.

No route returns anything that a judge or another reader said of a study, nor an order by it. The
studies come in the order in which they were drawn at random; no other can be read.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as InQuery
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from judge.pages.reading import (
    ChangedLine,
    KeptReading,
    PracticeFeedback,
    ReadingQueue,
    StudyToRead,
    reading_queue,
    study_to_read,
)
from judge.readers import annotation_store as store
from judge.readers.annotation_store import MarkedItem, PageReading
from judge.readers.guide import Guide, guide_of
from judge.readers.practice import feedback
from judge.readers.sample import kept_sample
from judge.service import ProblemError
from judge.service.catalogue import OpenRun
from judge.service.service import ReaderName, RunId, ServiceDep

routes = APIRouter(prefix="/v1/runs", tags=["readings"])

StudyId = Annotated[str, InQuery(alias="id", max_length=10_000, examples=["STUDY"])]


class StudyReading(BaseModel):
    """Everything that a reader has marked in a study so far. It replaces an earlier one."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, examples=["STUDY"])
    reader: ReaderName
    replaces: str = Field(
        "",
        max_length=100,
        description="The `id` of the reading that this one replaces, as it was shown or saved "
        "last; empty for the first. Where another one was saved since, this one is refused (409).",
    )
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


class PracticeMarks(BaseModel):
    """What a reader has marked in a practice study, which is not kept."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(ge=0, description="Its place among the practice studies.")
    items: list[MarkedItem] = Field(max_length=500)


class LineCorrection(BaseModel):
    """A line of a report, and the line as a reader has corrected it."""

    model_config = ConfigDict(extra="forbid")

    line: str = Field(max_length=20_000)
    corrected: str = Field(max_length=20_000)


@routes.get("/{run}/reading")
def show_queue(run: RunId, reader: ReaderName, service: ServiceDep) -> ReadingQueue:
    """Show the studies that were drawn for reading, in that order, and how far this reader is.

    `queue` is null where no sample was drawn. With it comes what a reader needs to read by the
    run's rubric: labels, their keys and definitions, and practice studies.
    """
    _, opened = service.catalogue.open(run)
    guide = _guide(opened)
    sample = kept_sample(opened)
    order = None
    if sample is not None:
        order = [one for one in sample.order if opened.row_of(one) is not None]
    return reading_queue(guide, order, _readings_of(opened, reader))


@routes.get("/{run}/reading/study")
def show_to_reader(
    run: RunId, reader: ReaderName, service: ServiceDep, study_id: StudyId
) -> StudyToRead:
    """Show one study of the sample, with the marks of this reader alone."""
    entry, opened = service.catalogue.open(run)
    service.readers.see(entry.path, reader)
    record = _drawn(opened, study_id)
    reading = _readings_of(opened, reader).get(study_id)
    if reading and reading.texts not in ("", store.texts_digest(record)):
        reading = None  # its words are not in these reports
    return study_to_read(record, reading)


@routes.post("/{run}/reading/practice")
def check_practice(
    run: RunId, marks: PracticeMarks, service: ServiceDep
) -> PracticeFeedback:
    """Compare marks in a practice study with what was expected. Nothing is kept."""
    _, opened = service.catalogue.open(run)
    guide = _guide(opened)
    if marks.number >= len(guide.practice):
        raise ProblemError(404, f"there is no practice study {marks.number}")
    study = guide.practice[marks.number]
    record = study.model_dump(include={"reference", "candidate"})
    record["study_id"] = ""
    made = store.new_reading("", record, marks.items, done=False)
    fault = store.find_fault(made, opened.rubric, record)
    if fault:
        raise ProblemError(422, fault)
    return PracticeFeedback.of(feedback(guide, study, marks.items))


@routes.post("/{run}/reading/line")
def compare_line(
    run: RunId, correction: LineCorrection, service: ServiceDep
) -> ChangedLine:
    """Compare a line with its correction, word by word. Nothing is kept."""
    service.catalogue.find(run)
    return ChangedLine.of(correction.line, correction.corrected)


@routes.post("/{run}/readings", status_code=201)
def keep_reading(run: RunId, reading: StudyReading, service: ServiceDep) -> KeptReading:
    """Save everything that a reader has marked in a study. When this returns it is on disk.

    It is refused (409) where the reader has saved the study elsewhere since: `replaces` says which
    reading is known here. Nothing is lost then: the study shows what was saved.
    """
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
    return KeptReading.of(store.append_after(opened.path, made, reading.replaces))


def _guide(opened: OpenRun) -> Guide:
    why = store.why_unreadable(opened.rubric)
    if why:
        raise ProblemError(409, why)
    return guide_of(opened.rubric)


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
