"""Sections of reports, and which text of a file is judged."""

import json
import re

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
        ("findings: A.\nimpression: B.", "A.", "B."),
        ("FINDINGS:\nA.\n\nIMPRESSION:\n1. B.\n2. C.", "A.", "1. B.\n2. C."),
        ("Findings\nA.\nConclusion\nB.", "A.", "B."),
        ("**Findings:** A.\n\n**Impression**: B.", "A.", "B."),
        ("## Findings\nA.\n## Impression\nB.", "A.", "B."),
        ("__FINDINGS:__ A. __IMPRESSION:__ B.", "A.", "B."),
        ("Indication: Pain. Findings: A. Comparison: None. Impression: B.", "A.", "B."),
        ("Findings: A. TECHNIQUE: PA. Conclusion: B. Recommendation: CT.", "A.", "B."),
        ("Findings: A XXXX Impression: B", "A XXXX", "B"),
        ("Findings: A. impression: B.", "A.", "B."),
        ("FINDINGS AND IMPRESSION: A.", "A.", "A."),
        ("Findings/Impression: A.", "A.", "A."),
        ("Findings: A. Impression:", "A.", ""),
        ("Impression: B.", None, "B."),
        ("Findings: A. Findings: C.", "A.\nC.", None),
        # No headings:
        ("Compare the findings: none.", None, None),
        ("No new finding\nimpression of a nodule", None, None),
        ("The findings are stable. Impression of a nodule.", None, None),
        ("Lungs: clear. Heart: normal.", None, None),
        ("", None, None),
    ],
)
def test_split(report, findings, impression):
    sections = split_report(report)
    assert (sections.findings, sections.impression) == (findings, impression)


def test_headings_inside_findings_that_are_not_sections_stay():
    assert split_report("Findings: Lungs: clear. Heart: normal.").findings == (
        "Lungs: clear. Heart: normal."
    )


prose = st.text("abc .,\n", max_size=30).map(lambda s: " ".join(s.split()))


@given(prose, prose)
def test_split_undoes_joining(findings, impression):
    sections = split_report(f"Findings: {findings} Impression: {impression}")
    assert (sections.findings, sections.impression) == (findings, impression)


@given(st.text(st.sampled_from("Fimpg:*#_ \n.") | st.sampled_from("ab"), max_size=60))
def test_a_split_invents_nothing(report):
    sections = split_report(report)
    for text in (sections.findings, sections.impression, sections.preamble):
        for word in re.findall(r"\w+", text or ""):
            assert word in report


def test_a_model_that_loops_takes_no_square_of_time():
    for loop in ("_", "# ", "Findings: ", "\n", "Impression ", "reason for "):
        split_report(loop * 200_000)


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


def test_a_report_is_put_together_from_its_sections(put):
    refs = put("r.json", {"a": {"findings": "F.", "impression": "I."}, "b": {"findings": "G."}})
    studies = read_pair(put("p.json", {"a": "x", "b": "y"}), refs, section="report")
    assert studies.references == ("Findings: F. Impression: I.", "Findings: G.")
    assert (
        read_pair(put("p.json", {"a": "x", "b": "y"}), refs).full_references == studies.references
    )


def test_one_reference_with_findings_makes_findings_the_default(put):
    refs = put("r.json", {"a": {"report": "No headings."}, "b": {"report": REPORT}})
    preds = put("p.json", {"a": "x", "b": "y"})
    with pytest.raises(JudgeError, match=r"(?s)no reference findings .*: 1 \(a\).*--allow-missing"):
        read_pair(preds, refs)
    assert read_pair(preds, refs, allow_missing=True).section == "findings"
    assert read_pair(preds, refs, section="report").references == ("No headings.", REPORT)


def test_without_findings_the_default_is_the_whole_report(put):
    studies = read_pair(put("p.json", {"a": REPORT}), put("r.json", {"a": "Lungs: clear."}))
    assert (studies.section, studies.candidates) == ("report", (REPORT,))


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


def test_the_section_no_reference_has(put):
    preds, refs = put("p.json", {"a": "x"}), put("r.json", {"a": {"report": "No headings."}})
    with pytest.raises(JudgeError, match=r"no reference .* has the section impression.*: report;"):
        read_pair(preds, refs, section="impression")


def test_candidates_as_sections(put):
    """A file of candidates may look like a file of references."""
    preds = put(
        "p.json",
        {
            "a": {"findings": "f", "report": "Findings: z"},
            "b": {"report": "Findings: g Impression: h"},
            "c": {"report": "k"},
        },
    )
    refs = put("r.json", {study_id: {"findings": "F", "impression": "I"} for study_id in "abc"})
    assert read_pair(preds, refs).candidates == ("f", "g", "k")
    assert read_pair(preds, refs, section="report").candidates[1:] == (
        "Findings: g Impression: h",
        "k",
    )


@pytest.mark.parametrize(
    "name",
    [
        "model_prediction",
        "Prediction",
        "candidate",
        "generated report",
        "hypothesis",
        "output",
        "text",
        "report",
    ],
)
def test_names_of_candidate_fields(put, name):
    preds = put("p.json", [{"ID": "a", name: "x", "site": "s"}])
    studies = read_pair(preds, put("r.json", {"a": "y"}))
    assert (studies.candidates, dict(studies.fields)) == (("x",), {"site": ("s",)})


@pytest.mark.parametrize(
    "name",
    ["reference", "Ground-Truth", "report", "radiologist_report", "text", "reference report"],
)
def test_names_of_reference_fields(put, name):
    refs = put("r.json", [{"Study ID": "a", name: "x"}])
    assert read_pair(put("p.json", {"a": "y"}), refs).references == ("x",)


def test_both_sides_in_one_table(put):
    studies = read_pair(put("both.csv", "id,reference,candidate,site\na,x,y,s\n"), None)
    assert (studies.references, studies.candidates) == (("x",), ("y",))
    assert dict(studies.fields) == {"site": ("s",)}


def test_fields_that_could_both_be_meant(put):
    refs = put("r.json", {"a": "x"})
    preds = put("p.json", [{"id": "a", "candidate": "x", "prediction": "y"}])
    with pytest.raises(JudgeError, match=r"more than one.*candidate.*prediction, candidate"):
        read_pair(preds, refs)
    same = put("p.json", [{"id": "a", "candidate": "x", "prediction": "x"}])
    assert read_pair(same, refs).candidates == ("x",)
    number = put("p.json", [{"id": "a", "candidate": "x", "prediction": 0.7}])
    assert dict(read_pair(number, refs).fields) == {"prediction": (0.7,)}
    likelier = put("p.json", [{"id": "a", "candidate": "x", "output": "log.txt"}])
    assert dict(read_pair(likelier, refs).fields) == {"output": ("log.txt",)}


def test_text_that_is_not_used_is_noted(put):
    both = [{"id": "a", "report": "x", "model_prediction": "y"}]
    preds, refs = put("p.json", both), put("r.json", both)
    studies = read_pair(preds, refs)
    assert (studies.references, studies.candidates, studies.fields) == (("x",), ("y",), {})
    assert studies.notes == (
        f"{preds}: not used: report; used: model_prediction",
        f"{refs}: not used: model_prediction; used: report",
    )


def test_a_text_of_another_type(put):
    preds = put(
        "p.json", json.dumps([{"id": "a", "prediction": "x"}, {"id": "b", "prediction": [1]}])
    )
    with pytest.raises(JudgeError, match="'prediction' of study 'b' is not a text but a list"):
        read_pair(preds, put("r.json", {"a": "x", "b": "y"}))
