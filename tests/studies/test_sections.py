"""Sections of reports, and which text of a file is judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.studies import read_pair
from judge.studies.sections import split_report
from judge.types import JudgeError


@pytest.mark.parametrize(
    ("report", "findings", "impression"),
    [
        ("Findings: A. Impression: B.", "A.", "B."),
        ("FINDINGS:\nA.\n\nIMPRESSION:\n1. B.\n2. C.", "A.", "1. B.\n2. C."),
        ("Findings\nA.\nConclusion\nB.", "A.", "B."),
        ("**Findings:** A.\n\n**Impression**: B.", "A.", "B."),
        ("## Findings\nA.\n## Impression\nB.", "A.", "B."),
        ("Indication: Pain. Findings: A. Comparison: None. Impression: B.", "A.", "B."),
        ("Findings: A. TECHNIQUE: PA. Conclusion: B. Recommendation: CT.", "A.", "B."),
        ("Findings: A XXXX Impression: B", "A XXXX", "B"),
        ("FINDINGS AND IMPRESSION: A.", "A.", "A."),
        ("Findings: A. Impression:", "A.", ""),
        ("Impression: B.", None, "B."),
        ("Findings: A. Findings: C.", "A.\nC.", None),
        # No headings:
        ("Compare the findings: none.", None, None),
        ("No new finding\nimpression of a nodule", None, None),
        ("The findings are stable. Impression of a nodule.", None, None),
        ("Lungs: clear. Heart: normal.", None, None),
    ],
)
def test_split(report, findings, impression):
    sections = split_report(report)
    assert (sections.findings, sections.impression) == (findings, impression)


prose = st.text("abc .,\n", max_size=30).map(lambda s: " ".join(s.split()))


@given(prose, prose)
def test_split_undoes_joining(findings, impression):
    sections = split_report(f"Findings: {findings} Impression: {impression}")
    assert (sections.findings, sections.impression) == (findings, impression)


REPORT = "Findings: F. Impression: I."


@pytest.mark.parametrize(
    ("section", "reference", "candidate"),
    [
        (None, "F.", "f."),
        ("findings", "F.", "f."),
        ("impression", "I.", "i."),
        ("report", REPORT, REPORT.lower()),
    ],
)
@pytest.mark.parametrize("field", ["model_prediction", "report"])
def test_whole_reports_are_cut_on_both_sides(put, section, reference, candidate, field):
    preds = put("p.json", {"a": {field: REPORT.lower()}})
    refs = put("r.json", {"a": {"report": REPORT}})
    studies = read_pair(preds, refs, section=section)
    assert (studies.references, studies.candidates) == ((reference,), (candidate,))
    assert studies.section == (section or "findings")
    assert studies.full_references == (REPORT,)


def test_one_reference_with_findings_makes_findings_the_default(put):
    refs = put("r.json", {"a": {"report": "No headings."}, "b": {"report": REPORT}})
    preds = put("p.json", {"a": "x", "b": "y"})
    with pytest.raises(JudgeError, match=r"(?s)no reference findings .*: 1 \(a\).*--allow-missing"):
        read_pair(preds, refs)
    assert read_pair(preds, refs, allow_missing=True).section == "findings"
    assert read_pair(preds, refs, section="report").references == ("No headings.", REPORT)


@pytest.mark.parametrize("field", ["model_prediction", "report"])
def test_candidates_without_the_section(put, field):
    preds = {
        "plain": "Clear lungs.",
        "other": "Comparison: None. Clear lungs.",
        "before": "Clear lungs. Impression: Normal.",
        "absent": "Impression: Normal.",
        "empty": "",
    }
    refs = put("r.json", {study_id: {"findings": "F."} for study_id in preds})
    entries = {study_id: {field: text} for study_id, text in preds.items()}
    studies = read_pair(put("p.json", entries), refs)
    assert studies.candidates == ("Clear lungs.", preds["other"], "Clear lungs.", "", "")
    assert len(studies.notes) == 2
    assert any("1 (before)" in note for note in studies.notes)
    assert any("1 (absent)" in note and "empty" in note for note in studies.notes)


def test_candidates_as_sections(put):
    """A file of candidates may look like a file of references."""
    both = "Findings: g Impression: h"
    candidates = {"a": {"findings": "f", "report": "z"}, "b": {"report": both}}
    refs = put("r.json", {study_id: {"findings": "F", "impression": "I"} for study_id in "ab"})
    preds = put("p.json", candidates)
    assert read_pair(preds, refs).candidates == ("f", "g")
    assert read_pair(preds, refs, section="report").candidates == ("z", both)
