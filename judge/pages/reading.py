"""The page of blind reading: the models of its data, in which each value has its text.

Nothing here has what a judge or another reader said of a study.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from judge.pages.models import PageModel
from judge.pages.study import Piece
from judge.readers import annotation_store as store
from judge.readers.annotation_store import PageReading
from judge.readers.guide import Act, Guide, PracticeStudy
from judge.readers.practice import Feedback
from judge.rubrics.contract import Facet, Kind, Tone
from judge.sentences import sentences
from judge.studies.study_set import CONTEXT_FIELDS
from judge.study.view import changed_words
from judge.text import capital
from judge.types import Edit, Side

_MORE = "prior priors prior_report previous_report modality view views view_position body_part"
CONTEXT = frozenset((*CONTEXT_FIELDS, *_MORE.split()))
"""The fields of a study that a reader is shown. Any other may hold an opinion of the study or the
model, such as a rating, a score or a class, or name the author of the candidate."""
State = Literal["new", "begun", "done", "not judged"]
_NOT_DRAWN = (
    "No studies are drawn for reading yet: judge readers sample RUN --limit 100 draws them at "
    "random."
)
_NO_PRACTICE = "This rubric has no practice studies."
_NO_DEFINITIONS = "This rubric does not define its labels further."


class LabelToGive(PageModel):
    """A label that a reader can give, its key if it has one, and what the judge is told of it."""

    name: str
    label: str
    text: str = Field(description="With its code, as in tables.")
    button: str = Field(description="Beside its key, which is not repeated.")
    key: str | None
    tone: Tone | None
    modality: str | None = Field(description="Reports of this modality alone have it.")
    definition: list[str] = Field(description="A paragraph an entry.")


class FacetToLabel(PageModel):
    """A question that labels answer; with `has_several`, an item can have several of them."""

    name: str
    title: str
    has_several: bool
    definition: list[str]
    labels: list[LabelToGive]


class KindToMark(PageModel):
    """A kind of items that a reader marks.

    `forgotten` asks whether a study without one is meant; it is empty for errors, which a study
    need not have.
    """

    name: str
    label: str
    title: str
    key: str | None
    facets: list[str]
    graded_by: str | None
    definition: list[str]
    forgotten: str


class RubricToRead(PageModel):
    """What a reader marks by a rubric. The first kind is that of errors.

    `notes` say what the rubric does not have; `has_marks` says why a study with errors is not one
    without errors.
    """

    title: str
    summary: str
    has_edits: bool
    guidelines: list[str]
    notes: list[str]
    kinds: list[KindToMark]
    facets: list[FacetToLabel]
    has_marks: str


class KeyOfPage(PageModel):
    """A key besides those of the labels."""

    key: str
    act: Act
    text: str


class LineOfReport(PageModel):
    """A line or sentence, with its place in the report in Unicode code points."""

    start: int
    end: int
    text: str


class ReportToRead(PageModel):
    """A report and its lines."""

    text: str
    lines: list[LineOfReport]


class ContextField(PageModel):
    """What is known of the patient or the examination."""

    name: str
    value: str


class PracticeToRead(PageModel):
    """A practice study, without its expected errors."""

    context: list[ContextField]
    reference: ReportToRead
    candidate: ReportToRead


class QueueEntry(PageModel):
    """A study that was drawn, and how far the reader is with it."""

    study_id: str
    state: State


class ReadingQueue(PageModel):
    """What a reader begins with; without studies to read, `nothing_to_read` says why."""

    rubric: RubricToRead
    keys: list[KeyOfPage]
    queue: list[QueueEntry] | None = Field(
        description="Null where no sample was drawn."
    )
    nothing_to_read: str
    marked: list[str] = Field(description="The kinds that the reader has used.")
    practice: list[PracticeToRead]


class KeptMark(PageModel):
    """An item that a reader marked, with its words' place in the report `side`."""

    kind: str
    labels: dict[str, list[str]]
    text: str
    side: Side | None
    start: int | None
    end: int | None
    edit: Edit | None


class KeptReading(PageModel):
    """Everything that a reader has marked in a study, as it was saved last.

    A reading that replaces this one has its `id` in `replaces`.
    """

    id: str
    at: str
    reader: str
    study_id: str
    done: bool
    items: list[KeptMark]
    comment: str
    texts: str
    seconds: float | None
    cannot_judge: str

    @classmethod
    def of(cls, reading: PageReading) -> KeptReading:
        """Return a reading as the page has it."""
        items = []
        for item in reading.items:
            mark = asdict(item) | {"edit": item.edit}
            mark["labels"] = {name: list(item.labels[name]) for name in item.labels}
            items.append(KeptMark(**mark))
        return cls(**(asdict(reading) | {"items": items}))


class StudyToRead(PageModel):
    """A study of the sample with what this reader has marked in it; `texts` stands for its text."""

    study_id: str
    texts: str
    modality: str | None
    context: list[ContextField]
    reference: ReportToRead
    candidate: ReportToRead
    reading: KeptReading | None


class PracticeRemark(PageModel):
    """What is said of one mark, or of an error that was not marked."""

    is_right: bool
    verdict: str
    text: str


class PracticeFeedback(PageModel):
    """What is said of a reader's marks in a practice study."""

    title: str
    remarks: list[PracticeRemark]
    lesson: str

    @classmethod
    def of(cls, feedback: Feedback) -> PracticeFeedback:
        """Return feedback as the page has it."""
        remarks = [PracticeRemark(**asdict(remark)) for remark in feedback.remarks]
        return cls(title=feedback.title, remarks=remarks, lesson=feedback.lesson)


class ChangedLine(PageModel):
    """A corrected line, word by word."""

    pieces: list[Piece]

    @classmethod
    def of(cls, line: str, corrected: str) -> ChangedLine:
        """Return what a correction changes in a line."""
        pieces = [
            Piece(change=change, text=text)
            for change, text in changed_words(line, corrected)
        ]
        return cls(pieces=pieces)


def reading_queue(
    guide: Guide, order: Sequence[str] | None, readings: Mapping[str, PageReading]
) -> ReadingQueue:
    """Return what a reader begins with: `readings` are this reader's, by their studies."""
    queue = None
    if order is not None:
        queue = []
        for study_id in order:
            state = store.NEW
            if study_id in readings:
                state = readings[study_id].state
            queue.append(QueueEntry(study_id=study_id, state=_state(state)))
    marked: set[str] = set()
    for reading in readings.values():
        marked.update(item.kind for item in reading.items)
    return ReadingQueue(
        rubric=_rubric(guide),
        keys=[KeyOfPage(**asdict(key)) for key in guide.page_keys],
        queue=queue,
        nothing_to_read="" if queue else _NOT_DRAWN,
        marked=sorted(marked),
        practice=[_practice(study) for study in guide.practice],
    )


def study_to_read(
    record: Mapping[str, Any], reading: PageReading | None
) -> StudyToRead:
    """Return a study as a reader is shown it, with what this reader has marked in it."""
    kept = None
    if reading is not None:
        kept = KeptReading.of(reading)
    return StudyToRead(
        study_id=record["study_id"],
        texts=store.texts_digest(record),
        modality=record.get("modality"),
        context=_context(record["fields"]),
        reference=_report(record["reference"]),
        candidate=_report(record["candidate"]),
        reading=kept,
    )


def _state(state: str) -> State:
    states: dict[str, State] = {
        store.NEW: "new",
        store.BEGUN: "begun",
        store.DONE: "done",
        store.NOT_JUDGED: "not judged",
    }
    return states[state]


def _rubric(guide: Guide) -> RubricToRead:
    rubric = guide.rubric
    notes = []
    if not guide.definitions:
        notes.append(_NO_DEFINITIONS)
    if not guide.practice:
        notes.append(_NO_PRACTICE)
    done = _key_of(guide, "done")
    plural = capital(guide.errors.plural)
    has_marks = f"{plural} are marked in this study: delete them, or press {done}."
    return RubricToRead(
        title=rubric.title,
        summary=rubric.summary,
        has_edits=rubric.editor is not None,
        guidelines=list(guide.guidelines),
        notes=notes,
        kinds=[_kind(kind, guide) for kind in guide.kinds],
        facets=[_facet(facet, guide) for facet in guide.facets],
        has_marks=has_marks,
    )


def _key_of(guide: Guide, act: Act) -> str:
    (key,) = (page_key.key for page_key in guide.page_keys if page_key.act == act)
    return key


def _kind(kind: Kind, guide: Guide) -> KindToMark:
    key = guide.keys.get((kind.name, ""))
    forgotten = ""
    if kind.graded_by is None and kind is not guide.errors:
        how = ""
        if key:
            how = f" with {key}"
        forgotten = (
            f"No {kind.label} is marked here, as in other studies: mark each{how}, "
            "or say once more that the study is done."
        )
    return KindToMark(
        name=kind.name,
        label=kind.label,
        title=capital(kind.label),
        key=key,
        facets=list(kind.facets),
        graded_by=kind.graded_by,
        definition=list(guide.definitions.get((kind.name, ""), ())),
        forgotten=forgotten,
    )


def _facet(facet: Facet, guide: Guide) -> FacetToLabel:
    labels = []
    for label in facet.labels:
        place = (facet.name, label.name)
        key = guide.keys.get(place)
        shown = LabelToGive(
            name=label.name,
            label=label.label,
            text=facet.text(label.name),
            button=label.label.removeprefix(f"{key} "),
            key=key,
            tone=label.tone,
            modality=label.modality,
            definition=list(guide.definitions.get(place, ())),
        )
        labels.append(shown)
    return FacetToLabel(
        name=facet.name,
        title=capital(facet.label),
        # A corrected line may be wrong in several ways; words that are marked are in one.
        has_several=guide.rubric.editor is not None and facet.has_codes,
        definition=list(guide.definitions.get((facet.name, ""), ())),
        labels=labels,
    )


def _practice(study: PracticeStudy) -> PracticeToRead:
    return PracticeToRead(
        context=_context({"indication": study.indication}),
        reference=_report(study.reference),
        candidate=_report(study.candidate),
    )


def _context(fields: Mapping[str, Any]) -> list[ContextField]:
    shown = []
    for name, value in fields.items():
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        if value is not None and plain in CONTEXT:
            field = ContextField(name=name.replace("_", " "), value=str(value))
            shown.append(field)
    return shown


def _report(text: str) -> ReportToRead:
    lines = [
        LineOfReport(start=start, end=end, text=" ".join(text[start:end].split()))
        for start, end in sentences(text)
    ]
    return ReportToRead(text=text, lines=lines)
