"""What each model gets wrong: errors by category and level, counted from the annotations."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from judged_runs import IDS, as_written, data, fail, judged, texts
from support import Invoke

from judge import Run, compare
from judge.report.leaderboard import TABLES

LEVELS = {"green": "significance", "fineradscore": "severity"}


def counted(run: Path, rubric: str, ids: list[str] = IDS) -> Counter[tuple[str | None, str]]:
    """The errors of a run by category and level, None for all, from its annotations alone."""
    found: Counter[tuple[str | None, str]] = Counter()
    for record in Run(run).records():
        if record["study_id"] not in ids or record["annotation"] is None:
            continue
        for item in record["annotation"]["items"]:
            if LEVELS[rubric] in item["labels"]:
                (level,) = item["labels"][LEVELS[rubric]]
                found[None, level] += 1
                found.update((category, level) for category in item["labels"]["category"])
    return found


def tables(text: str) -> dict[str, list[list[str]]]:
    """The rows of each table that was printed, by its title."""
    found: dict[str, list[list[str]]] = {}
    for block in re.split(r"\n\n(?=\S)", text):
        title, *lines = block.split("\n")
        rows = [re.split(r" {2,}", line.strip()) for line in lines if re.search(r"\d", line)]
        found[title] = rows
    return found


@pytest.mark.parametrize("rubric", LEVELS)
def test_errors_are_those_of_the_annotations(invoke: Invoke, rubric: str) -> None:
    said = {"one": None, "two": "Large left effusion. No pneumothorax."}
    runs = {name: judged(invoke, name, texts(same), rubric) for name, same in said.items()}
    found = data(invoke, *runs.values())["groups"][0]["errors"]
    assert {row["rubric"] for row in found} == {rubric}
    for name, run in runs.items():
        wanted = counted(run, rubric)
        own = {(row["category"], row["level"]): row for row in found if row["model"] == name}
        assert sum(wanted.values()) > 10
        assert {cut: row["errors"] for cut, row in own.items() if row["errors"]} == wanted
        for row in own.values():
            assert row["n"] == len(IDS)
            assert row["per_study"] == pytest.approx(row["errors"] / len(IDS))
            assert row["low"] <= row["per_study"] <= row["high"]


def test_a_study_without_a_score_is_no_study_without_errors(invoke: Invoke) -> None:
    runs = judged(invoke, "a", texts()), judged(invoke, "b", as_written())
    fail(runs[0], IDS[:4])
    found = data(invoke, *runs)["groups"][0]["errors"]
    own = {(row["category"], row["level"]): row for row in found if row["model"] == "a"}
    wanted = counted(runs[0], "green", IDS[4:])
    assert {cut: row["errors"] for cut, row in own.items() if row["errors"]} == wanted
    assert {row["n"] for row in own.values()} == {len(IDS) - 4}
    printed = invoke("compare", *runs, "--tables", "errors").stdout
    assert f"a (n {len(IDS) - 4})" in printed
    assert "b (n" not in printed


def test_a_model_of_which_nothing_was_scored_is_left_out(invoke: Invoke) -> None:
    runs = judged(invoke, "a", texts()), judged(invoke, "b", as_written())
    fail(runs[0], IDS)
    found = data(invoke, *runs)["groups"][0]["errors"]
    assert {row["model"] for row in found} == {"b"}


def test_the_table_has_the_figures_of_each_model_level_by_level(invoke: Invoke) -> None:
    runs = {"a": judged(invoke, "a", texts()), "b": judged(invoke, "b", as_written())}
    printed = tables(invoke("compare", *runs.values(), "--tables", "errors").stdout)
    (title,) = (title for title in printed if title.startswith("Errors by category"))
    assert "(a) false finding, (b) missing finding" in title
    rows = printed[title]
    cuts = [*"abcdef", None]
    for level, words in (
        ("significant", "clinically significant"),
        ("insignificant", "clinically insignificant"),
    ):
        for name, run in runs.items():
            wanted = [f"{counted(run, 'green')[cut, level] / len(IDS):.3f}" for cut in cuts]
            assert [words, name, *wanted] in rows
    # Models beside each other, level by level, in the order of the leaderboard.
    assert [row[1] for row in rows] == ["b", "a", "b", "a"]


def test_errors_as_csv_have_a_row_a_cut_of_each_group(invoke: Invoke) -> None:
    runs = judged(invoke, "a", texts()), judged(invoke, "b", as_written())
    done = invoke("compare", *runs, "--by", "study_class", "--format", "errors")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["row"] for row in rows} == {"all", "group"}
    total: Counter[str] = Counter()
    for row in rows:
        total[row["row"]] += int(row["errors"])
    assert total["all"] == total["group"] > 10
    assert {row["signature"] for row in rows} == {rows[0]["signature"]}
    board = compare([str(run) for run in runs], by=["study_class"], tests=None)
    assert board.errors["errors"].sum() == sum(total.values())
    assert list(board.errors["model"].unique()) == ["a", "b"]


# What is printed


def printed_titles(invoke: Invoke, *args: object) -> list[str]:
    done = invoke("compare", *args)
    assert done.exit_code == 0, done.stderr
    return list(tables(done.stdout))


@pytest.fixture
def both(invoke: Invoke) -> list[Path]:
    return [
        judged(invoke, name, preds, rubric)
        for rubric in LEVELS
        for name, preds in (("a", texts()), ("b", as_written()))
    ]


def test_tables_are_those_asked_for(invoke: Invoke, both: list[Path]) -> None:
    begins = {
        "leaderboard": ["Summary", "Leaderboard", "Leaderboard"],
        "errors": ["Errors by category"] * 2,
        "tests": ["Differences"],
        "ranks": ["Ranks"],
        "correlations": ["Correlation"] * 3,
    }
    assert tuple(begins) == TABLES
    for name, wanted in begins.items():
        for form in (), ("--format", "md"):
            done = invoke("compare", *both, "--tables", name, *form)
            found = re.findall(
                r"^\W*(Summary|Leaderboard|Errors by category|Differences|Ranks|Correlation)\b",
                done.stdout,
                re.MULTILINE,
            )
            assert found == wanted, (name, form)
        latex = invoke("compare", *both, "--tables", name, "--format", "latex").stdout
        assert latex.count(r"\begin{tabular}") == len(wanted)
    assert invoke("compare", *both, "--tables", "errors,ranks", "--tables", "tests").exit_code == 0


def test_help_names_the_tables_that_there_are(invoke: Invoke) -> None:
    told = " ".join(invoke("compare", "--help").stdout.split())
    assert ", ".join(TABLES) in told


def test_a_leaderboard_has_the_columns_asked_for(invoke: Invoke, both: list[Path]) -> None:
    asked = ("--tables", "leaderboard", "--columns", "GREEN,1/FineRadScore")
    found = tables(invoke("compare", *both, *asked).stdout)
    (title,) = (title for title in found if title.startswith("Leaderboard"))
    assert title == f"Leaderboard by 1/FineRadScore: all studies ({len(IDS)})"
    assert not any(title.startswith("Summary") for title in found)
    head = invoke("compare", *both, *asked, "--format", "md").stdout.splitlines()[2]
    assert re.findall(r"[^|\s][^|]*[^|\s]", head) == ["rank", "model", "GREEN", "1/FineRadScore"]


def test_a_row_a_model_comes_first_where_leaderboards_are_several(
    invoke: Invoke, both: list[Path]
) -> None:
    text = invoke("compare", *both, "--no-tests").stdout
    first = text[text.index("Summary") : text.index("Leaderboard")]
    cells: dict[str, Any] = data(invoke, *both, "--no-tests")["groups"][0]["cells"]
    for model in ("a", "b"):
        (line,) = (line for line in first.splitlines() if f" {model} " in line)
        for metric in ("inverse_fineradscore", "green"):
            assert f"{cells[metric][model]['value']:.3f}" in line
        rate = cells["green_no_significant_error"][model]["value"]
        assert f"{100 * rate:.1f}%" in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tables", "errrors"), "no table 'errrors' in a comparison; choose of leaderboard"),
        (("--columns", "BLEURT"), "no metric 'BLEURT' among these runs"),
        (("--tables", "errors", "--format", "csv"), "--format csv has everything"),
        (("--columns", "GREEN", "--format", "json"), "--format json has everything"),
    ],
)
def test_what_is_not_there_is_refused(
    invoke: Invoke, both: list[Path], options: tuple[str, ...], words: str
) -> None:
    done = invoke("compare", *both, *options)
    assert done.exit_code != 0
    assert words in done.stderr
    assert done.stdout == ""
