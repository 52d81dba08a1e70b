"""`judge compare --figures`: a person's own files, damaged runs, and what is said meanwhile."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import Invoke

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
WIDE_ENOUGH = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["captions.md", "rates_green.column.png"])
def test_a_persons_own_file_is_refused_before_the_work(
    invoke: Invoke, example_run: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_text("mine")
    # The runs themselves are looked at only later.
    done = invoke("compare", example_run, "missing", "--figures", "d")
    assert done.exit_code == 2
    assert f"d/{name} is " in done.stderr
    assert "move it, or name another folder with --figures" in done.stderr
    assert contents(tmp_path / "d") == {name: b"mine"}


def test_captions_edited_for_a_paper_are_not_lost(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    args = ("compare", example_run, "--figures", "d", "--no-tests")
    for _ in range(2):
        assert invoke(*args).exit_code == 0
    captions = tmp_path / "d" / "captions.md"
    captions.write_text(captions.read_text("utf-8").replace("Share of", "The share of"), "utf-8")
    before = contents(tmp_path / "d")
    done = invoke(*args)
    assert done.exit_code == 2
    assert "captions.md is not as judge wrote it" in done.stderr
    assert contents(tmp_path / "d") == before


def test_a_dash_is_no_name_of_a_file(invoke: Invoke, example_run: Path, tmp_path: Path) -> None:
    for option in ("--html", "--figures"):
        done = invoke("compare", example_run, option, "-")
        assert done.exit_code == 2
        assert "not written to standard output" in done.stderr
    assert not (tmp_path / "-").exists()


def test_damaged_records_are_found_before_figures_are_drawn(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    file = example_run / "annotations.jsonl"
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    done = invoke("compare", example_run, "--figures", "d", "--html", "p.html")
    assert done.exit_code == 2
    assert "annotations.jsonl" in done.stderr
    assert not (tmp_path / "d").exists()
    # Figures alone need no records.
    assert invoke("compare", example_run, "--figures", "d").exit_code == 0


def said_at_a_terminal(folder: Path, run: Path) -> list[str]:
    """What standard error gets where that is a terminal."""
    command = [sys.executable, "-m", "judge", "compare", f"a={run}", f"b={run}"]
    command += ["--figures", "d", "--html", "p.html"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=WIDE_ENOUGH
    ) as child:
        os.close(theirs)
        chunks = []
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert child.wait() == 0
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(chunks).decode()).splitlines()


def test_each_step_is_said_to_whoever_waits_at_a_terminal(
    example_run: Path, tmp_path: Path
) -> None:
    said = said_at_a_terminal(tmp_path, example_run)
    steps = [line for line in said if line.endswith(" ...")]
    assert steps == [
        "Comparing 2 runs ...",
        "Reading the studies for the page ...",
        "Drawing the figures ...",
        "Writing the page ...",
    ]
    # Where no terminal is: test_files_are_there_whoever_stops_reading.
