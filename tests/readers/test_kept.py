"""Readings made on the page: one line a save, whole or not there, and what they cannot say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.readers import kept
from judge.readers.kept import KeptReading, MarkedItem, new_reading
from judge.types import Edit

RECORD: dict[str, Any] = {
    "study_id": "s1",
    "reference": "Heart is enlarged. No pneumothorax.",
    "candidate": "Heart is normal. Small effusion 😀 on the left.",
}
GREEN, FINE = rubrics.load("green"), rubrics.load("fineradscore")
FALSE = {"category": ("a",), "significance": ("significant",)}
URGENT = {"category": ("a", "c"), "severity": ("severity3",)}
# Saves readings until it ends: folder, reader, how many, characters of each.
WRITER = (
    "import sys; from pathlib import Path; from judge.readers import kept\n"
    "for at in range(int(sys.argv[3])):\n"
    "    record = {'study_id': f's{at}', 'reference': 'r', 'candidate': 'c'}\n"
    "    text = str(at) + 'x' * int(sys.argv[4])\n"
    "    one = kept.new_reading(sys.argv[2], record, done=True, comment=text)\n"
    "    kept.append(Path(sys.argv[1]), one)\n"
    "    print(at, flush=True)\n"
)


def writer(folder: Path, reader: str, n: int, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), reader, str(n), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def reading(*items: MarkedItem, reader: str = "fern", done: bool = True) -> KeptReading:
    return new_reading(reader, RECORD, items, done=done)


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    assert kept.read(tmp_path) == []
    assert kept.current(tmp_path) == {}
    marked = MarkedItem("error", FALSE, "Small effusion 😀", "candidate", 17, 33)
    assert RECORD["candidate"][17:33] == marked.text  # code points: the last one is one
    edit = MarkedItem("error", URGENT, edit=Edit("change", 1, "No effusion."))
    readings = [
        reading(marked, MarkedItem("matched", text="ja\nnein <b> \u2028"), done=False),
        reading(edit, reader="Öjvind\n"),
        reading(),
    ]
    for one in readings:
        kept.append(tmp_path, one)
    assert kept.read(tmp_path) == readings
    assert (tmp_path / kept.FILE).stat().st_mode & 0o077 == 0
    assert kept.current(tmp_path) == {
        ("fern", "s1"): readings[2],
        ("Öjvind\n", "s1"): readings[1],
    }
    kept.append(tmp_path, last := replace(reading(done=False), comment="a\ud800b"))
    assert kept.current(tmp_path)["fern", "s1"] == replace(last, comment="a?b")


@given(cut=st.integers(min_value=0))
def test_wherever_a_save_was_cut_the_one_before_counts(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    saves = [reading(*[MarkedItem("error", FALSE, "é")] * n, done=False) for n in range(4)]
    for one in saves:
        kept.append(folder, one)
    file = folder / kept.FILE
    whole = file.read_bytes()
    at = cut % (len(whole) + 1)
    file.write_bytes(whole[:at])
    before = kept.read(folder)
    ends = accumulate(len(line) for line in whole.splitlines(keepends=True))
    n_whole = sum(end - 1 <= at for end in ends)  # one that lacks only its newline is whole
    assert before == saves[:n_whole]
    kept.append(folder, last := reading())
    assert kept.read(folder) == [*before, last]


def test_killed_while_it_saves_what_was_said_to_be_kept_is_there(tmp_path: Path) -> None:
    for attempt in range(2):
        with writer(tmp_path, f"r{attempt}", 10**6, 200_000) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.05 * attempt)
            os.kill(process.pid, signal.SIGKILL)
            said = [0, *map(int, process.stdout.read().split())]
        found = [
            int(one.study_id[1:]) for one in kept.read(tmp_path) if one.reader[1:] == str(attempt)
        ]
        assert found[: len(said)] == said
        assert len(found) <= len(said) + 1  # written, and killed before it was said


def test_two_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 100, 5000) for name in ("fern", "moss")]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    readings = kept.read(tmp_path)
    for name in ("fern", "moss"):
        assert [r.study_id for r in readings if r.reader == name] == [f"s{n}" for n in range(100)]


def test_a_full_disk_keeps_all_of_a_reading_or_nothing(tmp_path: Path) -> None:
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
    )
    command = [sys.executable, "-c", limit + WRITER, str(tmp_path), "fern", "9", "500"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "JudgeError" in done.stderr
    assert (tmp_path / kept.FILE).read_bytes().endswith(b"}\n")
    assert len(kept.read(tmp_path)) == 2


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("change", 2, "Clear.")],
        [Edit("change", None, "Clear.")],
        [Edit("change", 1, " ")],
        [Edit("delete", 1, "Clear.")],
        [Edit("insert", 3, "Clear.")],
        [Edit("change", 1, "Clear."), Edit("delete", 1, "")],
    ],
)
def test_corrections_that_fit_no_line_are_no_reading(edits: list[Edit]) -> None:
    items = [MarkedItem("error", URGENT, edit=edit) for edit in edits]
    assert "line" in str(kept.fault(reading(*items), FINE, RECORD))
    fitting = [Edit("change", 1, "Clear."), Edit("insert", 2, "New."), Edit("insert", None, "New.")]
    items = [MarkedItem("error", URGENT, edit=edit) for edit in fitting]
    assert kept.fault(reading(*items), FINE, RECORD) is None
