"""How the command line ends where somebody cuts it short, or names the wrong folder."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Invoke

FILES = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")


def closed_early(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """What becomes of `judge` where nobody reads its standard output."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "judge", *map(str, arguments)]
        return subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)


def test_a_pipe_that_was_closed_early_costs_no_run(invoke: Invoke) -> None:
    done = closed_early("green", *FILES, "--out", "run")
    said = done.stderr.decode().splitlines()
    assert (done.returncode, said[-1]) == (141, "run folder  run")
    assert invoke("rates", "run").exit_code == 0


@pytest.mark.parametrize("command", ["audit RUN ex-008", "runs .", "compare RUN", "--help"])
def test_a_pipe_that_was_closed_early_is_no_error(example_run: Path, command: str) -> None:
    done = closed_early(*command.replace("RUN", str(example_run)).split())
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("library", ["click", "numpy"])
def test_ctrl_c_while_libraries_are_imported(tmp_path: Path, library: str) -> None:
    (tmp_path / f"{library}.py").write_text("import os\nos.kill(os.getpid(), 2)\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "judge", "green", *map(str, FILES), "--out", str(tmp_path / "run")],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in done.stderr


def test_the_command_begins_where_ctrl_c_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"judge": "judge.__main__:main"}


@pytest.mark.parametrize("command", ["serve", "audit", "compare", "rescore"])
def test_a_folder_of_runs_is_called_that(example_run: Path, invoke: Invoke, command: str) -> None:
    done = invoke(command, example_run.parent)
    assert done.exit_code == 2
    assert f"{example_run.parent} is a folder of runs; name one of them" in done.stderr
    assert f"judge serve --runs {example_run.parent}" in done.stderr
    nothing = example_run.parent / "nothing"
    nothing.mkdir()
    assert "is not a run: it holds no manifest.json" in invoke(command, nothing).stderr


def test_runs_are_listed_for_programs(example_run: Path, invoke: Invoke) -> None:
    other = example_run.parent / "other"
    assert invoke("fineradscore", *FILES, "--model", "m" * 80, "--out", other).exit_code == 0
    listed = invoke("runs", example_run.parent, "--format", "csv").stdout
    rows = {row["run"]: row for row in csv.DictReader(io.StringIO(listed))}
    first, second = rows[str(example_run)], rows[str(other)]
    assert (first["rubric"], first["scored"], first["model"]) == ("green", "15", "preds")
    assert (second["rubric"], second["scored"], second["model"]) == ("fineradscore", "15", "m" * 80)
    (told,) = json.loads(invoke("runs", example_run, "--format", "json").stdout)
    assert {name: first[name] for name in told["figures"]} == told["figures"]
    assert re.fullmatch(r"0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", first["GREEN"])
    assert second["GREEN"] == ""
    assert "  " not in listed
    empty = example_run.parent / "empty"
    empty.mkdir()
    assert invoke("runs", empty, "--format", "csv").stdout.startswith("run,model,judge")


def test_completion_says_which_folder_to_make(invoke: Invoke) -> None:
    text = invoke("completion", "--help").stdout
    for shell in ("bash", "zsh", "fish"):
        folder = re.search(rf"judge completion {shell} > (\S+)/", text)
        assert folder, shell
        assert f"mkdir -p {folder[1]}\n" in text


def test_the_edit_in_the_docs_is_what_is_printed(invoke: Invoke) -> None:
    page = (ROOT / "docs" / "numbers.md").read_text("utf-8")
    (shown,) = re.findall(r"```\n(Corrections of the candidate.*?)```", page, re.DOTALL)
    assert invoke("fineradscore", *FILES, "--out", "run").exit_code == 0
    assert shown in invoke("audit", "run", "ex-008").stdout


def test_the_stress_report_in_the_docs_is_what_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "stress.md").read_text("utf-8")
    (shown,) = re.findall(r"```\n(verdict .*?)```", page, re.DOTALL)
    # The rubrics that stand beside the real ones in tests would have forged answers too.
    without_toys = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "judge", "stress", EXAMPLES / "refs.json", "--out", "stress"],
        cwd=tmp_path,
        env=without_toys,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\n".join(line.rstrip() for line in done.stdout.splitlines()).startswith(shown)
