"""Sections of reports, and which text of a file is judged."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.studies import from_python, read_pair
from judge.studies.headings import split_report, without_blank_sections
from judge.types import JudgeError


@pytest.mark.parametrize(
    ("report", "findings", "impression"),
    [
        ("Findings: A. Impression: B.", "A.", "B."),
        ("FINDINGS:\nA.\n\nIMPRESSION:\n1. B.\n2. C.", "A.", "1. B.\n2. C."),
        ("Findings\nA.\nConclusion\nB.", "A.", "B."),
        ("**Findings:** A.\n\n**Impression**: B.", "A.", "B."),
        ("## Findings\nA.\n## Impression\nB.", "A.", "B."),
        (
            "Indication: Pain. Findings: A. Comparison: None. Impression: B.",
            "A. Comparison: None.",
            "B.",
        ),
        (
            "Findings: A. TECHNIQUE: PA. Conclusion: B. Recommendation: CT.",
            "A. TECHNIQUE: PA.",
            "B.",
        ),
        ("Findings: A XXXX Impression: B", "A XXXX", "B"),
        ("FINDINGS AND IMPRESSION: A.", "A.", "A."),
        ("Findings: A. Impression:", "A.", ""),
        ("Impression: B.", None, "B."),
        ("Findings: A. Findings: C.", "A.\nC.", None),
        # Headings about the examination end findings only as lines of a report in lines.
        ("FINDINGS:\nA.\nCOMPARISON: None.\nIMPRESSION:\nB.", "A.", "B."),
        ("FINDINGS:\nA.\n\nCOMPARISON:\nCT\nof May.\n\n## Impression\nB.", "A.", "B."),
        ("FINDINGS: A.\nTECHNIQUE: PA.\nHISTORY: x.\nIMPRESSION: B.", "A.", "B."),
        ("FINDINGS: AP View: A.\nIMPRESSION: B.", "AP View: A.", "B."),
        ("FINDINGS:\nView: AP.\nA.\nIMPRESSION: B.", "View: AP.\nA.", "B."),
        (
            "FINDINGS:\nA.\nView: AP.\nMass.\nIMPRESSION: B.",
            "A.\nView: AP.\nMass.",
            "B.",
        ),
        ("Findings: Limited Exam: A. Impression: B.", "Limited Exam: A.", "B."),
        ("Findings: A. History: CABG. Mass.", "A. History: CABG. Mass.", None),
        ("Findings: A.\nComparison: None.", "A.\nComparison: None.", None),
        (
            "Findings:\n- Lungs: A\n- Technique: B\n- Pleura: C\n\nImpression: D",
            "- Lungs: A\n- Technique: B\n- Pleura: C",
            "D",
        ),
        (
            "FINDINGS:\n1. A.\n2. Impression: of a mass.\n\nIMPRESSION:\nB.",
            "1. A.\n2. Impression: of a mass.",
            "B.",
        ),
        ("Findings:\n* A\n  Impression: b\nImpression: C", "* A\n  Impression: b", "C"),
        # Other spellings.
        ("findings : A.\nimpression : B.", "A.", "B."),
        ("### Findings:\nA.\n__Impression__:\nB.", "A.", "B."),
        ("Key Findings: A. Final Impression: B.", "A.", "B."),
        ("Findings:A.Impression:B.", "A.", "B."),
        ("> **Findings:** A.\n> **Impression:** B.", "A.", "B."),
        (
            "Findings: A. Incidental Findings: C. Impression: B.",
            "A. Incidental Findings: C.",
            "B.",
        ),
        ("Findings: A\nRecommendation: CT.", "A", None),
        ("Findings: None. Impression: B.", "None.", "B."),
        # No headings:
        ("- Findings: A.\n- Impression: B.", None, None),
        ("Compare the findings: none.", None, None),
        ("No new finding\nimpression of a nodule", None, None),
        ("The findings are stable. Impression of a nodule.", None, None),
        ("Lungs: clear. Heart: normal.", None, None),
    ],
)
def test_split(report, findings, impression):
    split = split_report(report)
    assert (split.section("findings"), split.section("impression")) == (
        findings,
        impression,
    )


prose = st.text("abc .,\n", max_size=30).map(lambda s: " ".join(s.split()))


@given(prose, prose)
def test_split_undoes_joining(findings, impression):
    joined = f"Findings: {findings} Impression: {impression}"
    split = split_report(joined)
    assert (split.section("findings"), split.section("impression")) == (
        findings,
        impression,
    )


FINDINGS = "Lungs are clear."
REPORT = f"Findings: {FINDINGS} Impression: Normal."


@pytest.mark.parametrize(
    ("section", "reference", "candidate"),
    [
        (None, FINDINGS, FINDINGS.lower()),
        ("findings", FINDINGS, FINDINGS.lower()),
        ("impression", "Normal.", "normal."),
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


def mixed(put, n_headed, n=20):
    """Return two files of which some references have headings."""
    headed = {
        f"s{at}": {"report": REPORT if at < n_headed else "No headings."}
        for at in range(n)
    }
    return put("p.json", dict.fromkeys(headed, "x")), put("r.json", headed)


def test_the_section_is_what_most_references_have(put):
    assert read_pair(*mixed(put, 1)).references[:2] == (REPORT, "No headings.")
    assert read_pair(*mixed(put, 9)).section == "report"
    assert read_pair(*mixed(put, 11), allow_missing=True).section == "findings"
    with pytest.raises(
        JudgeError,
        match=r"findings.*\(s19\).*another section \(--section\).*--allow-missing",
    ):
        read_pair(*mixed(put, 19))


def test_leaving_out_more_than_a_tenth_ends_in_3(put, invoke):
    ends = {}
    for n_headed in (18, 17):
        words = (
            "green",
            *mixed(put, n_headed),
            "--allow-missing",
            "--out",
            f"run-{n_headed}",
        )
        ends[n_headed] = invoke(*words)
        assert Path(f"run-{n_headed}/summary.json").exists()
    assert (ends[18].exit_code, ends[17].exit_code) == (0, 3)
    assert "3 of 20" in ends[17].stderr
    assert "--min-coverage" in ends[17].stderr
    words = ("green", *mixed(put, 17), "--allow-missing", "--min-coverage", 0.5)
    assert invoke(*words, "--out", "low").exit_code == 0
    # A part of the studies is no loss: neither a shard nor a draw.
    for option in (("--limit", 2), ("--shard", "1/4")):
        assert (
            invoke("green", *mixed(put, 18), "--allow-missing", *option).exit_code == 0
        )


def test_the_previews_are_of_the_same_studies(put, invoke):
    words = (*mixed(put, 18), "--allow-missing")
    assert (
        json.loads(invoke("check", *words, "--format", "json").stdout)["n_studies"]
        == 18
    )
    for part in (("--limit", 4), ("--shard", "2/3"), ("--limit", 9, "--shard", "2/3")):
        checked = invoke("check", *words, *part)
        assert checked.exit_code == 0
        forecast = invoke("green", *words, *part, "--dry-run")
        assert forecast.exit_code == 0
        shown = [
            line
            for line in checked.stderr.splitlines()
            if "drawn" in line or "shard" in line
        ]
        assert shown
        assert all(line in forecast.stderr for line in shown)
        done = invoke("green", *words, *part, "--out", "run")
        assert all(line in done.stderr for line in shown)
        lines = Path("run/annotations.jsonl").read_text().splitlines()
        found = json.loads(invoke("check", *words, *part, "--format", "json").stdout)
        assert found["n_studies"] == len(lines)
        ids = [json.loads(line)["study_id"] for line in lines]
        assert [study["study_id"] for study in found["first"]] == ids[:3]
        shutil.rmtree("run")


def test_a_larger_draw_has_the_studies_of_a_smaller(put):
    studies = read_pair(*mixed(put, 0))
    assert set(studies.sample(5, 1).study_ids) < set(studies.sample(9, 1).study_ids)
    assert studies.sample(99, 1) == studies


def test_few_reports_with_headings_among_many_without_are_noted(put):
    refs = put("r.json", {f"s{at}": {"findings": "F."} for at in range(5)})
    texts = dict.fromkeys([f"s{at}" for at in range(5)], "Clear.") | {"s3": REPORT}
    studies = read_pair(put("p.json", texts), refs)
    assert studies.candidates[3] == FINDINGS
    assert (
        '1 of 5 candidates has headings such as "Findings:" (s3), and the others none'
        in studies.notes
    )
    assert not any("headings" in note for note in read_pair(*mixed(put, 0)).notes)


def test_a_blank_section_is_left_out_of_a_whole_report():
    text = "Indication: Pain. Findings: N/A\n\nImpression: B."
    assert without_blank_sections(text) == "Indication: Pain.\nImpression: B."
    assert without_blank_sections("Findings: A. Impression: None.") == "Findings: A."
    assert without_blank_sections("None.") == "None."
    studies = read_texts("Findings: None. Impression: ___.", section="report")
    assert studies.empty_candidates == ["a"]


def read_texts(candidate, **options):
    return from_python({"a": {"report": "F."}}, {"a": {"report": candidate}}, **options)


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
    assert studies.candidates == (
        "Clear lungs.",
        preds["other"],
        "Clear lungs.",
        "",
        "",
    )
    notes = " ".join(studies.notes)
    assert "judged as empty: 1 (absent)" in notes
    assert (
        "1 of 5 candidates hold more than the findings, which is not judged (before: 1 word"
        in notes
    )


def test_candidates_as_sections(put):
    """A file of candidates may look like a file of references."""
    both = "Findings: g Impression: h"
    candidates = {"a": {"findings": "f", "report": "z"}, "b": {"report": both}}
    refs = put(
        "r.json", {study_id: {"findings": "F", "impression": "I"} for study_id in "ab"}
    )
    preds = put("p.json", candidates)
    assert read_pair(preds, refs).candidates == ("f", "g")
    assert read_pair(preds, refs, section="report").candidates == ("z", both)


def test_a_section_that_one_side_lacks(put):
    preds = put("p.json", {"a": {"findings": "f"}})
    refs = put("r.json", {"a": {"findings": "F", "impression": "I"}})
    with pytest.raises(JudgeError, match=r"p\.json .*another section"):
        read_pair(preds, refs, section="impression", allow_missing=True)
