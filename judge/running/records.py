"""A study's end: read of an answer, as a record of `annotations.jsonl`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.cache.answers import checksum
from judge.rubrics.contract import Rubric
from judge.rubrics.questions import check_end, is_complete
from judge.run_files.checked import adapter
from judge.running.evidence import with_evidence
from judge.stats.summary import OUTCOMES
from judge.types import (
    Annotation,
    Completion,
    Failed,
    Measures,
    Outcome,
    Scored,
    Study,
    Unparsed,
    UnparsedError,
)


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A raw answer and the key of its entry in the cache; None for one that no cache keeps."""

    completion: Completion
    key: str | None


@dataclass(frozen=True, slots=True)
class StudyResult:
    """How judging one study ended: its row in the set, the outcome and the answers behind it.

    `attempt` counts from 0; `key` is the answer's key in the cache, if it is there.
    """

    row: int
    study: Study
    outcome: Outcome
    measures: Measures | None
    completion: Completion | None
    attempt: int = 0
    key: str | None = None
    earlier: tuple[CachedAnswer, ...] = ()


def read(
    rubric: Rubric, study: Study, completion: Completion
) -> tuple[Outcome, Measures | None]:
    """Return what `completion` says of `study`, and its numbers; a cut answer is never read."""
    structured = rubric.structured if completion.mode is not None else None
    parse = structured.parse if structured else rubric.parse
    try:
        check_end(completion)
        annotation = parse(completion.text, study, complete=is_complete(completion))
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    annotation = with_evidence(annotation, rubric, study)
    return Scored(annotation), rubric.measured(annotation, study)


def to_record(judged: StudyResult, rubric: Rubric) -> dict[str, Any]:
    """Return all that is known about one study: the reports, the outcome, its evidence."""
    study, outcome = judged.study, judged.outcome
    annotation = outcome.annotation if isinstance(outcome, Scored) else None
    return {
        "study_id": study.study_id,
        "study_class": study.study_class,
        "class_inferred": study.class_inferred,
        "fields": dict(study.fields),
        "reference": study.reference,
        "candidate": study.candidate,
        "outcome": OUTCOMES[type(outcome)],
        "reason": None if isinstance(outcome, Scored) else outcome.reason,
        "detail": None if isinstance(outcome, Scored) else outcome.detail,
        "annotation": annotation and adapter(Annotation).dump_python(annotation),
        "corrected": corrected_report(rubric, study, outcome),
        "measures": dict(judged.measures) if annotation and judged.measures else None,
        "attempt": judged.attempt,
        **({"modality": study.modality} if study.modality else {}),
        **_answer(judged.completion, judged.key),
        "earlier": [
            _answer(answer.completion, answer.key) for answer in judged.earlier
        ],
    }


def _answer(completion: Completion | None, key: str | None) -> dict[str, Any]:
    answer = completion.plain() if completion else None
    sha256 = answer and key
    if answer and key:
        sha256 = checksum(answer)
    return {"answer": answer, "cache_key": key, "sha256": sha256}


def corrected_report(rubric: Rubric, study: Study, outcome: Outcome) -> str | None:
    """Return the candidate with the annotation's edits made, None where one is not known."""
    if rubric.editor is None or not isinstance(outcome, Scored):
        return None
    graded = {kind.name for kind in rubric.graded}
    if any(
        item.edit is None for item in outcome.annotation.items if item.kind in graded
    ):
        return None
    return rubric.editor(outcome.annotation, study)


def study_of(record: Mapping[str, Any]) -> Study:
    """Return the study that a record is about."""
    names = (
        "study_id",
        "reference",
        "candidate",
        "study_class",
        "class_inferred",
        "fields",
    )
    return Study(
        **{name: record[name] for name in names}, modality=record.get("modality")
    )


def answered_of(part: Mapping[str, Any]) -> CachedAnswer | None:
    """Return the answer in a record or in one of its `earlier` parts, None without an answer."""
    if part["answer"] is None:
        return None
    return CachedAnswer(
        adapter(Completion).validate_python(part["answer"]), part["cache_key"]
    )


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Return the outcome in a record."""
    if record["outcome"] == OUTCOMES[Scored]:
        return Scored(adapter(Annotation).validate_python(record["annotation"]))
    kind = Unparsed if record["outcome"] == OUTCOMES[Unparsed] else Failed
    return kind(record["reason"], record["detail"])


def result_of(row: int, record: Mapping[str, Any]) -> StudyResult:
    """Return the end of the study in a record, at its place among the studies."""
    answered = answered_of(record)
    completion, key = (answered.completion, answered.key) if answered else (None, None)
    earlier = tuple(filter(None, map(answered_of, record["earlier"])))
    ends = (
        outcome_of(record),
        record["measures"],
        completion,
        record["attempt"],
        key,
        earlier,
    )
    return StudyResult(row, study_of(record), *ends)
