"""Sizes as reports write them, in millimetres, and which of them agree."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.rubrics.attributes.sizes import Size, compare_sizes, find_sizes


def sizes(text: str) -> list[Size]:
    return list(find_sizes(text))


def lengths(text: str) -> list[list[str]]:
    """The lengths of each size, a range with both ends."""
    found = []
    for size in find_sizes(text):
        found.append(
            [
                f"{float(least):g}"
                if least == most
                else f"{float(least):g} to {float(most):g}"
                for least, most in size.lengths
            ]
        )
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 12 mm nodule", [["12"]]),
        ("a 12mm nodule", [["12"]]),
        ("a 5-mm nodule", [["5"]]),
        ("1.2 cm", [["12"]]),
        ("1,2 cm", [["12"]]),
        (".5 cm", [["5"]]),
        ("0.5 inches", [["12.7"]]),
        ("1 in.", [["25.4"]]),
        ("3 centimeters", [["30"]]),
        ("4 millimetre", [["4"]]),
        ("8 x 12 mm", [["12", "8"]]),
        ("8 mm x 1.2 cm", [["12", "8"]]),
        ("2 \u00d7 3 by 4 cm", [["40", "30", "20"]]),
        ("3.2 (AP) x 4.1 (TV) x 2 (CC) cm", [["41", "32", "20"]]),
        ("5-8 mm", [["5 to 8"]]),
        ("5\u20138 mm", [["5 to 8"]]),
        ("5 to 8 mm", [["5 to 8"]]),
        ("less than 5 mm", [["0 to 5"]]),
        ("<5 mm", [["0 to 5"]]),
        ("at least 3 cm", [["30 to inf"]]),
        ("up to 8 mm", [["8"]]),
        ("12 mm, previously 8 mm", [["12"], ["8"]]),
        ("2 in the left lung", []),
        ("2 in number", []),
        ("4 nodules", []),
        ("T5 and 30 mmol", []),
        ("1/2 cm", []),
        ("1,200 mm", []),
        ("12 x 8", []),
        ("0 mm", []),
        ("subcentimeter", []),
        ("30%", []),
    ],
)
def test_sizes_in_a_text(text: str, expected: list[list[str]]) -> None:
    assert lengths(text) == expected


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        # More than 20% of the reference's, and at least 2 mm.
        ("10 mm", "12 mm", "right"),
        ("10 mm", "12.1 mm", "wrong_minor"),
        ("10 mm", "8 mm", "right"),
        ("10 mm", "7.9 mm", "wrong_minor"),
        ("12 mm", "10 mm", "right"),
        ("3 mm", "4.9 mm", "right"),
        ("3 mm", "5 mm", "wrong_major"),
        ("5 mm", "7 mm", "wrong_minor"),
        ("100 mm", "119 mm", "right"),
        ("10 cm", "121 mm", "wrong_minor"),
        # One and a half times.
        ("10 mm", "14.9 mm", "wrong_minor"),
        ("10 mm", "15 mm", "wrong_major"),
        ("15 mm", "10 mm", "wrong_major"),
        ("15 mm", "10.1 mm", "wrong_minor"),
        # Dimensions and ranges.
        ("12 x 8 mm", "8 x 12 mm", "right"),
        ("12 x 8 mm", "1.2 cm", "right"),
        ("20 x 10 mm", "20 x 13 mm", "wrong_minor"),
        ("20 x 10 mm", "20 x 20 mm", "wrong_major"),
        ("5-8 mm", "6 mm", "right"),
        ("5-8 mm", "9-14 mm", "right"),
        ("5-8 mm", "11-14 mm", "wrong_minor"),
        ("less than 5 mm", "2 mm", "right"),
        ("more than 3 cm", "9 cm", "right"),
        ("more than 3 cm", "1 cm", "wrong_major"),
        # Several: each is held against one, so that the least is wrong.
        ("4 mm, 9 mm", "9 mm, 4 mm", "right"),
        ("4 mm, 9 mm", "9 mm, 9 mm", "wrong_major"),
        ("4 mm, 9 mm, 20 mm", "9 mm", "right"),
        ("9 mm", "20 mm, 9 mm", "right"),
        ("10 mm, 12 mm", "12 mm, 14.4 mm", "right"),
        ("10 mm, 20 mm", "13 mm, 30 mm", "wrong_major"),
    ],
)
def test_which_sizes_agree(reference: str, candidate: str, expected: str) -> None:
    assert compare_sizes(sizes(reference), sizes(candidate)) == expected


def test_without_a_size_there_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="both reports state a size"):
        compare_sizes(sizes("12 mm"), [])


AGREEMENTS = ("right", "wrong_minor", "wrong_major")


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
)
def test_of_several_sizes_the_best_pairing_counts(
    ours: list[int], theirs: list[int]
) -> None:
    """All pairings one to one are tried."""

    def agreement(reference: int, candidate: int) -> int:
        found = compare_sizes(sizes(f"{reference} mm"), sizes(f"{candidate} mm"))
        return AGREEMENTS.index(found)

    worst = []
    if len(ours) <= len(theirs):
        for chosen in permutations(theirs, len(ours)):
            worst.append(max(map(agreement, ours, chosen)))
    else:
        for chosen in permutations(ours, len(theirs)):
            worst.append(max(map(agreement, chosen, theirs)))
    texts = [", ".join(f"{length} mm" for length in side) for side in (ours, theirs)]
    found = compare_sizes(sizes(texts[0]), sizes(texts[1]))
    assert found == AGREEMENTS[min(worst)]


@given(st.integers(1, 400), st.integers(1, 400))
def test_the_rule_as_it_is_stated_whatever_the_units(ours: int, theirs: int) -> None:
    """Tenths of a millimetre, so that the rule is one of whole numbers."""
    difference = abs(ours - theirs)
    expected = "right"
    if difference >= 20 and difference * 5 > ours:
        expected = "wrong_minor"
        if max(ours, theirs) * 2 >= min(ours, theirs) * 3:
            expected = "wrong_major"
    in_mm = [f"{Decimal(tenths) / 10} mm" for tenths in (ours, theirs)]
    in_cm = [f"{Decimal(tenths) / 100} cm" for tenths in (ours, theirs)]
    for reference, candidate in product((in_mm[0], in_cm[0]), (in_mm[1], in_cm[1])):
        assert compare_sizes(sizes(reference), sizes(candidate)) == expected
