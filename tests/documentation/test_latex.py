"""What is printed as LaTeX compiles: tables of every kind, the methods text, hostile names.

Skipped where no LaTeX is installed; `.ci/run` installs one and sets JUDGE_NEEDS_TEX.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

pytestmark = pytest.mark.ci
_HOSTILE = r"100%_of \input{x} $5 & #1 ~^ <é> [*] ``--'' {}"


@pytest.fixture(autouse=True)
def _needs_latex() -> None:
    if shutil.which("pdflatex") is None and "JUDGE_NEEDS_TEX" not in os.environ:
        pytest.skip("no pdflatex here")


def compile_latex(text: str, folder: Path, bibliography: str = "") -> str:
    """Compile a text as the body of an article; returns what LaTeX said."""
    body = text
    if bibliography:
        (folder / "works.bib").write_text(bibliography, "utf-8")
        body += "\n\\bibliographystyle{plain}\\bibliography{works}"
    lines = [
        r"\documentclass{article}",
        r"\usepackage{booktabs}",
        r"\begin{document}",
        body,
        r"\end{document}",
    ]
    (folder / "paper.tex").write_text("\n".join(lines), "utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    commands = [latex]
    if bibliography:
        commands = [latex, ["bibtex", "paper"], latex, latex]
    said = ""
    for command in commands:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        said = done.stdout
        assert done.returncode == 0, said[-2000:]
    assert (folder / "paper.pdf").is_file()
    return said


def judged(invoke: Invoke, folder: Path, rubric: str = "green") -> list[Path]:
    """A run of each of two example models, one of them with a name that is no LaTeX."""
    runs = []
    for model, name in (("alder", _HOSTILE), ("birch", "birch")):
        out = folder / f"{rubric}-{model}"
        preds = EXAMPLES / f"preds_{model}.json"
        refs = EXAMPLES / "refs.json"
        done = invoke(rubric, preds, refs, "--model", name, "--out", out)
        assert done.exit_code == 0, done.stderr
        runs.append(out)
    return runs


def test_tables_of_a_comparison(invoke: Invoke, tmp_path: Path) -> None:
    runs = judged(invoke, tmp_path)
    done = invoke("compare", *runs, "--by", "site", "--format", "latex")
    assert done.exit_code == 0, done.stderr
    assert r"\textbackslash{}input" in done.stdout
    compile_latex(done.stdout, tmp_path)


def test_blocks_of_several_rubrics(invoke: Invoke, tmp_path: Path) -> None:
    runs = judged(invoke, tmp_path) + judged(invoke, tmp_path, "fineradscore")
    done = invoke("compare", *runs, "--table", "summary", "--format", "latex")
    assert done.exit_code == 0, done.stderr
    assert r"\cmidrule" in done.stdout
    compile_latex(done.stdout, tmp_path)


def test_tables_of_a_validation(invoke: Invoke, tmp_path: Path) -> None:
    readers = tmp_path / "readers"
    readings = EXAMPLES / "readers" / "readings.csv"
    invoke("readers", "import", "tidy", readings, "--out", readers)
    run = tmp_path / "run"
    invoke("green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", run)
    done = invoke("validate", run, "--readers", readers, "--format", "latex")
    assert done.exit_code == 0, done.stderr
    compile_latex(done.stdout, tmp_path)


def test_the_methods_text_finds_every_work_it_cites(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = judged(invoke, tmp_path)[0]
    text = invoke("cite", run, "--by", "site", "--format", "latex").stdout
    works = invoke("cite", run, "--by", "site", "--format", "bibtex").stdout
    said = compile_latex(text, tmp_path, works)
    assert "undefined" not in said


def test_tables_of_the_challenge(invoke: Invoke, tmp_path: Path) -> None:
    runs = judged(invoke, tmp_path)
    out = tmp_path / "challenge"
    done = invoke("reproduce", "challenge", *runs, "--out", out)
    assert done.exit_code == 0, done.stderr
    (tables,) = out.glob("*/tables.tex")
    text = tables.read_text("utf-8")
    assert text.count(r"\toprule") >= 2
    compile_latex(text, tmp_path)


def test_what_is_no_latex_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Misplaced alignment tab"):
        compile_latex("5 & 6", tmp_path)
