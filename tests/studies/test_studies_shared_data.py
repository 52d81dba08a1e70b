"""The shared real reports."""

from collections import Counter
from pathlib import Path

import pytest

from judge.studies import read_pair
from judge.studies.sections import split_report

DATA = Path(__file__).parents[2].parent / "shared/data/iu_xray"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here"),
]


@pytest.mark.parametrize("name", ["indication", "neighbour", "random"])
def test_every_file_of_candidates(name):
    studies = read_pair(str(DATA / f"preds_{name}.json"), str(DATA / "refs.json"))
    assert len(studies) == 590
    assert studies.section == "findings"
    assert studies.class_field == "study_class"
    assert Counter(studies.study_classes) == {"normal": 307, "abnormal": 283}
    assert list(studies.fields) == ["context", "mesh"]
    assert all(studies.candidates)
    assert (studies.omitted, studies.notes) == ({}, ())
    assert [file.n_records for file in studies.inputs] == [590, 590]


def test_whole_reports_split_into_the_sections_given():
    refs = str(DATA / "refs.json")
    preds = str(DATA / "preds_random.json")
    findings, impression = (
        read_pair(preds, refs, section=section).references for section in ("findings", "impression")
    )
    split = [split_report(text) for text in read_pair(preds, refs, section="report").references]
    assert [sections.findings for sections in split] == list(findings)
    assert [sections.impression for sections in split] == list(impression)
