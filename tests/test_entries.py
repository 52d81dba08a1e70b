"""Which entries of a list are none; what an entry says is not interpreted."""

from __future__ import annotations

import pytest

from judge.rubrics.replies import first_repeat, is_bare_denial, is_no_entry

NONE = """
None. | N/A | - | 2 | No errors | No matched findings | not an error | NOT AN ERROR! | Same
Total: 3 | Note: normal findings count | Reference: moderate effusion | 2 findings
three missing findings: heart, lungs, bones | N/A - no comparison | None. The reports agree.
(b) Missing finding: 0 | No errors, all is well | string | matched finding
"""
# Denials in other words are entries, and share no word with the reports (`test_evidence.py`).
ENTRIES = """
No findings are missing. | All locations are correct. | Nothing is missing | Everything matches
not significantly changed | The apices are not included | The tube was retracted
None of the lines has moved | no other findings | Both agree
No acute findings | No evidence of new acute pneumonia | No mention of the effusion
No pneumothorax | No change since prior | No significant interval change | Both lungs are clear
no new findings | Effusion on the right instead of the left | Not mentioned: rib fracture
ETT tip should be 3 cm above the carina | surgical correction of scoliosis | two nodules
None of the lines have moved | The candidate reports edema that the reference does not
candidate says no effusion, reference says moderate effusion | no displaced fracture is seen
No evidence of pulmonary edema or focal findings | missed finding of effusion | no finding of edema
"""


def _each(text: str) -> list[str]:
    return [
        one.strip() for line in text.strip().splitlines() for one in line.split("|")
    ]


@pytest.mark.parametrize("text", _each(NONE))
def test_what_is_no_entry(text: str) -> None:
    assert is_no_entry(text)


@pytest.mark.parametrize("text", _each(ENTRIES))
def test_what_says_more_is_one(text: str) -> None:
    assert not is_no_entry(text)


def test_the_same_words_are_the_same_entry() -> None:
    assert (
        first_repeat(["Left effusion", "nodule", "- left EFFUSION."])
        == "- left EFFUSION."
    )
    assert first_repeat(["left effusion", "right effusion"]) is None


def test_a_bare_denial_is_one_whatever_its_case_and_stops() -> None:
    assert all(
        map(is_bare_denial, ["None", "no error.", "Not applicable", "(Same)", "n/a"])
    )
    assert not any(
        map(is_bare_denial, ["", "None of it", "No effusion", "Same side", "2"])
    )
