"""Reviews as the pages show them: of one study to one reader, and of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from judge.pages.models import Choice, PageModel, PrintedTable
from judge.pages.study import item_noun
from judge.rubrics.contract import Facet, Rubric
from judge.study.reviews import (
    COMMENT,
    MISSED,
    VERDICTS,
    Errors,
    Event,
    ReviewVerdict,
    RunReviews,
)
from judge.tables.reviews import reviews_document, stale_sentence, verdict_text
from judge.text import capital, counted

_NOBODY = "No error of this run has been reviewed yet."


class VerdictChoice(PageModel):
    """What a reader can say of an error; `saved` says how it is taken back."""

    verdict: ReviewVerdict
    text: str
    saved: str


class ItemReview(PageModel):
    """What was said of one error: `verdict` by the reader, null for nothing.

    `others` is what other readers said, or how many did while it is hidden.
    """

    error: str = Field(description="Its fingerprint, which a review names.")
    label: str
    verdict: ReviewVerdict | None
    others: list[str]


class WrittenReview(PageModel):
    """A missed error or a comment; one with an `id` is the reader's own and can be withdrawn."""

    id: str | None
    text: str
    reader: str


class LabelChoices(PageModel):
    """The labels of which a missed error has one."""

    label: str
    choices: list[Choice]


class StudyReview(PageModel):
    """The reviews of a study as one reader sees them.

    Other readers' are hidden until the reader has decided, since whoever has read another's verdict
    agrees with it more often. `stale` are the reader's own reviews of errors that are gone.
    """

    study_id: str
    reader: str
    verdicts: list[VerdictChoice]
    items: list[ItemReview]
    stale: list[str]
    written: list[WrittenReview]
    hidden: str
    comment: str
    categories: LabelChoices | None
    levels: LabelChoices | None


class ReviewEvent(PageModel):
    """A review that counts; a `stale` one is about an error that the run no longer has."""

    id: str
    at: str
    reader: str
    study_id: str
    error: str | None
    verdict: ReviewVerdict
    comment: str
    categories: list[str]
    level: str | None
    text: str
    stale: bool


class ShownReviews(PageModel):
    """What the reviews of a run say of its judge, in words."""

    sentence: str
    notes: list[str]
    tables: list[PrintedTable]


class RunReviewsShown(PageModel):
    """The reviews of a run that count, and how right the judge was in the readers' eyes.

    Of the `statistics`, `precision` counts an error of the wrong severity as not right, and
    `finding_precision` as right; `agreement` has Cohen's kappa of each two readers. `shown` has
    the same in words. `reviewed` are the studies with a review that is not stale.
    """

    events: list[ReviewEvent]
    reviewed: list[str]
    statistics: dict[str, Any]
    shown: ShownReviews


def run_reviews(found: RunReviews, rubric: Rubric) -> RunReviewsShown:
    """Return the reviews of a run."""
    events = []
    # The keys of a dict: each study once.
    reviewed: dict[str, None] = {}
    for listed in found.listed():
        event = ReviewEvent(**{**listed, "categories": list(listed["categories"])})
        events.append(event)
        if not event.stale:
            reviewed[event.study_id] = None
    document = reviews_document(found.summary, rubric)
    sentence = found.summary.sentence
    if not events:
        sentence = _NOBODY
    shown = ShownReviews(
        sentence=sentence,
        notes=list(document.notes),
        tables=[PrintedTable.of(table) for table in document.tables],
    )
    return RunReviewsShown(
        events=events,
        reviewed=list(reviewed),
        statistics=found.summary.plain(),
        shown=shown,
    )


def study_review(
    study_id: str, reader: str, events: Sequence[Event], errors: Errors, rubric: Rubric
) -> StudyReview:
    """Return the reviews of a study that `reader` sees, of the `events` about it that count."""
    mine = [event for event in events if event.reader == reader]
    others = [event for event in events if event.reader != reader]
    words = [event for event in others if _is_written(event)]
    items = []
    for number, error in enumerate(errors, 1):
        label = f"{capital(item_noun(rubric).label)} {number}"
        items.append(_item_review(str(error), label, mine, others, rubric))
    own_comment = _comment(mine)
    decided = [item.verdict is not None for item in items]
    is_decided = bool(own_comment) or (bool(decided) and all(decided))
    written = []
    for event in mine:
        if event.verdict == MISSED:
            written.append(_written(event, rubric, is_own=True))
    hidden = ""
    if is_decided:
        written += [_written(event, rubric, is_own=False) for event in words]
    elif words:
        hidden = _hidden(words)
    stale = []
    for event in mine:
        if event.is_stale(errors):
            stale.append(stale_sentence(event, rubric))
    return StudyReview(
        study_id=study_id,
        reader=reader,
        verdicts=_verdicts(rubric),
        items=items,
        stale=stale,
        written=written,
        hidden=hidden,
        comment=own_comment,
        categories=_label_choices(rubric.codes),
        levels=_label_choices(rubric.grades),
    )


def _verdicts(rubric: Rubric) -> list[VerdictChoice]:
    words: list[tuple[ReviewVerdict, str]] = [("right", "Right"), ("wrong", "Wrong")]
    if rubric.grades is not None:
        words.append(("wrong_severity", f"Wrong {rubric.grades.label}"))
    choices = []
    for verdict, text in words:
        saved = f"{text}. Choose “{text}” again to withdraw it."
        choices.append(VerdictChoice(verdict=verdict, text=text, saved=saved))
    return choices


def _item_review(
    error: str,
    label: str,
    mine: Sequence[Event],
    others: Sequence[Event],
    rubric: Rubric,
) -> ItemReview:
    verdict = None
    for event in mine:
        if event.error == error and event.verdict in VERDICTS:
            verdict = event.verdict
    of_others = []
    for event in others:
        if event.error == error and event.verdict in VERDICTS:
            of_others.append(event)
    said = [f"{event.reader}: {verdict_text(event, rubric)}" for event in of_others]
    if said and verdict is None:
        said = [_hidden(of_others)]
    return ItemReview(error=error, label=label, verdict=verdict, others=said)


def _hidden(events: Sequence[Event]) -> str:
    n_readers = len({event.reader for event in events})
    reviews = counted(n_readers, "other review", "other reviews")
    return f"{reviews}, hidden until you decide"


def _is_written(event: Event) -> bool:
    """Whether it is about the study as a whole: a missed error, or a comment."""
    if event.verdict == MISSED:
        return True
    return event.verdict == COMMENT and event.error is None and event.comment != ""


def _comment(mine: Sequence[Event]) -> str:
    for event in mine:
        if event.verdict == COMMENT and event.error is None:
            return event.comment
    return ""


def _written(event: Event, rubric: Rubric, *, is_own: bool) -> WrittenReview:
    own_id = None
    text = event.comment
    if event.verdict == MISSED:
        parts = ["Missed:"]
        for category in event.categories:
            parts.append(_label_text(rubric.codes, category))
        if event.level is not None:
            parts.append(f"[{_label_text(rubric.grades, event.level)}]")
        parts.append(event.text)
        text = " ".join(parts)
        if is_own:
            own_id = event.id
    return WrittenReview(id=own_id, text=text, reader=event.reader)


def _label_text(facet: Facet | None, name: str) -> str:
    """Return a label's text; a run that was judged again may know it no longer."""
    if facet is None or name not in {label.name for label in facet.labels}:
        return name
    return facet.text(name)


def _label_choices(facet: Facet | None) -> LabelChoices | None:
    if facet is None:
        return None
    choices = [
        Choice(value=label.name, text=facet.text(label.name), codes=[])
        for label in facet.labels
    ]
    return LabelChoices(label=capital(facet.label), choices=choices)
