"""Changes: what each makes of a report, that its truth is right, and `judge stress make`."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import EXAMPLES, Invoke, write_json

from judge import rubrics
from judge.stress.candidates import all_perturbations
from judge.stress.report_edits import (
    Change,
    NotApplicable,
    Reference,
    SeededChoice,
    apply_edits,
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
        assert (result[1] is None) == (change.group == "unchanged"), name
        assert result[1] is None or {*result[1].categories} <= {*"abcdef"}


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
