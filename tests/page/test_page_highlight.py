"""What is marked is there; what an error quotes and is there is marked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.sentences import sentences
from judge.study.marks import Segment, highlights, segments

WORDS = [
    "heart",
    "Effusion",
    "left",
    "the",
    "small",
    "no",
    "2.2",
    "cm",
    "mass",
    "ÄRZTE",
    "straße",
]
GAPS = [" ", "  ", "\n", ". ", ", ", "\u202e", "<b>", '"', "-"]
texts = st.lists(st.sampled_from(WORDS + GAPS), max_size=30).map("".join) | st.text(
    max_size=60
)
edits = st.none() | st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["change", "delete", "insert"]),
        "line": st.integers(0, 4),
        "corrected": texts,
    }
)
errors = st.lists(st.fixed_dictionaries({"text": texts, "edit": edits}), max_size=4)


def error(text: str, edit: dict[str, object] | None = None) -> dict[str, object]:
    return {"text": text, "edit": edit}


def marked(segments: list[Segment], at: int = 0) -> list[str]:
    return [segment["text"] for segment in segments if at in segment["errors"]]


def squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


@given(texts, texts, errors)
def test_segments_are_the_reports(reference: str, candidate: str, errors: list) -> None:
    found = highlights(reference, candidate, errors)
    for report, side in (
        (reference, found["reference"]),
        (candidate, found["candidate"]),
    ):
        assert "".join(segment["text"] for segment in side) == report
        assert all(
            0 <= at < len(errors) for segment in side for at in segment["errors"]
        )
        assert all(one["errors"] != two["errors"] for one, two in pairwise(side))


@given(texts, texts, texts, edits)
def test_nothing_is_marked_that_the_error_does_not_say_or_correct(
    reference: str, candidate: str, text: str, edit: dict | None
) -> None:
    found = highlights(reference, candidate, [error(text, edit)])
    said = (squeezed(text), squeezed(edit["corrected"] if edit else ""))
    assert all(
        any(squeezed(mark) in each for each in said)
        for mark in marked(found["reference"])
    )
    if edit is None:
        assert all(squeezed(mark) in said[0] for mark in marked(found["candidate"]))
    elif edit["kind"] != "insert":
        spans = sentences(candidate)
        own = (
            candidate[slice(*spans[edit["line"]])] if edit["line"] < len(spans) else ""
        )
        assert all(mark in own for mark in marked(found["candidate"]))
        assert bool(marked(found["candidate"])) == bool(own)


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=5), texts, texts)
def test_what_is_quoted_and_there_is_marked(
    words: list[str], before: str, after: str
) -> None:
    reference = f"{before} | {'  '.join(words).upper()} | {after}"
    found = highlights(reference, "", [error(f'It says "{" ".join(words)}" there.')])
    assert squeezed(" ".join(words)) in squeezed("\0".join(marked(found["reference"])))


@pytest.mark.parametrize(
    ("text", "report", "expected"),
    [
        (
            "“pleural   effusion” is wrong",
            "A Pleural\neffusion.",
            ["Pleural\neffusion"],
        ),
        ("The report fails to mention the heart's error", "No mass. An effusion.", []),
        ("Left. Right. No. The.", "Left mass. No right mass.", []),
        ("The mediastinal shift is missed.", "Calcified mediastinal lymph nodes.", []),
        (
            "A rib fracture is missed.",
            "Old hip fracture. Rib fracture.",
            ["Rib fracture"],
        ),
        (
            "Small left effusion missed",
            "Small left effusion. It is new.",
            ["Small left effusion"],
        ),
        ("The pneumothorax is missed.", "Small left pneumothorax.", ["pneumothorax"]),
        ("The pneumothorax is missed.", "Left pneumothorax. Right pneumothorax.", []),
        ("A mass of 3 cm is missed.", "A 2 cm mass is seen.", ["mass"]),
        ('It says "nodule".', "Left nodule. Right nodule.", []),
        ('It says "nodule".', "Left nodule.", ["nodule"]),
    ],
)
def test_only_what_is_certain_is_marked(
    text: str, report: str, expected: list[str]
) -> None:
    found = highlights(report, report, [error(text)])
    assert marked(found["reference"]) == marked(found["candidate"]) == expected


def test_marks_that_overlap_keep_both_errors() -> None:
    found = segments(
        "left pleural effusion", [((0, 21), 0), ((5, 12), 1), ((13, 21), 1)]
    )
    assert [(segment["text"], segment["errors"]) for segment in found] == [
        ("left ", [0]), ("pleural", [0, 1]), (" ", [0]), ("effusion", [0, 1]),
    ]  # fmt: skip
