"""What is marked is there; what an error quotes and is there is marked."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
