"""Tables on terminals of every width: nothing is cut off, no number is broken."""

from __future__ import annotations

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console
from seeded_comparison import seeded

from judge.report.leaderboard import all_tables
from judge.report.tables import Table
from judge.report.terminal import as_rich

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
LEADERBOARD = all_tables(seeded(4, tests=True, by=("study_class",)))[0]


def printed(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(as_rich(table, width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("table", [WIDE, LEADERBOARD], ids=["wide", "leaderboard"])
def test_every_letter_and_number_is_there_at_every_width(table: Table) -> None:
    text = "".join("".join(row) for row in (table.head, *table.rows))
    text = text.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e")
    letters = Counter("".join(text.split()))
    numbers = Counter(n for row in table.rows for cell in row[2:] for n in NUMBER.findall(cell))
    for width in (2, 12, 24, *range(30, 201, 5)):
        lines = printed(table, width)
        assert all(cell_len(line) <= width for line in lines), width
        assert not letters - Counter("".join("".join(lines).split())), width
        if width >= 30:
            assert not numbers - Counter(n for line in lines for n in NUMBER.findall(line)), width
