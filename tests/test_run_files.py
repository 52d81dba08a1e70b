"""A run's files: written by one process at a time, for their owner alone; none is followed."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

from judge.running.files import WRITING, held, open_file, read_file
from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET
from judge.types import JudgeError

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
HOLD = (
    "import sys, time; from pathlib import Path; from judge.running.files import held\n"
    "with held(Path(sys.argv[1])) as place:\n"
    "    (place / 'mine').write_text('mine'); print(place, flush=True); sys.stdin.read()\n"
)


@contextmanager
def holder(run: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that holds `run`, and the folder that it writes to."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_the_second_to_write_a_run_says_who_holds_it_and_takes_nothing_away(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with holder(run) as (process, place):
        done = invoke("green", *PAIR, "--out", run)
        assert done.exit_code == 2
        assert f"{run} is being written by process {process.pid} on " in done.stderr
        assert socket.gethostname() in done.stderr
        assert "since 20" in done.stderr
        assert "--out" in done.stderr
        assert (place / "mine").read_text() == "mine"
        assert list(run.iterdir()) == [run / WRITING]
    assert not list(run.iterdir())
    assert invoke("green", *PAIR, "--out", run).exit_code == 0


def test_rescore_waits_for_nobody_either(invoke: Invoke, example_run: Path) -> None:
    before = (example_run / MANIFEST).read_bytes()
    with holder(example_run):
        done = invoke("rescore", example_run)
        assert done.exit_code == 2
        assert "is being written by process" in done.stderr
    assert (example_run / MANIFEST).read_bytes() == before
    assert invoke("rescore", example_run).exit_code == 0


def test_the_same_command_twice_at_once(tmp_path: Path) -> None:
    """Whichever comes first is whole; the other one is told so or comes after it."""
    command = [sys.executable, "-m", "judge", "green", *map(str, PAIR), "--out", "run"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate()[1].decode() for process in both]
    ends = sorted(process.returncode for process in both)
    assert ends in ([0, 0], [0, 2])
    assert not any("Traceback" in text for text in said)
    if ends == [0, 2]:
        # "by process 12 on ..." or, where the other has not yet written its name, "by another"
        assert any(re.search("is being written by (another )?process", text) for text in said)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY} < names
    assert WRITING not in names


def test_what_a_killed_process_left_is_no_hindrance_and_is_removed(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with holder(run) as (process, place):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (place / "mine").exists()
    assert invoke("green", *PAIR, "--out", run).exit_code == 0
    assert not (run / WRITING).exists()


def test_a_writing_folder_that_is_a_link_is_not_followed(invoke: Invoke, tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    run.mkdir()
    other.mkdir()
    (other / "file").write_text("mine")
    (run / WRITING).symlink_to(other)
    done = invoke("green", *PAIR, "--out", run)
    assert done.exit_code == 2
    assert "is a link" in done.stderr
    assert [path.name for path in other.iterdir()] == ["file"]


def test_two_in_one_process_are_two(tmp_path: Path) -> None:
    with (
        held(tmp_path),
        pytest.raises(JudgeError, match=f"process {os.getpid()} on"),
        held(tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_run_is_its_owners_alone(invoke: Invoke, example_run: Path) -> None:
    def rights() -> set[int]:
        return {stat.S_IMODE(path.stat().st_mode) for path in example_run.iterdir()}

    assert stat.S_IMODE(example_run.stat().st_mode) == 0o700
    assert rights() == {0o600}
    # What its owner has opened to a group stays so.
    for path in example_run.iterdir():
        path.chmod(0o640)
    assert invoke("rescore", example_run).exit_code == 0
    assert rights() == {0o640}


def link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (link, "a link, which is not followed"),
    "pipe": (os.mkfifo, "no plain file"),
    "folder": (Path.mkdir, "no plain file"),
}
COMMANDS = [("rates",), ("audit", "--worst", "3"), ("audit", "--html", "page.html"), ("compare",)]


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", [MANIFEST, SUMMARY, TABLE_PARQUET, ANNOTATIONS])
def test_what_is_no_file_in_a_run_is_a_message(
    invoke: Invoke, example_run: Path, name: str, kind: str
) -> None:
    (example_run / name).unlink()
    make, said = STRANGE[kind]
    make(example_run / name)
    for command, *options in COMMANDS:
        if name == ANNOTATIONS and "--html" not in options and command != "compare":
            continue  # these read the table
        done = invoke(command, example_run, *options)
        if done.exit_code == 0:
            assert (command, name) == ("compare", ANNOTATIONS)
            continue
        assert done.exit_code == 2, done.output
        assert str(example_run) in done.stderr
        assert said in done.stderr or "is not a run" in done.stderr


@pytest.mark.parametrize("name", [MANIFEST, SUMMARY, TABLE_PARQUET, ANNOTATIONS])
def test_a_giant_of_nothing_in_a_run_is_a_message(
    invoke: Invoke, example_run: Path, name: str
) -> None:
    giant(example_run / name)
    done = invoke("audit", example_run, "--html", "page.html")
    assert done.exit_code == 2, done.output
    assert str(example_run / name) in done.stderr


def test_files_are_opened_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"x")
    assert read_file(tmp_path / "plain") == b"x"
    for kind, (make, said) in STRANGE.items():
        make(tmp_path / kind)
        with pytest.raises(OSError, match=said):
            open_file(tmp_path / kind)
    giant(tmp_path / "giant")
    with pytest.raises(OSError, match="larger than"):
        read_file(tmp_path / "giant")
