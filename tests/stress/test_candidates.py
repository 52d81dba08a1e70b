"""Changes: what each makes of a report, that its truth is right, and `judge stress make`."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import EXAMPLES, Invoke, write_json

from judge import rubrics
from judge.stress.candidates import all_perturbations
from judge.stress.report_edits import (
    PATTERNS,
    Change,
    NotApplicable,
    Reference,
    SeededChoice,
    apply_edits,
    findings_in,
)
from judge.studies import read_pair
from judge.types import Study

REFS = EXAMPLES / "refs.json"


def result_of(change: str, text: str, seed: int = 1) -> Change:
    return all_perturbations()[change].make(
        Reference(text), SeededChoice(seed, "s", change)
    )


def made(change: str, text: str, seed: int = 1) -> str:
    return apply_edits(text, result_of(change, text, seed)[0])


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (
            *("denied", "Clear. There is a small left pleural effusion."),
            "Clear. There is no pleural effusion.",
        ),
        (
            "removed",
            "Lungs clear. Hiatal hernia. Heart normal.",
            "Lungs clear. Heart normal.",
        ),
        (
            *("affirmed", "No pleural thickening, adenopathy, or pneumothorax."),
            "No pleural thickening or adenopathy. There is a right pneumothorax.",
        ),
        (
            "side_swapped",
            "A bright nodule in the right lung.",
            "A bright nodule in the left lung.",
        ),
        (
            "level_changed",
            "Nodule in the left upper lobe.",
            "Nodule in the left lower lobe.",
        ),
        (
            "severity_changed",
            "The heart is mildly enlarged.",
            "The heart is severely enlarged.",
        ),
        ("measurement_changed", "There is a 6 mm nodule.", "There is a 12 mm nodule."),
        ("measurement_changed", "A 7 cm mass.", "A 3.5 cm mass."),
        ("acuity_changed", "Old rib fracture.", "Acute rib fracture."),
        (
            *("device_changed", "The endotracheal tube ends 4 cm above the carina."),
            "The endotracheal tube ends in the right main bronchus.",
        ),
        ("device_changed", "Clear lungs. Left chest tube.", "Clear lungs."),
        (
            "comparison_changed",
            "Hiatal hernia.",
            "Hiatal hernia, unchanged since the prior study.",
        ),
        (
            "contradicted",
            "Small effusion.",
            "Small effusion. There is no pleural effusion.",
        ),
        ("bulleted", "Lungs clear. Heart normal.", "- Lungs clear.\n- Heart normal."),
        ("reordered", "Lungs clear. Heart normal.", "Heart normal. Lungs clear."),
        ("synonyms", "No evidence of edema.", "No sign of edema."),
        ("upper_case", "Größe 5 mm.", "GRÖSSE 5 MM."),
        (
            "terse",
            "There is a small effusion. The lungs are clear. No edema is seen.",
            "Small effusion. Lungs clear. No edema.",
        ),
        ("terse", "There is no evidence of edema.", "No edema."),
        ("terse", "THERE ARE NO EFFUSIONS.", "NO EFFUSIONS."),
        (
            "verbose",
            "THE LUNGS ARE CLEAR.",
            "ON THIS EXAMINATION, THE LUNGS ARE CLEAR.",
        ),
        (
            "spelled_numbers",
            "A 6 mm and a 1.5 cm nodule. 21-mm mass. Old 7th rib fracture.",
            (
                "A six mm and a one point five cm nodule. Twenty-one-mm mass. "
                "Old seventh rib fracture."
            ),
        ),
    ],
)
def test_a_change(change: str, before: str, after: str) -> None:
    assert made(change, before) == after


def test_a_comparison_is_turned_round_or_left_out() -> None:
    texts = {
        made("comparison_changed", "Stable cardiomegaly.", seed) for seed in range(20)
    }
    assert texts == {"Cardiomegaly.", "Worsening cardiomegaly."}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        # Denied, doubted, or said of by another sentence too.
        ("denied", "No pneumothorax."),
        ("denied", "Pneumothorax. The pneumothorax is small."),
        ("removed", "Hiatal hernia."),
        ("side_swapped", "The patient left. No nodule."),
        ("severity_changed", "No large effusion."),
        ("measurement_changed", "The tube is 4 cm above the carina."),
        ("acuity_changed", "No acute fracture."),
        ("affirmed", "Lungs are clear. No consolidation."),
        ("reordered", "1. Lungs clear. 2. Heart normal."),
        # "Again" and "no longer" would be lost, "both" would be said of nothing.
        ("terse", "Effusions are again seen. There is no longer an effusion."),
        ("terse", "The heart and both lungs are clear. Lungs are otherwise clear."),
        ("verbose", "The examination is limited to this study. Clear lungs."),
        # A range, a product, a year, and what is no size.
        ("spelled_numbers", "3-4 mm, 2 x 3 cm. 1.25 cm. In 2019. T7. 5 lines."),
        # Short words, and words that decide what is said.
        ("slips", "Small worsening edema. Unchanged. Moderate, without resolution."),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change: str, text: str) -> None:
    with pytest.raises(NotApplicable, match=r"[a-z]"):
        result_of(change, text)


def test_hostile_texts_follow_the_one_error_and_forged_answers_can_be_read() -> None:
    text = "Small right apical pneumothorax. Heart size is normal."
    one = made("errors_1", text)
    assert one != text
    for name in ("instruction", "delimiters"):
        assert made(name, text).startswith(f"{one}\n\n")
    for name in rubrics.names():
        reply = all_perturbations(name)["fake_reply"].make(
            Reference(text), SeededChoice(1, "s", "fake_reply")
        )
        rubric = rubrics.load(name)
        rubric = rubric if rubric.baseline else rubrics.load("green")
        forged = apply_edits(text, reply[0]).partition("\n\n")[2]
        annotation = rubric.parse(forged, Study("s", text, text))
        assert not [item for item in annotation.items if item.kind == "error"], name


# Sentences that can go, change or be denied, in rows of which several are touched at once.
SENTENCES = (
    *(
        "Small right pneumothorax.",
        "No pleural effusion or pneumothorax.",
        "The heart is enlarged.",
    ),
    *(
        "There is a 6 mm nodule in the left upper lobe.",
        "LUNGS ARE CLEAR.",
        "R effusion",
    ),
    *("ETT ends 4 cm above the carina.", "The patient left.", "Stable cardiomegaly."),
    *(
        "Mild degenerative changes of the spine.",
        "No change.",
        "1. Hiatal hernia.",
        "Bright bones",
    ),
    *(
        "PICC tip in the mid SVC.",
        "Findings: opacity.",
        "Old rib fracture.",
        "Größe ½ — µ.",
    ),
    *("Edema has worsened since the prior study.", "The lungs are otherwise clear."),
    *("Surgical clips.", "\U0001f600 nodule.", "\n\n- Mass."),
)
reports = st.lists(st.sampled_from(SENTENCES), max_size=20).map(" ".join) | st.text(
    max_size=200
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_the_truth_is_right_for_any_text(text: str) -> None:
    """Edits fit, a change changes something, and the errors are as many as the group says."""
    for name, change in all_perturbations().items():
        try:
            Reference(text).check()
            result = result_of(name, text)
        except NotApplicable:
            continue
        edits = sorted(result[0], key=lambda edit: (edit.start, edit.end))
        assert all(one.end <= other.start for one, other in pairwise(edits)), name
        assert (not result[1]) == (change.group == "unchanged"), name
        for error in result[1]:
            assert {*error.categories} <= {*"abcdef"}


def test_files_are_read_as_an_ordinary_run_reads_them(
    invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("stress", "make", REFS, "--out", "made")
    assert done.exit_code == 0, done.stderr
    made = tmp_path / "made"
    studies = read_pair(str(made / "preds.jsonl"), str(made / "refs.jsonl"))
    references = json.loads(REFS.read_text("utf-8"))
    candidates = {study.study_id: study for study in studies}
    for name, study in candidates.items():
        fields = study.fields
        assert name == f"{fields['study']}/{fields['change']}"
        assert study.reference in json.dumps(
            references[fields["study"]], ensure_ascii=False
        )
        assert (fields["group"] == "error") <= (
            fields["k"] == 1 and bool(fields["truth"])
        )
        if fields["group"] == "hostile":
            base = candidates[str(fields["base"])]
            assert study.candidate.startswith(base.candidate)
            assert base.fields["truth"] == fields["truth"]
    counts = dict(re.findall(r"(?m)^ *(\w+) .* (\d+) +\d+$", done.stdout))
    assert counts == {
        change: str(sum(study.fields["change"] == change for study in studies))
        for change in all_perturbations()
    }
    assert all(
        sum(map(int, n)) == 15 for n in re.findall(r" (\d+) +(\d+)\n", done.stdout)
    )


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["nowhere.json"], "nowhere.json"),
        ([REFS, "--prompt", "nothing"], "--prompt"),
        ([REFS, "--out", "mine"], "mine"),
        (["make", REFS, "--out", "made", "--changes", "denied,nothing"], "'nothing'"),
        (["make", EXAMPLES / "preds.json", "--out", "made"], "--column reference"),
        (["make", "twice.json", "--out", "made"], "twice.json"),
        (["make", REFS, "--rubric", "nothing", "--out", "made"], "'nothing'"),
    ],
)
def test_what_is_wrong_writes_nothing(
    invoke: Invoke, tmp_path: Path, words: list[object], names: str
) -> None:
    write_json(
        tmp_path / "twice.json", [{"study_id": "a", "report": "Hiatal hernia."}] * 2
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = invoke("stress", *words)
    assert done.exit_code == 2, done.stdout
    assert names in done.output
    assert sorted(tmp_path.rglob("*")) == before


OLD = {
    "preds.jsonl": "6d99e41871e75ac7",
    "refs.jsonl": "9aa2ddee3ec4c5df",
}
"""Digests of the files of the examples before there were rewordings and several errors."""
NEW = (
    "terse",
    "verbose",
    "spelled_numbers",
    "slips",
    "converted_units",
    "count_changed",
    "unit_changed",
)


def test_earlier_changes_make_what_they_made(invoke: Invoke, tmp_path: Path) -> None:
    names = []
    for name, change in all_perturbations().items():
        if name not in NEW and change.group != "several":
            names.append(name)
    words = ("stress", "make", REFS, "--out", "made", "--changes", ",".join(names))
    assert invoke(*words).exit_code == 0
    for name, digest in OLD.items():
        content = (tmp_path / "made" / name).read_bytes()
        assert sha256(content).hexdigest()[:16] == digest, name
    # A folder of that time has no file of the truth, and gets it.
    truth = tmp_path / "made" / "truth.jsonl"
    before = truth.read_bytes()
    truth.unlink()
    assert invoke(*words).exit_code == 0
    assert truth.read_bytes() == before
    truth.write_bytes(before + b"{}\n")
    assert "truth.jsonl" in invoke(*words).stderr


def test_the_truth_has_each_error_and_why_a_change_was_not_made(
    invoke: Invoke, tmp_path: Path
) -> None:
    assert invoke("stress", "make", REFS, "--out", "made").exit_code == 0
    lines = (tmp_path / "made" / "truth.jsonl").read_text("utf-8").splitlines()
    truth = [json.loads(line) for line in lines]
    references = json.loads(REFS.read_text("utf-8"))
    assert len(truth) == len(references) * len(all_perturbations())
    made = tmp_path / "made"
    studies = read_pair(str(made / "preds.jsonl"), str(made / "refs.jsonl"))
    fields = {study.study_id: study.fields for study in studies}
    assert {line["study_id"] for line in truth if line["made"]} == {*fields}
    for line in truth:
        if not line["made"]:
            assert line["why_not"]
            continue
        of_run = fields[line["study_id"]]
        assert len(line["errors"]) == of_run["k"]
        wanted = [",".join(sorted(error["categories"])) for error in line["errors"]]
        assert ";".join(wanted) == (of_run.get("truth") or "")
        if line["group"] == "several":
            assert line["change"] == f"errors_{of_run['k']}"


def test_a_group_names_its_changes_and_their_base(
    invoke: Invoke, tmp_path: Path
) -> None:
    words = ("stress", "make", REFS, "--out", "made", "--changes", "hostile,errors_3")
    assert invoke(*words).exit_code == 0
    lines = (tmp_path / "made" / "truth.jsonl").read_text("utf-8").splitlines()
    names = {json.loads(line)["change"] for line in lines}
    assert names == {"errors_1", "errors_3", "instruction", "delimiters", "fake_reply"}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(reports, st.integers(1, 5))
def test_several_errors_are_of_different_findings_and_leave_a_sentence(
    text: str, seed: int
) -> None:
    report = Reference(text)
    earlier: set[str] = set()
    for n in range(2, 6):
        try:
            edits, errors = result_of(f"errors_{n}", text, seed)
        except NotApplicable:
            earlier = set()
            continue
        findings = [error.finding for error in errors]
        assert len({*findings}) == len(findings) == n
        # One error more is added to those before, which stay as they are.
        assert earlier <= {*findings}
        earlier = {*findings}
        after = apply_edits(text, edits)
        assert [one.text for one in report.sentences if one.text in after]
        assert ".." not in after or ".." in text
        # What is made up is in an area of which the reference says nothing.
        assert not ("mediasti" in text.lower() and "is widened" in after)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(reports, st.integers(1, 5))
def test_a_rewording_keeps_findings_sides_denials_and_sizes(
    text: str, seed: int
) -> None:
    for name in ("terse", "verbose", "slips"):
        try:
            after = made(name, text, seed)
        except NotApplicable:
            continue
        assert after != text
        for pattern in ("side", "negated", "degree", "measure", "compares"):
            found = [match[0].lower() for match in PATTERNS[pattern].finditer(text)]
            kept = [match[0].lower() for match in PATTERNS[pattern].finditer(after)]
            assert kept == found, name
        if name != "slips":
            # "Heart enlarged" is not among the words of the vocabulary.
            before = {finding.name for finding in findings_in(text)} - {"cardiomegaly"}
            kept_findings = {finding.name for finding in findings_in(after)}
            assert kept_findings - {"cardiomegaly"} == before, name
        else:
            assert sorted(after) == sorted(text)
