"""What the cases do not show: echoes of real prompts, leftovers of an earlier answer, size."""

from __future__ import annotations

import random

import pytest
import yaml
from green_answers import STUDY, draw
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import prompts, rubrics
from judge.rubrics.green import RUBRIC
from judge.rubrics.green.layout import Reason
from judge.types import Annotation, Category, UnparsedError

NAMES = [category.label for category in Category][:5]
SECTIONS = (
    "[Clinically Significant Errors]:\n{significant}\n\n"
    "[Clinically Insignificant Errors]:\n{insignificant}\n\n"
    "[Matched Findings]:\n{matched}"
)


def answer(
    significant: str = "None.", insignificant: str = "None.", matched: str = "2. a; b"
) -> str:
    return SECTIONS.format(significant=significant, insignificant=insignificant, matched=matched)


def outcome(text: str, *, complete: bool = False) -> Annotation | str:
    try:
        return RUBRIC.parse(text, STUDY, complete=complete)
    except UnparsedError as error:
        reason = error.reason
    assert reason in set(Reason)
    return reason


def count(line: str, key: str = "significant_a") -> int | str:
    """The count that `line` states as the one line of the significant errors, or the reason."""
    found = outcome(answer(significant=line))
    return found if isinstance(found, str) else found.stated_counts[key]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("(a) False finding: 2. x; y", 2),
        ("(a): 2. x; y", 2),
        ("(a) 2. x; y", 2),
        ("(a) - 2. x; y", 2),
        ("(a) False finding - 2. x; y", 2),
        ("(a) False finding \u2013 2 errors: x; y", 2),
        ("(a) False finding: count: 2. x; y", 2),
        ("(a) False finding (false positive): 2. x; y", 2),
        ("(a) False finding [2]: x; y", 2),
        ("(a) False finding (2): 2. x; y", 2),
        ("(a) False finding: (2) x; y", 2),
        ("(a) False finding: 2 (x; y)", 2),
        ("(a) False finding: 2) x; y", 2),
        ("(a) False finding: 2, x and y", 2),
        ("(a) False finding: 2 \u2013 x; y", 2),
        ("(a) False finding: 12. many", 12),
        ("(a) **False finding:** **2** clinically significant errors. x; y", 2),
        ("1. (a) False finding: 2. x; y", 2),
        ("> (a) False finding: 2. x; y", 2),
        ("[a] False finding: 2. x; y", 2),
        ("(a) False report of a finding in the candidate: two errors", 2),
        ("(a) False finding: 0 \u2013 none", 0),
        ("(a) False finding: 0. No pneumothorax is claimed", 0),
        ("(a) False finding: No false findings.", 0),
        ("(a) False finding: There are no errors of this type.", 0),
        ("(a) False finding:\n- None", 0),
        ("(a) False finding:\nNone.", 0),
        ("(a) False finding:\n- no focal opacity", 1),
        ("(a) False finding: 2. x; y\n\nOverall, two errors.", 2),
        ("(a) False finding: 2. x; y\n\nTotal: 2.", 2),
    ],
)
def test_count_forms(line: str, expected: int) -> None:
    assert count(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("(a) False finding: 2.5 cm nodule", "unreadable count"),
        ("(a) False finding: 2 cm nodule", "unreadable count"),
        ("(a) False finding: nodule", "unreadable count"),
        ("(a) False finding:", "unreadable count"),
        ("(a) False finding: 1-2. x", "unreadable count"),
        ("(a) False finding: 1 - 2. x", "unreadable count"),
        ("(a) False finding: 1 to 2. x", "unreadable count"),
        ("(a) False finding: 1/2. x", "unreadable count"),
        ("(a) False finding: -1. x", "unreadable count"),
        ("(a) False finding: at least 2. x", "unreadable count"),
        ("(a) False finding: a few. x", "unreadable count"),
        ("(a) False finding: 2+. x", "unreadable count"),
        ("(a) False finding: ~2. x", "unreadable count"),
        ("(a) False finding: 1,000. x", "unreadable count"),
        ("(a) False finding: 12345. x", "unreadable count"),
        ("(a) False finding: No pneumothorax in the reference.", "unreadable count"),
        ("(a) False finding: no errors except one nodule", "unreadable count"),
        ("(a) False finding (2): 3. x", "unreadable count"),
        ("(a) False finding, seen in 2. Nodule: 3. x", "unreadable count"),
        ("(a), (b): 2. x", "unreadable count"),
        ("(a) False finding: 1. x\n(g) Other: 2. y; z", "unreadable count"),
        ("(a) False finding: 1. x\nMissed things: 2. y; z", "unreadable count"),
        ("(a) False finding:\n- None\n- nodule", "unreadable count"),
        ("(a) False finding:\n- lungs\n  - nodule\n  - mass", "unreadable count"),
        ("(a) False finding:\nnodule", "unreadable count"),
        ("1. Missed effusion\n2. Missed nodule", "unreadable count"),
        ("Two errors.", "unreadable count"),
        ("2.", "unreadable count"),
        ("", "missing section"),
        ("(a) False finding: 0. Nodule", "contradiction"),
        ("(a) False finding: 1. None", "contradiction"),
        ("(a) False finding: 3. None", "contradiction"),
        ("(a) False finding: 0. No mention of the nodule", "contradiction"),
        ("(a) False finding: 0.\n- Nodule", "contradiction"),
        ("(a) Missing finding: 1. x", "contradiction"),
        ("(1) Wrong severity: 1. x", "contradiction"),
        ("(e) Omitting a comparison with a prior study: 1. x", "contradiction"),
        ("(f) Mentioning a comparison that isn't in the reference: 1. x", "contradiction"),
        ("1. Missing finding: 1. x", "contradiction"),
        ("(a) False finding: 1. x\n(a) False finding: 1. y", "contradiction"),
        ("No errors.\n- nodule", "contradiction"),
        ("No errors.\n(a) False finding: 1. nodule", "contradiction"),
    ],
)
def test_what_is_not_certain(line: str, reason: str) -> None:
    assert count(line) == reason


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("2. a; b", 2),
        ("**2**. a; b", 2),
        ("2 matched findings: a; b", 2),
        ("Count: 2. a; b", 2),
        ("Number of matched findings: 2. a; b", 2),
        ("two. a; b", 2),
        ("2.\n1. a\n2. b", 2),
        ("2 findings:\n- a\n- b", 2),
        ("1 finding: a", 1),
        ("1. a", "truncated"),
        ("1. 2.5 cm nodule", "truncated"),
        ("0", 0),
        ("None of the findings match.", 0),
        ("0. None", 0),
        ("2. a; b\n\nGREEN score: 1.0", 2),
        ("2. a; b\nThe rest differs.", 2),
        ("2", "truncated"),
        ("two", "truncated"),
        ("None", "truncated"),
        ("1. a\n2. b", "truncated"),
        ("1. a\n2.", "unreadable count"),
        ("1. a\n2", "truncated"),
        ("- a\n- b", "truncated"),
        ("", "truncated"),
        ("0. a", "contradiction"),
        ("2. a; b\n3. c", "unreadable count"),
    ],
)
def test_matched_forms(body: str, expected: int | str) -> None:
    found = outcome(answer(matched=body))
    assert (found if isinstance(found, str) else found.stated_counts["matched"]) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("2", 2),
        ("two", 2),
        ("None", 0),
        ("1. a\n2. b", 2),
        ("1) a\n2) b\n3) c", 3),
        ("(1) a\n(2) b", 2),
        ("(a) a\n(b) b", 2),
        ("1. a", 1),
        ("1. 2.5 cm nodule", 1),
        ("1. a; b", 1),
        ("- a\n- b", 2),
        ("* a\n\n* b\n\n* c", 3),
        ("The following match:\n- a\n- b", 2),
        ("- None", 0),
        ("1. a\n3. b", "unreadable count"),
        ("- a\n  - b", "unreadable count"),
        ("a; b", "unreadable count"),
        ("", "missing section"),
    ],
)
def test_matched_forms_of_a_complete_answer(body: str, expected: int | str) -> None:
    found = outcome(answer(matched=body), complete=True)
    assert (found if isinstance(found, str) else found.stated_counts["matched"]) == expected


def test_one_numbered_finding_at_the_end_is_a_count_only_where_the_judge_had_finished() -> None:
    """`1. a` at the very end may be a count, or a numbered list that was cut."""
    assert outcome(answer(matched="1. a")) == "truncated"
    assert isinstance(outcome(answer(matched="1. a"), complete=True), Annotation)
    assert isinstance(outcome(answer(matched="1. a") + "\n</s>"), Annotation)


@pytest.mark.parametrize(
    "heading",
    [
        "[{}]:",
        "[{}]",
        "[{}:]",
        "**[{}]:**",
        "**[{}]**:",
        "## {}",
        "### **{}**",
        "**{}**",
        "**{}:**",
        "1. **{}:**",
        "{}",
        "{}:",
        "> {}:",
    ],
)
@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_heading_forms(heading: str, case: object) -> None:
    assert callable(case)
    text = "\n".join(
        f"{heading.format(case(title))}\n{body}"
        for title, body in {
            "Explanation": "Why.",
            "Clinically Significant Errors": "(b) Missing finding: 1. x",
            "Clinically Insignificant Errors": "None.",
            "Matched Findings": "3. a; b; c",
        }.items()
    )
    found = outcome(text)
    assert isinstance(found, Annotation), found
    assert found.explanation == "Why."
    assert RUBRIC.measured(found, STUDY)["green"] == 0.75


def test_plain_and_bracketed_headings_make_no_answer_together() -> None:
    """A line of prose that looks like a heading must not stand in for a section cut off."""
    prose = "Matched findings: 3. Let me see.\n\n"
    cut = answer().partition("[Matched Findings]")[0]
    assert outcome(prose + cut, complete=True) == "missing section"
    found = outcome(prose + answer(matched="2. a; b"))
    assert isinstance(found, Annotation)
    assert found.stated_counts["matched"] == 2


def test_last_section_with_a_list_without_a_count() -> None:
    counted = "".join(f"({mark}) {label}: 0.\n" for mark, label in zip("abcde", NAMES, strict=True))
    first = "[Matched Findings]:\n2. a; b\n\n[Clinically Insignificant Errors]:\nNone.\n\n"
    text = f"{first}[Clinically Significant Errors]:\n{counted}(f) Omitted comparison:\n- x\n- y"
    assert outcome(text) == "truncated"
    found = outcome(text, complete=True)
    assert isinstance(found, Annotation)
    assert found.stated_counts["significant_f"] == 2
    assert outcome(f"{first}[Clinically Significant Errors]:\n{counted}") == "truncated"


def test_heading_words_within_a_line_open_no_section() -> None:
    found = outcome(answer(significant="(a) False finding: 1. the [Matched Findings] aside"))
    assert isinstance(found, Annotation)
    assert found.stated_counts["matched"] == 2
    counted = "(a) False finding: 1. the [Matched Findings]: 9. aside"
    assert outcome(answer(significant=counted)) == "unreadable count"


def test_echo_of_the_built_in_prompts_is_not_an_answer() -> None:
    text = "\n".join(
        message.content
        for message in prompts.load("green").messages(STUDY.reference, STUDY.candidate)
    )
    reply = answer(significant="(b) Missing finding: 1. x")
    whole = outcome(f"{text}\n{reply}")
    assert isinstance(whole, Annotation)
    assert whole.stated_counts["significant_b"] == 1
    for end in range(len(text)):
        assert isinstance(outcome(text[:end], complete=True), str), text[:end]
    for end in range(len(reply)):
        found = outcome(f"{text}\n{reply[:end]}")
        assert isinstance(found, str) or found.stated_counts == whole.stated_counts


def test_an_answer_numbered_one_to_six_does_not_mislabel_the_next() -> None:
    lettered, numbered = "(f) Omitted comparison: 1. x", "(6) Omitted comparison: 1. x"
    before = outcome(answer(significant=lettered))
    assert outcome(answer(significant=numbered)) == before
    assert outcome(answer(significant=lettered)) == before


def test_every_case_cut_anywhere_shows_no_other_count() -> None:
    # A worked example or a draft before the answer is one itself where the text ends with it.
    left_out = {"echo-with-a-worked-answer", "final-answer"}
    n_cut = 0
    for path in sorted(rubrics.cases(RUBRIC.name).glob("*.yaml")):
        case = yaml.safe_load(path.read_text("utf-8"))
        if "unparsed" in case["expect"] or "reply" in case or path.stem in left_out:
            continue
        text = case["completion"]
        whole = outcome(text, complete=case.get("complete", False))
        assert isinstance(whole, Annotation)
        for end in range(len(text)):
            found = outcome(text[:end])
            assert isinstance(found, str) or found.stated_counts == whole.stated_counts, text[:end]
        n_cut += 1
    assert n_cut >= 20


@settings(max_examples=300)
@given(
    st.integers(0, 10_000), st.lists(st.tuples(st.floats(0, 1), st.text(max_size=6)), max_size=4)
)
def test_a_damaged_answer_is_read_or_refused(seed: int, damage: list[tuple[float, str]]) -> None:
    text = draw(random.Random(seed)).text
    for where, inserted in damage:
        at = int(where * len(text))
        text = text[:at] + inserted + text[at + len(inserted) :]
    for complete in (False, True):
        found = outcome(text, complete=complete)
        if isinstance(found, Annotation):
            assert RUBRIC.parse(RUBRIC.render(found), STUDY, complete=True) == found


@settings(max_examples=300)
@given(st.text(), st.booleans())
def test_any_text_is_read_or_refused(text: str, complete: bool) -> None:
    assert outcome(text, complete=complete) in set(Reason)


@pytest.mark.parametrize(
    "piece",
    ["(", " ", "\n", "*", "#", "(a) x: 0. ", "(a) ", "- a\n", "no ", "<", "\r", "12", " - ", "x\n"],
)
@pytest.mark.parametrize("place", ["{}", "significant", "matched", "label"])
def test_a_huge_answer_is_read_in_time(piece: str, place: str) -> None:
    """A megabyte of anything comes to an end; a pattern that backtracks would not."""
    filler = piece * (1_000_000 // len(piece))
    texts = {
        "{}": filler,
        "significant": answer(significant=f"(a) False finding: 1. {filler}"),
        "matched": answer(matched=f"1. {filler}"),
        "label": answer(significant=f"(a) {filler}: 1. x"),
    }
    assert outcome(texts[place]) is not None


def test_a_line_of_thought_without_its_opening_tag_is_no_answer_when_cut() -> None:
    """Some templates write the opening tag, so the end tag is all that shows the thought."""
    draft = f"Okay, let me count.\n{answer(matched='7. a; b')}\nWait, that is too many.\n</think>\n"
    text = draft + answer(matched="2. a; b")
    whole = outcome(text, complete=True)
    assert isinstance(whole, Annotation)
    assert whole.stated_counts["matched"] == 2
    for end in range(len(text)):
        found = outcome(text[:end])
        assert isinstance(found, str) or found.stated_counts == whole.stated_counts, text[:end]
