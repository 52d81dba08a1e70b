"""Which findings a remark about reports is about."""

from __future__ import annotations

import pytest

from judge.backends import lexicon

RULES = lexicon.load()

REMARKS = {
    # As models put it.
    "1. Missing left pleural effusion present in the reference": ["pleural effusion"],
    "The candidate does not mention the effusion beside the pneumonia": [
        *("pleural effusion", "pneumonia")
    ],
    "The candidate states there is no pneumothorax, but the reference mentions a small one": [
        "pneumothorax"
    ],
    "Heart size is described as normal while the reference describes an enlarged heart": [
        "cardiomegaly"
    ],
    'The severity of edema is overstated ("severe" versus "mild")': ["pulmonary edema"],
    # As the built-in judge does: what is only denied is not what the error is about.
    'The reference says "consolidation", the candidate says "no effusion or pneumothorax".': [
        "consolidation"
    ],
    "No pneumothorax or effusion": ["pneumothorax", "pleural effusion"],
    # Nothing that is known.
    "Wrong side": [],
    'The candidate says "Stable", the reference makes no such comparison.': [],
    "": [],
}


@pytest.mark.parametrize("remark", REMARKS)
def test_a_remark_names_findings(remark: str) -> None:
    assert lexicon.named_findings(remark, RULES) == tuple(REMARKS[remark])


@pytest.mark.parametrize(
    ("before", "after", "findings"),
    [
        ("Heart is mildly enlarged.", "Heart size is normal.", ["cardiomegaly"]),
        (
            "Small effusion, no pneumothorax.",
            "No effusion, no pneumothorax.",
            ["pleural effusion"],
        ),
        ("Large right effusion.", "Large left effusion.", ["pleural effusion"]),
        ("Unremarkable.", "As before.", []),
    ],
)
def test_an_edit_is_about_what_it_changes(
    before: str, after: str, findings: list[str]
) -> None:
    assert lexicon.changed_findings(before, after, RULES) == tuple(findings)
