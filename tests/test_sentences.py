import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.sentences import sentences

CAPITALS = """THE HEART IS NORMAL IN SIZE AND THE LUNGS ARE CLEAR OF
CONSOLIDATION AND THERE IS NO LARGE EFFUSION ON EITHER
SIDE."""


def split(text):
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 2.2 cm nodule. No effusion.", ["A 2.2 cm nodule.", "No effusion."]),
        (
            "Discussed with Dr. ___ at 5 p.m. by phone.",
            ["Discussed with Dr. ___ at 5 p.m. by phone."],
        ),
        (
            "Called at 5 a.m. The lungs are clear.",
            ["Called at 5 a.m.", "The lungs are clear."],
        ),
        (
            "1. Low lung volumes. 2. No effusion.",
            ["1. Low lung volumes.", "2. No effusion."],
        ),
        ("The XXXX are normal. XXXX.", ["The XXXX are normal.", "XXXX."]),
        ("- Lungs clear\n- No effusion", ["- Lungs clear", "- No effusion"]),
        ("Lungs clear\nHeart normal", ["Lungs clear", "Heart normal"]),
        ("There is a small\nleft effusion.", ["There is a small\nleft effusion."]),
        (f"{CAPITALS} NO PNEUMOTHORAX.", [CAPITALS, "NO PNEUMOTHORAX."]),
        (
            "Findings: Clear lungs Impression: Normal chest",
            ["Findings: Clear lungs", "Impression: Normal chest"],
        ),
        (
            "Clear bilaterally.There is no effusion.",
            ["Clear bilaterally.", "There is no effusion."],
        ),
        ("Clear.\r\n\r\nNormal heart.\r\n", ["Clear.", "Normal heart."]),
        (
            "Film from St. Mary's hospital. Clear.",
            ["Film from St. Mary's hospital.", "Clear."],
        ),
        ("Rib no. 3 is broken. No. Clear.", ["Rib no. 3 is broken.", "No.", "Clear."]),
        ("A nodule of 5 mm. No effusion.", ["A nodule of 5 mm.", "No effusion."]),
        ("Rt. lung clear, lt. lung not.", ["Rt. lung clear, lt. lung not."]),
        (" \n.\n ", []),
    ],
)
def test_hard_cases(text, expected):
    assert split(text) == expected


@given(st.text(alphabet="aA1. \n,:-XT", max_size=80))
def test_spans_are_ordered_trimmed_and_lose_no_word(text):
    spans = sentences(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    for start, end in spans:
        piece = text[start:end]
        assert piece == piece.strip()
        assert any(map(str.isalnum, piece))
    kept = "".join(text[start:end] for start, end in spans)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]
