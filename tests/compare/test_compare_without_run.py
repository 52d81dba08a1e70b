"""A model that a rubric never judged has no place and no rank among that rubric's figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_runs import IDS, as_written, fail, judged, texts
from support import Invoke

from judge.comparing.comparison import compare_runs
from judge.comparing.names import RunChoice
from judge.report.compare_page.data import overview
from judge.report.leaderboard import all_tables
from judge.report.leaderboard_formats import as_latex
from judge.report.tables import Table
from judge.stats.compare import Comparison
from judge.stats.paired import Resampling

FEW = Resampling(1, resamples=100, flips=100)


@pytest.fixture
def runs(invoke: Invoke) -> list[Path]:
    """`best` has a run of GREEN alone, `a` and `b` of both rubrics."""
    found = [judged(invoke, "best", as_written())]
    for name, preds in (("a", texts()), ("b", texts("The lungs are clear."))):
        found += [judged(invoke, name, preds, rubric) for rubric in ("green", "fineradscore")]
    return found


def compared(runs: list[Path], sort: str) -> Comparison:
    choices = [RunChoice(run, run.name, run.name.partition("-")[2]) for run in runs]
    return compare_runs(choices, FEW, sort=sort)[1]


def table(comparison: Comparison, start: str, end: str = "") -> Table:
    (found,) = [
        one
        for one in all_tables(comparison)
        if one.title.startswith(start) and one.title.endswith(end)
    ]
    return found


def test_the_best_of_one_rubric_is_not_first_of_another(runs: list[Path]) -> None:
    by_green = compared(runs, "green")
    green = table(by_green, "Leaderboard", ", GREEN")
    assert green.head[:2] == ("rank", "model")
    assert green.rows[0][:2] == ("1", "best")
    fineradscore = table(by_green, "Leaderboard", ", FineRadScore")
    assert fineradscore.head[:2] == ("rank by GREEN", "model")
    assert [row[:2] for row in fineradscore.rows] == [row[:2] for row in green.rows[1:]]
    assert {row[1] for row in fineradscore.rows} == {"a", "b"}
    (latex,) = [
        part
        for part in as_latex(by_green).split("\n\n")
        if part.startswith("% Leaderboard") and part.splitlines()[0].endswith(", FineRadScore")
    ]
    assert "rank by GREEN & model" in latex
    assert " & best & " not in latex
    assert "no run of fineradscore is of best" in by_green.notes


def test_nothing_is_tested_or_ranked_by_a_rubric_without_a_run(runs: list[Path]) -> None:
    by_severity = compared(runs, "severity_sum")
    assert len(table(by_severity, "Ranks by").rows) == 2
    tests = table(by_severity, "Differences in")
    assert [set(row[:2]) for row in tests.rows] == [{"a", "b"}]
    assert "pairs" not in tests.title
    of_all = overview(by_severity)["groups"][0]["tests"]
    n_models = len(by_severity.panel.models)
    assert len(of_all[by_severity.sort]) == 1
    assert len(of_all["green"]) == n_models * (n_models - 1) // 2
    summary = table(by_severity, "Summary")
    assert summary.rows[-1][:2] == ("n/a", "best")


def test_a_run_of_which_nothing_was_scored_stays_in_its_table(runs: list[Path]) -> None:
    fail(runs[1], IDS)
    green = table(compared(runs, "severity_sum"), "Leaderboard", ", GREEN")
    assert "a" in [row[1] for row in green.rows]
    by_green = compared(runs, "green")
    row = table(by_green, "Leaderboard", ", GREEN").rows[-1]
    assert row[:3] == ("n/a", "a", "n/a (n 0)")
