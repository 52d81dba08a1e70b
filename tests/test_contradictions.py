"""What a reply contradicts by its structure is not read, in every rubric and form.

Nothing here depends on phrases: each reply is plain, and says two things that cannot both be so.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge import rubrics
from judge.rubrics.normality import is_normal
from judge.types import Annotation, Study, UnparsedError

REFERENCE = "Small left pleural effusion. Heart is enlarged. No pneumothorax."
CANDIDATE = "Right pleural effusion. Heart size is normal. Old rib fracture."
STUDY = Study("s", REFERENCE, CANDIDATE)


def read(rubric: str, reply: object) -> str | Annotation:
    try:
        return rubrics.load(rubric).parse(json.dumps(reply), STUDY)
    except UnparsedError as error:
        return error.reason


def correction(
    edit: str, line: int | None, corrected: Any, **more: Any
) -> dict[str, Any]:
    fields = {"comment": "Why.", "categories": ["a"], "severity": 2}
    return {"line": line, "edit": edit, "corrected": corrected, **fields, **more}


@pytest.mark.parametrize(
    "corrections",
    [
        [correction("change", 1, "HEART SIZE is normal!")],
        [correction("change", 1, "Heartsize is nor mal")],
        [correction("change", 1, "...")],
        [correction("insert", None, "\u2014")],
        [correction("insert", 0, "old rib-fracture")],
        [correction("delete", 2, ""), correction("insert", 0, "Old rib fracture")],
        [
            correction("insert", 0, "Left effusion."),
            correction("insert", 1, "left effusion"),
        ],
        [correction("change", 1, "Heart is enlarged."), correction("delete", 1, "")],
        [correction("change", 1, "Heart is enlarged.", comment="None.")],
        [correction("change", 1, "Heart is enlarged.", comment="No error")],
        [correction("change", 1, "Heart is enlarged.", comment="Same")],
        [correction("delete", 2, None, comment="not applicable")],
    ],
)
def test_a_correction_that_corrects_nothing(corrections: list[dict[str, Any]]) -> None:
    assert isinstance(read("fineradscore", {"corrections": corrections}), str)


@pytest.mark.parametrize(
    "corrections",
    [
        [correction("change", 1, "Heart size is not significantly changed.")],
        [correction("change", 0, "Right pleural effusion?")],
        [correction("Delete", 2, None, comment=None)],
        [correction("change", 1, "Heart is enlarged.", comment="None of this is so.")],
        [correction("change", 1, "Heart is enlarged.", categories=["A", "b"])],
        [correction("insert", 0, "No pneumothorax.", comment="")],
    ],
)
def test_a_correction_that_does_something(corrections: list[dict[str, Any]]) -> None:
    assert isinstance(read("fineradscore", {"corrections": corrections}), Annotation)


def test_a_space_between_numbers_counts() -> None:
    study = Study("s", "Nodule of 15 mm.", "Nodule of 1.5 mm.")
    reply = {"corrections": [correction("change", 0, "Nodule of 15 mm.")]}
    found = rubrics.load("fineradscore").parse(json.dumps(reply), study)
    assert len(found.items) == 1


def crimson(
    reference: str,
    candidate: str,
    *,
    matched: bool = True,
    explanation: Any = "It differs.",
    **more: Any,
) -> dict[str, Any]:
    """One finding a side; an attribute error where they match."""
    grade = {"clinical_significance": "Urgent"}
    pair = {"ref_id": "R1", "pred_id": "P1"}
    error = {
        **pair,
        "explanation": explanation,
        "error_types": ["severity"],
        "severity": "Negligible",
    }
    return {
        "reference_findings": [{"id": "R1", "finding": reference, **grade}],
        "predicted_findings": [{"id": "P1", "finding": candidate, **grade}],
        "matched_findings": [pair] if matched else [],
        "errors": {
            "false_findings": [] if matched else ["P1"],
            "missing_findings": [] if matched else ["R1"],
            "attribute_errors": [{**error, **more}] if matched else [],
        },
    }


@pytest.mark.parametrize(
    "reply",
    [
        crimson("Left effusion", "left effusion."),
        crimson("Left effusion", "left effusion.", matched=False),
        crimson("Left effusion", "right effusion", explanation="None"),
        crimson("Left effusion", "right effusion", explanation="No error."),
        crimson("Left effusion", "right effusion", explanation="Same"),
        crimson("No pneumothorax", "right effusion", matched=False),
        crimson("Left effusion", "Lungs are clear.", matched=False),
        crimson("Left effusion", "Normal heart size", matched=False),
        crimson("Left effusion", "none", matched=False),
    ],
)
def test_crimson(reply: dict[str, Any]) -> None:
    assert isinstance(read("crimson", reply), str)


@pytest.mark.parametrize(
    "reply",
    [
        crimson("Left effusion", "Right effusion"),
        crimson("Left effusion", "right effusion", explanation=None),
        crimson(
            "Left effusion", "right effusion", error_types=["Severity", "location"]
        ),
        crimson("Effusion not significantly changed", "No change of the effusion"),
        crimson(
            "Lungs clear but for a nodule",
            "No lung markings in the left apex",
            matched=False,
        ),
    ],
)
def test_crimson_is_read(reply: dict[str, Any]) -> None:
    assert isinstance(read("crimson", reply), Annotation)


def facts(
    verdict: str, phrases: tuple[str, str], evidence: list[str]
) -> dict[str, str]:
    """The phrase of each report, and one verdict on that of the reference."""
    first, second = phrases
    return {
        "phrases of the reference": json.dumps({"phrases": [first]}),
        "phrases of the candidate": json.dumps({"phrases": [second]}),
        "verdicts on the reference": json.dumps(
            {"verdicts": [{"phrase": 1, "evidence": evidence, "verdict": verdict}]}
        ),
        "verdicts on the candidate": json.dumps(
            {"verdicts": [{"phrase": 1, "evidence": [], "verdict": "Not mentioned"}]}
        ),
    }


def test_facts() -> None:
    own = "Heart size is normal."
    for reply in (
        facts("contradicted", ("heart size is normal", "old fracture"), [own]),
        facts("not_mentioned", ("old rib fracture", "Old rib fracture."), []),
        facts("not_mentioned", ("None", "old rib fracture"), []),
        facts("not_mentioned", ("2 findings", "old rib fracture"), []),
        facts("not_mentioned", ("Note: as above", "old rib fracture"), []),
    ):
        assert isinstance(read("facts", reply), str), reply
    for reply in (
        facts("Contradicted", ("heart is enlarged", "old fracture"), [own]),
        facts("NOT-MENTIONED", ("effusion on the left", "old fracture"), []),
    ):
        assert isinstance(read("facts", reply), Annotation), reply


NORMAL = """
No pneumothorax | Lungs are clear. | Normal heart size | The cardiac silhouette is normal in size
no focal consolidation, effusion or pneumothorax | Unremarkable chest | Clear lungs
There is no pleural effusion | Mediastinal contours within normal limits | Heart is not enlarged
"""
ABNORMAL = """
No change of the effusion | Lungs are clear except for a nodule | No lung markings at the apex
No significant interval change in the left effusion | Normal pressure hydrocephalus
Heart size at the upper limit of normal | No pneumothorax, small left effusion
Loss of normal lordosis
Nondisplaced fracture | Not well inflated lungs | No longer enlarged heart | abnormal heart size
Sternal wires intact | No pneumothorax but small effusion | Tracheostomy tube in place
"""


def _each(text: str) -> list[str]:
    return [
        one.strip() for line in text.strip().splitlines() for one in line.split("|")
    ]


@pytest.mark.parametrize("text", _each(NORMAL))
def test_a_statement_of_normality(text: str) -> None:
    assert is_normal(text)


@pytest.mark.parametrize("text", _each(ABNORMAL))
def test_what_is_no_statement_of_normality(text: str) -> None:
    assert not is_normal(text)
