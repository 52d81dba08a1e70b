"""Reading a run's studies blind, over HTTP: both reports, and what this reader marked in them.

Nothing here says what a judge or another reader made of a study: no outcome, no score, no error,
no order by them, no class that was inferred. The studies come in the order in which they were
drawn at random, and no other can be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Query as InQuery
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from judge.readers import kept
from judge.readers.kept import KeptReading, MarkedItem
from judge.readers.sample import sampled
from judge.report.overview import declared
from judge.running.folder import Run
from judge.sentences import sentences
from judge.service import ProblemError, images
from judge.service.catalogue import OpenRun
from judge.service.service import Here, JsonRoute, RunId, as_json, reader_name, returns
from judge.studies.study_set import CONTEXT_FIELDS
from judge.types import Edit

routes = APIRouter(route_class=JsonRoute, prefix="/v1/runs", tags=["readings"])

CONTEXT = frozenset(
    (
        *CONTEXT_FIELDS,
        *("prior", "priors", "prior_report", "previous_report", "modality", "view", "views"),
        *("view_position", "body_part"),
    )
)
"""The fields of a study that a reader is shown. All others may tell what somebody thinks of the
study or of the model: a rating, a score, a class, who wrote the candidate."""

ReaderName = Annotated[
    str,
    AfterValidator(reader_name),
    InQuery(min_length=1, max_length=100, description="Who reads.", examples=["Anna"]),
]
StudyId = Annotated[
    str, InQuery(alias="id", max_length=10_000, description="Of the sample.", examples=["STUDY"])
]
_Name = Annotated[str, Field(max_length=100)]
_Place = Annotated[int, Field(ge=0, le=2**40)]


class LineEdit(BaseModel):
    """A change of one line of the candidate."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["change", "delete", "insert"]
    line: _Place | None = Field(
        default=None, description="From 0; an insertion goes before it, at the end for null."
    )
    corrected: str = Field(default="", max_length=20_000)


class Mark(BaseModel):
    """One thing that a reader marked."""

    model_config = ConfigDict(extra="forbid")

    kind: _Name
    labels: dict[_Name, Annotated[list[_Name], Field(max_length=20)]] = Field(
        default={}, max_length=20
    )
    text: str = Field(default="", max_length=20_000)
    side: Literal["candidate", "reference"] | None = None
    start: _Place | None = None
    end: _Place | None = None
    edit: LineEdit | None = None


class StudyReading(BaseModel):
    """All that a reader has marked in a study so far. What is sent later takes its place."""

    model_config = ConfigDict(extra="forbid")

    study_id: str = Field(max_length=10_000, description="Of the sample.", examples=["STUDY"])
    reader: Annotated[str, AfterValidator(reader_name)] = Field(
        min_length=1, max_length=100, description="Who reads.", examples=["Anna"]
    )
    done: bool = Field(description="Whether the study is read to its end.", examples=[True])
    items: list[Mark] = Field(
        default=[],
        max_length=500,
        description="Each with its `kind`, `labels` by facet, `text`, and the words it is about: "
        "`side`, `start` and `end` in characters (Unicode code points) of that report; with an "
        "`edit` (`kind`, `line`, `corrected`) where the rubric corrects lines.",
    )
    comment: str = Field(default="", max_length=20_000, description="In words.")
    texts: str | None = Field(
        default=None,
        max_length=100,
        description="`texts` of the study as it was shown; other reports are refused (409).",
    )


@routes.get(
    "/{run}/reading",
    summary="Show a reader's queue",
    responses=returns(
        "`rubric`: the kinds of items and their labels; `queue`: each study's `study_id` and "
        "`state` (new, begun, done), null where no sample was drawn; `marked`: the kinds of "
        "items that the reader has marked so far."
    ),
)
def show_queue(run: RunId, reader: ReaderName, service: Here) -> Response:
    """The studies that were drawn for reading, in that order, and how far this reader is."""
    entry, opened = service.catalogue.open(run)
    if wrong := kept.unreadable(opened.rubric):
        raise ProblemError(409, wrong)
    sample = opened.sample()
    mine = _readings_of(opened, reader)
    queue = None
    if sample is not None:
        ids = [study_id for study_id in sample.order if opened.row_of(study_id) is not None]
        queue = [{"study_id": one, "state": _state(mine.get(one))} for one in ids]
    return as_json(
        {
            "run": entry.id,
            "rubric": _rubric(opened),
            "section": opened.summary.get("section"),
            "queue": queue,
            "marked": sorted({item.kind for one in mine.values() for item in one.items}),
        }
    )


class WantedSample(BaseModel):
    """How many studies are to be read."""

    model_config = ConfigDict(extra="forbid")

    n: int = Field(ge=1, le=10**6, description="In all, with those drawn before.", examples=[100])


@routes.post(
    "/{run}/sample",
    status_code=201,
    summary="Draw studies for reading",
    responses=returns("`n_drawn`: how many studies are drawn now.", 201),
)
def draw_sample(run: RunId, wanted: WantedSample, service: Here) -> Response:
    """Draw studies at random, by study class, as `judge sample RUN -n N` does."""
    _, opened = service.catalogue.open(run)
    drawn = sampled(Run(opened.path), wanted.n, [], None)
    return as_json({"n_drawn": len(drawn.order)}, 201)


@routes.get(
    "/{run}/reading/study",
    summary="Show a study to a reader",
    responses=returns(
        "`reference` and `candidate`: each its `text` and `lines` (`start`, `end`, `text`); "
        "`context`, `texts`, `n_images`, and `reading`: what this reader marked, null for none yet."
    ),
)
def show_to_reader(
    run: RunId,
    reader: ReaderName,
    service: Here,
    study_id: StudyId,
) -> Response:
    """One study of the sample, with what this reader has marked in it and nobody else."""
    _, opened = service.catalogue.open(run)
    record = _drawn(opened, study_id)
    texts = kept.digest_of(record)
    found = _readings_of(opened, reader).get(study_id)
    if found and found.texts not in ("", texts):  # of other reports: its words are not in these
        found = None
    n_images = len(images.paths(record["fields"])) if service.settings.images else 0
    return as_json(
        {
            "study_id": record["study_id"],
            "context": _context(record["fields"]),
            "reference": _report(record["reference"]),
            "candidate": _report(record["candidate"]),
            "texts": texts,
            "n_images": n_images,
            "reading": found and asdict(found),
        }
    )


@routes.get(
    "/{run}/reading/image",
    response_class=Response,
    summary="Show an image of a study",
    responses=returns(
        "The image. Refused (404) where the service was started without `--images`, and for "
        "whatever is not in that folder.",
        kinds=["image/png", "image/jpeg", "image/webp"],
    ),
)
def show_image(
    run: RunId,
    service: Here,
    study_id: StudyId,
    at: Annotated[int, InQuery(ge=0, le=1000, description="Which of the study's, from 0.")] = 0,
) -> Response:
    """An image that the study names in `image`, `image_path` or `images`."""
    _, opened = service.catalogue.open(run)
    found = images.paths(_drawn(opened, study_id)["fields"])
    if service.settings.images is None or at >= len(found):
        raise ProblemError(404, "no such image: this service shows none of this study")
    content, kind = images.load(service.settings.images, found[at])
    return Response(content, media_type=kind)


@routes.post(
    "/{run}/readings",
    status_code=201,
    summary="Keep a reading",
    responses=returns("The reading as it was written down.", 201),
)
def keep_reading(run: RunId, reading: StudyReading, service: Here) -> Response:
    """Write down all that a reader has marked in a study. When this returns it is on disk."""
    _, opened = service.catalogue.open(run)
    record = _drawn(opened, reading.study_id)
    items = map(_item, reading.items)
    made = kept.new_reading(
        reading.reader, record, items, done=reading.done, comment=reading.comment
    )
    if reading.texts not in (None, made.texts):
        raise ProblemError(409, "other reports were read than this run has now: load the page anew")
    if wrong := kept.fault(made, opened.rubric, record):
        raise ProblemError(422, wrong)
    kept.append(opened.path, made)
    return as_json(asdict(made), 201)


def _item(mark: Mark) -> MarkedItem:
    edit = Edit(mark.edit.kind, mark.edit.line, mark.edit.corrected) if mark.edit else None
    labels = {facet: tuple(values) for facet, values in mark.labels.items()}
    return MarkedItem(
        mark.kind, labels, mark.text, side=mark.side, start=mark.start, end=mark.end, edit=edit
    )


def _drawn(opened: OpenRun, study_id: str) -> dict[str, Any]:
    sample, row = opened.sample(), opened.row_of(study_id)
    if row is None:
        raise ProblemError(404, f"no study {study_id[:120]!r} in this run")
    if sample is None:
        raise ProblemError(409, "no studies were drawn for reading; judge sample RUN -n 100 does")
    if study_id not in sample.order:
        raise ProblemError(404, f"the study {study_id[:120]!r} was not drawn for reading")
    return opened.record(row)


def _readings_of(opened: OpenRun, reader: str) -> dict[str, KeptReading]:
    found = opened.readings()
    return {study_id: one for (who, study_id), one in found.items() if who == reader}


def _state(reading: KeptReading | None) -> str:
    if reading is None:
        return "new"
    return "done" if reading.done else "begun"


def _rubric(opened: OpenRun) -> dict[str, Any]:
    """What the page needs to know of the rubric; nothing that the run's studies came to."""
    rubric = opened.rubric
    has_edits = rubric.editor is not None
    return {
        "title": rubric.title,
        "summary": rubric.summary,
        "has_edits": has_edits,
        **declared(rubric),
    }


def _context(fields: Mapping[str, object]) -> list[dict[str, str]]:
    return [
        {"name": name, "value": str(value)}
        for name, value in fields.items()
        if value is not None and re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") in CONTEXT
    ]


def _report(text: str) -> dict[str, Any]:
    return {
        "text": text,
        "lines": [
            {"start": start, "end": end, "text": " ".join(text[start:end].split())}
            for start, end in sentences(text)
        ],
    }
