"""`judge compare` of runs of `judge stress`: judges side by side, and whether they differ."""

from __future__ import annotations

import csv
import io
import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
from scriptedhelp import Said, at_random, by_text, error, judged, line, with_errors, written
from support import Invoke

from judge.stress.comparison import compare_judges
from judge.stress.report import report_of
from judge.types import JudgeError

NAMES = ("denied", "side_swapped")


def candidates(folder: Path, n: int = 20) -> Path:
    studies = [f"s{at:02}" for at in range(n)]
    lines = [with_errors(s, name, "error", error("b")) for s in studies for name in NAMES]
    return written(folder, [*lines, *(line(s, "identical", "unchanged") for s in studies)])


def found_by(**which: set[int]) -> dict[str, Said]:
    return {f"{name} s{at:02}.": [("b", 4)] for name, of in which.items() for at in of}


def mid_p(b: int, c: int) -> float:
    n, least = b + c, min(b, c)
    below = sum(comb(n, at) for at in range(least)) / 2**n
    return min(1.0, 2 * below + comb(n, least) / 2**n)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    made = candidates(tmp_path / "made")
    first = found_by(denied={*range(10)}, side_swapped={*range(12)})
    second = found_by(denied={*range(1, 18)}, side_swapped={*range(3, 9)})
    first["denied s19."] = "bad"
    second["denied s02."] = "none"
    judged(made, made / "runs" / "one", by_text(first), name="one")
    judged(made, made / "runs" / "two", by_text(second), name="two")
    return made, compare_judges([(None, made)]).plain()


def test_differences_of_pairs_that_both_read(two: tuple[Path, dict[str, Any]]) -> None:
    _, found = two
    assert [one["name"] for one in found["judges"]] == ["one", "two"]
    denied, swapped = (one["differences"][0] for one in found["detection"])
    # Both read all but 2 and 19: the second finds 10 to 17 alone, the first 0 alone.
    assert (denied["n"], denied["alone"], denied["first_alone"]) == (18, 8, 1)
    assert denied["difference"] == pytest.approx(7 / 18)
    assert (swapped["n"], swapped["alone"], swapped["first_alone"]) == (20, 0, 6)
    assert swapped["difference"] == pytest.approx(-6 / 20)
    ps = mid_p(8, 1), mid_p(0, 6)
    assert (denied["p"], swapped["p"]) == pytest.approx(ps)
    least, most = sorted(ps)
    holm = {least: 2 * least, most: max(2 * least, most)}
    assert (denied["p_holm"], swapped["p_holm"]) == pytest.approx((holm[ps[0]], holm[ps[1]]))
    every = found["detection_all"]["differences"][0]
    moves = [[8, -1], [0, -6]]
    assert (every["n"], every["difference"]) == (38, pytest.approx(sum(map(sum, moves)) / 38))
    assert every["low"] < every["difference"] < every["high"]


def test_each_judge_has_the_figures_of_its_own_report(two: tuple[Path, dict[str, Any]]) -> None:
    made, found = two
    for at, name in enumerate(("one", "two")):
        own = report_of(made / "runs" / name).plain()
        for one, mine in zip(found["detection"], own["detection"], strict=True):
            assert one["judges"][at]["name"] == name
            assert one["judges"][at]["found"] == mine["found"]
            assert one["judges"][at]["lost"] == mine["lost"]
        for one, mine in zip(found["false_alarms"], own["false_alarms"], strict=True):
            assert one["judges"][at]["any"] == mine["any"]
        assert found["stability"][at]["why"] == own["stability"]["why"]
        assert found["judges"][at]["verdict"] == own["verdict"]


def test_the_command_in_each_form(invoke: Invoke, two: tuple[Path, dict[str, Any]]) -> None:
    made, found = two
    runs = ["A=" + str(made / "runs" / "one"), "B=" + str(made / "runs" / "two")]
    done = invoke("compare", *runs, "--format", "json")
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["detection"][0]["differences"][0]["name"] == "B"
    # With --allow judge they are runs of a model like any others.
    done = invoke("compare", *runs, "--allow", "judge")
    assert (done.exit_code, "Leaderboard" in done.stdout) == (0, True)
    table = invoke("compare", *runs).stdout
    assert "Found, less what A found" in table
    assert "+38.9" in table
    assert "| denied | 10/19 52.6%" in invoke("compare", *runs, "--format", "md").stdout
    rows = list(csv.DictReader(io.StringIO(invoke("compare", *runs, "--format", "csv").stdout)))
    (row,) = [one for one in rows if (one["name"], one["figure"]) == ("denied", "difference")]
    assert (row["judge"], row["alone"], row["first_alone"]) == ("B", "8", "1")
    assert float(row["p_holm"]) == found["detection"][0]["differences"][0]["p_holm"]


def test_what_cannot_be_compared(invoke: Invoke, tmp_path: Path, judged_examples: Path) -> None:
    made, others = candidates(tmp_path / "made", 3), candidates(tmp_path / "others", 2)
    one = judged(made, tmp_path / "1", at_random(1), prompt="terse")
    two = judged(made, tmp_path / "2", at_random(2), prompt="plain")
    found = compare_judges([(None, one), (None, two)]).plain()
    assert [of["name"] for of in found["judges"]] == ["scripted, terse", "scripted, plain"]
    again = judged(made, tmp_path / "3", at_random(3), prompt="terse", repeat=1)
    other = judged(others, tmp_path / "4", at_random(1))
    fine = judged(made, tmp_path / "5", at_random(1), rubric="fineradscore")
    for runs, names in (
        ([(None, one), (None, again)], "'scripted, terse'"),
        ([("a", one), ("b", one)], "same answers"),
        ([(None, one)], "two judges"),
        ([("a", one), ("b", other)], "other candidates"),
        ([("a", one), ("b", fine)], "green:3 and fineradscore:3"),
    ):
        with pytest.raises(JudgeError, match=names):
            compare_judges(runs)
    for words, names in (
        ((one, two, "--by", "site", "--sort", "GREEN"), "--by, --sort"),
        ((one, two, "--format", "latex"), "--format"),
        ((one, two, "--html", "p.html"), "--html"),
        ((one, judged_examples), "stress"),
    ):
        done = invoke("compare", *words)
        assert done.exit_code == 2
        assert names in done.stderr
