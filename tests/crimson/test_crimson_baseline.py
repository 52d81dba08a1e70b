"""What the built-in judge says of reports in CRIMSON's terms, with and without a context."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from judge import rubrics
from judge.backends.lexicon import compare, load
from judge.rubrics.crimson.parse import is_elderly
from judge.types import Annotation, Study

RUBRIC = rubrics.load("crimson")
LEXICON = load()
RANKING: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("ranking.yaml").read_text("utf-8")
)
# What the rules cannot tell: that fluid is an effusion, that two lobes touch.
KNOWN_FAILURES = {("paraphrase", 1), ("location", 1)}


def judged(
    reference: str, candidate: str, context: Mapping[str, str] | None = None
) -> Annotation:
    study = Study("s", reference, candidate, context=context or {})
    annotation = RUBRIC.baseline(compare(reference, candidate, LEXICON), study)
    assert RUBRIC.parse(RUBRIC.render(annotation), study) == annotation
    return annotation


def score(
    reference: str, candidate: str, context: Mapping[str, str] | None = None
) -> float:
    found = judged(reference, candidate, context)
    value = RUBRIC.measured(found, Study("s", reference, candidate))["crimson"]
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("group", "at"),
    [(group, at) for group, cases in RANKING.items() for at in range(len(cases))],
)
def test_the_better_candidate_comes_first(group: str, at: int) -> None:
    case = RANKING[group][at]
    better, worse = (
        score(case["reference"], case[which], case.get("context"))
        for which in ("better", "worse")
    )
    assert (better > worse) == ((group, at) not in KNOWN_FAILURES), (better, worse)


def grades(reference: str, candidate: str, context: Mapping[str, str]) -> list[str]:
    found = judged(reference, candidate, context)
    return [one.label("significance") for one in found.of_kind("reference_finding")]


LOW = "not_actionable_not_urgent"
AORTA = "Calcified aortic arch. Right lower lobe pneumonia."


@pytest.mark.parametrize(
    ("context", "grade"),
    [
        ({}, LOW),
        ({"Age": "64"}, LOW),
        ({"Age": "65", "Indication": "Cough"}, "benign_expected"),
        (
            {"Age": "80", "Indication": "Follow-up of aortic calcification"},
            LOW := "not_actionable_not_urgent",
        ),
        ({"Indication": "80 year old man with cough"}, "benign_expected"),
        ({"Age": "30", "Indication": "80 year old heart valve"}, LOW),
    ],
)
def test_what_comes_with_age_is_benign_in_the_elderly(
    context: dict[str, str], grade: str
) -> None:
    # Nothing else changes its weight, and no indication lowers the pneumonia's.
    assert grades(AORTA, "", context) == [grade, "urgent"]
    named = {**context, "History": "known pneumonia"}
    assert grades(AORTA, "", named)[1] == "urgent"


@pytest.mark.parametrize(
    ("context", "is_old"),
    [
        ({"Age": "65"}, True),
        ({"age": "67 years"}, True),
        ({"PatientAge": "072Y"}, True),
        ({"patient_age": " 90+"}, True),
        ({"Age": ">89"}, True),
        ({"Age": "70s"}, True),
        ({"Age": "65-70"}, True),
        ({"Age": "60-70"}, False),
        ({"Age": "50-60"}, False),
        ({"Age": "<80"}, False),
        ({"Age": "80 months"}, False),
        ({"Age": "070M"}, False),
        ({"Age": "70 days"}, False),
        ({"Age": "unknown"}, False),
        ({"Age": ""}, False),
        ({"Age": "1945"}, False),
        ({"Stage": "80", "Image": "70"}, False),
        ({"context": "Age:70-80.Gender:M.Indication: Cough."}, True),
        ({"context": "Age:50-60.Gender:M.Indication: Cough for 70 days."}, False),
        ({"Indication": "Woman aged 81 with pain"}, True),
        ({"Indication": "78-year-old female"}, True),
        ({"Indication": "Cough"}, False),
        ({}, False),
    ],
)
def test_who_is_elderly(context: dict[str, str], is_old: bool) -> None:
    assert is_elderly(context) is is_old


def test_a_finding_that_is_said_twice_is_one() -> None:
    twice = "Findings: Small left effusion. Nodule. Impression: Left pleural effusion. Nodule."
    for candidate in ("", "Large right effusion.", "Small left effusion.", twice):
        found = judged(twice, candidate)
        assert len(found.of_kind("reference_finding")) == 2, candidate


def types(reference: str, candidate: str) -> dict[str, str]:
    errors = judged(reference, candidate).of_kind("error")
    return {one.labels["error_type"][0]: one.label("significance") for one in errors}


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Left pneumothorax.", "Right pneumothorax.", {"location": "urgent"}),
        ("Small left effusion.", "Large left effusion.", {"severity": "urgent"}),
        ("Moderate edema.", "Severe edema.", {"severity": "negligible"}),
        ("8 mm nodule.", "24 mm nodule.", {"measurement": "actionable_not_urgent"}),
        ("Pneumothorax.", "Possible pneumothorax.", {"certainty": "urgent"}),
        ("Possible cardiomegaly.", "Cardiomegaly.", {"certainty": "negligible"}),
        ("Pneumonia.", "Opacity.", {"unspecific": "urgent"}),
        ("Opacity.", "Pneumonia.", {"overinterpretation": "urgent"}),
        ("Consolidation.", "Pneumonia.", {"overinterpretation": "negligible"}),
        ("New effusion.", "Effusion.", {"temporal": "actionable_not_urgent"}),
        ("Unchanged effusion.", "Effusion.", {"temporal": "negligible"}),
        (
            "Effusion. Clear lungs.",
            "Lungs are clear.",
            {"missing_finding": "actionable_not_urgent"},
        ),
        ("Clear lungs.", "Free air.", {"false_finding": "urgent"}),
        ("Opacity. Pneumonia.", "Pneumonia.", {}),
        ("No pneumothorax. Heart is normal.", "Normal chest.", {}),
    ],
)
def test_what_differs_of_a_finding(
    reference: str, candidate: str, expected: dict[str, str]
) -> None:
    assert types(reference, candidate) == expected
