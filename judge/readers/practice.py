"""Practice studies: how a reader's marks compare with the errors that were expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.readers.annotation_store import MarkedItem
from judge.readers.guide import ExpectedError, Guide, PracticeStudy
from judge.rubrics.contract import Rubric
from judge.sentences import sentences
from judge.text import capital, counted


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of one mark, or of an error that was not marked."""

    is_right: bool
    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is said of a reader's marks in a practice study."""

    title: str
    remarks: tuple[Remark, ...]
    lesson: str


def feedback(
    guide: Guide, study: PracticeStudy, items: Sequence[MarkedItem]
) -> Feedback:
    """Compare the errors that a reader marked with those that were expected."""
    marks = [item for item in items if item.kind == guide.errors.name]
    left = list(marks)
    n_found = 0
    remarks = []
    for error in study.errors:
        mark = next((mark for mark in left if _is_of(mark, error, study)), None)
        if mark is not None:
            left.remove(mark)
            n_found += 1
        remarks.append(_on_expected(guide, error, mark))
    remarks += [_on_other(guide, mark) for mark in left]
    expected = counted(len(study.errors), "expected error", "expected errors")
    return Feedback(f"{n_found} of {expected} found", tuple(remarks), study.lesson)


def _is_of(mark: MarkedItem, error: ExpectedError, study: PracticeStudy) -> bool:
    """Whether a mark is about an error: words that overlap, or a correction of its line."""
    report = study.candidate
    if error.side == "reference":
        report = study.reference
    start = report.index(error.words)
    end = start + len(error.words)
    if mark.edit is not None:
        is_inserted = mark.edit.kind == "insert"
        if is_inserted or error.side == "reference":
            return is_inserted and error.side == "reference"
        line = sentences(report)[mark.edit.line or 0]
        return line[0] <= start < line[1]
    if mark.side != error.side or mark.start is None or mark.end is None:
        return False
    return mark.start < end and mark.end > start


def _on_expected(guide: Guide, error: ExpectedError, mark: MarkedItem | None) -> Remark:
    name = f"{capital(error.name)}."
    labels = [error.labels[facet][0] for facet in guide.errors.facets]
    words = _words(guide.rubric, guide.errors.facets, labels)
    expected = f"{name} Expected: {words}. {error.why}"
    if mark is None:
        return Remark(is_right=False, verdict="Not marked", text=expected)
    for facet in guide.errors.facets:
        if not set(mark.labels.get(facet, ())) & set(error.labels[facet]):
            verdict = "Found, with other labels"
            return Remark(is_right=False, verdict=verdict, text=expected)
    return Remark(is_right=True, verdict="Found", text=f"{name} {error.why}")


def _on_other(guide: Guide, mark: MarkedItem) -> Remark:
    text = mark.text
    if mark.edit is not None and mark.edit.corrected:
        text = mark.edit.corrected
    facets, values = [], []
    for facet in guide.errors.facets:
        for value in mark.labels.get(facet, ()):
            facets.append(facet)
            values.append(value)
    words = _words(guide.rubric, facets, values)
    return Remark(is_right=False, verdict="Not expected", text=f"“{text}”, {words}.")


def _words(rubric: Rubric, facets: Sequence[str], values: Sequence[str]) -> str:
    texts = [
        rubric.facet(facet).text(value)
        for facet, value in zip(facets, values, strict=True)
    ]
    return ", ".join(texts)
