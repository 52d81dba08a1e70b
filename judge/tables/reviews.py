"""What reviewers said of a run, as tables: the judge's precision, the readers' agreement."""

from __future__ import annotations

from typing import Any

from judge.rubrics.contract import Rubric
from judge.stats.estimate import Estimate
from judge.study.reviews import (
    ALL,
    COMMENT,
    NOTE,
    RIGHT,
    WRONG,
    WRONG_SEVERITY,
    Event,
    ReviewSummary,
    RunReviews,
)
from judge.tables.document import Column, Document, Table, table_of
from judge.tables.kinds import Kind

_KAPPA_NOTE = (
    "kappa: Cohen's, of the verdicts right, wrong and wrong severity on the errors that both "
    "reviewed; bootstrap interval by study, or by patient"
)


def reviews_document(found: ReviewSummary, rubric: Rubric) -> Document:
    """Return the judge's precision and the readers' agreement, with what is to be known of them."""
    tables = []
    if found.n_reviewed_errors:
        tables.append(_precision_table(found, rubric))
    if found.agreement:
        tables.append(_agreement_table(found))
    notes = []
    if found.stale_note:
        notes.append(found.stale_note)
    if found.n_reviewed_errors:
        notes.append(NOTE)
    return Document(
        facts=[("reviews", found.sentence)], notes=tuple(notes), tables=tables
    )


def exported_reviews(
    reviews: RunReviews, rubric: Rubric, *, with_each: bool
) -> Document:
    """Return `reviews_document`; `with_each` puts a table of all reviews first."""
    document = reviews_document(reviews.summary, rubric)
    if not with_each:
        return document
    tables = [_each_review(reviews), *document.tables]
    return Document(facts=document.facts, notes=document.notes, tables=tables)


def _precision_table(found: ReviewSummary, rubric: Rubric) -> Table:
    head = (
        Column("errors"),
        Column("n", "reviewed", kind=Kind.COUNT),
        Column("precision", "right", kind=Kind.RATE),
        Column("finding_precision", "right, or wrong severity", kind=Kind.RATE),
    )
    entries = []
    for row in found.precision:
        if row.n:
            entries.append(
                {
                    "errors": _code_text(row.code, rubric),
                    "n": row.n,
                    "precision": row.precision,
                    "finding_precision": row.finding_precision,
                }
            )
    title = "The judge's precision among reviewed errors"
    return table_of("precision", title, head, entries)


def _code_text(code: str, rubric: Rubric) -> str:
    if code == ALL or rubric.codes is None:
        return code
    return rubric.codes.text(code)


def _agreement_table(found: ReviewSummary) -> Table:
    head = (
        Column("first", "reviewer"),
        Column("second", "and"),
        Column("n", "errors of both", kind=Kind.COUNT),
        Column("n_agreed", "same verdict", kind=Kind.COUNT),
        Column("kappa", kind=Kind.NUMBER),
    )
    entries = []
    for pair in found.agreement:
        entries.append(
            {
                "first": pair.first,
                "second": pair.second,
                "n": pair.n,
                "n_agreed": pair.n_agreed,
                "kappa": pair.kappa,
            }
        )
    reasons = dict.fromkeys(_reason(pair.kappa) for pair in found.agreement)
    note = "; ".join([_KAPPA_NOTE, *filter(None, reasons)])
    return table_of("agreement", "Agreement of the reviewers", head, entries, note)


def _reason(kappa: Estimate) -> str:
    """Return why a kappa or its interval is not defined, empty where it is."""
    if kappa.reason is None:
        return ""
    if kappa.value is None:
        return f"n/a where {kappa.reason}"
    return kappa.reason


def _each_review(reviews: RunReviews) -> Table:
    names = (
        "study_id",
        "error",
        "categories",
        "level",
        "text",
        "reader",
        "verdict",
        "comment",
        "at",
        "stale",
    )
    entries: list[dict[str, Any]] = []
    for review in reviews.listed():
        entries.append(
            {
                **review,
                "error": review["error"] or "",
                "categories": ", ".join(review["categories"]),
                "level": review["level"] or "",
                "stale": "yes" if review["stale"] else "no",
            }
        )
    head = [Column(name) for name in names]
    return table_of("reviews", "Reviews", head, entries)


def verdict_text(event: Event, rubric: Rubric) -> str:
    """Return what a review says, as the page calls it."""
    wrong_level = "wrong severity"
    if rubric.grades:
        wrong_level = f"wrong {rubric.grades.label}"
    words = {RIGHT: "right", WRONG: "wrong", WRONG_SEVERITY: wrong_level}
    return words.get(event.verdict, event.verdict)


def stale_sentence(event: Event, rubric: Rubric) -> str:
    """Return that a review is of an error which its study no longer has."""
    said = f"verdict “{verdict_text(event, rubric)}”"
    if event.verdict == COMMENT:
        said = f"comment “{event.comment}”"
    return (
        f"Stale: your {said} was about “{event.text}”, an error that this study no longer has. It "
        "counts in no figure."
    )


def review_lines(reviews: RunReviews, study_id: str, rubric: Rubric) -> list[str]:
    """Return what each reader said of a study, a line each; stale reviews say so."""
    lines = []
    for event in reviews.events:
        if event.study_id != study_id:
            continue
        line = f"{event.reader}: {verdict_text(event, rubric)}"
        if event.text:
            line += f": {event.text}"
        if event.comment:
            line += f" ({event.comment})"
        if event.id in reviews.stale:
            line += " [stale: the study no longer has this error]"
        lines.append(line)
    return lines
