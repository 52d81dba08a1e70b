"""An entry that shares no word with either report gets a warning, which is counted and shown."""

from __future__ import annotations

import json

import pytest

from judge import rubrics
from judge.backends import lexicon
from judge.backends.lexicon import compare
from judge.running.evidence import NOT_ABOUT, is_about, with_evidence
from judge.running.records import read
from judge.types import Completion, Scored, Study

REFERENCE = (
    "Small left pleural effusion with oedema. The heart is enlarged. PICC in the SVC."
)
CANDIDATE = (
    "No effusion. Nodule of 14 mm in the right apex. There is cardiomegaly, unchanged."
)
REPORTS = f"{REFERENCE}\n{CANDIDATE}"

OF_OTHERS = """
No findings are missing | All locations are correct. | Nothing was left out | not an error
Both reports agree | The candidate is identical to the reference | on reflection this is mentioned
Fracture of the humerus | There are no findings in common | I cannot assess this | No discrepancies
"""
OF_THESE = """
effusion not mentioned | Effusions | pulmonary edema | The candidate enlarges the heart
Cardiac enlargement | 14 mm instead of 9 mm | tip of the PICC | left instead of right
nodular lesion
not significantly changed cardiomegaly | big heart | Apical nodule | unchanged
"""


def _each(text: str) -> list[str]:
    return [
        one.strip() for line in text.strip().splitlines() for one in line.split("|")
    ]


@pytest.mark.parametrize("text", _each(OF_OTHERS))
def test_what_is_about_neither_report(text: str) -> None:
    assert not is_about(text, REPORTS)


@pytest.mark.parametrize("text", _each(OF_THESE))
def test_what_is_about_them(text: str) -> None:
    assert is_about(text, REPORTS)


def test_reports_in_another_language_are_not_tested() -> None:
    assert is_about(
        "fracture of the humerus", "Kleiner Pleuraerguss links. Herz normal gro\u00df."
    )
    assert is_about("fracture of the humerus", "\u5de6\u4fa7\u80f8\u8154\u79ef\u6db2")


NAMES = ("false_finding", "missing_finding", "wrong_location", "wrong_severity")
ALL = (*NAMES, "comparison_not_in_reference", "omitted_comparison")


def green(**lists: list[str]) -> str:
    errors = {name: lists.get(name, []) for name in ALL}
    return json.dumps(
        {
            "explanation": "Why.",
            "clinically_significant_errors": errors,
            "clinically_insignificant_errors": {name: [] for name in ALL},
            "matched_findings": lists.get("matched", []),
        }
    )


def test_each_such_entry_of_an_answer_has_the_warning() -> None:
    rubric = rubrics.load("green")
    study = Study("s", REFERENCE, CANDIDATE)
    text = green(
        missing_finding=["No findings are missing", "oedema"], matched=["Rib fracture"]
    )
    outcome, measures = read(
        rubric, study, Completion(text, "stop", "m", mode="json_schema")
    )
    assert isinstance(outcome, Scored)
    warned = [(item.text, item.warnings) for item in outcome.annotation.items]
    assert warned == [
        ("No findings are missing", (NOT_ABOUT,)),
        ("oedema", ()),
        ("Rib fracture", (NOT_ABOUT,)),
    ]
    assert measures is not None
    assert measures["n_significant"] == 2  # it is counted, and said
    assert outcome.annotation.all_warnings == (NOT_ABOUT, NOT_ABOUT)


@pytest.mark.parametrize("name", ["green", "crimson"])
def test_an_annotation_with_such_warnings_can_be_written_as_a_reply(name: str) -> None:
    rubric = rubrics.load(name)
    of_others = Study("s", "Fracture of the humerus.", "Lungs are clear.")
    annotation = rubric.parse(
        rubric.render(
            rubric.baseline(compare(REFERENCE, CANDIDATE, lexicon.load()), of_others)
        ),
        of_others,
        complete=True,
    )
    warned = with_evidence(annotation, rubric, of_others)
    assert any(item.warnings for item in warned.items)
    assert rubric.render(warned) == rubric.render(annotation)


def test_of_a_correction_the_line_is_tested_and_not_the_comment() -> None:
    rubric = rubrics.load("fineradscore")
    study = Study("s", REFERENCE, CANDIDATE)
    fields = {"comment": "Said nowhere.", "categories": ["b"], "severity": 2}
    corrections = [
        {"line": None, "edit": "insert", "corrected": "The weather is fine.", **fields},
        {"line": None, "edit": "insert", "corrected": "Left effusion.", **fields},
        {"line": 1, "edit": "delete", "corrected": "", **fields},
    ]
    annotation = rubric.parse(json.dumps({"corrections": corrections}), study)
    items = with_evidence(annotation, rubric, study).items
    assert [item.warnings for item in items] == [(NOT_ABOUT,), (), ()]


def test_rules_find_nothing_that_is_about_other_reports() -> None:
    from judge.backends import lexicon

    study = Study("s", REFERENCE, CANDIDATE)
    comparison = lexicon.compare(REFERENCE, CANDIDATE, lexicon.load())
    for name in ("green", "fineradscore", "crimson", "facts", "attributes"):
        rubric = rubrics.load(name)
        assert rubric.baseline is not None
        assert rubric.render is not None
        text = rubric.render(rubric.baseline(comparison, study))
        outcome, _ = read(rubric, study, Completion(text, "stop", "lexicon"))
        assert isinstance(outcome, Scored)
        assert outcome.annotation.all_warnings == ()
