"""`judge audit RUN STUDY` on terminals of several widths and in a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pagemaking import examples, failed, hostile, write_run
from rich.console import Console

from judge import rubrics
from judge.cli import main
from judge.running.folder import RunFolder
from judge.study.terminal import audit
from judge.tables.terminal import shown
from judge.types import Study, Unparsed


@pytest.fixture(scope="module", params=["green", "fineradscore", "facts"])
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RunFolder:
    rubric = rubrics.load(request.param)
    ends = [*examples(request.param), failed("f-1"), hostile(rubric, "h-1", 2000)]
    return write_run(tmp_path_factory.mktemp("runs") / "run", rubric, ends)


@pytest.mark.parametrize("columns", [40, 150])
def test_no_line_is_wider_than_the_terminal(run: RunFolder, columns: int) -> None:
    out = Console(width=columns, markup=False, highlight=False, emoji=False)
    for study_id in ("ex-015", "f-1", "h-1"):
        parts = audit(run.record(study_id), run.rubric, raw=True, has_colour=False)
        lines = [line for part in parts for line in shown(part, out)]
        assert max(map(len, lines)) <= columns
        text = "".join(lines)  # text that would steer a terminal is shown
        assert not set("\u202e\x00\x1b") & set(text)
        assert study_id != "h-1" or "\\x1b[31m" in text.replace(" ", "")


def test_a_pipe_gets_no_colour_and_the_same_marks(judged_examples: Path) -> None:
    done = CliRunner().invoke(
        main, ["audit", str(judged_examples), "ex-010"], color=True
    )
    assert "\x1b" not in done.stdout
    assert "[Severe cardiomegaly](1). Moderate pulmonary edema." in done.stdout
    assert "[Mild cardiomegaly](1). Moderate pulmonary edema." in done.stdout
    done = CliRunner().invoke(main, ["audit", str(judged_examples), "nope"])
    assert (done.exit_code, done.stdout) == (2, "")


def test_of_a_run_without_a_score_the_list_says_why(tmp_path: Path) -> None:
    green = rubrics.load("green")
    cut = (Study("u-1", "Clear.", "Clear.", "normal"), Unparsed("truncated", "no end"))
    ends = [(*cut, None, None), failed("f-1")]
    write_run(tmp_path / "run", green, ends)
    done = CliRunner().invoke(main, ["audit", str(tmp_path / "run")])
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["u-1", "normal", "unparsed", "truncated", "no", "end"] in lines
    assert ["f-1", "normal", "failed", "timeout", "no", "answer"] in lines
    one = CliRunner().invoke(main, ["audit", str(tmp_path / "run"), "--rows", "1"])
    assert "u-1" in one.stdout
    assert "f-1" not in one.stdout
