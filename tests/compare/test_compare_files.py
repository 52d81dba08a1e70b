"""Files that commands write where a user says: whole or not at all, and nothing else touched."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from judged_runs import PAIR, refused
from support import Invoke

Two = tuple[Path, Path]


@pytest.mark.parametrize(("command", "end"), [("page", "html"), ("metrics", "csv")])
def test_a_pipe_is_never_replaced_and_a_link_is_written_through(
    invoke: Invoke, example_run: Path, tmp_path: Path, command: str, end: str
) -> None:
    first = {"page": [example_run], "metrics": list(PAIR)}[command]
    words = (*first, "--out")
    os.mkfifo(tmp_path / f"pipe.{end}")
    for name in (f"pipe.{end}", f"no/file.{end}"):
        refused(invoke, *words, tmp_path / name, command=command)
    assert (tmp_path / f"pipe.{end}").is_fifo()
    (tmp_path / "there").mkdir()
    (tmp_path / f"link.{end}").symlink_to(f"there/file.{end}")
    for _ in range(2):  # to a file that is not there yet, and to one that is
        assert invoke(command, *words, tmp_path / f"link.{end}").exit_code == 0
        assert (tmp_path / f"link.{end}").is_symlink()
        assert (tmp_path / f"there/file.{end}").stat().st_size > 0
        (tmp_path / f"there/file.{end}").chmod(0o600)
    assert stat.S_IMODE((tmp_path / f"there/file.{end}").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "there").iterdir()] == [f"file.{end}"]


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `judge` is the program."""
    return subprocess.run(
        ["bash", "-c", f'judge() {{ "{sys.executable}" -m judge "$@"; }}; {line}'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("example_run")
def test_output_that_is_full_closed_or_left_early_is_one_message_or_none(
    tmp_path: Path,
) -> None:
    done = shell(tmp_path, "judge compare example-run > /dev/full")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    done = shell(tmp_path, "judge compare example-run >&-")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    done = shell(tmp_path, "judge compare example-run | head -c 1")
    assert "Traceback" not in done.stderr
    done = shell(tmp_path, "PYTHONIOENCODING=ascii judge compare Zürich=example-run")
    assert (done.returncode, "Zürich" in done.stdout) == (0, True)


def test_a_table_that_breaks_off_leaves_the_old_one(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_table: pd.DataFrame, path: Path, **_options: object) -> None:
        Path(path).write_text("half a t")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", breaks)
    (tmp_path / "m.csv").write_text("old")
    refused(invoke, *PAIR, "--out", "m.csv", command="metrics")
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]
    assert (tmp_path / "m.csv").read_text() == "old"
