"""Errors that two judges, or a judge and a reader, see differently."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from answered_runs import answered, green
from support import EXAMPLES, Invoke

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import read_scores
from judge.pages import disagreements as pages
from judge.pages.disagreements import disagreement_pieces
from judge.rubrics import load
from judge.study.disagreements import (
    KINDS,
    Disagreements,
    SeenError,
    _Error,
    _only_ones,
    judge_disagreements,
)

REFERENCE = (
    "Small left pleural effusion. Left apical pneumothorax. Cardiomegaly, now worse."
)
CANDIDATE = (
    "Consolidation in the right lower lobe. Heart size is normal. No pneumothorax."
)
NAMES = {
    "significant_alone": "significant, seen by one",
    "significance": "significant for one",
    "category": "another category",
    "alone": "not significant, seen by one",
}


def judged(
    tmp_path: Path,
    first: dict[str, str | None],
    second: dict[str, str | None],
    rubric: str = "green",
) -> Disagreements:
    """What two judges of the same reports, `first` and `second`, see differently."""
    texts = {"reference": REFERENCE, "candidate": CANDIDATE}
    a = answered(tmp_path / "a", first, rubric, judge="test-1", **texts)
    b = answered(tmp_path / "b", second, rubric, judge="test-2", **texts)
    choices = [RunChoice(a, "a", "first"), RunChoice(b, "b", "second")]
    (found,) = judge_disagreements(read_scores(choices, allow=("judge",)))
    return found


def kinds(found: Disagreements) -> dict[str, list[str]]:
    """By study the kinds of its errors, in their order."""
    return {
        study.study_id: [error.difference.name for error in study.errors]
        for study in found.studies
    }


EFFUSION = "1. Left pleural effusion"
PNEUMOTHORAX = "1. Apical pneumothorax"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            green({"b": EFFUSION}),
            green({"b": "1. The effusion on the left is not mentioned"}),
            ["agreed"],
            id="one finding in other words",
        ),
        pytest.param(
            green({"b": EFFUSION}),
            green({"b": PNEUMOTHORAX}),
            ["significant_alone", "significant_alone"],
            id="two findings of one category",
        ),
        pytest.param(
            green({"b": EFFUSION}),
            green(insignificant={"b": EFFUSION}),
            ["significance"],
            id="another level",
        ),
        pytest.param(
            green({"b": EFFUSION}),
            green({"d": EFFUSION}),
            ["category"],
            id="another category",
        ),
        pytest.param(
            green({"b": EFFUSION}),
            green(insignificant={"d": EFFUSION}),
            ["significance"],
            id="another category and level: the level is worth more",
        ),
        pytest.param(
            green(insignificant={"b": EFFUSION}),
            green(),
            ["alone"],
            id="not significant, and alone",
        ),
        pytest.param(
            green({"b": "2. Left pleural effusion; Apical pneumothorax"}),
            green({"b": "2. Pneumothorax at the apex; Effusion"}),
            ["agreed", "agreed"],
            id="each finds its own, whatever the order",
        ),
        pytest.param(
            green({"b": "2. Left pleural effusion; Small pleural effusion"}),
            green({"b": EFFUSION}),
            ["significant_alone", "agreed"],
            id="an error is in one pair at most",
        ),
        pytest.param(
            green({"f": "1. Cardiomegaly is worse than before"}),
            green({"f": "1. The change over time is left out"}),
            ["agreed"],
            id="the only ones of a category, of which one names no finding",
        ),
        pytest.param(
            green(
                {"b": "2. Left pleural effusion; Apical pneumothorax"},
            ),
            green({"b": "1. The reference says more than that"}),
            ["significant_alone", "significant_alone", "significant_alone"],
            id="nothing says which of two it is",
        ),
        pytest.param(
            green({"a": "1. Consolidation", "b": EFFUSION}),
            green({"b": EFFUSION}, {"a": "1. Right lower lobe consolidation"}),
            ["significance", "agreed"],
            id="what differs comes first",
        ),
        pytest.param(green(), green(), None, id="no errors"),
    ],
)
def test_errors_are_paired(
    tmp_path: Path, first: str, second: str, expected: list[str] | None
) -> None:
    found = judged(tmp_path, {"s": first}, {"s": second})
    assert kinds(found) == ({} if expected is None else {"s": expected})
    # The other way round the same errors are the same.
    swapped = judged(tmp_path / "swapped", {"s": second}, {"s": first})
    assert sorted(kinds(swapped).get("s", [])) == sorted(expected or [])


def test_an_error_of_two_categories_is_in_one_pair_at_most() -> None:
    def error(*categories: str) -> _Error:
        level = load("fineradscore").facet("severity").labels[1]
        seen = SeenError(
            text="It.", categories=categories, level=level, is_significant=False
        )
        return _Error(seen, False, frozenset(), frozenset(), {})

    both, first, second = error("a", "b"), error("a"), error("b")
    assert list(_only_ones({0: both}, {0: first, 1: second})) == []
    assert list(_only_ones({0: both}, {1: second})) == [(0, 1)]
    assert list(_only_ones({0: first, 1: second}, {0: both})) == []


def test_studies_most_worth_looking_at_come_first(tmp_path: Path) -> None:
    both, one = "2. Left pleural effusion; Apical pneumothorax", EFFUSION
    first = {
        "s1": green(insignificant={"b": one}),
        "s2": green({"b": one}),
        "s3": green({"b": one}),
        "s4": green({"b": both}),
        "s5": green({"b": one}),
        "s6": green({"b": one}),
        "s7": None,
    }
    second = {
        "s1": green(),
        "s2": green(insignificant={"b": one}),
        "s3": green(),
        "s4": green(),
        "s5": green({"b": one}),
        "s6": green({"c": one}),
        "s7": green({"b": one}),
    }
    found = judged(tmp_path, first, second)
    assert [study.study_id for study in found.studies] == [
        *("s4", "s3", "s2", "s6", "s1", "s5")
    ]
    assert [study.study_id for study in found.differing] == [
        *("s4", "s3", "s2", "s6", "s1")
    ]
    # s7 was not scored by the first.
    assert found.n_studies == 6
    assert [study.worth for study in found.studies] == [
        (2, 0, 0, 0, 0),
        (1, 0, 0, 0, 0),
        (0, 1, 0, 0, 0),
        (0, 0, 0, 1, 0),
        (0, 0, 0, 0, 1),
        (0, 0, 0, 0, 0),
    ]


def rows(invoke: Invoke, *words: object) -> list[dict[str, str]]:
    done = invoke(*words, "--table", "disagreements", "--format", "csv")
    assert done.exit_code == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_judge_compare_prints_what_two_judges_see_differently(
    tmp_path: Path, invoke: Invoke
) -> None:
    texts = {"reference": REFERENCE, "candidate": CANDIDATE}
    grave = {"s": green({"b": EFFUSION})}
    light = {"s": green(insignificant={"b": EFFUSION})}
    a = answered(tmp_path / "a", grave, judge="j-1", **texts)
    b = answered(tmp_path / "b", light, judge="j-2", **texts)
    words = ("compare", f"first={a}", f"second={b}", "--allow", "judge")
    (row,) = rows(invoke, *words)
    del row["signature"]
    assert row == {
        "judge": "first",
        "other": "second",
        "study_id": "s",
        "difference": "significant for one",
        "category": "(b) missing finding",
        "judge_level": "clinically significant",
        "judge_error": "Left pleural effusion",
        "other_level": "clinically insignificant",
        "other_error": "Left pleural effusion",
    }
    shown = " ".join(invoke(*words, "--table", "disagreements").stdout.split())
    counts = (
        "1 study scored by both, 1 with a difference; errors: 1 significant for one"
    )
    assert counts in shown
    assert "each error is in one pair at most" in shown
    assert "Studies with most significant errors that only one" in shown


def test_runs_of_other_reports_are_not_two_judges(
    tmp_path: Path, invoke: Invoke
) -> None:
    a = answered(tmp_path / "a", {"s": green()})
    b = answered(tmp_path / "b", {"s": green()}, candidate="Another report.")
    done = invoke("compare", a, b, "--table", "disagreements")
    assert done.exit_code == 2
    assert "no two of these runs judged the same reports" in " ".join(
        done.stderr.split()
    )
    assert done.stdout == ""


def test_levels_of_two_scales_differ_in_significance_alone(
    tmp_path: Path, invoke: Invoke
) -> None:
    # GREEN's two levels meet the four of FineRadScore: from actionable on.
    runs = []
    for rubric in ("green", "fineradscore"):
        run = tmp_path / rubric
        files = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
        done = invoke(rubric, *files, "--judge", "lexicon", "--out", run)
        assert done.exit_code == 0, done.stderr
        runs.append(RunChoice(run, rubric, "one"))
    (found,) = judge_disagreements(read_scores(runs))
    assert found.name == "one (GREEN) and one (FineRadScore)"
    assert found.level == "actionable"
    names = {name for of_study in kinds(found).values() for name in of_study}
    assert "level" not in names
    assert "agreed" in names


# Readers


def test_judge_validate_prints_what_judge_and_readers_see_differently(
    read_examples: Path, invoke: Invoke
) -> None:
    words = ("validate", read_examples / "judged")
    found = rows(invoke, *words, "--readers", read_examples / "readers")
    assert [row["other"] for row in found] == sorted(row["other"] for row in found)
    of_fern = [row for row in found if row["other"] == "fern"]
    told = [(row["study_id"], row["difference"]) for row in of_fern]
    assert told == [
        ("ex-015", NAMES["significant_alone"]),
        ("ex-015", NAMES["significant_alone"]),
        ("ex-015", NAMES["alone"]),
        ("ex-015", NAMES["alone"]),
        ("ex-009", NAMES["significance"]),
        ("ex-012", NAMES["significance"]),
    ]
    tip = of_fern[4]
    assert tip["judge_level"] == "clinically significant"
    assert tip["other_level"] == "clinically insignificant"
    assert tip["other_error"] == "the tip is in the superior vena cava"
    # What a reader only counted is paired by its category.
    counted = [row for row in found if row["other_error"] == "(counted only)"]
    assert {(row["study_id"], row["difference"]) for row in counted} == {
        ("ex-010", NAMES["significance"]),
        ("ex-015", NAMES["significance"]),
    }


def test_the_first_fifty_errors_are_printed_and_csv_has_all(
    tmp_path: Path, invoke: Invoke
) -> None:
    texts = {"reference": REFERENCE, "candidate": CANDIDATE}
    first = {f"s{at:02}": green({"b": EFFUSION}) for at in range(60)}
    a = answered(tmp_path / "a", first, judge="j-1", **texts)
    b = answered(tmp_path / "b", dict.fromkeys(first, green()), judge="j-2", **texts)
    words = ("compare", f"first={a}", f"second={b}", "--allow", "judge", "--no-tests")
    shown = invoke(*words, "--table", "disagreements").stdout
    assert "the first 50 of 60" in shown
    assert shown.count("significant, seen by one") == 50 + 1
    assert len(rows(invoke, *words)) == 60


# The page


def test_the_page_has_the_same_errors_in_the_same_order(
    tmp_path: Path, invoke: Invoke
) -> None:
    first = {
        "s1": green({"b": EFFUSION}, {"a": "1. Consolidation"}),
        "s2": green({"b": "2. Left pleural effusion; Apical pneumothorax"}),
        "s3": green({"b": EFFUSION}),
    }
    second = {
        "s1": green(insignificant={"b": EFFUSION}),
        "s2": green(),
        "s3": green({"b": EFFUSION}),
    }
    found = judged(tmp_path, first, second)
    pieces = dict(disagreement_pieces([found], lambda _pair, study: f"#{study}"))
    overview = json.loads(pieces["disagreements"])
    (pair,) = overview["pairs"]
    assert pair["summary"] == "3 studies scored by both, 2 with a difference."
    kinds_of_page = [kind["name"] for kind in overview["kinds"]]
    assert kinds_of_page == [kind.name for kind in KINDS]
    counts = {
        kind: (count["errors"], count["studies"])
        for kind, count in zip(kinds_of_page, pair["counts"], strict=True)
    }
    assert counts == {
        "significant_alone": ("2", "1"),
        "significance": ("1", "1"),
        "level": ("0", "0"),
        "category": ("0", "0"),
        "alone": ("1", "1"),
        "agreed": ("1", "1"),
    }
    studies = json.loads(pieces["disagreements-0"])["studies"]
    # A study without a difference is counted, not shown.
    assert [study["address"] for study in studies] == ["#s2", "#s1"]
    texts = [category["text"] for category in pair["categories"]]
    assert texts == ["(a) false finding", "(b) missing finding"]
    effusion, consolidation = studies[1]["errors"]
    assert kinds_of_page[effusion["kind"]] == "significance"
    assert [texts[place] for place in effusion["categories"]] == [effusion["category"]]
    assert effusion["a"] == {
        "text": "Left pleural effusion",
        "level": "clinically significant",
        "tone": "serious",
    }
    assert effusion["b"]["level"] == "clinically insignificant"
    assert consolidation["b"] is None
    words = ("compare", f"first={tmp_path / 'a'}", f"second={tmp_path / 'b'}")
    printed = rows(invoke, *words, "--allow", "judge")
    shown = []
    for study in studies:
        for error in study["errors"]:
            kind = overview["kinds"][error["kind"]]
            if kind["is_difference"]:
                shown.append((study["study_id"], kind["label"], error["category"]))
    assert shown == [
        (row["study_id"], row["difference"], row["category"]) for row in printed
    ]


def test_of_many_studies_the_page_has_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_STUDIES", 2)
    first = dict.fromkeys(("s1", "s2", "s3"), green({"b": EFFUSION}))
    found = judged(tmp_path, first, dict.fromkeys(first, green()))
    pieces = dict(disagreement_pieces([found], lambda _pair, study: f"#{study}"))
    (pair,) = json.loads(pieces["disagreements"])["pairs"]
    assert pair["shown"].startswith("The first 2 of 3 studies are here")
    assert len(json.loads(pieces["disagreements-0"])["studies"]) == 2
