"""What is marked is there; what an error quotes and is there is marked."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.report import highlight
from judge.report.highlight import Segment, highlights, segments
from judge.sentences import sentences

WORDS = ["heart", "Effusion", "left", "the", "small", "no", "2.2", "cm", "mass", "ÄRZTE", "straße"]
GAPS = [" ", "  ", "\n", ". ", ", ", "\u202e", "<b>", '"', "-"]
texts = st.lists(st.sampled_from(WORDS + GAPS), max_size=30).map("".join) | st.text(max_size=60)
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


def marked(segments: tuple[Segment, ...], at: int = 0) -> list[str]:
    return [segment.text for segment in segments if at in segment.errors]


def squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


@given(texts, texts, errors)
def test_segments_are_the_reports(reference: str, candidate: str, errors: list) -> None:
    found = highlights(reference, candidate, errors)
    for report, side in ((reference, found.reference), (candidate, found.candidate)):
        assert "".join(segment.text for segment in side) == report
        assert all(segment.text for segment in side)
        assert all(0 <= at < len(errors) for segment in side for at in segment.errors)
        assert all(one.errors != two.errors for one, two in pairwise(side))


@given(texts, texts, texts)
def test_nothing_is_marked_that_the_error_does_not_say(
    reference: str, candidate: str, text: str
) -> None:
    found = highlights(reference, candidate, [error(text)])
    for mark in marked(found.reference) + marked(found.candidate):
        assert squeezed(mark) in squeezed(text)


@given(texts, texts, texts, texts, st.integers(0, 4), st.sampled_from(["change", "delete"]))
def test_an_edit_marks_its_line_or_words_of_it(
    reference: str, candidate: str, text: str, corrected: str, line: int, kind: str
) -> None:
    edit = {"kind": kind, "line": line, "corrected": corrected}
    found = highlights(reference, candidate, [error(text, edit)])
    spans = sentences(candidate)
    own = candidate[slice(*spans[line])] if line < len(spans) else ""
    assert all(mark in own for mark in marked(found.candidate))
    assert bool(marked(found.candidate)) == bool(own)
    for mark in marked(found.reference):
        assert squeezed(mark) in squeezed(text) or squeezed(mark) in squeezed(corrected)


@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=5), texts, texts)
def test_what_is_quoted_and_there_is_marked(words: list[str], before: str, after: str) -> None:
    reference = f"{before} | {'  '.join(words).upper()} | {after}"
    found = highlights(reference, "", [error(f'It says "{" ".join(words)}" there.')])
    joined = "\0".join(marked(found.reference))
    assert squeezed(" ".join(words)) in squeezed(joined)


@pytest.mark.parametrize(
    ("text", "reference", "candidate"),
    [
        ('The reference says "no mass", the candidate "a mass".', ["No mass"], ["a mass"]),
        ("“pleural   effusion” is wrong", ["pleural effusion"], ["Pleural\neffusion"]),
        ("Missing the small pleural effusion of the reference", ["pleural effusion"], None),
        ("The report fails to mention the heart's error", [], []),
        ('"nothing of the kind"', [], []),
        ("Left. Right. No. The.", [], []),
    ],
)
def test_marks(text: str, reference: list[str], candidate: list[str] | None) -> None:
    found = highlights(
        "No mass. A pleural effusion.", "It has a mass. Pleural\neffusion.", [error(text)]
    )
    assert marked(found.reference) == reference
    if candidate is not None:
        assert marked(found.candidate) == candidate


def test_a_quote_of_one_report_is_not_marked_in_the_other() -> None:
    text = 'The reference says "effusion", the candidate says "mass".'
    found = highlights("Effusion and a mass.", "Effusion and a mass.", [error(text)])
    assert marked(found.reference) == ["Effusion"]
    assert marked(found.candidate) == ["mass"]


def test_marks_that_overlap_keep_both_errors() -> None:
    found = segments("abcdef", [((0, 4), 0), ((2, 6), 1), ((2, 3), 0)])
    assert found == (
        Segment("ab", (0,)),
        Segment("cd", (0, 1)),
        Segment("ef", (1,)),
    )


def test_the_longer_of_two_places_is_marked() -> None:
    reference = "Small left pleural effusion. The effusion is new."
    found = highlights(reference, "", [error("small left pleural effusion not reported")])
    assert marked(found.reference) == ["Small left pleural effusion"]


def test_a_megabyte_is_no_trouble() -> None:
    report = "effusion mass " * 70_000
    one = error("effusion mass " * 200 + 'and "effusion mass effusion"')
    found = highlights(report, "x" * 1_000_000, [one] * 10)
    assert re.sub(r"\s", "", "".join(segment.text for segment in found.reference)) == re.sub(
        r"\s", "", report
    )


@pytest.mark.parametrize(
    ("text", "report", "expected"),
    [
        ("The mediastinal shift is missed.", "Calcified mediastinal lymph nodes.", []),
        ("The right pleural fluid is missed.", "No large pleural effusion.", []),
        ("A rib fracture is missed.", "Old clavicle fracture.", []),
        ("A rib fracture is missed.", "Old hip fracture. Rib fracture.", ["Rib fracture"]),
        (
            "The left pleural effusion is missed.",
            "Left pleural effusion.",
            ["Left pleural effusion"],
        ),
        ("The pneumothorax is missed.", "Small left pneumothorax.", ["pneumothorax"]),
        ("The pneumothorax is missed.", "Left pneumothorax. Right pneumothorax.", []),
        ("Interstitial edema is missed.", "Interstitial lung disease.", []),
        ("Air-space disease is missed.", "Degenerative disease. Open space disease.", []),
        ("A mass of 3 cm is missed.", "A 2 cm mass is seen.", ["mass"]),
        ('It says "nodule".', "Left nodule. Right nodule.", []),
        ('It says "nodule".', "Left nodule.", ["nodule"]),
    ],
)
def test_only_what_is_certain_is_marked(text: str, report: str, expected: list[str]) -> None:
    found = highlights(report, report, [error(text)])
    assert marked(found.reference) == marked(found.candidate) == expected


def test_an_insertion_marks_the_reference_and_nothing_of_the_candidate() -> None:
    edit = {"kind": "insert", "line": None, "corrected": "Small left pneumothorax."}
    one = error("Left pneumothorax missed.", edit)
    found = highlights("Clear. Small left pneumothorax.", "No right pneumothorax.", [one])
    assert marked(found.reference) == ["Small left pneumothorax"]
    assert marked(found.candidate) == []


@given(texts, texts, errors)
def test_no_mark_begins_or_ends_with_a_space(reference: str, candidate: str, errors: list) -> None:
    found = highlights(reference, candidate, errors)
    for segment in (*found.reference, *found.candidate):
        assert not segment.errors or segment.text == segment.text.strip() != ""


def test_the_space_between_two_marks_of_one_error_is_not_marked() -> None:
    found = segments("left pleural effusion", [((0, 21), 0), ((5, 12), 1), ((13, 21), 1)])
    assert found == (
        Segment("left", (0,)),
        Segment(" "),
        Segment("pleural", (0, 1)),
        Segment(" "),
        Segment("effusion", (0, 1)),
    )


def test_the_work_grows_with_the_errors_and_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """12,000 errors over 2,000 words took a minute: each was looked for at every word."""
    compared = 0
    common = highlight._common

    def counted(*arguments: Any) -> int:
        nonlocal compared
        compared += 1
        return common(*arguments)

    monkeypatch.setattr(highlight, "_common", counted)
    rng = random.Random(0)
    words = [f"finding{n}" for n in range(300)]

    def looks(n_errors: int, n_words: int) -> int:
        nonlocal compared
        compared = 0
        report = " ".join(rng.choices(words, k=n_words))
        errors = [
            {"text": " ".join(rng.choices(words, k=12)), "edit": None} for _ in range(n_errors)
        ]
        found = highlights(report, report, errors)
        assert max(len(segment.errors) for segment in found.reference) <= 100
        assert sum(len(segment.text) for segment in found.reference) == len(report)
        return compared

    few = looks(50, 2000)
    assert looks(500, 2000) < 11 * few
    assert looks(50, 20_000) < 11 * few
    assert few < 50 * 2 * 2000 / 5


def test_a_report_of_one_word_is_no_trouble() -> None:
    """A word that stands everywhere and marks nothing is not looked at for ever."""
    errors = [{"text": "left right", "edit": None}] * 50
    report = "left " * 20_000
    (segment,) = highlights(report, report, errors).reference
    assert segment.errors == ()
