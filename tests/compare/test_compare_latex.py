"""LaTeX takes names and signs as they are meant, in pdfLaTeX too."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from panels import COST, SCORE, panel_of
from seeded_comparison import seeded

from judge.report.leaderboard_formats import as_latex
from judge.stats.compare import compare
from judge.stats.metric import Metric
from judge.stats.paired import Resampling
from judge.stats.panel import Panel

TRAPS = ("a--b---c", "?`q !`x ``r''", "<<s>> ,,t", 'Łódź "u" %&_#$^~\\|{}*')


def body(text: str) -> str:
    """What is printed: all but comments."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("%"))


def negative() -> str:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(40, 3)) - np.array([0, 1, 5])
    panel = panel_of({SCORE: scores, COST: -scores})
    named = Panel(("x-1", "-2", "z -3"), panel.study_ids, panel.metrics, panel.values, {})
    return as_latex(compare(named, how=Resampling(1, 100, 100)))


def test_all_that_the_program_prints_itself_is_ascii_in_latex() -> None:
    text = as_latex(seeded(3, models=("a", "b", "c"), tests=True, by=("study_class",)))
    assert re.findall(r"[^\x00-\x7f]", body(text)) == []
    assert r"$-$ highest severity" in text
    assert r"$\pm$" in text
    assert "pdfLaTeX" not in text


def test_numbers_have_a_minus_and_names_a_hyphen() -> None:
    text = body(negative())
    assert not re.search(r"[\[& {]-[0-9]", text.replace("& -2 &", "").replace("z -3", ""))
    assert re.search(r"\+[0-9.]+ \[\+[0-9.]+, \+[0-9.]+\]", text)
    assert re.search(r"& \$-\$[0-9.]+ \$\\pm\$ [0-9.]+ &", text)
    assert "x-1 &" in text
    assert " -2 &" in text
    assert "z -3 &" in text


def test_no_pair_in_a_name_is_joined_to_another_sign() -> None:
    text = body(as_latex(seeded(4, models=TRAPS)))
    for pair in ("--", "?`", "!`", "``", "''", ",,", "<<", '"'):
        assert pair not in text, pair
    assert "a-{}-b-{}-{}-c" in text
    assert "?{}`q !{}`x `{}`r'{}'" in text
    assert r"\char34{}u\char34{}" in text


@pytest.mark.parametrize(
    ("name", "lacks"),
    [("Łódź-é", ""), ("数字", "字 数"), ("modèle я", "я"), ("Ąę", "Ą ę"), ("x数", "数")],
)
def test_letters_that_pdflatex_has_not_are_said(name: str, lacks: str) -> None:
    lines = as_latex(seeded(1, models=(name,))).splitlines()
    assert lines[0] == r"% needs \usepackage{booktabs}"
    said = f"% pdfLaTeX alone does not print {lacks}: use LuaLaTeX or XeLaTeX with a font"
    assert lines[1].startswith(said) if lacks else lines[1] == ""


def test_a_name_of_many_such_letters_is_one_line() -> None:
    line = as_latex(seeded(1, models=("".join(map(chr, range(0x4E00, 0x4E40))),))).splitlines()[1]
    assert " and others: use LuaLaTeX" in line
    assert len(line) < 150


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_pdflatex_takes_it(tmp_path: Path) -> None:
    metric = Metric("up", 'more -- "is" better ?` é', "mean", True, "up", True)
    panel = panel_of({metric: np.eye(4), COST: np.eye(4)})
    named = Panel(TRAPS, panel.study_ids, panel.metrics, panel.values, {})
    texts = [as_latex(seeded(4, models=TRAPS, tests=True)), negative(), as_latex(compare(named))]
    parts = "\n\n\\clearpage\n\n".join(texts)
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n\\tiny\n"
        f"{parts}\n\\end{{document}}\n",
        "utf-8",
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:].decode("utf-8", "replace")
    assert b"Missing character" not in (tmp_path / "t.log").read_bytes()
