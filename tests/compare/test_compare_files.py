"""Files that commands write where a user says: whole or not at all, and nothing else touched."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
ODD = os.fsdecode(b"\xff")


def fails(invoke: Invoke, *args: object) -> str:
    done = invoke(*args)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    return " ".join(done.stderr.split())


def judge(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `judge` is the program."""
    return subprocess.run(
        ["bash", "-c", f'judge() {{ "{sys.executable}" -m judge "$@"; }}; {line}'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


WRITERS = {
    "compare": ("compare", "example-run", "--html"),
    "audit": ("audit", "example-run", "--html"),
    "metrics": ("metrics", *PAIR, "--out"),
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, example_run: Path) -> tuple[object, ...]:
    """A command that writes the file named after it."""
    assert example_run.name == "example-run"
    return WRITERS[request.param]


def test_a_device_or_pipe_is_never_replaced(invoke: Invoke, tmp_path: Path, writer) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no file to replace" in fails(invoke, *writer, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to("pipe")
    assert "no file to replace" in fails(invoke, *writer, tmp_path / "link")
    assert {path.name for path in tmp_path.iterdir()} == {"example-run", "pipe", "link"}


def test_a_link_is_written_through(invoke: Invoke, tmp_path: Path, writer) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    for _ in range(2):  # to a file that is not there yet, and to one that is
        assert invoke(*writer, tmp_path / "link").exit_code == 0
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there/file").stat().st_size > 0
        (tmp_path / "there/file").chmod(0o600)
    invoke(*writer, tmp_path / "link")
    assert stat.S_IMODE((tmp_path / "there/file").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["file"]


def test_a_link_to_itself_is_said(invoke: Invoke, tmp_path: Path, writer) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot write" in fails(invoke, *writer, tmp_path / "loop")


def test_an_empty_path_is_said(invoke: Invoke, example_run: Path) -> None:
    for option in ("--html", "--figures"):
        assert "the path is empty" in fails(invoke, "compare", example_run, option, "")
    assert "the path is empty" in fails(invoke, "metrics", *PAIR, "--out", "")
    assert "the path is empty" in fails(invoke, "audit", example_run, "--html", "")
    assert "is empty" in fails(invoke, "compare", "")


def test_a_page_that_cannot_be_written_is_said_before_the_work(
    invoke: Invoke, example_run: Path
) -> None:
    # The runs themselves are looked at only later.
    assert "no/p.html" in fails(invoke, "compare", example_run, "missing", "--html", "no/p.html")


@pytest.mark.usefixtures("example_run")
def test_files_are_there_whoever_stops_reading(tmp_path: Path) -> None:
    line = "judge compare a=example-run b=example-run --html p.html --figures d | head -c 1"
    done = judge(tmp_path, line)
    assert "Traceback" not in done.stderr
    assert " ..." not in done.stderr, "no step is said where nobody waits at a terminal"
    assert (tmp_path / "p.html").stat().st_size > 0
    assert (tmp_path / "d/captions.md").stat().st_size > 0


@pytest.mark.usefixtures("example_run")
@pytest.mark.parametrize(
    "command", ["compare example-run", "compare example-run --format json", "audit -h", "--help"]
)
def test_output_that_cannot_be_written_is_one_message(tmp_path: Path, command: str) -> None:
    done = judge(tmp_path, f"judge {command} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "Error: cannot write the output: No space left on device\n"


@pytest.mark.usefixtures("example_run")
def test_output_that_is_closed_is_one_message(tmp_path: Path) -> None:
    done = judge(tmp_path, "judge compare example-run --html p.html >&-")
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "p.html").exists()


@pytest.mark.usefixtures("example_run")
def test_output_in_another_encoding_is_one_message(tmp_path: Path) -> None:
    done = judge(tmp_path, "PYTHONIOENCODING=ascii judge compare example-run")
    assert done.returncode == 0
    assert "─" not in done.stdout
    done = judge(tmp_path, "PYTHONIOENCODING=ascii judge compare Zürich=example-run")
    assert (done.returncode, "Zürich" in done.stdout) == (0, True)
    (tmp_path / "reports.json").write_text('{"a": "The lungs are clear, pan Żak."}', "utf-8")
    assert judge(tmp_path, "judge green reports.json reports.json --out r").returncode == 0
    done = judge(tmp_path, "PYTHONIOENCODING=ascii judge audit r a")
    assert (done.returncode, "Żak" in done.stdout) == (0, True)
    done = judge(tmp_path, "PYTHONIOENCODING=latin-1 judge audit r a")
    assert done.returncode == 2
    assert "PYTHONIOENCODING=utf-8" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_that_is_no_text_is_said(invoke: Invoke, tmp_path: Path, example_run: Path) -> None:
    assert "is not UTF-8" in fails(invoke, "compare", f"{ODD}={example_run}")
    assert "is not UTF-8" in fails(invoke, "metrics", *PAIR, "--model", ODD)
    preds = tmp_path / f"preds_{ODD}.json"
    preds.write_bytes(PAIR[0].read_bytes())
    assert "--model NAME" in fails(invoke, "metrics", preds, PAIR[1])
    # A file may be called so: the run of it is whole, and its model's name a text.
    assert invoke("green", preds, PAIR[1], "--out", "odd").exit_code == 0
    done = invoke("compare", "odd", "--format", "json")
    assert json.loads(done.stdout)["models"] == ["?"]


# judge metrics --out


def test_a_table_that_cannot_be_written_is_said_before_the_work(invoke: Invoke) -> None:
    assert "no/m.csv" in fails(invoke, "metrics", "missing.json", "--out", "no/m.csv")


def test_parquet_in_capitals_is_parquet(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("metrics", *PAIR, "--out", "m.PARQUET").exit_code == 0
    assert "bleu2" in pd.read_parquet(tmp_path / "m.PARQUET").columns


@pytest.fixture
def _interrupts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric after which, while it is computed, somebody presses Ctrl-C."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "radeval").mkdir()
    (folder / "radeval/__init__.py").write_text(
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    # The parent must only believe that it is there: its import would send the signal.
    monkeypatch.setattr("judge.metrics.importlib.util.find_spec", lambda _: object())


@pytest.mark.usefixtures("_interrupts")
def test_what_is_finished_is_kept_on_ctrl_c(invoke: Invoke, tmp_path: Path) -> None:
    asked = ("metrics", *PAIR, "--metric", "bleu2,radcliq", "--out", "m.csv")
    done = invoke(*asked)
    assert done.exit_code == 130
    assert "m.csv" in done.stderr
    assert list(pd.read_csv(tmp_path / "m.csv").columns) == ["study_id", "model", "bleu2"]
    (tmp_path / "m.csv").write_text("a whole table")
    assert invoke(*asked).exit_code == 130
    assert (tmp_path / "m.csv").read_text() == "a whole table"
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]


@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_a_table_that_breaks_off_leaves_the_old_one(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def breaks(_table: pd.DataFrame, path: Path, **_options: object) -> None:
        Path(path).write_text("half a t")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", breaks)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", breaks)
    (tmp_path / name).write_text("old")
    assert "No space left" in fails(invoke, "metrics", *PAIR, "--out", name)
    assert (tmp_path / name).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == [name]
