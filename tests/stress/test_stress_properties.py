"""What holds for every change on every report: the examples', made-up ones', the shared ones'."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import EXAMPLES, with_rules

from judge import rubrics
from judge.stress.changes import known
from judge.stress.making import UNTOUCHED, Candidate, made_of
from judge.stress.text import NotMade
from judge.types import Study

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


def words_of(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.casefold()))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_the_truth_is_right_for_any_text(text: str) -> None:
    for one in all_of(text.strip()):
        check(one)


@given(reports)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_what_only_moves_keeps_every_word(text: str) -> None:
    before = words_of(text.strip())
    for one in all_of(text.strip()):
        after = words_of(one.after)
        if one.change.name in ("identical", "reordered", "bulleted", "white_space"):
            assert after == before
        elif one.change.name in ("structured", "repeated"):
            assert after >= before


def test_the_seed_and_the_study_decide_and_nothing_else() -> None:
    text = " ".join(SENTENCES[:14])
    whole = [one.truth() for one in all_of(text, "a")]
    assert whole == [one.truth() for one in all_of(text, "a")]
    for name, change in known().items():
        alone = [one for _, one in made_of(Study("a", text, "other"), [change], 1)]
        there = [one for one in whole if one["change"] == name]
        assert [one.truth() for one in alone if isinstance(one, Candidate)] == there
    orders = {
        one.after
        for seed in range(20)
        for one in all_of("Lungs clear. Ribs intact. Heart normal. No mass.", "a", seed)
        if one.change.name == "reordered"
    }
    assert len(orders) > 5


def test_each_rubric_that_can_write_an_answer_is_forged_so_that_it_reads_it() -> None:
    study = Study("s", "Small right pneumothorax. Heart normal.", "")
    n = 0
    for name in with_rules(rubrics.built_in()):
        rubric = rubrics.load(name)
        ((_, found),) = made_of(study, [known()[f"fake_reply_{name}"]], 1)
        assert isinstance(found, Candidate)
        reply = found.after.partition("\n\n")[2]
        annotation = rubric.parse(reply, Study("s", study.reference, study.reference))
        assert not [item for item in annotation.items if item.kind == "error"]
        n += 1
    assert n >= 2


def test_every_change_can_be_made_on_some_report_of_the_tests() -> None:
    examples = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    texts = [one["section_findings"] for one in examples.values()]
    texts += [
        *SENTENCES,
        "Mild edema. Right chest tube. Severe scoliosis.",
        "ETT in the SVC. Clear.",
    ]
    texts.append(" ".join(SENTENCES[:9]))
    five = (
        "Small right pneumothorax. The heart is mildly enlarged. Hiatal hernia. Severe scoliosis."
    )
    texts.append(f"{five} Left chest tube. There is a 6 mm nodule.")
    made = {one.change.name for text in texts for one in all_of(text)}
    assert {name for name in known() if not name.startswith("fake_reply_")} <= made


def test_real_reports_have_a_right_truth(shared: Path) -> None:
    given = json.loads((shared / "refs.json").read_text("utf-8"))
    texts = {name: one["section_findings"] for name, one in given.items()}
    n = 0
    for name, text in [*texts.items()][::3]:
        if isinstance(text, str) and text.strip():
            for one in all_of(text.strip(), name):
                check(one)
                n += 1
    assert n > 3000


@pytest.mark.parametrize("change", ["side_swapped", "severity_up", "level_changed", "denied"])
def test_an_error_leaves_the_other_sentences(change: str) -> None:
    text = (
        "Lungs clear. Mild edema. Small nodule in the left upper lobe. Heart normal. Ribs intact."
    )
    for seed in range(5):
        ((_, one),) = made_of(Study("s", text, text), [known()[change]], seed)
        assert isinstance(one, Candidate)
        kept = [said for said in text.split(". ") if said.rstrip(".") in one.after]
        assert len(kept) == 4
