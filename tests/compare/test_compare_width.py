"""Tables on terminals of every width: nothing is cut off, no number is broken."""

from __future__ import annotations

import io
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from panels import panel_of
from rich.cells import cell_len
from rich.console import Console
from seeded_comparison import seeded

from judge import rubrics
from judge.report import leaderboard
from judge.report.leaderboard import all_tables, board
from judge.report.tables import Table
from judge.report.terminal import as_rich
from judge.stats.compare import compare
from judge.stats.metric import rubric_metrics
from judge.stats.paired import Resampling

NUMBER = re.compile(r"[-+]?\d+\.\d+%?")
WIDE = Table(
    "Figures 数字 of a model",
    ("rank", "model", "figure", ""),
    (
        ("1", "放射線科のレポートを書くモデルの名前", "0.747 ± 0.020", "n/a"),
        (
            "2=",
            "a-name-without-any-space-in-it-and-of-forty-letters",
            "-0.100 [-0.123, +0.100]",
            "",
        ),
        ("3", "two\nlines\tand \x1b[31mred\u202e", "100.0% [98.8, 100.0] (n 12)", "< 0.001"),
    ),
    n_left=2,
)
NARROW = Table("One", ("a",), (("1.000",),))
EMPTY = Table("None at all", ("study", "score"), ())


@cache
def printed(table: Table, width: int) -> list[str]:
    """The lines of a table; each is drawn once for all that is asked of it."""
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(as_rich(table, width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def letters(text: str) -> str:
    return "".join(text.split())


@cache
def tables() -> list[Table]:
    comparison = seeded(4, tests=True, by=("study_class",))
    return [*all_tables(comparison), WIDE, NARROW, EMPTY]


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.title[:40])
def test_every_letter_is_there_at_every_width(table: Table) -> None:
    cells = [letters(cell) for row in (table.head, *table.rows) for cell in row]
    cells = [cell.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e") for cell in cells]
    wanted = Counter("".join(cells))
    for width in (2, 5, 12, 24, *range(30, 201)):
        lines = printed(table, width)
        assert all(cell_len(line) <= width for line in lines), width
        found = Counter(letters("".join(lines)))
        missing = [letter for letter, n in wanted.items() if found[letter] < n]
        assert not missing or not table.rows, (width, missing)


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.title[:40])
def test_no_number_is_broken(table: Table) -> None:
    wanted = sorted(
        found for row in table.rows for cell in row[2:] for found in NUMBER.findall(cell)
    )
    for width in range(30, 201):
        found = sorted(found for line in printed(table, width) for found in NUMBER.findall(line))
        missing = [number for number in set(wanted) if found.count(number) < wanted.count(number)]
        assert not missing, width


def test_what_is_left_goes_to_the_columns_that_lack_least() -> None:
    table = Table("t", ("a b", "c d e f g h i j k l m n o p"), (("1", "2"),))
    assert printed(table, 36)[2] == "  a b   c d e f g h i j k l m n o p"
    assert printed(table, 34)[2:4] == [
        "        c d e f g h i j k l m n o",
        "  a b                           p",
    ]


def test_names_are_broken_before_numbers_are() -> None:
    table = Table("t", ("model", "a", "b"), (("x" * 30, "0.500 [0.400, 0.600] (n 9)", "12"),))
    assert printed(table, 40)[4:7] == [
        "  xxxxxxxxxxxxxxxxxx           0.500  12",
        "  xxxxxxxxxxxx        [0.400, 0.600]",
        "                               (n 9)",
    ]
    assert printed(table, 28)[4:7] == [
        "  xxxxxxxxxxxx     0.500  12",
        "  xxxxxxxxxxxx   [0.400,",
        "  xxxxxx          0.600]",
    ]


def test_a_row_that_does_not_fit_has_a_line_for_each_cell() -> None:
    table = Table(
        "t",
        ("rank", "model", *(f"figure {n}" for n in range(9))),
        (("1", "x", *["0.500 ± 0.100"] * 9),) * 2,
    )
    lines = printed(table, 40)
    assert lines[2:5] == ["rank: 1", "model: x", "figure 0: 0.500 ± 0.100"]
    assert lines[13] == ""


def test_a_piped_table_ends_its_lines_without_spaces() -> None:
    assert printed(NARROW, 2000) == ["One", "", "  a", " ───────", "  1.000", ""]


# The leaderboard


def board_of(*names: str, n_models: int = 3, sort: str | None = None):
    metrics = [metric for name in names for metric in rubric_metrics(rubrics.load(name))]
    rng = np.random.default_rng(5)
    values = {
        metric: rng.integers(0, 2, (300, n_models))
        if metric.kind == "rate"
        else rng.integers(1, 5, (300, n_models)) / (4 if metric.name == "green" else 1)
        for metric in metrics
    }
    panel = panel_of(values)
    return compare(panel, sort=sort, how=Resampling(1, 100, 100))


def test_headings_need_not_name_the_rubric_that_the_title_names() -> None:
    green, fine = (
        next(t for t in all_tables(board_of("green", "fineradscore")) if t.title.endswith(title))
        for title in (", GREEN", ", FineRadScore")
    )
    assert green.head[2:] == ("GREEN", "errors per study", "no clinically significant error")
    assert "severity sum" in fine.head
    assert not any("(" in name for name in fine.head)


@pytest.mark.parametrize(
    ("names", "sort", "end"),
    [
        (("green",), None, "by GREEN: all studies (300)"),
        (("fineradscore",), "severity sum", "by severity sum: all studies (300), FineRadScore"),
        (("green", "fineradscore"), "GREEN", "by GREEN: all studies (300), GREEN"),
    ],
)
def test_a_title_names_the_rubric_once(names: tuple[str, ...], sort: str | None, end: str) -> None:
    titles = [table.title for table in all_tables(board_of(*names, sort=sort))]
    assert next(title for title in titles if "Leaderboard" in title) == f"Leaderboard {end}"


def test_both_rubrics_of_three_models_fit_eighty_columns() -> None:
    models = ("neighbour", "indication", "random")
    for table in all_tables(seeded(3, models=models, others=False, tests=True)):
        lines = printed(table, 80)
        rows = lines[[set(line) for line in lines].index({" ", "─"}) + 1 :]
        # A figure, the two ends of its interval and its number of studies take a line each
        # at the most.
        assert len([line for line in rows if line]) <= 4 * len(table.rows), table.title
        assert any(models[0] in line for line in rows) or "Correlation" in table.title


def test_a_table_of_two_rubrics_keeps_their_names() -> None:
    comparison = seeded(2, others=True)
    metrics = [m for m in comparison.panel.metrics if m.what == "count"]
    head = board(comparison, comparison.groups[0], metrics).head
    assert head[2:] == ("errors per study (GREEN)", "errors per study (FineRadScore)")


def test_differences_of_rates_are_in_points() -> None:
    table = leaderboard.tests_table(board_of("green", sort="no significant error"), 0)
    assert re.fullmatch(r"[-+]\d+\.\d points \[[-+.\d]+, [-+.\d]+\]", table.rows[0][3])
    assert "points" not in leaderboard.tests_table(board_of("green"), 0).rows[0][3]
