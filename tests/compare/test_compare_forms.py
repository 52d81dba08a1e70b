"""A comparison as tables, CSV, Markdown, LaTeX and ReXrank's columns: whose number is where."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from panels import INVERSE, SCORE, panel_of
from support import EXAMPLES, Invoke

from judge import Run
from judge.stats.metric import KNOWN
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Comparison, Resampling, compare
from judge.tables import forms
from judge.tables.comparison import board, comparison_document
from judge.tables.forms import as_csv, as_latex, as_markdown

FEW = Resampling(seed=1, resamples=100, flips=100)
METRICS = ("bleu2", "radcliq")


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def rows_of(comparison: Comparison, table: str = "") -> list[dict[str, str]]:
    return csv_rows(as_csv(comparison_document(comparison, complete=True), table))


def renamed(panel: ScoreMatrix, models: tuple[str, ...]) -> ScoreMatrix:
    return ScoreMatrix(
        models, panel.study_ids, panel.metrics, panel.values, panel.fields
    )


def compared(
    field: str = "site", values: tuple = ("x", "y"), models: tuple = ("a", "b"), **more
):
    rng = np.random.default_rng(2)
    column = tuple(values[at % len(values)] for at in range(12))
    base = panel_of(
        {SCORE: rng.random((12, 2)), INVERSE: 1 + rng.random((12, 2))},
        **{field: column},
    )
    return compare(renamed(base, models), by=[field], how=FEW, signature="s|x", **more)


@pytest.fixture(scope="module")
def known() -> Comparison:
    """By BLEU-2 c is first, a and d are equal, b is last; by RadCliQ it is the other way round."""
    bleu = np.array([[0.5, 0.2, 0.9, 0.5], [0.7, 0.4, 0.8, 0.7], [0.6, 0.3, 0.7, 0.6]])
    return compare(
        panel_of({KNOWN["bleu2"]: bleu, KNOWN["radcliq"]: bleu + 1}), how=FEW
    )


# CSV


def test_csv_has_each_models_figures_by_rank(known: Comparison) -> None:
    rows = rows_of(known)
    assert [(row["rank"], row["model"]) for row in rows] == [
        *(("1", "c"), ("2", "a"), ("2", "d"), ("4", "b"))
    ]
    assert [float(row["bleu2"]) for row in rows] == pytest.approx([0.8, 0.6, 0.6, 0.3])
    ranks = rows_of(known, "ranks")
    radcliq = [row["rank"] for row in ranks if row["metric"] == "radcliq"]
    assert radcliq == ["4", "2", "2", "1"]
    for row in ranks:
        shares = known.rank_shares[0][row["metric"]][
            known.panel.models.index(row["model"])
        ]
        assert (row["interval_low"], row["interval_high"]) == (
            str(shares.low),
            str(shares.high),
        )
        assert float(row["first"]) == shares.shares[0]
    figures = {
        (name, row["model"]): float(row[name]) for row in rows for name in METRICS
    }
    pairs = rows_of(known, "tests")
    assert len(pairs) == 12
    for row in pairs:
        better, worse = (
            figures[row["metric"], row[name]] for name in ("model", "other")
        )
        assert float(row["difference"]) == pytest.approx(better - worse)
        assert row["significant"] == str(float(row["p_holm"]) < 0.05)


def test_a_field_never_hides_a_column() -> None:
    models = ("=1+1", '@a,"b"')  # a spreadsheet must not compute them
    for table in ("leaderboard", "tests", "ranks"):
        (*left, signature), named = (
            [*rows_of(compared(*field, models=models), table)[0]]
            for field in ((), ("model",))
        )
        assert signature == "signature"
        assert named == [
            "by_model" if name == "site" else name for name in (*left, signature)
        ]
    rows = rows_of(compared(models=models))
    assert {row["model"] for row in rows} == {f"'{name}" for name in models}
    assert {(row["row"], row["site"]) for row in rows} == {
        *(("all", ""), ("group", "x"), ("group", "y"))
    }


# Markdown

EVIL = (
    "<script>alert(1)</script>",
    "a|b\n## c [x](http://y) *z* _w_ `v` \u202eu &lt; \\|",
)


def test_names_do_nothing_in_markdown() -> None:
    comparison = compared(
        values=("p\n| q |\n# r", "<b>"), models=EVIL, notes=("<i>no</i>te",)
    )
    text = as_markdown(comparison_document(comparison))
    for piece in ("<script", "<b>", "<i>", "\u202e", "](http"):
        assert piece not in text
    assert "## Leaderboard by score: site p \\| q \\| # r (6)" in text.splitlines()
    for line in text.splitlines():
        assert (
            line.startswith(("## ", "| ", "|  |", "p (Holm)", "Signature: "))
            or not line
        )
    for row in (line for line in text.splitlines() if line.startswith("| 1 |")):
        # As GitHub cuts them.
        cells = row.replace("\\\\", "").replace("\\|", "").strip("| ").split(" | ")
        assert len(cells) == 4
    assert r"\*z\* \_w\_ \`v\`" in text
    assert r"&amp;lt; \\\|" in text


# LaTeX


def test_latex_takes_no_name_for_a_command() -> None:
    comparison = compared(
        models=("[x]", "a|b*"), values=("u\nv", "%"), notes=("one\ntwo",)
    )
    text = as_latex(comparison_document(comparison))
    assert "a\\textbar{}b*" in text
    assert "\n{}[x] & a" in text
    assert "% note one two" in text.splitlines()
    assert all(line.startswith("%") for line in text.splitlines() if "site" in line)
    assert not any(line.startswith(("[", "*")) for line in text.splitlines())


@pytest.mark.parametrize("form", ["table", "md", "latex"])
def test_what_a_rate_means_is_said_once_below_the_tables(
    invoke: Invoke, form: str
) -> None:
    for model in ("alder", "birch"):
        preds = EXAMPLES / f"preds_{model}.json"
        done = invoke("fineradscore", preds, EXAMPLES / "refs.json", "--out", model)
        assert done.stdout.count("errors of severity 3 or 4") == 1
    printed = invoke(
        "compare", "alder", "birch", "--by", "study_class", "--format", form
    ).stdout
    assert printed.count("errors of severity 3 or 4") == 1
    assert printed.index("errors of severity 3 or 4") > printed.index(
        "no significant error"
    )


def test_rexrank_has_the_figures_of_all_studies(
    invoke: Invoke, stock: dict[str, Path]
) -> None:
    runs = [f"{name}={stock[f'green-{name}']}" for name in ("good", "bad")]
    good, bad = csv_rows(
        invoke("compare", *runs, "--format", "rexrank", "--no-tests").stdout
    )
    assert (good["Model Name"], good["Rank"]) == ("good", "1")
    assert (bad["Rank"], bad["Date"], bad["BLEU"]) == ("2", "", "")
    summary = Run.open(stock["green-bad"]).summary()
    assert bad["GREEN"] == f"{summary.statistics['green'].value:.3f}"


def test_a_star_marks_a_model_that_a_test_tells_from_the_next() -> None:
    noise = np.random.default_rng(3).normal(0, 0.02, (60, 3))
    comparison = compare(panel_of({SCORE: np.array([0.8, 0.5, 0.5]) + noise}), how=FEW)
    table = board(comparison, 0, comparison.panel.metrics)
    assert [row[2].endswith(" *") for row in table.texts] == [True, False, False]
    assert "next in rank" in table.note


def test_latex_has_the_best_of_each_column_in_bold_and_nothing_else(
    known: Comparison,
) -> None:
    lines = [
        line
        for line in as_latex(comparison_document(known)).splitlines()
        if line.endswith(r"\\")
    ]
    cells = [[cell.strip() for cell in line.split("&")] for line in lines[1:5]]
    assert [line[1] for line in cells] == ["c", "a", "d", "b"]
    assert {
        (line[1], at) for line in cells for at, c in enumerate(line) if r"\textbf" in c
    } == {
        ("c", 2),
        ("b", 3),
    }


def test_rexrank_has_a_file_a_group_and_what_is_known_of_the_models(
    invoke: Invoke, stock: dict[str, Path], tmp_path: Path
) -> None:
    runs = [f"{name}={stock[f'green-{name}']}" for name in ("good", "bad")]
    info = tmp_path / "models.csv"
    info.write_text(
        "model,date,institution,url\ngood,2026-11-01,A university,https://a.org\n"
    )
    words = ("compare", *runs, "--format", "rexrank", "--no-tests")
    by = ("--by", "site", "--model-info", info)
    assert "--out DIR" in invoke(*words, *by).stderr
    out = tmp_path / "csv"
    assert invoke(*words, *by, "--out", out).exit_code == 0
    assert {file.name for file in out.iterdir()} == {
        *("rexrank.csv", "rexrank_harbour.csv", "rexrank_riverside.csv")
    }
    printed = csv_rows(invoke(*words, "--model-info", info).stdout)
    assert printed == csv_rows((out / "rexrank.csv").read_text("utf-8"))
    good, bad = printed
    assert (good["Model Name"], good["Date"], good["Model URL"]) == (
        *("good", "2026-11-01", "https://a.org"),
    )
    assert (bad["Rank"], bad["Date"], bad["BLEU"]) == ("2", "", "")
    frame = Run.open(stock["green-bad"]).rates("site").set_index("site")
    harbour = csv_rows((out / "rexrank_harbour.csv").read_text("utf-8"))
    assert harbour[1]["GREEN"] == f"{frame.loc['harbour', 'green']:.3f}"


def test_a_printed_csv_holds_no_formula_and_ids_as_they_are() -> None:
    rows = [
        {"study_id": "=1+1", "site": text, "n": -3}
        for text in ("=1+1", "+1+1", "-1+1", "@a", "\t=1", "a=1", "-5", "+2.5%", "")
    ]
    lines = [*csv.reader(io.StringIO(forms.rows_as_csv(rows)))][1:]
    wanted = ["'=1+1", "'+1+1", "'-1+1", "'@a", "'\t=1", "a=1", "-5", "+2.5%", ""]
    assert lines == [["=1+1", text, "-3"] for text in wanted]
    assert forms.rows_as_csv([{"=x": 1}]).startswith("'=x")


@pytest.mark.parametrize("text", ["a`b", "``", "`a", "a```b`", "plain"])
def test_no_backtick_ends_a_code_span(text: str) -> None:
    written = forms.code_span(text)
    fence = re.match("`+", written)
    assert fence
    inside = written[len(fence[0]) : -len(fence[0])]
    assert inside.strip(" ") == text
    assert len(fence[0]) not in map(len, re.findall("`+", inside))
