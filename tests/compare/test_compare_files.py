"""Files that commands write where a user says: whole or not at all, and nothing else touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from judged_runs import IDS, REFS, judged, refused
from support import Invoke

Two = tuple[Path, Path]


def test_what_cannot_be_written_is_said_before_the_work(invoke: Invoke, two: Two) -> None:
    # The runs themselves are looked at only later.
    assert "no/p.html" in refused(invoke, two[0], "missing", "--html", "no/p.html")
    for option in ("--html", "--figures"):
        assert option in refused(invoke, two[0], option, "-")


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `judge` is the program."""
    return subprocess.run(
        ["bash", "-c", f'judge() {{ "{sys.executable}" -m judge "$@"; }}; {line}'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


# Figures


def test_without_matplotlib_figures_are_refused_before_the_work(
    invoke: Invoke, two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib" in refused(invoke, two[0], "missing", "--figures", "d")


@pytest.mark.ci
def test_figures_are_drawn_and_a_persons_own_file_is_left(
    invoke: Invoke, tmp_path: Path, two: Two
) -> None:
    refs = {key: {**REFS[key], "site": f"site {at % 4}"} for at, key in enumerate(IDS)}
    run = judged(tmp_path, "a", refs=refs)
    words = (f"a={run}", f"b={run}", "--no-tests", "--figures", "d")
    assert invoke("compare", *words, "--top-sites", 3).exit_code == 0
    captions = tmp_path / "d" / "captions.md"
    assert "the 3 largest of 4 sites" in captions.read_text("utf-8")
    captions.write_text("mine", "utf-8")
    assert "d/captions.md" in refused(invoke, *words)
    assert captions.read_text("utf-8") == "mine"
    # Damaged records are noticed before figures are drawn.
    file = two[0] / "annotations.jsonl"
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    refused(invoke, two[0], "--figures", "e", "--html", "p.html")
    assert not (tmp_path / "e").exists()
