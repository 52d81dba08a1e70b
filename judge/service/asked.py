"""The studies of a question as a run has them, and the answer about them as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.modalities import modality_named
from judge.report_sections import WHOLE_REPORT
from judge.rubrics import Rubric
from judge.running.asking import COMPOSED
from judge.running.progress import Progress
from judge.running.records import StudyResult, corrected_report
from judge.service.questions import (
    QuestionCost,
    QuestionSettings,
    StudyAnnotation,
    StudyContext,
    StudyInput,
)
from judge.stats.summary import OUTCOMES
from judge.studies.columns import one_type
from judge.studies.sections import judged_text
from judge.studies.study_set import JudgeContext, StudySet
from judge.types import Failed, Scored

NO_REFERENCE = "no reference"
_PRIOR = "prior"


@dataclass(frozen=True, kw_only=True)
class AskedStudies:
    """The studies of a question.

    Attributes:
        studies: All of them, in the order of the request.
        unjudged: Those that cannot be judged, by their row from 0, and why.
    """

    studies: StudySet
    unjudged: dict[int, Failed]


def studies_of(
    settings: QuestionSettings, inputs: Sequence[StudyInput]
) -> AskedStudies:
    """Return the studies of a question, whose reports are read as those of files.

    The judge is shown all that the client gives of the patient, and the earlier report.
    """
    section = settings.section
    references, candidates = [], []
    unjudged: dict[int, Failed] = {}
    for row, given in enumerate(inputs):
        reference = judged_text(given.reference, section)
        if reference is None:
            unjudged[row] = _without_reference(section)
        references.append(reference or "")
        candidate = judged_text(given.candidate, section, is_candidate=True)
        candidates.append(candidate or "")
    fields, shown = _shown(inputs)
    prior = None
    if any(given.prior for given in inputs):
        prior = _PRIOR
        fields[prior] = one_type([given.prior for given in inputs])
    modality = None
    if settings.modality is not None:
        modality = modality_named(settings.modality)
    n_studies = len(inputs)
    studies = StudySet(
        study_ids=tuple(given.id or str(row + 1) for row, given in enumerate(inputs)),
        references=tuple(references),
        candidates=tuple(candidates),
        study_classes=(None,) * n_studies,
        class_inferred=(False,) * n_studies,
        full_references=tuple(given.reference for given in inputs),
        section=section,
        fields=fields,
        judge_context=JudgeContext(shown, prior, modality),
    )
    return AskedStudies(studies=studies, unjudged=unjudged)


def _without_reference(section: str) -> Failed:
    if section == WHOLE_REPORT:
        return Failed(NO_REFERENCE, "the reference says nothing: send the report")
    return Failed(
        NO_REFERENCE,
        f"the reference has no {section}: choose another section, or send the report with it",
    )


def _shown(
    inputs: Sequence[StudyInput],
) -> tuple[dict[str, tuple[object, ...]], tuple[str, ...]]:
    """Return the fields that some study has of its patient, and their names in order."""
    fields: dict[str, tuple[object, ...]] = {}
    for name in StudyContext.model_fields:
        if any(name in given.model_fields_set for given in inputs):
            values = one_type([getattr(given, name) for given in inputs])
            if any(value is not None for value in values):
                fields[name] = values
    return fields, tuple(fields)


def annotation_of(judged: StudyResult, rubric: Rubric) -> StudyAnnotation:
    """Return what came of one study; only a scored one has measures."""
    outcome = judged.outcome
    answer = judged.completion.text if judged.completion else None
    name = judged.study.study_id
    if not isinstance(outcome, Scored):
        return StudyAnnotation(
            id=name,
            outcome=OUTCOMES[type(outcome)],
            reason=outcome.reason,
            detail=outcome.detail,
            answer=answer,
        )
    return StudyAnnotation(
        id=name,
        outcome=OUTCOMES[Scored],
        measures=dict(judged.measures or {}),
        annotation=outcome.annotation,
        corrected=corrected_report(rubric, judged.study, outcome),
        warnings=list(outcome.annotation.all_warnings),
        answer=answer,
    )


def cost_of(paid: Progress, results: Sequence[StudyResult]) -> QuestionCost:
    """Return what a question has cost; what was answered and not `paid` was there already."""
    n_answers = sum(map(_n_answers, results))
    return QuestionCost(
        asked=paid.asked,
        from_cache=max(0, n_answers - paid.asked),
        prompt_tokens=paid.prompt_tokens,
        completion_tokens=paid.completion_tokens,
        dollars=paid.dollars,
        unknown_requests=paid.unknown_requests,
        unknown_dollars=paid.unknown_dollars,
    )


def _n_answers(result: StudyResult) -> int:
    """Return how many answers of the cache a result rests on."""
    keys = [answered.key for answered in result.earlier]
    if result.key != COMPOSED:
        keys.append(result.key)
    return sum(key is not None for key in keys)
