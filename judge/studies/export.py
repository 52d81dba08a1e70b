"""Pairs of reports as other tools read them."""

from __future__ import annotations

from typing import Any

from judge.studies.sections import Section
from judge.studies.study_set import StudySet

_FIELD_OF: dict[Section, str] = {
    "findings": "section_findings",
    "impression": "section_impression",
    "report": "report",
}


def as_rexrank(studies: StudySet) -> dict[str, dict[str, Any]]:
    """Return ReXrank's records by study id: the section that is judged, and `model_prediction`.

    `report` is the whole reference where there is more of it than the section. Beside these stand
    the study class, where it was given, and the further fields.
    """
    return {one: _record(studies, row) for row, one in enumerate(studies.study_ids)}


def _record(studies: StudySet, row: int) -> dict[str, Any]:
    found = {name: column[row] for name, column in studies.fields.items()}
    if not studies.class_inferred[row] and studies.study_classes[row] is not None:
        found[studies.class_field or "study_class"] = studies.study_classes[row]
    whole, section = studies.full_references[row], studies.references[row]
    if whole != section:
        found["report"] = whole
    found[_FIELD_OF[studies.section]] = section
    return found | {"model_prediction": studies.candidates[row]}


def as_radeval(studies: StudySet) -> dict[str, list[str]]:
    """Return the two lists that RadEval is called with, `refs` and `hyps`, and their ids."""
    return {
        "study_id": list(studies.study_ids),
        "refs": list(studies.references),
        "hyps": list(studies.candidates),
    }
