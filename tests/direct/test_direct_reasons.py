"""Which numbers of the reasons are given as the grade; numbers of medicine are not."""

from __future__ import annotations

import json

import pytest

from judge.rubrics.direct import RUBRIC, reply_on
from judge.types import Study, UnparsedError

STUDY = Study("s", "Left effusion.", "Right effusion.")

GRADES = """
Two errors. 40. | The score is 40. | A score of 40 is fair. | Score: 40 | Overall 40. | = 40 | (40)
I would give it 40. | It deserves a 40. | 40/100 | Overall: 40/100. | 8/10 overall. | 40 points.
Misses the effusion, hence 40. | Final grade: 40. | My rating would be 40 because it misses it.
It misses an effusion; therefore 40 out of 100. | So 40. | The candidate is rated 40. | 40
The report's overall score should be 40 | I rate this 40%. | 3/10 at best.
"""
MEDICINE = """
A TI-RADS 4 nodule is missed. | An ejection fraction of 55% is reported. | CKD stage 3 is left out.
Stage 3. | BI-RADS 4 for 2. | A grade 2 spondylolisthesis. | Spondylolisthesis of grade 2.
calcium score of 400 | An Agatston score of 412 is missing. | Gleason score 7. | L4/5 disc
5/10 ribs fractured | It ends 4 cm above the carina. | 1. Misses effusion. 2. Adds a nodule.
T-score of -2.5 is not reported. | It misses 3 of 5 nodules. | 50% of the findings are missed.
Lung-RADS category 3 versus 4. | It loses points for 2 errors. | The effusion measures 40.
A pneumothorax of 40%, missed. | Child-Pugh score 7; MELD 20. | muscle strength 4/5 | Nodules: 3.
The score is 60. | 60/100. | Overall 60. | I give it 60 points.
"""


def _each(text: str) -> list[str]:
    return [
        one.strip() for line in text.strip().splitlines() for one in line.split("|")
    ]


def read(reasons: object, score: float = 60) -> None:
    RUBRIC.parse(json.dumps({"reasons": reasons, "score": score}), STUDY)


@pytest.mark.parametrize("reasons", _each(GRADES))
def test_another_grade_in_the_reasons_is_a_contradiction(reasons: str) -> None:
    with pytest.raises(UnparsedError, match="contradiction"):
        read(reasons)


@pytest.mark.parametrize("reasons", _each(MEDICINE))
def test_a_number_of_medicine_is_none(reasons: str) -> None:
    read(reasons)


def test_reasons_may_be_missing() -> None:
    read(None)
    RUBRIC.parse('{"score": 60}', STUDY)


def test_the_schema_has_the_ends_of_the_scale_by_the_names_that_servers_know() -> None:
    schema = reply_on(1, 5).model_json_schema()
    score = schema["properties"]["score"]
    assert (score["minimum"], score["maximum"]) == (1, 5)
    words = json.dumps(schema)
    assert '"ge"' not in words
    assert '"le"' not in words
