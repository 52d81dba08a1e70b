"""What can be wrong of a finding in reports of one modality alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge import prompts, rubrics
from judge.running.records import StudyResult, study_of, to_record
from judge.types import Failed, Scored, Study, UnparsedError

RUBRIC = rubrics.load("crimson")


def reply(*types: str) -> str:
    grade = {"clinical_significance": "urgent"}
    error: dict[str, Any] = {"ref_id": "R1", "pred_id": "P1", "severity": "significant"}
    return json.dumps(
        {
            "reference_findings": [{"id": "R1", "finding": "Mass.", **grade}],
            "predicted_findings": [{"id": "P1", "finding": "A mass.", **grade}],
            "matched_findings": [{"ref_id": "R1", "pred_id": "P1"}],
            "errors": {
                "false_findings": [],
                "missing_findings": [],
                "attribute_errors": [
                    {**error, "error_types": [*types], "explanation": "Other."}
                ],
            },
        }
    )


def types(text: str, modality: str | None) -> tuple[str, ...]:
    study = Study("1", "Mass.", "Mass.", modality=modality)
    return RUBRIC.parse(text, study).items[-1].labels["error_type"]


def test_a_side_is_a_place_but_in_mammography() -> None:
    assert types(reply("laterality"), None) == ("location",)
    assert types(reply("laterality", "location"), "ct") == ("location",)
    assert types(reply("Side", "BI-RADS category"), "mg") == ("laterality", "birads")


@pytest.mark.parametrize(
    ("named", "own", "other"),
    [
        ("level", "ct", "mg"),
        ("phase", "ct", None),
        ("birads", "mg", "xr"),
        ("density", "mg", "us"),
    ],
)
def test_a_type_of_one_modality_is_unknown_in_others(
    named: str, own: str, other: str | None
) -> None:
    assert types(reply(named), own) == (named,)
    with pytest.raises(
        UnparsedError, match=f"unknown error type: {named}, which is of {own}"
    ):
        types(reply(named), other)


def test_the_question_names_them_where_they_are() -> None:
    prompt = prompts.load("crimson")
    assert "birads" in prompt.messages("R", "C", modality="mg")[-1].content
    assert "birads" not in "".join(
        one.content for one in prompt.messages("R", "C", modality="ct")
    )
    assert (
        "radiograph. Judge" not in prompt.messages("R", "C", modality="us")[-1].content
    )


def test_the_modality_is_kept_for_reading_again() -> None:
    study = Study("a", "Mass.", "Mass.", modality="mg")
    annotation = RUBRIC.parse(reply("birads"), study)
    measured = RUBRIC.measured(annotation, study)
    assert measured["urgent_birads"] == 1
    end = StudyResult(0, study, Scored(annotation), measured, None)
    assert study_of(to_record(end, RUBRIC)) == study
    plain = Study("a", "Mass.", "Mass.")
    assert "modality" not in to_record(
        StudyResult(0, plain, Failed("x"), None, None), RUBRIC
    )


def test_what_is_of_one_modality_is_written_and_read_again() -> None:
    for named, modality in (("birads", "mg"), ("laterality", "mg"), ("phase", "ct")):
        study = Study("1", "Mass.", "Mass.", modality=modality)
        annotation = RUBRIC.parse(reply(named), study)
        assert RUBRIC.render is not None
        assert RUBRIC.parse(RUBRIC.render(annotation), study) == annotation
