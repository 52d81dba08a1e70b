"""A study's end as a JSON object, one line of `annotations.jsonl`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from judge.rubrics import Rubric
from judge.run.engine import Judged
from judge.stats.table import OUTCOMES, count_values
from judge.types import (
    Annotated,
    Annotation,
    Category,
    Completion,
    Edit,
    Error,
    Failed,
    Outcome,
    Study,
    Unparsed,
    Usage,
)


def to_record(judged: Judged, rubric: Rubric) -> dict[str, Any]:
    """Return all that is known about one study: the reports, the outcome, its evidence.

    `corrected` is the candidate with the annotation's edits made, where the rubric has any.
    """
    study, outcome, counts = judged.study, judged.outcome, judged.counts
    return {
        "study_id": study.study_id,
        "study_class": study.study_class,
        "class_inferred": study.class_inferred,
        "fields": dict(study.fields),
        "reference": study.reference,
        "candidate": study.candidate,
        "outcome": OUTCOMES[type(outcome)],
        "reason": None if isinstance(outcome, Annotated) else outcome.reason,
        "detail": None if isinstance(outcome, Annotated) else outcome.detail,
        "annotation": _plain(outcome.annotation) if isinstance(outcome, Annotated) else None,
        "corrected": corrected_report(rubric, study, outcome),
        "scores": dict(counts.scores) if counts else None,
        "counts": count_values(counts) if counts else None,
        "attempt": judged.attempt,
        "answer": asdict(judged.completion) if judged.completion else None,
    }


def corrected_report(rubric: Rubric, study: Study, outcome: Outcome) -> str | None:
    """Return the candidate with the annotation's edits made; None where there are none to make."""
    if rubric.corrected is None or not isinstance(outcome, Annotated):
        return None
    return rubric.corrected(outcome.annotation, study)


def _plain(annotation: Annotation) -> dict[str, Any]:
    """Return the annotation as JSON's types, a good deal faster than `asdict`."""
    return {
        "errors": [
            {
                "categories": error.categories,
                "level": error.level,
                "text": error.text,
                "edit": asdict(error.edit) if error.edit else None,
            }
            for error in annotation.errors
        ],
        "matched": annotation.matched,
        "explanation": annotation.explanation,
        "stated": dict(annotation.stated),
        "remarks": annotation.remarks,
    }


def study_of(record: Mapping[str, Any]) -> Study:
    """Return the study that a record is about."""
    names = ("study_id", "reference", "candidate", "study_class", "class_inferred", "fields")
    return Study(**{name: record[name] for name in names})


def completion_of(record: Mapping[str, Any]) -> Completion | None:
    """Return the raw answer in a record, None where the judge gave none."""
    answer = record["answer"]
    if not answer:
        return None
    usage = Usage(**answer["usage"]) if answer["usage"] else None
    return Completion(**{**answer, "usage": usage})


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Return the outcome in a record."""
    match record["outcome"]:
        case "annotated":
            return Annotated(_annotation(record["annotation"]))
        case "unparsed":
            return Unparsed(record["reason"], record["detail"])
        case "failed":
            return Failed(record["reason"], record["detail"])
        case other:
            raise ValueError(f"unknown outcome {other!r}")


def _annotation(data: Mapping[str, Any]) -> Annotation:
    return Annotation(
        errors=tuple(
            Error(
                categories=tuple(Category(category) for category in error["categories"]),
                level=error["level"],
                text=error["text"],
                edit=Edit(**error["edit"]) if error["edit"] else None,
            )
            for error in data["errors"]
        ),
        matched=tuple(data["matched"]),
        explanation=data["explanation"],
        stated=data["stated"],
        remarks=tuple(data["remarks"]),
    )
