"""Changes: what each makes of a report, that its truth is right, and the files of `stress make`."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import EXAMPLES, Invoke, with_rules, write_json

from judge import rubrics
from judge.stress.changes import known
from judge.stress.making import UNTOUCHED, Candidate, made_of
from judge.stress.text import NotMade
from judge.studies import read_pair
from judge.types import Study

REFS = EXAMPLES / "refs.json"


def made(change: str, text: str, seed: int = 1) -> str | NotMade:
    ((_, found),) = made_of(Study("s", text, text), [known()[change]], seed)
    return found if isinstance(found, NotMade) else found.after


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (
            "denied",
            "Clear. There is a small left pleural effusion.",
            "Clear. There is no pleural effusion.",
        ),
        ("removed", "Lungs clear. Hiatal hernia. Heart normal.", "Lungs clear. Heart normal."),
        (
            "affirmed",
            "No pleural thickening, adenopathy, or pneumothorax.",
            "No pleural thickening or adenopathy. There is a right pneumothorax.",
        ),
        ("side_swapped", "A bright nodule in the right lung.", "A bright nodule in the left lung."),
        ("side_swapped", "Small R pleural effusion.", "Small L pleural effusion."),
        ("level_changed", "Nodule in the left upper lobe.", "Nodule in the left lower lobe."),
        ("severity_up", "The heart is mildly enlarged.", "The heart is severely enlarged."),
        ("severity_down", "Severe pulmonary edema.", "Mild pulmonary edema."),
        ("measurement_changed", "There is a 6 mm nodule.", "There is a 12 mm nodule."),
        ("measurement_changed", "A 7 cm mass.", "A 3.5 cm mass."),
        (
            "tip_moved",
            "The endotracheal tube ends 4 cm above the carina.",
            "The endotracheal tube ends in the right main bronchus.",
        ),
        ("device_renamed", "Aortic valve prosthesis.", "Coronary stent."),
        ("device_removed", "Clear lungs. Left chest tube.", "Clear lungs."),
        ("comparison_added", "Hiatal hernia.", "Hiatal hernia, unchanged since the prior study."),
        ("comparison_removed", "Stable cardiomegaly.", "Cardiomegaly."),
        ("comparison_turned", "Stable cardiomegaly.", "Worsening cardiomegaly."),
        ("contradicted", "Small effusion.", "Small effusion. There is no pleural effusion."),
        ("bulleted", "Lungs clear. Heart normal.", "- Lungs clear.\n- Heart normal."),
        ("reordered", "Lungs clear. Heart normal.", "Heart normal. Lungs clear."),
        (
            "written_out",
            "Tip in the SVC, 4 cm deep.",
            "Tip in the superior vena cava, 4 centimeter deep.",
        ),
        ("synonyms", "No evidence of edema.", "No sign of edema."),
        (
            "structured",
            "Ribs intact. A nodule over a rib. Lung edema with B-lines.",
            "Bones: Ribs intact.\nLungs and pleura: A nodule over a rib. Lung edema with B-lines.",
        ),
        ("homophone", "The heart.", "The hart."),
        ("upper_case", "Größe 5 mm.", "GRÖSSE 5 MM."),
    ],
)
def test_a_change(change: str, before: str, after: str) -> None:
    assert made(change, before) == after


@pytest.mark.parametrize(
    ("change", "text"),
    [
        # Denied, doubted, or said of by another sentence too.
        ("denied", "No pneumothorax."),
        ("denied", "Pneumothorax. The pneumothorax is small."),
        ("removed", "Hiatal hernia."),
        ("side_swapped", "The patient left. No nodule."),
        ("side_swapped", "An alright nodule."),
        ("severity_up", "No large effusion."),
        ("measurement_changed", "The tube is 4 cm above the carina."),
        ("measurement_changed", "The nodule measures 5 mm, previously 4 mm."),
        ("affirmed", "Lungs are clear. No consolidation."),
        ("reordered", "1. Lungs clear. 2. Heart normal."),
        ("errors_5", "Lungs clear."),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change: str, text: str) -> None:
    found = made(change, text)
    assert isinstance(found, NotMade)
    assert found.reason


def test_hostile_texts_follow_the_one_error_and_forged_answers_can_be_read() -> None:
    text = "Small right apical pneumothorax. Heart size is normal."
    one = made("errors_1", text)
    assert one not in (text, None)
    without_rules = {*rubrics.names()} - {*with_rules()}
    for name, change in known().items():
        if change.group != "hostile" or name.removeprefix("fake_reply_") in without_rules:
            continue
        found = made(name, text)
        assert isinstance(found, str)
        assert found.startswith(f"{one}\n\n"), name
        if name.startswith("fake_reply_"):
            rubric = rubrics.load(name.removeprefix("fake_reply_"))
            annotation = rubric.parse(found.partition("\n\n")[2], Study("s", text, text))
            assert not [item for item in annotation.items if item.kind == "error"]


def test_more_errors_are_those_of_fewer_and_one_more() -> None:
    text = (
        "Small right pneumothorax. The heart is mildly enlarged. There is a 6 mm nodule in the "
        "left upper lobe. Hiatal hernia. Severe scoliosis. Left chest tube."
    )
    study = Study("s", text, text)
    chain = [known()[f"errors_{k}"] for k in range(6)]
    errors = []
    for _, found in made_of(study, chain, 3):
        assert not isinstance(found, NotMade), found
        errors.append(found.errors)
    assert [len(one) for one in errors] == [0, 1, 2, 3, 4, 5]
    assert all(more[: len(fewer)] == fewer for fewer, more in pairwise(errors))
    assert len({one.finding for one in errors[5]}) == 5


# The truth of any report.

# Sentences that can go, change or be denied, in rows of which several are touched at once.
SENTENCES = (
    *(
        "Small right pneumothorax.",
        "No pleural effusion or pneumothorax.",
        "The heart is enlarged.",
    ),
    *("There is a 6 mm nodule in the left upper lobe.", "LUNGS ARE CLEAR.", "R effusion"),
    *(
        "ETT ends 4 cm above the carina.",
        "The patient left.",
        "Stable cardiomegaly.",
        "Größe ½ — µ.",
    ),
    *("Mild degenerative changes of the spine.", "No change.", "1. Hiatal hernia.", "Bright bones"),
    *(
        "PICC tip in the mid SVC.",
        "Findings: opacity.",
        "Edema has worsened since the prior study.",
    ),
    *("The lungs are otherwise clear.", "Surgical clips.", "\U0001f600 nodule.", "\n\n- Mass."),
)
reports = st.lists(st.sampled_from(SENTENCES), max_size=20).map(" ".join) | st.text(max_size=200)


def all_of(text: str, study_id: str = "s", seed: int = 1) -> list[Candidate]:
    found = made_of(Study(study_id, text, text), [*known().values()], seed)
    return [one for _, one in found if not isinstance(one, NotMade)]


def check(one: Candidate) -> None:
    """The truth is right: the words stand where it says, and all else is as it was."""
    before, after = one.study.reference, one.after
    done = at = 0
    for words in one.words:
        assert before[slice(*words.at)] == words.before
        assert after[slice(*words.to)] == words.after
        assert words.before != words.after
        assert before[done : words.at[0]] == after[at : words.to[0]]
        done, at = words.at[1], words.to[1]
    assert before[done:] == after[at:]
    assert (after == before) == (one.change.name in UNTOUCHED)
    n = len(one.errors)
    if one.change.group in ("unchanged", "slip"):
        assert n == 0
    elif one.change.group == "count":
        assert n == int(one.change.name[-1])
    else:
        assert n == 1
    assert all(set(wrong.categories) <= set("abcdef") for wrong in one.errors)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_the_truth_is_right_for_any_text(text: str) -> None:
    for one in all_of(text.strip()):
        check(one)


def test_the_seed_and_the_study_decide_and_nothing_else() -> None:
    text = " ".join(SENTENCES[:14])
    whole = [one.truth() for one in all_of(text, "a")]
    assert whole == [one.truth() for one in all_of(text, "a")]
    for name, change in known().items():
        alone = [one for _, one in made_of(Study("a", text, "other"), [change], 1)]
        there = [one for one in whole if one["change"] == name]
        assert [one.truth() for one in alone if isinstance(one, Candidate)] == there


# The files.


def truth_of(folder: Path) -> dict[str, dict]:
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}


def test_files_are_read_as_an_ordinary_run_reads_them(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("stress", "make", REFS, "--out", "made", "--format", "json")
    assert done.exit_code == 0, done.stderr
    made = tmp_path / "made"
    assert {path.name for path in tmp_path.rglob("*.json*")} == {
        *("preds.json", "refs.json", "truth.jsonl", "stress.json")
    }
    studies, truth = read_pair(str(made / "preds.json"), str(made / "refs.json")), truth_of(made)
    assert {*studies.study_ids} == {*truth}
    for study in studies:
        one = truth[study.study_id]
        assert study.study_id == f"{one['study']}/{one['change']}"
        assert (study.candidate, study.reference) == (one["after"], one["before"])
        assert one["k"] == len(one["errors"])
        assert (study.fields["change"], study.fields["patient"]) == (one["change"], one["study"])
        base = one["same_reading_as"]
        assert (base is not None) == (one["group"] == "hostile")
        assert base is None or truth[base]["errors"] == one["errors"]
    # What was not made is counted with a reason.
    said = json.loads(done.stdout)
    assert said["changes"] == json.loads((made / "stress.json").read_text("utf-8"))["changes"]
    for one in said["changes"]:
        assert one["made"] + sum(one["not_made"].values()) == said["n_studies"] == 15
        assert all(one["not_made"])
    for form in ("table", "md", "csv"):
        assert "side_swapped" in invoke("stress", "make", "--list", "--format", form).stdout


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([REFS, "--out", "made", "--changes", "denied,nothing"], "'nothing'"),
        ([REFS, "--out", "made", "--section", "impresion"], "impresion"),
        ([EXAMPLES / "preds.json", "--out", "made"], "--reference-field"),
        (["twice.json", "--out", "made"], "twice.json"),
        ([REFS], "--out"),
        ([REFS, "--out", "mine"], "mine"),
    ],
)
def test_what_is_wrong_writes_nothing(
    invoke: Invoke, tmp_path: Path, words: list[object], names: str
) -> None:
    write_json(tmp_path / "twice.json", [{"study_id": "a", "report": "Hiatal hernia."}] * 2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = invoke("stress", "make", *words)
    assert done.exit_code == 2
    assert names in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
