"""One rule for a text that says nothing, on both sides, behind headings and in every layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support import Invoke, write_json

from judge.running.folder import RunFolder
from judge.studies import from_python, read_pair
from judge.text import says_nothing

Put = Callable[..., str]
WORDS = [
    "None.",
    "[none]",
    "NaN",
    "(Null)",
    "N/A",
    "n.a.",
    "NA:",
    "Not available.",
    "not provided",
    "<Not Applicable>",
    "See impression.",
    "SEE IMPRESSION BELOW",
    "___",
    "- - -",
    "...",
    "\u2026",
    "\u00ab None \u00bb",
    "\uff2e\uff4f\uff4e\uff45\u3002",
    "XXXX.",
    " \n ",
]
STATEMENTS = [
    "No findings.",
    "Normal.",
    "None seen.",
    "Nan Li's lines.",
    "No.",
    "1.",
    "Impression: see.",
]


@pytest.mark.parametrize("text", WORDS)
def test_blank(text: str) -> None:
    assert says_nothing(text)
    for layout in (text, f"Findings: {text}", f"Findings: {text} Impression: Clear."):
        studies = from_python(
            {"a": {"report": "Findings: X."}}, {"a": {"report": layout}}
        )
        assert studies.candidates == ("",), layout
        assert studies.empty_candidates == ["a"]


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_not_blank(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_blank_reference_is_missing_and_a_blank_candidate_empty(
    put: Put, form: str
) -> None:
    refs = {"a": "Clear.", "b": "None.", "c": "nan", "d": "Effusion.", "e": ""}
    preds = {"a": "N/A", "b": "Clear.", "c": "Clear.", "d": "Clear.", "e": "Clear."}
    files = []
    for side, texts, name in (("p", preds, "prediction"), ("r", refs, "findings")):
        records = [{"id": one, name: text} for one, text in texts.items()]
        lines = [f"id,{name}", *(f"{one},{text}" for one, text in texts.items())]
        content = json.dumps(records) if form == "json" else "\n".join(lines)
        files.append(put(f"{side}.{form}", content))
    studies = read_pair(*files, allow_missing=True, section="findings")
    assert studies.study_ids == ("a", "d")
    assert studies.candidates == ("", "Clear.")
    assert studies.omitted == {"no reference section": 3}


def test_a_section_that_is_blank_for_most_is_not_the_usual_one(put: Put) -> None:
    """As in ReXrank's CheXpertPlus: "Findings: None." in the report, NaN in the section."""
    refs = {f"s{row}": {"report": "Findings: None. Impression: Mass.", "section_findings": None}
            for row in range(7)}  # fmt: skip
    for row in range(3):
        refs[f"s{row}"] = {
            "report": "Findings: A. Impression: B.",
            "section_findings": "A.",
        }
    preds = put("p.json", dict.fromkeys(refs, "Clear."))
    files = preds, put("r.json", refs)
    studies = read_pair(*files)
    assert (studies.section, len(studies)) == ("report", 7)
    # A judge is not told that the findings are "None".
    assert studies.references[-1] == "Impression: Mass."
    assert studies.full_references[-1] == "Impression: Mass."
    (note,) = studies.notes
    assert "3 references have findings, of 7" in note
    findings = read_pair(*files, section="findings", allow_missing=True)
    assert findings.references == ("A.", "A.", "A.")
    assert findings.omitted == {"no reference section": 4}


def test_a_run_lists_empty_candidates_and_references_that_compare(
    invoke: Invoke,
) -> None:
    refs = {"a": "Unchanged effusion.", "b": "Clear lungs.", "c": "The nodule is new."}
    records = [{"id": one, "report": text} for one, text in refs.items()]
    write_json(Path("refs.json"), records)
    write_json(Path("preds.json"), {"a": "Effusion.", "b": "None.", "c": None})
    assert invoke("green", "preds.json", "refs.json", "--out", "run").exit_code == 0
    empty, compare = RunFolder.open("run").summary().notes
    assert empty.startswith("2 of 3 candidates are empty (b, c)")
    expected = "2 of 3 references compare with an earlier examination that the judge is not shown"
    assert compare == expected
    checked = invoke("check", "preds.json", "refs.json")
    assert "2 (b, c), judged like any other" in checked.stdout
    # The parts of a set say the same of the whole, and so does the set that they are joined into.
    for part in ("1/2", "2/2"):
        words = ("preds.json", "refs.json", "--shard", part, "--out", part[0])
        assert invoke("green", *words).exit_code == 0
    assert invoke("runs", "merge", "1", "2", "--out", "whole").exit_code == 0
    assert RunFolder.open("whole").summary().notes == [empty, compare]
