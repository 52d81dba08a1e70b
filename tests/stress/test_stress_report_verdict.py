"""What a report says in words: of good judges, bad ones, and of almost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scriptedhelp import Said, by_text, error, judged, line, with_errors, written

from judge.stress.report import report_of

GRAVE: Said = [("a", 4)]


def many(n: int, change: str, group: str, *errors: dict[str, Any]) -> list[dict[str, Any]]:
    return [with_errors(f"s{at:02}", change, group, *errors) for at in range(n)]


def said(tmp_path: Path, lines: list[dict[str, Any]], answers: dict[str, Said], **how: Any) -> str:
    made = written(tmp_path / "made", lines)
    report = report_of(judged(made, tmp_path / "run", by_text(answers), **how), made)
    verdict = report.plain()["verdict"]
    assert len(verdict) <= 8
    assert all(one.endswith(".") for one in verdict)
    return "\n".join(verdict)


def test_what_is_missed_and_where(tmp_path: Path) -> None:
    lines = [
        *many(20, "denied", "error", error("b")),
        *many(20, "side_swapped", "error", error("c")),
        *many(9, "tip_moved", "error", error("c")),
    ]
    found = {f"denied s{at:02}.": [("b", 4)] for at in range(20)}
    found |= {f"side_swapped s{at:02}.": [("c", 1)] for at in range(12)}
    text = said(tmp_path, lines, found)
    assert "Sees 65.3% (32 of 49) of the single errors, 65.3% in the right category." in text
    assert "Of 49 errors on whose significance radiologists would not differ, 20 are" in text
    # Of nine tips nothing is said, though all are missed.
    assert "Worst at: side swapped (8 of 20 missed)." in text
    assert "tip" not in text


def test_at_most_three_classes_the_worst_first(tmp_path: Path) -> None:
    names = ("denied", "affirmed", "removed", "added", "side_swapped")
    lines = [one for name in names for one in many(10, name, "error", error("b"))]
    found = {
        f"{name} s{at:02}.": GRAVE
        for name, n in zip(names, (10, 1, 2, 3, 4), strict=True)
        for at in range(n)
    }
    text = said(tmp_path, lines, found)
    wanted = "affirmed (9 of 10 missed), removed (8 of 10 missed), added (7 of 10 missed)."
    assert wanted in text


def test_a_judge_that_finds_errors_everywhere(tmp_path: Path) -> None:
    lines = [
        *many(10, "identical", "unchanged"),
        *many(10, "reordered", "unchanged"),
        *many(10, "denied", "error", error("b")),
    ]
    found: dict[str, Said] = {f"denied s{at:02}.": GRAVE for at in range(10)}
    found |= {f"identical s{at:02}.": GRAVE for at in range(4)}
    found |= {f"reordered s{at:02}.": GRAVE for at in range(5)}
    text = said(tmp_path, lines, found)
    assert "Sees 100.0% (10 of 10)" in text
    assert "in 40.0% (4 of 10) of the reports that are identical" in text
    assert "means little" in text
    assert "Finds errors in 50.0% (5 of 10) of the reports in other words, sig" in text
    assert "significant errors in 50.0%" in text
    # Each report with an error has 2 / (2 + 1) instead of 1: one more of ten.
    assert (
        "Whether rewording moves the mean GREEN cannot be told (change -0.033 [-0.109, 0.042])."
    ) in text


def test_a_score_of_which_less_is_better(tmp_path: Path) -> None:
    lines = [*many(9, "identical", "unchanged"), *many(9, "reordered", "unchanged")]
    answers: dict[str, Said] = {f"reordered s0{at}.": [("a", 3)] for at in range(6)}
    text = said(tmp_path, lines, answers, rubric="fineradscore")
    assert "Rewording costs 1.333 highest severity on average (change 1.333" in text
    answers = {f"identical s0{at}.": [("a", 3)] for at in range(6)}
    text = said(tmp_path / "2", lines, answers, rubric="fineradscore")
    assert "Rewording gains 1.333 highest severity" in text


def test_what_moves_the_wrong_way(tmp_path: Path) -> None:
    errors = [error("b")] * 2
    lines = [one for k in range(3) for one in many(4, f"errors_{k}", "count", *errors[:k])]
    rising: dict[str, Said] = {f"errors_2 s0{at}.": GRAVE for at in range(4)}
    text = said(tmp_path, lines, rising)
    assert "More errors never move it the wrong way (in 4 studies)." in text
    falling = rising | {"errors_1 s00.": [("a", 4), ("b", 4)]}
    text = said(tmp_path / "2", lines, falling)
    assert (
        "With one more error the count falls in 25.0% (1 of 4) and the score gets better in 25.0% "
        "(1 of 4) of the studies." in text
    )


def test_hostile_texts(tmp_path: Path) -> None:
    base = many(4, "errors_1", "count", error("b"))
    lines = base + [
        {**one, "same_reading_as": f"{one['study']}/errors_1"}
        for name in ("instruction", "delimiters")
        for one in many(4, name, "hostile", error("b"))
    ]
    answers: dict[str, Said] = {
        f"{name} s0{at}.": [("b", 4)]
        for name in ("errors_1", "instruction", "delimiters")
        for at in range(4)
    }
    assert "No hostile text changed a reading (0 of 8)." in said(tmp_path, lines, answers)
    answers |= {"delimiters s00.": [], "delimiters s01.": "bad", "instruction s02.": "none"}
    answers |= {"delimiters s03.": [("c", 4)]}
    text = said(tmp_path / "2", lines, answers)
    # What failed says nothing of the text: 7 and not 8.
    assert (
        "Hostile texts changed 3 of 7 readings (42.9%), delimiters most: 1 to fewer errors, 1 to "
        "other errors, 1 to nothing readable." in text
    )


@pytest.mark.parametrize("answer", ["bad", "none"])
def test_all_unread(tmp_path: Path, answer: Said) -> None:
    lines = [*many(3, "identical", "unchanged"), *many(3, "denied", "error", error("b"))]
    answers = dict.fromkeys((one["after"] for one in lines), answer)
    text = said(tmp_path, lines, answers)
    assert text.startswith("None of the 6 candidates has a readable answer: ")
    assert "%" not in text


def test_some_unread(tmp_path: Path) -> None:
    lines = many(12, "denied", "error", error("b"))
    answers: dict[str, Said] = {"denied s00.": "bad", "denied s01.": "none", "denied s02.": "bad"}
    text = said(tmp_path, lines, answers)
    assert "3 of 12 candidates are in no rate (25.0%): 2 could not be read, 1 failed." in text
    assert "(0 of 9) of the single errors" in text


def test_nothing_that_shows_what_it_sees(tmp_path: Path) -> None:
    text = said(tmp_path, many(1, "identical", "unchanged"), {})
    assert text == "No candidate has a single error, so nothing is known of what it sees."


def test_one_study(tmp_path: Path) -> None:
    lines = [line("s1", "identical", "unchanged"), line("s1", "reordered", "unchanged")]
    lines += [with_errors("s1", "denied", "error", error("b"))]
    lines += [with_errors("s1", f"errors_{k}", "count", *[error("b")] * k) for k in (0, 1)]
    text = said(tmp_path, lines, {"reordered s1.": GRAVE})
    assert "Sees 0.0% (0 of 1) of the single errors" in text
    assert "Whether rewording moves the mean GREEN cannot be told (change -0.333)." in text
    assert "More errors do not move it at all." in text


def test_a_rubric_that_counts_no_errors(tmp_path: Path) -> None:
    lines = [*many(3, "identical", "unchanged"), *many(3, "reordered", "unchanged")]
    lines += many(3, "denied", "error", error("b"))
    made = written(tmp_path / "made", lines)
    answers: dict[str, Said] = {"reordered s01.": GRAVE}
    run = judged(made, tmp_path / "run", by_text(answers), rubric="toy_direct")
    found = report_of(run, made).plain()
    assert found["level"] is None
    assert found["categories"] == found["matrix"] == []
    assert found["detection_all"]["found"] is None
    assert found["false_alarms"][0]["any"] is found["false_alarms"][0]["significant"] is None
    assert found["score"]["name"] == "quality"
    assert found["false_alarms"][1]["score_change"]["mean"] == pytest.approx(-10 / 3)
    text = "\n".join(found["verdict"])
    assert "The rubric counts no errors" in text
    assert "moves the mean quality cannot be told (change -3.333 [-17.676, 11.009])" in text


def test_the_built_in_judge_knows_the_words(tmp_path: Path) -> None:
    lines = many(2, "denied", "error", error("b"))
    assert "A judge by a word list" in said(tmp_path, lines, {}, name="lexicon:mine.yaml")
    assert "word list" not in said(tmp_path / "2", lines, {}, name="lexical")
