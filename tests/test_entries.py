"""Which entries of a list deny that they are one; what is said of the reports does not."""

from __future__ import annotations

import pytest

from judge.rubrics.replies import first_repeat, is_no_entry

DENIALS = """
None. | N/A | - | 2 | No errors | No matched findings | No findings are missing. | not an error
All locations are correct. | No difference; both agree. | The reports share no findings
No missing findings | There are no clinically significant errors. | Nothing is missing
No false findings were reported | Location is correct | None of the findings is missing
Actually 0 | Correction: (b) 2 | should be 2 | Total: 3 | Note: normal findings count
Reference: moderate effusion | 2 findings | no other findings | Everything matches | Keine Fehler
N/A - no comparison | No comparison is missing | no location discrepancies | zero errors
"""
ENTRIES = """
No acute findings | No evidence of new acute pneumonia | No mention of the effusion
No pneumothorax | No change since prior | No significant interval change | Both lungs are clear
no new findings | Effusion on the right instead of the left | Not mentioned: rib fracture
ETT tip should be 3 cm above the carina | surgical correction of scoliosis | two nodules
None of the lines have moved | The candidate reports edema that the reference does not
candidate says no effusion, reference says moderate effusion | no displaced fracture is seen
No evidence of pulmonary edema or focal findings | missed finding of effusion | no finding of edema
"""


def _each(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split("|")]


@pytest.mark.parametrize("text", _each(DENIALS))
def test_a_denial_is_no_entry(text: str) -> None:
    assert is_no_entry(text)


@pytest.mark.parametrize("text", _each(ENTRIES))
def test_what_is_said_of_the_reports_is_one(text: str) -> None:
    assert not is_no_entry(text)


def test_the_same_words_are_the_same_entry() -> None:
    assert first_repeat(["Left effusion", "nodule", "- left EFFUSION."]) == "- left EFFUSION."
    assert first_repeat(["left effusion", "right effusion"]) is None
