"""A comparison as CSV, Markdown and LaTeX, with names that want to be something else."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from panels import INVERSE, SCORE, panel_of
from seeded_comparison import seeded

from judge.report.formats import markdown_table, own_columns
from judge.report.leaderboard import group_name
from judge.report.leaderboard_formats import (
    as_csv,
    as_latex,
    as_markdown,
    as_rexrank,
    pairs_as_csv,
)
from judge.report.tables import Table
from judge.stats.compare import Comparison, compare
from judge.stats.metric import KNOWN, find
from judge.stats.paired import Resampling
from judge.stats.panel import Panel
from judge.types import JudgeError

CSV_COLUMNS = (
    *("row", "n_studies", "model", "metric", "label"),
    *("n", "k", "value", "low", "high", "rank", "rank_low", "rank_high", "first", "signature"),
)
PAIRS_COLUMNS = (
    *("row", "metric", "model", "other", "n", "difference", "low", "high"),
    *("p", "p_holm", "test", "significant", "signature"),
)


def compared(field: str = "site", values: tuple = ("x", "y"), models: tuple = ("a", "b"), **more):
    rng = np.random.default_rng(2)
    column = tuple(values[at % len(values)] for at in range(12))
    base = panel_of(
        {SCORE: rng.random((12, 2)), INVERSE: 1 + rng.random((12, 2))}, **{field: column}
    )
    panel = Panel(models, base.study_ids, base.metrics, base.values, base.fields)
    return compare(panel, by=[field], how=Resampling(1, 100, 100), signature="s|x", **more)


# CSV


@pytest.mark.parametrize(
    ("write", "columns"), [(as_csv, CSV_COLUMNS), (pairs_as_csv, PAIRS_COLUMNS)]
)
def test_a_field_never_hides_a_column(write, columns: tuple[str, ...]) -> None:
    plain = list(csv.DictReader(io.StringIO(write(compared()))))
    assert set(plain[0]) == {*columns, "site"}
    for field in columns:
        rows = list(csv.DictReader(io.StringIO(write(compared(field)))))
        assert [row.pop(f"by_{field}") for row in rows] == [row["site"] for row in plain]
        # The name of the field stands in the seed of its groups' tests.
        drawn = ("low", "high", "rank_low", "rank_high", "first", "p", "p_holm", "significant")
        sure = [name for name in columns if name not in drawn]
        assert [[row[name] for name in sure] for row in rows] == [
            [row[name] for name in sure] for row in plain
        ]


def test_columns_of_fields_stay_different() -> None:
    assert own_columns(["label", "by_label", "site"], ["label"]) == {
        "label": "by_by_label",
        "by_label": "by_label",
        "site": "site",
    }
    assert own_columns(["x", "x"], []) == {"x": "x"}


def test_names_stand_in_csv_as_they_are() -> None:
    models = ("=1+1", '@a,"b"')
    rows = list(csv.DictReader(io.StringIO(as_csv(compared(models=models)))))
    assert {row["model"] for row in rows} == set(models)


def test_rexranks_figures_have_three_decimals() -> None:
    panel = panel_of({KNOWN["bleu2"]: [[0.63, 0.7471], [0.63, 0.7471]]})
    rows = list(csv.DictReader(io.StringIO(as_rexrank(compare(panel)))))
    assert [row["BLEU"] for row in rows] == ["0.747", "0.630"]


# Groups


def test_groups_of_different_values_have_different_headings() -> None:
    values = [None, "(none)", "", " ", 1, 1.5, "x"]
    names = [group_name({"site": value}) for value in values]
    assert names == [
        *("site (none)", "site '(none)'", "site ''", "site ' '", "site 1", "site 1.5", "site x"),
    ]
    assert group_name({"site": 1.0}) == "site 1"


# Markdown

EVIL = ("<script>alert(1)</script>", "a|b\n## c [x](http://y) *z* _w_ `v` \u202eu &lt; \\|")


def test_names_do_nothing_in_markdown() -> None:
    text = as_markdown(
        compared(values=("p\n| q |\n# r", "<b>"), models=EVIL, notes=("<i>no</i>te",))
    )
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "\u202e" not in text
    assert "](http" not in text
    assert "## Leaderboard by score: site p \\| q \\| # r (6)" in text.splitlines()
    for line in text.splitlines():
        assert line.startswith(("## ", "| ", "Note: ", "Signature: ")) or not line
    rows = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert all(len(unescaped(row)) == 4 for row in rows)
    assert r"\*z\* \_w\_ \`v\`" in text
    assert r"&amp;lt; \\\|" in text


def unescaped(row: str) -> list[str]:
    """The cells of a row, as GitHub cuts them."""
    marked = row.replace("\\\\", "").replace("\\|", "")
    return marked.strip("| ").split(" | ")


def test_what_needs_no_escape_stays_readable_in_markdown() -> None:
    row = (
        "CheXpert_Plus_v1.2",
        "+0.100 [-0.100, +0.200]",
        "< 0.001",
        "a & b",
        "71.0% [65.5, 76.0]",
    )
    text = markdown_table(Table("p < 0.05", row, (row,)))
    assert text.splitlines()[0] == "## p < 0.05"
    assert text.splitlines()[2] == "| " + " | ".join(row) + " |"


# LaTeX


def test_latex_has_the_tests_and_says_what_it_needs() -> None:
    text = as_latex(seeded(3, tests=True, by=("study_class",)))
    lines = text.splitlines()
    assert lines[0] == r"% needs \usepackage{booktabs}"
    assert "% Differences in GREEN: all studies" in lines
    assert "% Ranks by GREEN: all studies" in lines
    assert "% note a note <b>of</b> it" in lines
    assert lines[-1].startswith("% signature ")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}")
    assert r" & errors per study & no clinically significant error \\" in text


def test_latex_takes_no_name_for_a_command() -> None:
    comparison = compared(models=("[x]", "a|b*"), values=("u\nv", "%"), notes=("one\ntwo",))
    text = as_latex(comparison)
    assert "a\\textbar{}b*" in text
    assert "\n{}[x] & a" in text
    assert "% note one two" in text.splitlines()
    assert all(line.startswith("%") for line in text.splitlines() if "site" in line)
    for line in text.splitlines():
        assert not line.startswith(("[", "*"))


# What --sort takes


def sorts(comparison: Comparison, wanted: str) -> str:
    return find(comparison.panel.metrics, wanted).name


def test_metrics_are_found_by_what_is_printed() -> None:
    both, one = seeded(2), seeded(2, others=False)
    assert sorts(both, "errors per study (GREEN)") == "green_errors"
    assert sorts(both, "no actionable error") == "fineradscore_no_actionable_error"
    assert sorts(both, "No Error of Severity 2 or more") == "fineradscore_no_actionable_error"
    assert sorts(one, "1/FineRadScore") == "inverse_fineradscore"
    with pytest.raises(
        JudgeError, match=r"several metrics: green_errors .'errors per study .GREEN.'"
    ):
        sorts(both, "errors per study")
    with pytest.raises(JudgeError, match=r"green_errors .'errors per study .GREEN.'"):
        sorts(both, "nothing")
