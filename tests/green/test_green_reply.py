"""GREEN's structured reply: the same annotation and counts as text gives, or unparsed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from faultserver import annotation_for
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.rubrics.categories import CATEGORIES, KEY, LEVELS
from judge.rubrics.green.parse import count_name, green_error, matched_item
from judge.running.records import read
from judge.types import (
    Annotation,
    Completion,
    Scored,
    Study,
    Unparsed,
    UnparsedError,
)

GREEN = rubrics.load("green")
assert GREEN.structured is not None
parse, render = GREEN.structured.parse, GREEN.structured.render
STUDY = Study("s", "No effusion.", "Small effusion.")
NAMES = (
    *("false_finding", "missing_finding", "wrong_location", "wrong_severity"),
    *("comparison_not_in_reference", "omitted_comparison"),
)
SIGNIFICANT, INSIGNIFICANT = (
    "clinically_significant_errors",
    "clinically_insignificant_errors",
)


def reply(matched: Any = (), explanation: Any = "Why.", **lists: Any) -> dict[str, Any]:
    """A reply with these significant errors and no insignificant ones."""
    empty: dict[str, Any] = {name: [] for name in NAMES}
    return {
        "explanation": explanation,
        SIGNIFICANT: empty | lists,
        INSIGNIFICANT: dict(empty),
        "matched_findings": list(matched) if isinstance(matched, tuple) else matched,
    }


def reason(text: str) -> str:
    with pytest.raises(UnparsedError) as caught:
        parse(text, STUDY)
    assert caught.value.reason
    return caught.value.reason


WORDS = st.lists(
    st.sampled_from(
        ["left", "right", "effusion", "nodule", "5 mm", "ä", "not", "(old)", '"new"']
    ),
    min_size=1,
    max_size=4,
).map(lambda words: "x " + " ".join(words))


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    texts = draw(st.lists(WORDS, unique_by=str.casefold, max_size=12))
    places = sorted(
        draw(
            st.lists(
                st.sampled_from([(level, at) for level in range(2) for at in range(6)]),
                min_size=len(texts),
                max_size=len(texts),
            )
        )
    )
    errors = tuple(
        green_error(LEVELS[level], CATEGORIES[at], text)
        for (level, at), text in zip(places, texts, strict=True)
    )
    matched = [
        f"y {one}" for one in draw(st.lists(WORDS, unique_by=str.casefold, max_size=8))
    ]
    stated = dict.fromkeys(KEY.values(), 0)
    for error in errors:
        stated[count_name(error)] += 1
    return Annotation(
        (*errors, *map(matched_item, matched)),
        draw(WORDS),
        stated_counts={**stated, "matched": len(matched)},
    )


@given(annotations())
def test_what_is_written_is_read_and_counts_as_text_does(
    annotation: Annotation,
) -> None:
    assert parse(render(annotation), STUDY) == annotation
    assert GREEN.parse(GREEN.render(annotation), STUDY, complete=True) == annotation
    text = read(GREEN, STUDY, Completion(GREEN.render(annotation), "stop", "m"))
    for mode in ("json_schema", "tools", "json"):
        assert (
            read(GREEN, STUDY, Completion(render(annotation), "stop", "m", mode=mode))
            == text
        )


@given(annotations(), st.data())
def test_a_cut_reply_is_never_read(annotation: Annotation, data: st.DataObject) -> None:
    whole = render(annotation)
    assert reason(whole[: data.draw(st.integers(0, len(whole) - 2))])


@pytest.mark.parametrize(
    "finding", ["No acute findings", "No mention of it", "None of the ribs"]
)
def test_a_finding_that_denies_something_is_one(finding: str) -> None:
    assert parse(json.dumps(reply(matched=(finding,))), STUDY).items == (
        matched_item(finding),
    )


@pytest.mark.parametrize(
    "entries",
    [
        *(["None"], ["Not an error."], ["No errors"], ["N/A"], ["Same."]),
        *(
            ["No difference; both agree."],
            ["heart", ""],
            ["heart", " - "],
            ["2 errors"],
            ["2"],
        ),
        *(
            ["heart; lungs"],
            ["1. heart 2. lungs"],
            ["x \u2022 y"],
            ["heart", "- Heart."],
        ),
        *([1], [None], [["heart"]], [{"text": "heart"}], "heart", None, {}, 2),
    ],
)
def test_a_list_whose_length_may_not_be_the_count_is_not_read(entries: Any) -> None:
    assert reason(json.dumps(reply(wrong_location=entries)))
    assert reason(json.dumps(reply(matched=entries)))


@pytest.mark.parametrize("name", ["false_finding", "missing_finding"])
def test_one_text_is_not_missing_and_matched(name: str) -> None:
    text = json.dumps(reply(**{name: ["Left effusion"]}, matched=("left effusion.",)))
    assert reason(text) == "contradiction"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I am sorry, but I cannot assist.", "no JSON"),
        ("{}", "missing field"),
        ("[]", "unexpected form"),
        (json.dumps(reply()) * 2, "several answers"),
        (json.dumps(reply()) + "\nFinal: 2 errors", "several answers"),
        ("Here it is: {}", "no JSON"),
        ('"x": {}, ' + json.dumps(reply()), "no JSON"),
        ("<tool_call>" + json.dumps(reply()), "no JSON"),
        ("Here it is: " + json.dumps(reply()) + " Done.", "several answers"),
        (
            "First: " + json.dumps(reply()) + " Second: " + json.dumps(reply()),
            "several answers",
        ),
        (json.dumps(reply(explanation=float("nan"))), "not JSON"),
        (json.dumps(reply(explanation="x" * 65_536)), "too long"),
        ("[" * 101 + "]" * 101, "nested too deeply"),
    ],
)
def test_what_is_no_such_reply(text: str, why: str) -> None:
    assert reason(text) == why


def test_what_changes_no_number_is_tolerated() -> None:
    text = json.dumps(reply(matched=("heart",)))
    bare = json.dumps(
        {k: v for k, v in reply(matched=("heart",)).items() if k != "explanation"}
    )
    null = json.dumps(reply(matched=("heart",), explanation=None))
    keys = text.replace('"matched_findings"', '"Matched Findings"')
    words = (f"Here it is (2 lists): {text}", f"Here it is:\n\n```json\n{text}\n```")
    fenced, thought = f"```json\n{text}\n```", f"<think>{{}}</think>{text}"
    for same in (text, fenced, thought, bare, null, keys, *words, f"{text}\n\n  \n"):
        assert parse(same, STUDY).items == (matched_item("heart"),)
    other = text.replace('{"explanation"', '{"reasoning": "x", "explanation"')
    assert reason(other) == "unknown field"
    twice = text.replace('{"explanation"', '{"Explanation": "x", "explanation"')
    assert reason(twice) == "duplicate key"


def test_an_object_that_was_closed_before_it_was_cut_is_whole() -> None:
    text = json.dumps(reply(matched=("heart",)))
    for mode, ends in (("json_schema", ("\n" * 50, "", " ")), ("json", ("\n\n",))):
        for end in ends:
            cut = Completion(text + end, "length", "m", mode=mode)
            assert isinstance(read(GREEN, STUDY, cut)[0], Scored)
    for cut in (text[:-1], text[: text.rindex("[")], text + "\n{", "{}{", ""):
        outcome = read(
            GREEN, STUDY, Completion(cut, "length", "m", mode="json_schema")
        )[0]
        assert isinstance(outcome, Unparsed)
        assert outcome.reason == "truncated"


def test_an_empty_answer_says_where_its_text_went() -> None:
    for elsewhere in ("its reasoning", "a tool call"):
        away = Completion("", "stop", "m", mode="json_schema", elsewhere=elsewhere)
        outcome, _ = read(GREEN, STUDY, away)
        assert outcome == Unparsed(
            "empty", f"nothing was answered; the text is in {elsewhere}"
        )
    cut, _ = read(
        GREEN, STUDY, Completion("", "length", "m", elsewhere="its reasoning")
    )
    assert isinstance(cut, Unparsed)
    assert cut.reason == "truncated"
    assert "its reasoning" in cut.detail


def test_the_text_road_does_not_read_a_reply_and_the_other_way_round() -> None:
    """How it was asked for decides, not what it happens to look like."""
    formed, text = json.dumps(reply()), GREEN.render(annotation_for("study-0001"))
    for completion in (
        Completion(formed, "stop", "m"),
        Completion(text, "stop", "m", mode="json_schema"),
    ):
        assert isinstance(read(GREEN, STUDY, completion)[0], Unparsed)
    assert isinstance(read(GREEN, STUDY, Completion(text, "stop", "m"))[0], Scored)


@pytest.mark.parametrize(
    "changed",
    [
        {"items": (matched_item("x"),) * 2},
        {"items": (replace(matched_item("heart"), side="candidate"),)},
        {"values": {"confidence": 0.5}},
        {"warnings": ("odd",)},
    ],
)
def test_what_no_reply_expresses_is_not_written(changed: dict[str, Any]) -> None:
    annotation = parse(json.dumps(reply()), STUDY)
    with pytest.raises(ValueError, match="no reply expresses"):
        render(replace(annotation, **changed))
