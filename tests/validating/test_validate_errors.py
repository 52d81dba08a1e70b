"""Which errors of a judge and of a reader are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Invoke
from validatehelp import TIDY, imported, judged, one, validated

from judge.validating.errors import mention, pairs

A, B, NO_CATEGORY = frozenset("a"), frozenset("b"), frozenset[str]()


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ((A, "left pleural effusion"), (A, "effusion on the left"), True),
        ((A, "left pleural effusion"), (B, "effusion on the left"), False),
        ((A, "left pleural effusion"), (frozenset("ab"), "effusion"), True),
        ((A, "left pleural effusion"), (A, "pneumothorax on the left"), False),
        ((NO_CATEGORY, "left pleural effusion"), (B, "effusion"), True),
        # The lexicon knows neither: half of the words of the shorter decide.
        ((A, "wording is unclear throughout"), (A, "unclear wording"), True),
        ((A, "wording is unclear throughout"), (A, "the sentence is too long"), False),
        ((A, "wording"), (A, ""), False),
        # Words that errors are told with say nothing of what they are about.
        (
            (NO_CATEGORY, 'the reference says "collapse", the candidate says "normal chest"'),
            (A, "the candidate says normal and lists findings"),
            False,
        ),
        ((A, "the candidate report does not mention it"), (A, "not mentioned"), False),
    ],
)
def test_errors_are_the_same_by_category_and_words(
    first: tuple[frozenset[str], str], second: tuple[frozenset[str], str], same: bool
) -> None:
    one_way, other = mention(first[1], first[0]), mention(second[1], second[0])
    assert bool(one_way.likeness(other)) is same
    assert one_way.likeness(other) == other.likeness(one_way)


def test_each_error_has_one_partner_the_most_alike_first() -> None:
    mine = [mention("large left pleural effusion", A), mention("pleural effusion", A)]
    theirs = [mention("effusion", A), mention("large left pleural effusion", A)]
    assert sorted(pairs(mine, theirs)) == [(0, 1), (1, 0)]
    assert pairs(mine[:1], theirs) == [(0, 1)]
    assert pairs(mine, []) == []


@pytest.fixture
def runs(invoke: Invoke, tmp_path: Path) -> tuple[Path, Path]:
    """Twenty studies with a false effusion, which both readers see, and one another."""
    further = {
        f"q{at}": {"reference": "No pleural effusion.", "candidate": "Large pleural effusion."}
        for at in range(20)
    }
    rows: list[list[object]] = []
    for at in range(20):
        rows += [
            [f"q{at}", reader, "a", "yes", "", "pleural effusion"] for reader in ("ann", "ben")
        ]
        if at < 5:
            rows.append([f"q{at}", "ben", "b", "no", "", "rib fracture left out"])
    readers = imported(invoke, tmp_path / "readers", rows, further)
    return judged(invoke, tmp_path / "judge", readers / "reader-ann"), readers


def test_recall_and_precision_count_errors_of_each_reader(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1])["errors"]
    judge = one(found, rater="lexicon", category=None)
    assert (judge["recall"]["k"], judge["recall"]["n"]) == (40, 45)
    assert (judge["precision"]["k"], judge["precision"]["n"]) == (40, 40)
    assert judge["recall"]["low"] < 40 / 45 < judge["recall"]["high"]
    # Wilson's of 20 of 20 studies: that each has two readers does not make them 40.
    assert judge["precision"]["low"] == pytest.approx(0.839, abs=1e-3)
    missed = one(found, rater="lexicon", category="b")
    assert (missed["recall"]["k"], missed["recall"]["n"]) == (0, 5)
    assert missed["precision"]["value"] is None
    ben = one(found, rater="ben", category=None)
    assert (ben["recall"]["k"], ben["recall"]["n"]) == (20, 20)
    assert (ben["precision"]["k"], ben["precision"]["n"]) == (20, 25)
    text = invoke("validate", runs[0], "--readers", runs[1]).stdout
    assert "40/45 88.9%" in text
    assert "40/40 100.0%" in text


def test_errors_without_a_text_are_in_no_number_and_said(invoke: Invoke, tmp_path: Path) -> None:
    readers = tmp_path / "readers"
    invoke("import", "tidy", TIDY, "--section", "findings", "--out", readers)
    judge = judged(invoke, tmp_path / "judge", readers / "reader-fern")
    found = validated(invoke, judge, "--readers", readers)
    assert "15 errors of reed have no text: the studies with them are not matched" in found["notes"]
    assert {row["rater"] for row in found["errors"]} == {"lexicon", "fern", "moss"}
    alone = validated(invoke, judge, "--readers", readers / "reader-reed")
    assert alone["errors"] == []


def test_a_study_with_an_error_without_text_is_left_out_for_its_reader(
    invoke: Invoke, tmp_path: Path
) -> None:
    texts = {"reference": "No pleural effusion.", "candidate": "Large pleural effusion."}
    rows: list[list[object]] = [
        [f"q{at}", "ann", "a", "yes", 1 if at < 4 else "", "" if at < 4 else "pleural effusion"]
        for at in range(12)
    ]
    readers = imported(invoke, tmp_path / "readers", rows, {f"q{at}": texts for at in range(12)})
    judge = judged(invoke, tmp_path / "judge", readers / "reader-ann")
    found = validated(invoke, judge, "--readers", readers)
    row = one(found["errors"], rater="lexicon", category=None)
    assert (row["precision"]["k"], row["precision"]["n"]) == (8, 8)
    assert (row["recall"]["k"], row["recall"]["n"]) == (8, 8)
    assert "4 errors of ann have no text: the studies with them are not matched" in found["notes"]
