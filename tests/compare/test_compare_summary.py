"""The first table of several rubrics: one row for each model, a block for each rubric."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from judged_runs import COPIED, data, fail, judged
from support import Invoke

import judge

Two = tuple[Path, Path]
FIGURES = (
    "green",
    "green_no_significant_error",
    "inverse_fineradscore",
    "fineradscore_no_significant_error",
)


@pytest.fixture
def runs(stock: dict[str, Path], fine: Two, tmp_path: Path) -> list[Path]:
    """`best` has a run of GREEN alone, `good` and `bad` have runs of both rubrics."""
    best = judged(tmp_path, "best", COPIED)
    return [best, stock["green-good"], stock["green-bad"], *fine]


def summary_of(invoke: Invoke, runs: list[Path], *more: object) -> str:
    done = invoke("compare", *runs, "--no-tests", "--table", "summary", *more)
    assert done.exit_code == 0, done.stderr
    return str(done.stdout)


def csv_of(invoke: Invoke, runs: list[Path], *more: object) -> list[dict[str, str]]:
    text = summary_of(invoke, runs, "--format", "csv", *more)
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_the_figures_of_the_leaderboard_of_each_rubric(
    invoke: Invoke, stock: dict[str, Path]
) -> None:
    by = ("--by", "study_class")
    rows = csv_of(invoke, [*stock.values()], *by)
    groups = data(invoke, *stock.values(), *by, "--no-tests")["groups"]
    assert len(rows) == 2 * len(groups)
    for row, group in zip(rows[::2], groups, strict=True):
        assert row["model"] == "good"
        for name in FIGURES:
            cell = group["cells"][name]["good"]
            assert float(row[name]) == cell["value"]
            assert float(row[f"{name}_low"]) == cell["low"]
        assert row["rank_by_green"] == "1"
        assert row["rank_by_inverse_fineradscore"] == "1"


def test_a_model_without_a_run_has_an_empty_cell_and_nobody_a_rank(
    invoke: Invoke, runs: list[Path]
) -> None:
    rows = {row["model"]: row for row in csv_of(invoke, runs)}
    assert {row["rank_by_green"] for row in rows.values()} == {"1", "3"}
    assert not any(name.startswith("rank_by_inverse") for name in rows["best"])
    assert rows["best"]["inverse_fineradscore"] == ""
    assert rows["best"]["inverse_fineradscore_n"] == ""
    assert float(rows["bad"]["inverse_fineradscore"]) > 0
    printed = summary_of(invoke, runs)
    (row,) = [line for line in printed.splitlines() if line.split()[:1] == ["best"]]
    assert row.split() == ["best", "1=", "1.000", "100.0%"]
    assert "FineRadScore: best has no run by it (empty cells)" in printed
    found = data(invoke, *runs, "--no-tests")["groups"][0]["summary"]
    by_model = {row["model"]: row["rubrics"] for row in found}
    assert by_model["best"]["fineradscore"] is None
    assert by_model["best"]["green"]["rank"] == 1
    assert by_model["bad"]["fineradscore"]["rank"] is None
    assert by_model["bad"]["fineradscore"]["figures"]["inverse_fineradscore"]["n"] == 15


def test_a_model_without_a_scored_study_has_no_figure_and_is_no_missing_run(
    invoke: Invoke, two: Two, fine: Two
) -> None:
    ids = [row["study_id"] for row in judge.Run.open(two[1]).table().to_dict("records")]
    fail(two[1], ids)
    runs = [*two, *fine]
    printed = summary_of(invoke, runs)
    assert "GREEN: no ranks are given, since a model has no figure by it" in printed
    (row,) = [line for line in printed.splitlines() if line.split()[:1] == ["bad"]]
    assert "n/a" in row
    found = data(invoke, *runs, "--no-tests")["groups"][0]["summary"]
    of_bad = next(row["rubrics"] for row in found if row["model"] == "bad")
    assert of_bad["green"]["figures"]["green"]["value"] is None
    assert of_bad["green"]["figures"]["green"]["n"] == 0


def test_latex_and_markdown_name_the_rubric_of_each_column(
    invoke: Invoke, runs: list[Path]
) -> None:
    latex = summary_of(invoke, runs, "--format", "latex").splitlines()
    above = next(line for line in latex if r"\multicolumn" in line)
    assert (
        above == r" & \multicolumn{5}{c}{FineRadScore} & \multicolumn{3}{c}{GREEN} \\"
    )
    at = latex.index(above)
    assert latex[at + 1] == r"\cmidrule(lr){2-6} \cmidrule(lr){7-9}"
    widths = {line.count("&") for line in latex[at + 2 :] if line.endswith(r"\\")}
    assert widths == {8}
    # The best of some models is not the best of all.
    assert any(r"\textbf{1.000}" in line for line in latex)
    (of_good,) = [line for line in latex if line.startswith("good &")]
    assert of_good.split(" & ")[1] == "1.000"
    markdown = summary_of(invoke, runs, "--format", "md")
    assert "| no significant error (GREEN) |" in markdown
    assert "| rank (GREEN) | GREEN |" in markdown


def test_one_rubric_has_no_summary(invoke: Invoke, two: Two) -> None:
    done = invoke("compare", *two, "--table", "summary", "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, "summary,signature\n")
    assert data(invoke, *two, "--no-tests")["groups"][0]["summary"] == []
    assert judge.compare([*two], tests=None).summary.empty


def test_it_is_printed_first_and_is_a_frame_in_python(runs: list[Path]) -> None:
    board = judge.compare(runs, tests=None)
    assert "Summary of 2 rubrics" in str(board)
    frame = board.summary.set_index("model")
    assert pd.isna(frame.loc["best", "inverse_fineradscore"])
    assert frame["green"].dtype == float
    # The leaderboard stays the first table of CSV.
    assert list(board.frame().columns) == list(board.figures.columns)
