"""A study's end as a JSON object, one line of `annotations.jsonl`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.cache.entry import checksum
from judge.rubrics.contract import Rubric
from judge.running.engine import Judged
from judge.running.forms import adapter
from judge.stats.table import OUTCOMES
from judge.types import Annotated, Annotation, Completion, Failed, Outcome, Study, Unparsed


def to_record(judged: Judged, rubric: Rubric) -> dict[str, Any]:
    """Return all that is known about one study: the reports, the outcome, its evidence.

    `corrected` is the candidate with the annotation's edits made, where the rubric has any.
    """
    study, outcome = judged.study, judged.outcome
    annotation = outcome.annotation if isinstance(outcome, Annotated) else None
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
        "annotation": annotation and adapter(Annotation).dump_python(annotation),
        "corrected": corrected_report(rubric, study, outcome),
        "measures": dict(judged.measures) if annotation and judged.measures else None,
        "attempt": judged.attempt,
        **_answer(judged.completion, judged.key),
        "earlier": [_answer(each.completion, each.key) for each in judged.earlier],
    }


def _answer(completion: Completion | None, key: str | None) -> dict[str, Any]:
    """Return an answer with its key in the cache, and a checksum where it has one."""
    answer = completion.plain() if completion else None
    sha256 = checksum(answer) if answer and key else None
    return {"answer": answer, "cache_key": key, "sha256": sha256}


def corrected_report(rubric: Rubric, study: Study, outcome: Outcome) -> str | None:
    """Return the candidate with the annotation's edits made; None where there are none to make."""
    if rubric.editor is None or not isinstance(outcome, Annotated):
        return None
    return rubric.editor(outcome.annotation, study)


def study_of(record: Mapping[str, Any]) -> Study:
    """Return the study that a record is about."""
    names = ("study_id", "reference", "candidate", "study_class", "class_inferred", "fields")
    return Study(**{name: record[name] for name in names})


def completion_of(record: Mapping[str, Any]) -> Completion | None:
    """Return the raw answer in a record, None where the judge gave none."""
    answer = record["answer"]
    return adapter(Completion).validate_python(answer) if answer else None


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Return the outcome in a record."""
    if record["outcome"] == OUTCOMES[Annotated]:
        return Annotated(adapter(Annotation).validate_python(record["annotation"]))
    if record["outcome"] == OUTCOMES[Unparsed]:
        return Unparsed(record["reason"], record["detail"])
    return Failed(record["reason"], record["detail"])
